//! The span record: one line of `spans.jsonl`, as a reader holds it (specification, *Span record*).

use serde::Serialize;
use serde_json::{Map, Value};

use super::{SpanId, StoredTime, TraceId};

words! {
    /// OpenTelemetry's span kind.
    ///
    /// ```
    /// use tracer_sdk::format::SpanKind;
    /// use tracer_sdk::testing::capture;
    ///
    /// let run = capture(|| tracer_sdk::llm_call("gpt-5").record());
    /// assert_eq!(run.spans[0].kind, SpanKind::Client);
    /// ```
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    #[serde(rename_all = "SCREAMING_SNAKE_CASE")]
    pub enum SpanKind in tracer_sdk::format {
        /// Work inside the program.
        Internal = "INTERNAL",
        /// A request to somebody else: a model call.
        Client = "CLIENT",
        /// The answering side of a request.
        Server = "SERVER",
        /// Puts a message in a queue.
        Producer = "PRODUCER",
        /// Takes a message from a queue.
        Consumer = "CONSUMER",
    }
}

words! {
    /// Status of a span.
    ///
    /// ```
    /// use tracer_sdk::format::StatusCode;
    /// use tracer_sdk::testing::capture;
    ///
    /// let run = capture(|| tracer_sdk::tool_call("search").fail("no index").record());
    /// assert_eq!(run.spans[0].status_code, StatusCode::Error);
    /// ```
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    #[serde(rename_all = "SCREAMING_SNAKE_CASE")]
    pub enum StatusCode in tracer_sdk::format {
        /// It went well.
        Ok = "OK",
        /// It failed.
        Error = "ERROR",
        /// The emitter did not say.
        Unset = "UNSET",
    }
}

/// Something that happened within a span.
///
/// ```
/// use tracer_sdk::testing::capture;
///
/// let run = capture(|| tracer_sdk::tool_call("search").args(&["refunds"]).record());
/// let event = &run.spans[0].events[0];
/// assert_eq!((event.name.as_str(), &event.attributes["args"]), ("tracer.tool.args", &r#"["refunds"]"#.into()));
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SpanEvent {
    /// Name of the event.
    pub name: String,
    /// When.
    pub timestamp: StoredTime,
    /// The details.
    #[cfg_attr(feature = "schema", schemars(schema_with = "super::schema::attributes"))]
    pub attributes: Map<String, Value>,
}

impl SpanEvent {
    /// Event of a time, without details.
    ///
    /// ```
    /// use tracer_sdk::format::{SpanEvent, Timestamp, names};
    ///
    /// let event = SpanEvent::new(names::events::TOOL_RESULT, Timestamp::from_unix_microseconds(0)).with("result", "found");
    /// assert_eq!(event.attributes["result"], "found");
    /// ```
    #[must_use]
    pub fn new(name: impl Into<String>, timestamp: impl Into<StoredTime>) -> Self {
        Self {
            name: name.into(),
            timestamp: timestamp.into(),
            attributes: Map::new(),
        }
    }

    /// The event with one more detail; null is none.
    #[must_use]
    pub fn with(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        set(&mut self.attributes, key.into(), value.into());
        self
    }
}

/// One stored span, exactly as the file has it: reading normalises, storing is never rewritten.
///
/// ```
/// use tracer_sdk::format::{SpanKind, StatusCode};
/// use tracer_sdk::testing::capture;
///
/// let run = capture(|| tracer_sdk::llm_call("gpt-5").record());
/// let call = &run.spans[0];
/// assert_eq!((call.name.as_str(), call.kind, call.status_code), ("gpt-5", SpanKind::Client, StatusCode::Ok));
/// assert_eq!(call.parent_span_id, Some(run.spans[1].span_id));
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SpanRecord {
    /// The run.
    pub trace_id: TraceId,
    /// The span.
    pub span_id: SpanId,
    /// The span that this one happened in; `None` for the root.
    pub parent_span_id: Option<SpanId>,
    /// A model name, a tool name or a run name.
    pub name: String,
    /// OpenTelemetry's span kind.
    pub kind: SpanKind,
    /// When it started.
    pub start_time: StoredTime,
    /// When it ended; `None` while it has not.
    pub end_time: Option<StoredTime>,
    /// Duration, in milliseconds.
    pub duration_ms: Option<u64>,
    /// Key and value pairs.
    #[cfg_attr(feature = "schema", schemars(schema_with = "super::schema::attributes"))]
    pub attributes: Map<String, Value>,
    /// Events within the span.
    pub events: Vec<SpanEvent>,
    /// Status.
    pub status_code: StatusCode,
    /// Error description; empty without an error.
    pub status_description: String,
}

fn set(attributes: &mut Map<String, Value>, key: String, value: Value) {
    if !value.is_null() {
        attributes.insert(key, value);
    }
}

impl SpanRecord {
    /// Span inside the program, of unset status, without attributes and events; its duration is what its times give.
    ///
    /// ```
    /// use tracer_sdk::format::{SpanRecord, Timestamp, names};
    ///
    /// let start = Timestamp::from_unix_microseconds(0);
    /// let end = Timestamp::from_unix_microseconds(5_000);
    /// let (run, id) = ("11".repeat(16).parse()?, "22".repeat(8).parse()?);
    /// let mut span = SpanRecord::new(run, id, None, "search", (start, end));
    /// span.set(names::TOOL_NAME, "search");
    /// span.set("gen_ai.request.top_p", None::<f64>); // not known: nothing is set
    /// assert_eq!(span.attributes.len(), 1);
    /// # Ok::<(), tracer_sdk::format::InvalidId>(())
    /// ```
    #[must_use]
    pub fn new(
        trace_id: TraceId,
        span_id: SpanId,
        parent_span_id: Option<SpanId>,
        name: impl Into<String>,
        (start, end): (impl Into<StoredTime>, impl Into<StoredTime>),
    ) -> Self {
        Self {
            trace_id,
            span_id,
            parent_span_id,
            name: name.into(),
            kind: SpanKind::Internal,
            start_time: start.into(),
            end_time: Some(end.into()),
            duration_ms: None,
            attributes: Map::new(),
            events: Vec::new(),
            status_code: StatusCode::Unset,
            status_description: String::new(),
        }
    }

    /// Sets an attribute. Null is what is not known, and sets none.
    pub fn set(&mut self, key: impl Into<String>, value: impl Into<Value>) {
        set(&mut self.attributes, key.into(), value.into());
    }

    /// Returns whether this is the span of the run itself.
    ///
    /// ```
    /// use tracer_sdk::testing::capture;
    ///
    /// let run = capture(|| tracer_sdk::tool_call("search").record());
    /// assert!(!run.spans[0].is_root());
    /// assert!(run.spans[1].is_root());
    /// ```
    #[must_use]
    pub fn is_root(&self) -> bool {
        self.parent_span_id.is_none()
    }
}
