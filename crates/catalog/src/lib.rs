//! All runs at once: the facts of every run, kept in an embedded database, and questions over them.
//!
//! [`FactsStore`] gives the [`RunRow`] of every run of a data directory. What was computed once is kept in a database
//! that is never believed over the files: a run is read again when one of its files is another one, and where the
//! database is missing, damaged, locked or cannot be written, answers are the same and only take longer.
//! [`query`] is the language in which runs and steps are asked for, wherever that is: `list`, `search`, `stats`, the page.

mod database;
mod database_file;
mod files_stamp;
mod latencies;
mod mirror;
pub mod query;
mod run_catalog;
mod run_column;
mod run_row;
mod search;
mod selected;
pub mod stats;
mod step_scan;
mod store;
mod survey;
mod threads;
mod workers;

#[cfg(test)]
mod tests;

pub use database_file::DatabaseError;
pub use files_stamp::FilesStamp;
pub use latencies::Latencies;
pub use mirror::{
    FACTS_LINE_VERSION, FetchError, FetchRuns, LineProblem, MAX_FACTS_LINE_BYTES, MirrorLine, MirrorWriter,
    RunLease, StoreMirror, TeamStore,
};
pub use run_catalog::{MatchProgress, RunCatalog, RunCensus, RunOrder, SelectedRuns};
pub use run_column::RunColumn;
pub use run_row::{CallTotals, ErrorCount, RunRow};
pub use search::{RunHits, SearchOrder, SortedHits, SortedNumber, StepHit, StepSearch};
pub use step_scan::StepScan;
pub use store::{FactsStore, ListedRun, ReadingProgress};
pub use survey::Survey;
pub use threads::{PlaceInThread, RunThreads};
