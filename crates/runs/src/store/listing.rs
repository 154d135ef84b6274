//! The metadata of every run of a store.

use std::fs;
use std::path::Path;
use std::time::UNIX_EPOCH;

use super::parallel::map;
use super::summary::{RunDirectory, RunSummary};
use tracer_format::{Timestamp, TraceId};

/// A run and when it started, or else when its directory was last changed.
pub(super) type Placed = (Option<Timestamp>, RunSummary);

/// Reads the metadata of every run, in several threads when there are many; in no order.
pub(super) fn read_all(runs_dir: &Path, entries: &[(u64, TraceId)]) -> Vec<Placed> {
    let placed = |(_, trace_id): &(u64, TraceId)| {
        let run = RunDirectory::in_folder(runs_dir, *trace_id).read_summary();
        (run.started().or_else(|| changed(&run.directory.path)), run)
    };
    map(entries, placed)
}

/// When a directory was last changed.
fn changed(path: &Path) -> Option<Timestamp> {
    let since = fs::metadata(path)
        .ok()?
        .modified()
        .ok()?
        .duration_since(UNIX_EPOCH)
        .ok()?;
    Some(Timestamp::from_unix_microseconds(
        i64::try_from(since.as_micros()).ok()?,
    ))
}
