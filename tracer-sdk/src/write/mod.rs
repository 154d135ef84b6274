//! Path of a run to disk: value → redacting serialiser → line → append.
//!
//! The only code that changes the files of a run, `meta.json` included. It knows the format and nothing of who records.

pub(crate) mod draft;
pub(crate) mod escape;
#[cfg(any(test, feature = "testing"))]
pub(crate) mod faulty;
pub(crate) mod files;
mod kept_files;
pub(crate) mod late_spans;
pub(crate) mod limited_text;
pub(crate) mod line;
pub(crate) mod live_file;
pub(crate) mod log;
pub(crate) mod losses;
#[cfg(any(test, feature = "testing"))]
pub(crate) mod memory;
pub(crate) mod meta_file;
pub(crate) mod meta_text;
pub(crate) mod open_entries;
pub(crate) mod payload;
pub(crate) mod run_files;
