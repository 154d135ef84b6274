//! Log events about a tool, in place of fields of its span.
//!
//! adk-rust logs the arguments within the span, and the result or the error right after it has left it.

use std::cell::Cell;
use std::sync::Weak;

use super::attributes::SentAttributes;
use super::span::{LibrarySpan, WeakLibrarySpan};
use super::vocabulary::NAMED_TOOL;

thread_local! {
    /// The span of a tool that this thread left last.
    static LEFT: Cell<WeakLibrarySpan> = const { Cell::new(Weak::new()) };
}

/// The thread leaves the span of a tool.
pub(super) fn tool_left(span: &LibrarySpan) {
    // A thread that is ending has no place for it, and logs nothing more of the tool.
    let _ = LEFT.try_with(|left| left.set(span.downgrade()));
}

/// The span of the tool that an event names: the one around it, or the one that the thread left just before. A tool
/// that runs concurrently with others of its name is left by the thread that logs its end.
pub(super) fn span_of_tool(event: &SentAttributes, around: Option<&LibrarySpan>) -> Option<LibrarySpan> {
    let tool = event.text(NAMED_TOOL)?;
    let found = around.filter(|around| around.is_of_tool(tool)).cloned();
    found.or_else(|| left_span().filter(|left| left.is_of_tool(tool)))
}

fn left_span() -> Option<LibrarySpan> {
    LEFT.try_with(|left| {
        let span = left.take();
        let open = LibrarySpan::upgrade(&span);
        left.set(span);
        open
    })
    .ok()?
}

/// Outcome of a tool that an event reports, in the words of a span's status.
pub(super) fn outcome_of_tool(event: &SentAttributes) -> SentAttributes {
    let failure = match event.text("message") {
        Some("tool_error") => event.text("error").unwrap_or("the tool failed").to_owned(),
        Some("tool_timeout") => "the tool timed out".to_owned(),
        _ => return SentAttributes::default(),
    };
    let mut outcome = SentAttributes::default();
    outcome.set("otel.status_code", "error".into());
    outcome.set("otel.status_description", failure.into());
    outcome
}
