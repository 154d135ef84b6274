//! `tracer push` and the library behind it, against a stand-in for a collector.

mod answers;
mod contents;
mod deaths;
mod following;

use std::collections::BTreeSet;
use std::time::Duration;

use opentelemetry_proto::tonic::trace::v1::Span;
use tracer_runs::{RunDirectory, RunStore};
use tracer_sdk::format::SpanId;
use tracer_sdk::{llm_call, tool_call};
use tracer_ship::{
    OtlpDestination, OtlpSettings, RetryPolicy, RunSelection, ShipError, ShipEvent, ShipOptions, ShipSummary,
    Shipper,
};
use tracer_tests::{Collector, DataDir};

const TRACER: &str = env!("CARGO_BIN_EXE_tracer_under_test");

/// A run with a model call and a tool call.
pub(super) fn record(data: &DataDir, name: &'static str) {
    data.run(name).in_scope(|| {
        llm_call("gpt-5")
            .provider("openai")
            .prompt("Where is my order?")
            .response("On its way.")
            .record()
            .unwrap();
        tool_call("search")
            .args(&"order 7")
            .result(&"shipped")
            .record()
            .unwrap();
    });
}

/// All runs, by ID.
pub(super) fn runs(data: &DataDir) -> Vec<RunDirectory> {
    RunStore::new(data.path()).list_directories().unwrap()
}

/// Settings with these variables.
pub(super) fn settings(collector: &Collector, variables: &[(&str, &str)]) -> OtlpSettings {
    OtlpSettings::resolve(Some(&collector.url()), |name| {
        let found = variables.iter().find(|(known, _)| name == *known);
        found.map(|(_, value)| (*value).to_owned())
    })
    .unwrap()
}

/// Options that wait for milliseconds where a user waits for seconds.
pub(super) fn options() -> ShipOptions {
    let mut options = ShipOptions::default();
    options.retry.first_delay = Duration::from_millis(2);
    options.retry.max_delay = Duration::from_millis(10);
    options.poll_interval = Some(Duration::from_millis(5));
    options
}

/// What a push did, and what it reported meanwhile.
pub(super) struct Pushed {
    pub(super) outcome: Result<ShipSummary, ShipError>,
    pub(super) events: Vec<ShipEvent>,
}

/// Pushes all runs.
pub(super) fn push_with(data: &DataDir, settings: &OtlpSettings, options: ShipOptions) -> Pushed {
    push_content(data, settings, true, options)
}

/// Pushes all runs, with what was said in them or without.
pub(super) fn push_content(
    data: &DataDir,
    settings: &OtlpSettings,
    with_content: bool,
    options: ShipOptions,
) -> Pushed {
    let mut events = Vec::new();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let outcome = runtime.block_on(async {
        let destination = OtlpDestination::new(settings, with_content)?;
        let mut shipper = Shipper::open(data.path(), destination, options)?;
        let runs = RunSelection::These(runs(data));
        shipper
            .ship(&runs, std::future::pending(), &mut |event| events.push(event))
            .await
    });
    Pushed { outcome, events }
}

pub(super) fn push(data: &DataDir, collector: &Collector) -> ShipSummary {
    push_with(data, &settings(collector, &[]), options())
        .outcome
        .unwrap()
}

/// How often a push waited.
pub(super) fn waits(pushed: &Pushed) -> usize {
    let is_wait = |event: &&ShipEvent| matches!(event, ShipEvent::Waiting { .. });
    pushed.events.iter().filter(is_wait).count()
}

/// The IDs of spans, in hex.
pub(super) fn ids<'a>(spans: impl IntoIterator<Item = &'a Span>) -> BTreeSet<String> {
    let id = |span: &Span| {
        let bytes = span.span_id.as_slice().try_into().unwrap();
        SpanId::from_u64(u64::from_be_bytes(bytes)).unwrap()
    };
    spans.into_iter().map(|span| id(span).to_string()).collect()
}

/// The IDs of all spans of the data directory.
pub(super) fn recorded_ids(data: &DataDir) -> BTreeSet<String> {
    let runs = data.finished_runs();
    let spans = runs.iter().flat_map(|run| &run.run.spans);
    spans.map(|span| span.span_id.to_string()).collect()
}

/// A policy that never gives up, and waits for milliseconds.
pub(super) fn endless() -> RetryPolicy {
    let mut retry = options().retry;
    retry.patience = None;
    retry
}
