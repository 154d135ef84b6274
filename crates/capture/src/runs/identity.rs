//! The run that everything belongs to, for `tracer record`, and how it ended.

use serde_json::{Map, Value, json};
use tracer_sdk::TraceParent;
use tracer_sdk::format::{ForkOrigin, SpanId, Timestamp, TraceId, names};
use tracer_sdk::guardrails::GuardrailExceeded;

use super::ids::{random_span_id, random_trace_id};

/// A run that its owner begins and ends: a command that is recorded.
///
/// ```
/// use tracer_capture::runs::RunIdentity;
/// use tracer_sdk::format::Timestamp;
///
/// let run = RunIdentity::new("python agent.py", Timestamp::from_unix_microseconds(0));
/// assert_eq!(run.traceparent(), format!("00-{}-{}-01", run.trace_id, run.root_span_id));
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct RunIdentity {
    /// The run.
    pub trace_id: TraceId,
    /// Its root span.
    pub root_span_id: SpanId,
    /// Its name.
    pub name: String,
    /// When it started.
    pub started_at: Timestamp,
    /// The command and its arguments; secrets among them are redacted.
    pub arguments: Vec<String>,
    /// Working directory of the command.
    pub working_directory: String,
    /// Further attributes of the root.
    pub attributes: Map<String, Value>,
    /// The run that it is forked from.
    pub fork: Option<ForkOrigin>,
}

impl RunIdentity {
    /// A new run with IDs of its own.
    #[must_use]
    pub fn new(name: &str, started_at: Timestamp) -> Self {
        Self {
            trace_id: random_trace_id(),
            root_span_id: random_span_id(),
            name: name.to_owned(),
            started_at,
            arguments: Vec::new(),
            working_directory: String::new(),
            attributes: Map::new(),
            fork: None,
        }
    }

    /// The W3C trace context of the root, for `TRACEPARENT` and `TRACER_TRACEPARENT`.
    #[must_use]
    pub fn traceparent(&self) -> String {
        TraceParent {
            trace_id: self.trace_id,
            span_id: self.root_span_id,
        }
        .to_string()
    }
}

/// End of a run of [`TraceRuns::OneRun`](super::TraceRuns::OneRun) ended.
///
/// ```
/// use tracer_capture::runs::RunEnding;
/// use tracer_sdk::format::Timestamp;
///
/// let ending = RunEnding::new(Timestamp::from_unix_microseconds(0)).failed("ExitCode", "the command exited with 2");
/// assert!(ending.error.is_some());
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct RunEnding {
    /// When it ended.
    pub ended_at: Timestamp,
    /// The error's type and message; `None` when it went well.
    pub error: Option<(String, String)>,
    /// Further attributes of the root, such as an exit code.
    pub attributes: Map<String, Value>,
    /// Further attributes of the error.
    pub error_attributes: Map<String, Value>,
}

impl RunEnding {
    /// It went well.
    #[must_use]
    pub fn new(ended_at: Timestamp) -> Self {
        Self {
            ended_at,
            error: None,
            attributes: Map::new(),
            error_attributes: Map::new(),
        }
    }

    /// A limit stopped it.
    #[must_use]
    pub fn stopped_by(mut self, exceeded: &GuardrailExceeded) -> Self {
        let attributes = [
            (names::GUARDRAIL, Value::from(exceeded.guardrail.as_str())),
            (names::THRESHOLD, json!(exceeded.threshold)),
            (names::ACTUAL, json!(exceeded.actual)),
            (names::UNPRICED_CALLS, json!(exceeded.unpriced_calls)),
        ];
        let is_known = |(name, _): &(names::Name, Value)| {
            exceeded.unpriced_calls > 0 || name.written() != names::UNPRICED_CALLS.written()
        };
        let known = attributes.into_iter().filter(is_known);
        self.error_attributes = known
            .map(|(name, value)| (name.written().to_owned(), value))
            .collect();
        self.failed(exceeded.error_type(), &exceeded.to_string())
    }

    /// It failed.
    #[must_use]
    pub fn failed(mut self, error_type: &str, message: &str) -> Self {
        self.error = Some((error_type.to_owned(), message.to_owned()));
        self
    }
}
