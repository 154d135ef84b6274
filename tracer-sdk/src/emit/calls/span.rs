//! Structural spans: a name, a duration, children, and attributes of the user's own (decisions, section 1).

use super::methods::{described_methods, timed_methods};
use crate::emit::open_span::{EndTime, OnDrop, OpenSpan};

use tracer_format::EventType;
use tracer_format::names;

/// Begins a structural span: a phase, a sub-agent, anything that other recordings happen inside.
///
/// ```
/// let folder = tempfile::tempdir()?;
/// let config = tracer_sdk::Config::new().data_dir(folder.path());
/// let run = tracer_sdk::Run::new("research").config(&config).start();
/// let mut plan = tracer_sdk::span("plan").attribute("depth", &3).start();
/// plan.in_scope(|| tracer_sdk::tool_call("search").record())?;
/// plan.end();
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[inline]
pub fn span(name: impl AsRef<str>) -> SpanBuilder {
    SpanBuilder {
        span: OpenSpan::begin(EventType::Unknown, name.as_ref()),
    }
}

/// Begins the span of a sub-agent (`gen_ai.operation.name` = `invoke_agent`). Its model and tool calls belong within it.
///
/// ```
/// use tracer_sdk::testing::capture;
///
/// let run = capture(|| {
///     let researcher = tracer_sdk::agent("researcher").start();
///     researcher.in_scope(|| tracer_sdk::llm_call("gpt-5").record())
/// });
/// assert_eq!(run.spans[1].attributes["gen_ai.agent.name"], "researcher");
/// assert_eq!(run.meta.counts.llm_calls, 1);
/// ```
pub fn agent(name: impl AsRef<str>) -> SpanBuilder {
    SpanBuilder {
        span: OpenSpan::of_agent(name.as_ref()),
    }
}

/// Begins the span of an embedding of texts by a model (`gen_ai.operation.name` = `embeddings`). It is no model call.
///
/// ```
/// use tracer_sdk::testing::capture;
///
/// let run = capture(|| {
///     tracer_sdk::embedding("text-embedding-3-small").attribute("texts", &12).start().end();
/// });
/// assert_eq!(run.spans[0].attributes["gen_ai.request.model"], "text-embedding-3-small");
/// assert_eq!(run.meta.counts.llm_calls, 0);
/// ```
pub fn embedding(model: impl AsRef<str>) -> SpanBuilder {
    SpanBuilder {
        span: OpenSpan::of_operation("embeddings", names::REQUEST_MODEL, model.as_ref()),
    }
}

/// Begins the span of a retrieval of documents from a source (`gen_ai.operation.name` = `retrieval`).
///
/// ```
/// use tracer_sdk::testing::capture;
///
/// let run = capture(|| {
///     tracer_sdk::retrieval("handbook").attribute("documents", &3).start().end();
/// });
/// assert_eq!(run.spans[0].attributes["gen_ai.data_source.id"], "handbook");
/// ```
pub fn retrieval(source: impl AsRef<str>) -> SpanBuilder {
    SpanBuilder {
        span: OpenSpan::of_operation("retrieval", names::DATA_SOURCE, source.as_ref()),
    }
}

/// A structural span that is being described.
///
/// ```
/// use tracer_sdk::testing::capture;
///
/// let run = capture(|| {
///     let plan = tracer_sdk::span("plan").attribute("depth", &3).start();
///     plan.end();
/// });
/// assert_eq!((run.spans[0].name.as_str(), &run.spans[0].attributes["depth"]), ("plan", &3.into()));
/// ```
#[must_use = "call `.start()` to begin the span"]
#[derive(Debug)]
pub struct SpanBuilder {
    span: OpenSpan,
}

impl SpanBuilder {
    described_methods!();

    /// Begins the span. Structure is not a call: no guardrail refuses it.
    ///
    /// ```
    /// use tracer_sdk::testing::capture;
    ///
    /// let run = capture(|| {
    ///     let mut plan = tracer_sdk::span("plan").start();
    ///     plan.in_scope(|| tracer_sdk::tool_call("search").record())
    /// });
    /// assert_eq!(run.spans[0].parent_span_id, Some(run.spans[1].span_id));
    /// ```
    #[inline]
    pub fn start(self) -> Span {
        // No limit counts structural spans, so `start` has nothing to refuse.
        Span {
            span: self.span.start(OnDrop::End).unwrap_or_default(),
        }
    }
}

/// A structural span that is under way. It ends when it is dropped.
///
/// ```
/// use tracer_sdk::testing::capture;
///
/// let run = capture(|| {
///     let mut plan = tracer_sdk::span("plan").start();
///     let _inside = plan.enter();
///     tracer_sdk::tool_call("search").record()
/// });
/// let names: Vec<&str> = run.spans.iter().map(|span| span.name.as_str()).collect();
/// assert_eq!(names, ["search", "plan", "captured"]);
/// ```
#[must_use = "the span ends when this is dropped: bind it with `let mut span = …`"]
#[derive(Debug)]
pub struct Span {
    span: OpenSpan,
}

impl Span {
    timed_methods!();

    /// Ends the span now. Dropping it does the same.
    ///
    /// ```
    /// use tracer_sdk::testing::capture;
    ///
    /// let run = capture(|| {
    ///     let plan = tracer_sdk::span("plan").start();
    ///     plan.end();
    ///     tracer_sdk::tool_call("search").record() // not within the plan any more
    /// });
    /// assert_ne!(run.spans[1].parent_span_id, Some(run.spans[0].span_id));
    /// ```
    #[inline]
    pub fn end(self) {
        // A guardrail that this trips is sticky: the next recorder call returns it.
        let _ = self.span.end(EndTime::Now);
    }
}
