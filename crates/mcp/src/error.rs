//! Why a tool gives no answer, in words for the coding agent; and why the server ended.

use tracer_catalog::query::QueryError;
use tracer_catalog::{DatabaseError, FetchError};
use tracer_insight::marked_text::content;
use tracer_insight::outline::InvalidCursor;
use tracer_insight::text::counted;
use tracer_runs::{InvalidRun, RecordError, SelectError, StoreError};

/// Bytes of a message from elsewhere.
const MAX_MESSAGE_BYTES: usize = 600;
/// Runs that are named as candidates.
const MAX_CANDIDATES: usize = 5;

/// The server could not answer any longer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The client does not speak the protocol, or went away before the first request.
    #[error("the client ended the connection before it was initialized")]
    NotInitialized(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The server stopped.
    #[error("the server stopped")]
    Stopped(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// Why a tool gives no answer: what failed, and what to call instead.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ToolError {
    /// There is no such tool.
    #[error("unknown tool: {0}")]
    UnknownTool(String),
    /// The arguments do not fit.
    #[error("invalid arguments: {}", content(.0, MAX_MESSAGE_BYTES))]
    Arguments(String),
    /// The query cannot be read.
    #[error("the query cannot be read: {}; an example: tool:search_kb status:failed since:7d \"free text\"", content(&.0.to_string(), MAX_MESSAGE_BYTES))]
    Query(#[from] QueryError),
    /// The query has nothing to look for in steps.
    #[error(
        "the query names nothing to look for in steps: give a text, or one of tool model error args result prompt answer kind; list_runs finds runs"
    )]
    NoStepCondition,
    /// The cursor is of another question, or what it refers to is gone.
    #[error("this cursor is none that an answer to this question gave: ask without a cursor")]
    Cursor,
    /// No run is selected.
    #[error("{}; list_runs lists the runs", select_words(.0))]
    Select(#[from] SelectError),
    /// The run is in a bucket, and cannot be had.
    #[error("the run is in a bucket, and cannot be fetched: {}", content(&.0.to_string(), MAX_MESSAGE_BYTES))]
    NotFetched(#[from] FetchError),
    /// The runs cannot be listed.
    #[error("{}", content(&.0.to_string(), MAX_MESSAGE_BYTES))]
    Store(#[from] StoreError),
    /// The database of the runs cannot be read.
    #[error("the database of the runs cannot be read: {}; try again", content(&.0.to_string(), MAX_MESSAGE_BYTES))]
    Database(#[from] DatabaseError),
    /// Nothing of a run can be read.
    #[error("the run cannot be read: {}", content(&.0.to_string(), MAX_MESSAGE_BYTES))]
    Damaged(#[from] InvalidRun),
    /// A run that is compared must be whole.
    #[error(
        "run {run} is not valid, and only valid runs are compared: {}; get_run shows what can be read",
        content(problem, MAX_MESSAGE_BYTES)
    )]
    NotComparable {
        /// Its ID.
        run: String,
        /// Why it is not.
        problem: String,
    },
    /// A file changed while it was read.
    #[error("the run was changed while it was read: {}; try again", content(&.0.to_string(), MAX_MESSAGE_BYTES))]
    Changed(#[from] RecordError),
    /// The run has no such step.
    #[error("there is no step {number}: the run has {}", counted(*.count as u64, "step"))]
    NoStep {
        /// The requested step.
        number: usize,
        /// Number of steps.
        count: usize,
    },
}

impl From<InvalidCursor> for ToolError {
    fn from(_: InvalidCursor) -> Self {
        Self::Cursor
    }
}

/// Why no run was selected, and the runs that may be meant.
fn select_words(error: &SelectError) -> String {
    let candidates = match error {
        SelectError::NotFound { candidates } | SelectError::Ambiguous { candidates } => candidates.as_slice(),
        _ => &[],
    };
    let ids: Vec<String> = candidates
        .iter()
        .take(MAX_CANDIDATES)
        .map(|run| run.trace_id.to_string())
        .collect();
    let near = if ids.is_empty() {
        String::new()
    } else {
        format!("; near: {}", ids.join(" "))
    };
    match error {
        SelectError::Store(error) => content(&error.to_string(), MAX_MESSAGE_BYTES),
        error => format!("{error}{near}"),
    }
}
