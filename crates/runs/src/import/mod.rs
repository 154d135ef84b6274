//! Runs that another program recorded: its spans are redacted, cut and appended as this library's own are (capture,
//! section 2).
//!
//! For receivers and importers. An [`Importer`] holds the rules, a [`RunWriter`] one run on disk. Spans wait in a
//! *staging* folder next to the runs until [`RunWriter::promote`] makes them a run; nothing there is shown to readers.
//! Spans taken by [`RunWriter::append`] survive the death of the process: [`Importer::resume`] continues with them.

mod encoder;
mod error;
mod importer;
mod scan;
mod writer;

pub use error::ImportError;
pub use importer::{Importer, StagingLock, Unfinished};
pub use scan::LogShape;
pub use writer::{Appended, ImportedSpan, RunPhase, RunWriter};
