//! What a run is on disk, in types: spans, metadata, projected records, names, ids, times, versions, problems.
//!
//! Types only: nothing here opens a file, reads a clock or keeps a global. The specification is
//! `run-trace-format.md`; each type names the section that it implements.

#[macro_use]
mod words;

pub(crate) mod content;
pub mod error_type;
pub(crate) mod fork_origin;
pub(crate) mod gate_trial;
pub(crate) mod ids;
pub(crate) mod meta;
pub mod names;
pub(crate) mod outcome;
pub(crate) mod problem;
pub(crate) mod record;
#[cfg(feature = "schema")]
pub(crate) mod schema;
pub(crate) mod span;
pub(crate) mod tags;
pub(crate) mod time;
pub(crate) mod usd;
pub(crate) mod version;

pub use content::may_hold_content;
pub use fork_origin::ForkOrigin;
pub use gate_trial::GateTrial;
pub use ids::{InvalidId, SpanId, TraceId};
pub use meta::{Counts, Dropped, RecordedStatus, RunMeta};
pub use outcome::Outcome;
pub use problem::{Problem, ProblemCode};
pub use record::{ErrorPayload, EventType, OtherMarks, Payload, Record, ServiceCall, Usage, UsageGap};
pub use span::{SpanEvent, SpanKind, SpanRecord, StatusCode};
pub use tags::{InvalidTag, MAX_TAG_KEY_BYTES, MAX_TAG_VALUE_BYTES, MAX_TAGS, TAGS_VARIABLE, Tags};
pub use time::{InvalidTime, StoredTime, Timestamp};
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
pub(crate) const MAX_LINE_BYTES: usize = 1024 * 1024;

/// Whether a value is the default one, which serde then leaves out of JSON.
pub(crate) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
