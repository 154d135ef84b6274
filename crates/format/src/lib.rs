//! The format of recorded runs: types, emitters' vocabularies, projection, correlation, loops.
//!
//! Pure: nothing here opens a file, reads a clock or starts a thread. The specification is `run-trace-format.md`; each type
//! names the section that it implements. An agent's author finds the types as `tracer_sdk::format`.

#[macro_use]
mod words;

mod computed;
mod content;
pub mod error_type;
mod fork_origin;
mod gate_trial;
mod ids;
pub mod meta;
pub mod names;
mod outcome;
mod problem;
mod record;
#[cfg(feature = "schema")]
mod schema;
mod span;
mod tags;
mod time;
mod trace_parent;
mod transcript_origin;
mod usd;
mod version;

pub mod loops;
pub mod parse;
pub mod project;
mod vocabulary;

#[cfg(test)]
mod vectors;

pub use computed::Computed;
pub use content::{may_hold_content, names_in_message};
pub use fork_origin::{FORK_KEY, ForkOrigin};
pub use gate_trial::{GATE_KEY, GateTrial};
pub use ids::{InvalidId, SpanId, TraceId};
pub use meta::{Counts, Dropped, RecordedStatus, RunMeta};
pub use outcome::Outcome;
pub use problem::{Problem, ProblemCode};
pub use project::{
    RecordHeader, UsageObject, count_records, is_closing_tool, is_foreign_call, normal_model_name,
    remove_usage, spans_to_events,
};
pub use record::{ErrorPayload, EventType, OtherMarks, Payload, Record, ServiceCall, Usage, UsageGap};
pub use span::{SpanEvent, SpanKind, SpanRecord, StatusCode};
pub use tags::{InvalidTag, MAX_TAG_KEY_BYTES, MAX_TAG_VALUE_BYTES, MAX_TAGS, TAGS_VARIABLE, Tags};
pub use time::{InvalidTime, StoredTime, Timestamp};
pub use trace_parent::{TRACE_PARENT_VARIABLE, TraceParent};
pub use transcript_origin::{TRANSCRIPT_KEY, TranscriptOrigin};
pub use usd::{InvalidUsd, Usd};
pub use version::{SPEC_VERSION, Support, support};

/// The name of the metadata file in a run directory (specification, *Run directory*).
pub const META_FILE: &str = "meta.json";
/// The name of the span log in a run directory (specification, *Run directory*).
pub const SPANS_FILE: &str = "spans.jsonl";
/// The name of the file that a running emitter holds locked (decisions, section 5).
pub const LIVE_FILE: &str = ".live";

/// The file in a run's directory whose lock the process holds that records the run.
pub const LOCK_FILE: &str = ".lock";
/// The folder of the data directory that holds one folder per run.
pub const RUNS_FOLDER: &str = "runs";
/// The longest line that is written to a span log, in bytes with its newline (decisions, section 5).
pub const MAX_LINE_BYTES: usize = 1024 * 1024;

/// Returns whether a value is its type's default, which serde then leaves out of JSON.
pub fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
