//! What happened: directory → files → lines → records with their problems → projection.
//!
//! One reader with two answers to a problem. [`open_run`] is strict: whatever judges a run uses it, and a run with a
//! problem is refused with all its problems listed. [`salvage_run`] is lenient: it gives what can be read, and the
//! problems. [`RunStore`] finds runs, [`spans_to_events`] gives the flat view that everything else is made from.
//!
//! Nothing here changes a file.

mod any_value;
mod call_off;
mod cross_check;
mod fields;
mod file;
mod filter;
mod gather;
mod growing_file;
mod index_facts;
mod indexed_span;
mod json;
mod line_reader;
mod live_file;
mod liveness;
mod load;
mod log;
mod log_ends;
mod log_index;
mod log_index_problems;
mod log_part;
mod loops;
mod meta;
mod order;
mod outline;
mod process;
mod project;
mod record_stream;
mod repeated;
mod salvage;
mod scalar;
mod select;
mod span;
mod span_stream;
mod store;
mod stream;
mod structure;
mod tally;
mod tokens;
mod validate;

#[cfg(test)]
mod any_run_tests;
#[cfg(test)]
mod tests;

pub use crate::input::read_input;
pub use call_off::CallOff;
pub(crate) use file::open_run_file;
pub use filter::{NamePattern, RunFilter, RunStatus};
pub use indexed_span::{IndexedSpan, PromotedRecord};
pub use live_file::{LiveFile, ProcessIdentity, StartedSpan, read_live_file};
pub use liveness::{Liveness, probe_liveness};
#[cfg(any(test, feature = "testing"))]
pub use load::read_run;
pub use load::{InvalidRun, LoadedRun, open_run};
pub use log_index::LogIndex;
pub use log_part::{LogPart, read_log_part};
pub use loops::{Likeness, compare_repetitions, first_loop, has_loop, has_looped, is_attempt};
pub(crate) use meta::MAX_META_BYTES;
pub use outline::{OutlinedRun, outline_run};
pub use project::{count_records, spans_to_events};
pub use record_stream::{RecordError, RecordHeader, RecordStream};
pub use salvage::{SalvagedRun, salvage_run};
pub use select::SelectError;
pub use span_stream::SpanStream;
pub use store::{RunDirectory, RunStore, RunSummary, StoreError};
pub use stream::{StreamedRun, stream_run};
pub use validate::{ValidationReport, validate};
