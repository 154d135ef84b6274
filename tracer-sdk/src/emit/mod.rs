//! What happens: runs, contexts, spans and recorders, which user code calls.
//!
//! Rules that hold everywhere here: no user code runs and no user value drops while internal state is borrowed or
//! locked; a fault of storage is counted and told, and never reaches the traced program.

mod calls;
#[cfg(any(test, feature = "testing"))]
pub(crate) mod capture;
mod clock;
pub(crate) mod context;
mod environment;
pub(crate) mod error;
mod flusher;
#[cfg(all(test, unix))]
mod fork_tests;
pub(crate) mod future;
mod ids;
mod open_span;
pub(crate) mod panic;
mod pool;
mod progress;
pub(crate) mod recording;
mod registry;
mod root;
pub(crate) mod run;
mod run_state;
pub(crate) mod scope;
mod standard_error;
mod start;
mod traceparent;
mod warning;

pub use calls::llm::{LlmCall, LlmSpan, llm_call};
pub use calls::record_error;
pub use calls::span::{Span, SpanBuilder, span};
pub use calls::state::{StateUpdate, state};
pub use calls::tool::{ToolCall, ToolSpan, tool_call};
pub use context::{Context, ContextGuard};
pub use error::ErrorInfo;
pub use future::{InContext, TraceFutureExt, Traced};
pub use registry::unattached_records;
pub use run::{Run, RunGuard, traced_run};
pub use run_state::RunStats;
