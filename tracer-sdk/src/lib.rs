#![doc = include_str!("../docs/crate.md")]

mod disk;
mod emit;
pub mod format;
pub mod guardrails;
mod input;
// For `tracer-insight`, which judges loops by the same comparison; no promise to anybody else.
#[doc(hidden)]
pub mod loops;
#[doc(hidden)]
pub mod macro_support;
pub mod maintenance;
mod process;
pub mod read;
mod redact;
pub mod settings;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
#[cfg(test)]
mod vectors;
mod write;

/// Secrets in texts and values, replaced by the rules that recording follows (decisions, section 6).
///
/// Whatever is recorded is redacted already. [`Redaction`](redaction::Redaction) serves what comes from elsewhere, such
/// as a program's output, and checks again what leaves the machine: another emitter may have redacted less.
pub mod redaction {
    pub use crate::redact::Redaction;
}

pub use emit::{
    Context, ContextGuard, ErrorInfo, InContext, LlmCall, LlmSpan, Run, RunGuard, RunStats, Span,
    SpanBuilder, StateUpdate, ToolCall, ToolSpan, TraceFutureExt, Traced, llm_call, record_error, span,
    state, tool_call, traced_run, unattached_records,
};
pub use format::Usage;
pub use guardrails::{Guardrail, GuardrailExceeded, Guardrails};
pub use read::spans_to_events;
pub use settings::Config;
#[cfg(feature = "macros")]
pub use tracer_macros::trace;

#[doc(hidden)]
pub use macro_support as __private;
