//! A subscriber with the layer, and the runs that it records.

use std::sync::{Mutex, MutexGuard, PoisonError};

use tracer_sdk::format::{EventType, Payload, Record, SpanRecord};
use tracer_sdk::layer::{self, LayerBuilder};
use tracer_tests::{DataDir, Finished};
use tracing::Subscriber;
use tracing_subscriber::layer::SubscriberExt;

/// Which runs are live decides where a call belongs, so the tests of this binary take turns.
static TURN: Mutex<()> = Mutex::new(());

/// Waits until no other test records.
pub(crate) fn turn() -> MutexGuard<'static, ()> {
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The runs that the layer records while `work` runs.
pub(crate) fn runs(work: impl FnOnce()) -> Vec<Finished> {
    runs_of(|layer| layer, work)
}

/// The only run.
pub(crate) fn run(work: impl FnOnce()) -> Finished {
    only(runs(work))
}

/// The runs that a layer records that is described further.
pub(crate) fn runs_of(
    describe: impl FnOnce(LayerBuilder) -> LayerBuilder,
    work: impl FnOnce(),
) -> Vec<Finished> {
    let _turn = turn();
    let data = DataDir::new();
    tracing::subscriber::with_default(subscriber(describe(layer_for(&data))), work);
    data.finished_runs()
}

pub(crate) fn only(mut runs: Vec<Finished>) -> Finished {
    assert_eq!(
        runs.len(),
        1,
        "{:?}",
        runs.iter().map(|run| &run.meta.run_name).collect::<Vec<_>>()
    );
    runs.remove(0)
}

/// A registry with the layer.
pub(crate) fn subscriber(layer: LayerBuilder) -> impl Subscriber + Send + Sync {
    tracing_subscriber::registry().with(layer.build())
}

/// The layer that records into a directory.
pub(crate) fn layer_for(data: &DataDir) -> LayerBuilder {
    layer::builder().config(&data.config())
}

/// The span with a name.
#[track_caller]
pub(crate) fn span<'r>(run: &'r Finished, name: &str) -> &'r SpanRecord {
    let mut spans = run.spans.iter().filter(|span| span.name == name);
    let span = spans.next();
    span.unwrap_or_else(|| panic!("no span {name} in {:?}", names(run)))
}

/// The names of the spans, in the order in which they were written.
pub(crate) fn names(run: &Finished) -> Vec<&str> {
    run.spans.iter().map(|span| span.name.as_str()).collect()
}

/// The records of a type.
pub(crate) fn records(run: &Finished, event_type: EventType) -> Vec<&Record> {
    run.records
        .iter()
        .filter(|record| record.event_type() == event_type)
        .collect()
}

/// The payload as JSON.
pub(crate) fn json(payload: &Payload) -> serde_json::Value {
    serde_json::to_value(payload).unwrap()
}

/// Name of this program, which runs without an agent of a name have.
pub(crate) fn program_name() -> String {
    let program = std::env::args().next().unwrap();
    let name = std::path::Path::new(&program)
        .file_stem()
        .unwrap()
        .to_string_lossy();
    name.into_owned()
}
