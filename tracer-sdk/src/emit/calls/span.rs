//! Structural spans: a name, a duration, children, and attributes of the user's own (decisions, section 1).

use std::borrow::Cow;
use std::fmt::Display;

use serde::Serialize;

use super::methods::timed_methods;
use crate::emit::error::ErrorInfo;
use crate::emit::open_span::{EndTime, OnDrop, OpenSpan};

use crate::format::EventType;

/// Begins a structural span: a phase, a sub-agent, anything that other recordings happen inside.
///
/// ```
/// # let folder = tempfile::tempdir().unwrap();
/// # let config = tracer_sdk::Config::new().data_dir(folder.path());
/// let run = tracer_sdk::Run::new("research").config(&config).start();
/// let mut plan = tracer_sdk::span("plan").attribute("depth", &3).start();
/// plan.in_scope(|| tracer_sdk::tool_call("search").record())?;
/// plan.end();
/// # Ok::<(), tracer_sdk::GuardrailExceeded>(())
/// ```
#[inline]
pub fn span(name: impl Into<Cow<'static, str>>) -> SpanBuilder {
    SpanBuilder {
        span: OpenSpan::begin(EventType::Unknown, name),
    }
}

/// A structural span that is being described.
///
/// ```
/// # let recorded = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/recorded.rs"));
/// let run = recorded(|| {
///     let plan = tracer_sdk::span("plan").attribute("depth", &3).start();
///     plan.end();
///     Ok(())
/// });
/// assert_eq!((run.spans[0].name.as_str(), &run.spans[0].attributes["depth"]), ("plan", &3.into()));
/// ```
#[must_use = "call `.start()` to begin the span"]
#[derive(Debug)]
pub struct SpanBuilder {
    span: OpenSpan,
}

impl SpanBuilder {
    /// Adds an attribute of your own; a structured value is stored as JSON text.
    ///
    /// ```
    /// # let recorded = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/recorded.rs"));
    /// let run = recorded(|| {
    ///     tracer_sdk::span("plan").attribute("depth", &3).attribute("goals", &["find", "tell"]).start().end();
    ///     Ok(())
    /// });
    /// assert_eq!(run.spans[0].attributes["depth"], 3);
    /// assert_eq!(run.spans[0].attributes["goals"], r#"["find","tell"]"#);
    /// ```
    pub fn attribute<T: Serialize + ?Sized>(mut self, key: &str, value: &T) -> Self {
        self.span.edit(|span| {
            span.attribute(key, value);
        });
        self
    }

    /// Attaches metadata of your own, an object; it comes back as `meta` of the projected record.
    ///
    /// ```
    /// # let recorded = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/recorded.rs"));
    /// use serde_json::json;
    ///
    /// let run = recorded(|| {
    ///     tracer_sdk::span("plan").meta(&json!({"step": 7})).start().end();
    ///     Ok(())
    /// });
    /// assert_eq!(run.records()[1].meta["step"], 7);
    /// ```
    pub fn meta<T: Serialize + ?Sized>(mut self, value: &T) -> Self {
        self.span.edit(|span| {
            span.meta(value);
        });
        self
    }

    /// Begins the span. Structure is not a call: no guardrail refuses it.
    ///
    /// ```
    /// # let recorded = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/recorded.rs"));
    /// let run = recorded(|| {
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
/// # let recorded = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/recorded.rs"));
/// let run = recorded(|| {
///     let mut plan = tracer_sdk::span("plan").start();
///     let _inside = plan.enter();
///     tracer_sdk::tool_call("search").record()
/// });
/// let names: Vec<&str> = run.spans.iter().map(|span| span.name.as_str()).collect();
/// assert_eq!(names, ["search", "plan", "example"]);
/// ```
#[must_use = "the span ends when this is dropped: bind it with `let mut span = …`"]
#[derive(Debug)]
pub struct Span {
    span: OpenSpan,
}

impl Span {
    timed_methods!();

    /// Says that the work in this span failed.
    ///
    /// ```
    /// # let recorded = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/recorded.rs"));
    /// let run = recorded(|| {
    ///     let mut plan = tracer_sdk::span("plan").start();
    ///     plan.fail("no plan was found");
    ///     Ok(())
    /// });
    /// assert_eq!(run.spans[0].status_description, "no plan was found");
    /// ```
    pub fn fail<E: Display + ?Sized>(&mut self, error: &E) -> &mut Self {
        self.span.edit(|span| {
            span.fail(ErrorInfo::of(error));
        });
        self
    }

    /// Ends the span now. Dropping it does the same.
    ///
    /// ```
    /// # let recorded = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/recorded.rs"));
    /// let run = recorded(|| {
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
