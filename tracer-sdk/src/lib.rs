#![doc = include_str!("../docs/crate.md")]

// For the libraries of the command; no promise to anybody else.
#[doc(hidden)]
pub mod disk;
mod emit;
pub mod guardrails;
mod input;
#[doc(hidden)]
pub mod macro_support;
#[cfg(feature = "prices")]
pub mod prices;
mod private_files;
mod process;
mod redact;
pub mod settings;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod write;

/// Types of a run on disk: spans, metadata, projected records, names, IDs, times, versions, problems.
pub mod format {
    pub use tracer_format::{
        Counts, Dropped, ErrorPayload, EventType, ForkOrigin, GateTrial, InvalidId, InvalidTag, InvalidTime,
        InvalidUsd, LIVE_FILE, LOCK_FILE, MAX_TAG_KEY_BYTES, MAX_TAG_VALUE_BYTES, MAX_TAGS, META_FILE,
        OtherMarks, Outcome, Payload, Problem, ProblemCode, RUNS_FOLDER, Record, RecordedStatus, RunMeta,
        SPANS_FILE, SPEC_VERSION, ServiceCall, SpanEvent, SpanId, SpanKind, SpanRecord, StatusCode,
        StoredTime, Support, TAGS_VARIABLE, Tags, Timestamp, TraceId, TranscriptOrigin, Usage, UsageGap, Usd,
        error_type, may_hold_content, names, support,
    };
}

/// Secrets in texts and values, replaced by the rules that recording follows (decisions, section 6).
///
/// Whatever is recorded is redacted already. [`Redaction`](redaction::Redaction) serves what comes from elsewhere, such
/// as a program's output, and checks again what leaves the machine: another emitter may have redacted less.
pub mod redaction {
    pub use crate::redact::Redaction;
}

/// Spans of libraries that speak `tracing` as runs; feature `tracing`.
///
/// [`layer()`](fn@layer) is all that most programs need; [`builder`](layer::builder) describes one that differs.
#[cfg(feature = "tracing")]
pub mod layer {
    pub use crate::emit::layer::{LayerBuilder, RunOn, builder};
}

#[cfg(feature = "tracing")]
pub use emit::layer::layer;
pub use emit::{
    Context, ContextGuard, ErrorInfo, InContext, LimitedToolCall, LlmCall, LlmSpan, Run, RunGuard, RunStats,
    Span, SpanBuilder, StateUpdate, TimedOut, ToolCall, ToolCallChunk, ToolSpan, TraceFutureExt, Traced,
    agent, check, embedding, llm_call, record_error, retrieval, span, state, tool_call, traced_run,
    unattached_records,
};
pub use guardrails::{Guardrail, GuardrailExceeded, Guardrails};
pub use settings::Config;
// For the libraries of the command, which judge loops by the same comparison; no promise to anybody else.
#[doc(hidden)]
pub use tracer_format::{TRACE_PARENT_VARIABLE, TraceParent, loops, words};
pub use tracer_format::{Usage, spans_to_events};
#[cfg(feature = "macros")]
pub use tracer_macros::trace;

#[doc(hidden)]
pub use macro_support as __private;
