//! The recorders: model calls, tool calls, states, errors and plain spans.
//!
//! Each is a builder that serialises what it is given at once, through redaction and truncation, and does nothing
//! outside of a run. `record()` writes it after the fact; `start()` turns it into a timed span.

pub(crate) mod llm;
mod methods;
pub(crate) mod span;
pub(crate) mod state;
pub(crate) mod tool;

use std::error::Error;

use super::error::ErrorInfo;
use super::open_span::{EndTime, OpenSpan};

use crate::guardrails::GuardrailExceeded;
use tracer_format::EventType;
use tracer_format::names::span_names;

/// Records an error that the program caught and went on from, with its causes (specification, `ERROR`).
///
/// An error that ends the run needs no recording: return it, or hand it to [`RunGuard::fail`](crate::RunGuard::fail).
///
/// ```
/// let folder = tempfile::tempdir()?;
/// let config = tracer_sdk::Config::new().data_dir(folder.path());
/// let run = tracer_sdk::Run::new("lenient").config(&config).start();
/// if let Err(error) = "x".parse::<u8>() {
///     tracer_sdk::record_error(&error)?;
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// [`GuardrailExceeded`] when the run has crossed one of its limits.
pub fn record_error<E: Error + ?Sized>(error: &E) -> Result<(), GuardrailExceeded> {
    let mut span = OpenSpan::begin(EventType::Error, span_names::ERROR);
    span.edit(|span| span.fail(ErrorInfo::with_causes(error)));
    span.end(EndTime::Now)
}
