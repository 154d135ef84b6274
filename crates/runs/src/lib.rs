//! Run directories: directory → files → lines → records with their problems → projection.
//!
//! [`RunStore`] finds runs, [`RunReader`] reads one of any size, strictly or leniently, [`LoadedRun`] holds all of one
//! in memory, [`LogIndex`] follows a live one, and [`spans_to_events`] gives the flat view that everything else is made
//! from. Nothing of it changes a file: that is for [`maintenance`], and for [`import`], which writes the runs of other
//! programs.

mod cancel;
mod check;
mod file;
pub mod import;
mod index;
mod log;
pub mod maintenance;
mod record_error;
mod run;
mod store;

#[cfg(test)]
mod any_run_tests;
#[cfg(test)]
mod tests;

pub use cancel::CancelToken;
pub(crate) use file::open_run_file;
pub use index::{IndexedSpan, LogIndex, PromotedRecord, RecordSource};
pub use log::{LogPart, read_log_part};
pub use record_error::RecordError;
pub use run::{
    InvalidRun, LiveFile, Liveness, LoadedRun, ProcessIdentity, RecordStream, RunReader, SpanStream,
    StartedSpan, Strictness, ValidationReport, probe_liveness, read_live_file, validate,
};
// For the runs of a bucket, which are selected by the same words; no promise to anybody else.
#[doc(hidden)]
pub use store::steps_before_latest;
pub use store::{
    NamePattern, RunDirectory, RunFilter, RunStatus, RunStore, RunSummary, SelectError, StoreError,
    has_looped, matches_glob,
};
pub use tracer_format::loops::{Likeness, branches, compare_repetitions, first_loop, is_attempt};
pub use tracer_format::{
    RecordHeader, UsageObject, count_records, is_closing_tool, is_foreign_call, normal_model_name,
    remove_usage, spans_to_events,
};
pub use tracer_sdk::disk::{open_input, read_input};
