//! One run: its directory scanned, validated and opened for reading, and whether it is still being recorded.

mod live_file;
mod liveness;
mod process;
mod reader;
mod records;
mod scan;
mod validate;

pub use live_file::{LiveFile, ProcessIdentity, StartedSpan, read_live_file};
pub use liveness::{Liveness, probe_liveness};
pub use reader::{InvalidRun, LoadedRun, RunReader, Strictness};
pub use records::{RecordStream, SpanStream};
pub(crate) use scan::read_meta_file;
pub use validate::{ValidationReport, validate};
