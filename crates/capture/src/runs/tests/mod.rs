//! What becomes of spans, in a folder of the test's own and with a clock that only the test moves.

mod agent_places;
mod at_once;
mod conventions;
mod lifecycle;
mod logs;
mod loops;
mod odd;
mod one_run;
mod properties;
mod routes;
mod sessions;

use std::sync::Arc;
use std::time::Duration;

use opentelemetry_proto::tonic::common::v1::any_value::Value as Any;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue};
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span, Status};
use parking_lot::Mutex;
use tracer_runs::{LoadedRun, RunStatus, RunStore, RunSummary};
use tracer_sdk::format::{RecordedStatus, SpanRecord, Timestamp, TraceId};
use tracer_sdk::settings::Settings;

use super::clock::Clock;
use super::*;
use crate::{Accepted, OtlpSink, Refused};

/// 2026-01-01T00:00:00Z, in nanoseconds.
pub(super) const START: u64 = 1_767_225_600_000_000_000;
pub(super) const MS: u64 = 1_000_000;

/// A clock that stands still until it is moved.
#[derive(Debug, Default)]
struct TestClock(Mutex<Duration>);

impl Clock for TestClock {
    fn elapsed(&self) -> Duration {
        *self.0.lock()
    }

    fn now(&self) -> Timestamp {
        Timestamp::from_unix_nanoseconds(START)
    }
}

/// A data directory with a collector.
pub(super) struct Bench {
    folder: tempfile::TempDir,
    clock: Arc<TestClock>,
    options: CollectorOptions,
    pub(super) collector: Arc<RunCollector>,
}

impl Bench {
    pub(super) fn new() -> Self {
        Self::with(|_| {})
    }

    pub(super) fn with(change: impl FnOnce(&mut CollectorOptions)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut options = CollectorOptions::new(&Settings::with_data_dir(folder.path()));
        options.resume_unfinished = true;
        change(&mut options);
        let clock = Arc::new(TestClock::default());
        let collector = RunCollector::with_clock(options.clone(), clock.clone()).unwrap();
        Self {
            folder,
            clock,
            options,
            collector,
        }
    }

    /// The process dies, and another one goes on.
    pub(super) fn restart(&mut self) {
        let clock: Arc<dyn Clock> = self.clock.clone();
        let mut options = self.options.clone();
        options.resume_unfinished = false;
        // The lock and the memory of the old one go before the new one begins.
        self.collector = RunCollector::with_clock(options, Arc::clone(&clock)).unwrap();
        self.collector = RunCollector::with_clock(self.options.clone(), clock).unwrap();
    }

    pub(super) fn send(&self, spans: Vec<Span>) -> Accepted {
        self.collector.accept_spans(request(spans)).unwrap()
    }

    pub(super) fn pass(&self, seconds: u64) {
        *self.clock.0.lock() += Duration::from_secs(seconds);
        self.collector.tick();
    }

    pub(super) fn directory(&self) -> &std::path::Path {
        self.folder.path()
    }

    pub(super) fn statuses(&self) -> Vec<RunStatus> {
        let runs = RunStore::new(self.folder.path()).list().unwrap_or_default();
        runs.iter().map(RunSummary::status).collect()
    }

    pub(super) fn run(&self, trace: u128) -> LoadedRun {
        let id = TraceId::from_u128(trace).unwrap().to_string();
        LoadedRun::read(&self.folder.path().join("runs").join(id)).unwrap()
    }

    pub(super) fn staged(&self) -> usize {
        let entries = std::fs::read_dir(self.folder.path().join("staging"));
        entries.map_or(0, |entries| {
            entries
                .map(|entry| entry.unwrap().file_name())
                .filter(|name| name != ".lock" && name != "sessions")
                .count()
        })
    }
}

pub(super) fn named<'a>(run: &'a LoadedRun, name: &str) -> &'a SpanRecord {
    run.spans.iter().find(|span| span.name == name).unwrap()
}

pub(super) fn text(text: &str) -> AnyValue {
    AnyValue {
        value: Some(Any::StringValue(text.to_owned())),
    }
}

pub(super) fn attribute(key: &str, value: AnyValue) -> KeyValue {
    KeyValue {
        key: key.to_owned(),
        value: Some(value),
        ..KeyValue::default()
    }
}

pub(super) fn request(spans: Vec<Span>) -> Vec<ResourceSpans> {
    vec![ResourceSpans {
        resource: Some(Resource {
            attributes: vec![
                attribute("service.name", text("weather-app")),
                attribute("user.email", text("ada@example.org")),
                attribute("process.command_args", text("secret")),
            ],
            ..Resource::default()
        }),
        scope_spans: vec![ScopeSpans {
            spans,
            ..ScopeSpans::default()
        }],
        ..ResourceSpans::default()
    }]
}

/// A span of trace `trace` that starts and ends some milliseconds after the start.
pub(super) fn span(trace: u128, id: u64, parent: u64, name: &str, from_ms: u64, to_ms: u64) -> Span {
    Span {
        trace_id: trace.to_be_bytes().to_vec(),
        span_id: id.to_be_bytes().to_vec(),
        parent_span_id: if parent == 0 {
            Vec::new()
        } else {
            parent.to_be_bytes().to_vec()
        },
        name: name.to_owned(),
        kind: 1,
        start_time_unix_nano: START + from_ms * MS,
        end_time_unix_nano: START + to_ms * MS,
        ..Span::default()
    }
}

pub(super) fn with(mut span: Span, attributes: &[(&str, &str)]) -> Span {
    span.attributes
        .extend(attributes.iter().map(|(key, value)| attribute(key, text(value))));
    span
}

pub(super) fn agent(trace: u128, id: u64, parent: u64) -> Span {
    let span = span(trace, id, parent, "invoke_agent weather", 0, 100);
    with(
        span,
        &[
            ("gen_ai.operation.name", "invoke_agent"),
            ("gen_ai.agent.name", "weather"),
        ],
    )
}

pub(super) fn chat(trace: u128, id: u64, parent: u64) -> Span {
    let span = span(trace, id, parent, "chat gpt-5", 10, 40);
    with(
        span,
        &[
            ("gen_ai.operation.name", "chat"),
            ("gen_ai.request.model", "gpt-5"),
        ],
    )
}

pub(super) fn tool(trace: u128, id: u64, parent: u64) -> Span {
    let span = span(trace, id, parent, "execute_tool lookup", 50, 90);
    with(
        span,
        &[
            ("gen_ai.operation.name", "execute_tool"),
            ("gen_ai.tool.name", "lookup"),
        ],
    )
}

pub(super) fn failed(mut span: Span) -> Span {
    span.status = Some(Status {
        message: "it broke".to_owned(),
        code: 2,
    });
    span
}
