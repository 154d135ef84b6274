//! Recording: runs, contexts, spans and recorders, which user code calls.
//!
//! Rules that hold everywhere here: no user code runs and no user value drops while internal state is borrowed or
//! locked; a fault of storage is counted and reported, and never reaches the traced program.

mod calls;
mod clock;
pub(crate) mod context;
mod conventions;
pub(crate) mod cut_short;
mod environment;
pub(crate) mod error;
mod flusher;
#[cfg(all(test, unix))]
mod fork_tests;
mod given_tags;
mod ids;
pub(crate) mod in_context;
#[cfg(feature = "tracing")]
pub(crate) mod layer;
pub(crate) mod observed;
mod open_span;
pub(crate) mod panic;
mod panic_hook;
mod pool;
mod progress;
pub(crate) mod recording;
pub(crate) mod run;
#[cfg(feature = "prices")]
mod run_costs;
mod run_state;
pub(crate) mod scope;
pub(crate) mod site;
mod start;
mod streamed;
pub(crate) mod traced;
mod unattached;
#[cfg(feature = "providers")]
mod vendor_events;
mod warning;

pub use calls::llm::{LlmCall, LlmSpan, llm_call};
pub use calls::record_error;
pub use calls::span::{Span, SpanBuilder, agent, embedding, retrieval, span};
pub use calls::state::{StateUpdate, state};
pub use calls::tool::{LimitedToolCall, TimedOut, ToolCall, ToolSpan, tool_call};
pub use context::{Context, ContextGuard};
pub use error::ErrorInfo;
pub use in_context::{InContext, TraceFutureExt};
pub use run::{Run, RunGuard, check, traced_run};
pub use run_state::RunStats;
#[cfg(any(test, feature = "testing"))]
pub(crate) use start::start_captured_run;
pub use streamed::ToolCallChunk;
pub use traced::Traced;
pub use unattached::unattached_records;
