//! From spans and logs to runs on disk (capture, section 2).
//!
//! [`RunCollector`] is the [`OtlpSink`](crate::OtlpSink) of receivers and importers: what arrives is converted, staged
//! until it is known to be an agent's, appended to its run, and completed when its root has ended and all is quiet.

mod attributes;
mod clock;
mod collector;
mod conversation;
mod convert;
mod identity;
mod ids;
mod join;
mod logs;
mod loops;
mod marks;
mod open_traces;
mod options;
mod placement;
mod roots;
mod trace;

#[cfg(test)]
mod tests;

pub use collector::RunCollector;
pub use conversation::CodingAgent;
pub use identity::{RunEnding, RunIdentity};
pub(crate) use ids::{derived_span_id, derived_trace_id, random_span_id, random_trace_id, synthetic_root};
pub(crate) use logs::conversation_run;
pub use options::{CaptureError, CollectorOptions, CollectorSummary, TraceRuns};
pub(crate) use roots::complete_under;
