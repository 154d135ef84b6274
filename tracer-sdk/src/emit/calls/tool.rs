//! Tool calls (decisions, section 1; specification, `TOOL_CALL`).

use std::borrow::Cow;

use serde::Serialize;

use super::methods::{call_methods, described_methods, timed_call_methods, timed_methods};

use crate::emit::open_span::{OnDrop, OpenSpan};
use crate::format::EventType;
use crate::guardrails::GuardrailExceeded;

/// Begins the record of one call of a tool.
///
/// `record()` writes it after the fact; `start()` times it. Outside of a run it does nothing.
///
/// ```
/// use serde_json::json;
/// use tracer_sdk::tool_call;
///
/// let folder = tempfile::tempdir()?;
/// let config = tracer_sdk::Config::new().data_dir(folder.path());
/// let run = tracer_sdk::Run::new("look up").config(&config).start();
/// tool_call("search").args(&json!({"query": "refunds"})).result(&json!(["refunds.md"])).record()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[inline]
pub fn tool_call(name: impl Into<Cow<'static, str>>) -> ToolCall {
    ToolCall {
        span: OpenSpan::begin(EventType::ToolCall, name),
    }
}

/// A tool call that is being described.
///
/// ```
/// use serde_json::json;
/// use tracer_sdk::testing::capture;
///
/// let run = capture(|| {
///     tracer_sdk::tool_call("search")
///         .args(&json!({"query": "refunds"}))
///         .result(&json!(["refunds.md"]))
///         .record()
/// });
/// assert_eq!(run.meta.counts.tool_calls, 1);
/// assert_eq!(run.spans[0].name, "search");
/// ```
#[must_use = "call `.record()?` to write it, or `.start()?` to time it"]
#[derive(Debug)]
pub struct ToolCall {
    span: OpenSpan,
}

impl ToolCall {
    described_methods!();
    call_methods!();

    /// What the tool is given.
    ///
    /// ```
    /// use serde_json::json;
    /// use tracer_sdk::testing::capture;
    ///
    /// let run = capture(|| tracer_sdk::tool_call("search").args(&json!({"api_key": "k-1", "limit": 5})).record());
    /// let stored = &run.spans[0].events[0].attributes["args"];
    /// assert_eq!(stored, r#"{"api_key":"__REDACTED__","limit":5}"#);
    /// ```
    #[inline]
    pub fn args<T: Serialize + ?Sized>(mut self, arguments: &T) -> Self {
        self.span.edit(|span| span.arguments(arguments));
        self
    }

    /// What the tool gave.
    ///
    /// ```
    /// use tracer_sdk::testing::capture;
    ///
    /// let run = capture(|| tracer_sdk::tool_call("search").result(&["refunds.md"]).record());
    /// assert_eq!(run.spans[0].events[0].attributes["result"], r#"["refunds.md"]"#);
    /// ```
    pub fn result<T: Serialize + ?Sized>(mut self, result: &T) -> Self {
        self.span.edit(|span| span.result(result));
        self
    }

    /// Starts timing the call, just before the tool runs.
    ///
    /// ```
    /// use serde_json::json;
    ///
    /// let folder = tempfile::tempdir()?;
    /// let config = tracer_sdk::Config::new().data_dir(folder.path());
    /// let run = tracer_sdk::Run::new("look up").config(&config).start();
    /// let mut call = tracer_sdk::tool_call("read_file").args(&json!({"path": "refunds.md"})).start()?;
    /// match std::fs::read_to_string("refunds.md") {
    ///     Ok(text) => call.result(&text),
    ///     Err(error) => call.fail(&error),
    /// };
    /// call.end()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`GuardrailExceeded`] when the call must not be made: the run has crossed one of its limits, or would with this
    /// call.
    #[inline]
    pub fn start(self) -> Result<ToolSpan, GuardrailExceeded> {
        let on_drop = OnDrop::Cancel("the call was dropped before it had a result");
        let span = self.span.start(on_drop)?;
        Ok(ToolSpan { span })
    }
}

/// A tool call that is under way. It ends when [`ToolSpan::end`] is called or when it is dropped; one that is dropped
/// without a result or an error is reported as cancelled.
///
/// ```
/// use tracer_sdk::testing::capture;
///
/// let run = capture(|| {
///     let mut call = tracer_sdk::tool_call("answer").start()?;
///     call.in_scope(|| tracer_sdk::llm_call("gpt-5").record())?; // the tool asks a model
///     call.result("42");
///     call.end()
/// });
/// assert_eq!(run.spans[0].parent_span_id, Some(run.spans[1].span_id));
/// ```
#[must_use = "the call ends when this is dropped: bind it with `let mut call = …`"]
#[derive(Debug)]
pub struct ToolSpan {
    span: OpenSpan,
}

impl ToolSpan {
    timed_methods!();
    timed_call_methods!();

    /// What the tool gave.
    ///
    /// ```
    /// use tracer_sdk::testing::capture;
    ///
    /// let run = capture(|| {
    ///     let mut call = tracer_sdk::tool_call("search").start()?;
    ///     call.result(&["refunds.md"]);
    ///     call.end()
    /// });
    /// assert_eq!(run.spans[0].events[0].attributes["result"], r#"["refunds.md"]"#);
    /// ```
    pub fn result<T: Serialize + ?Sized>(&mut self, result: &T) -> &mut Self {
        self.span.edit(|span| span.result(result));
        self
    }
}
