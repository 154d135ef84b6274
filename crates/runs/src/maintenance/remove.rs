//! Removing a run: for readers it is gone at once, and there again with what is left of it when its files cannot be removed.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::error::MaintenanceError;
use crate::RunDirectory;
use tracer_format::{LIVE_FILE, META_FILE, SPANS_FILE, TraceId};
use tracer_sdk::disk::{Disk, FileSystem};

/// Name suffix of a directory that is being removed. The name begins with a dot and is no trace ID, so that no reader
/// takes it for a run.
const REMOVED: &str = ".removed";

/// Removes a run with everything in its directory. Whether it may be removed is for the caller to know.
///
/// # Errors
///
/// [`MaintenanceError::Io`] when a file cannot be removed: what is left of the run is a run again, all of it where what cannot be
/// removed are not its own files. Only where it cannot be put back either, or the process ends meanwhile, it is left to
/// `remove_leftovers`.
pub fn remove_run(run: &RunDirectory) -> Result<(), MaintenanceError> {
    remove_run_on(run, &Disk)
}

pub(super) fn remove_run_on(
    run: &RunDirectory,
    file_system: &dyn FileSystem,
) -> Result<(), MaintenanceError> {
    let hidden = hidden(run);
    if hidden.symlink_metadata().is_ok() {
        remove_tree(&hidden, file_system)?;
    }
    file_system
        .rename(&run.path, &hidden)
        .map_err(MaintenanceError::at(&run.path))?;
    remove_tree(&hidden, file_system).map_err(|error| {
        // The remaining files must not stay hidden. Where they cannot be put back, the error names the hidden place.
        match (error, file_system.rename(&hidden, &run.path)) {
            (MaintenanceError::Io { path, source }, Ok(())) => MaintenanceError::Io {
                path: path
                    .strip_prefix(&hidden)
                    .map_or_else(|_| path.clone(), |inside| run.path.join(inside)),
                source,
            },
            (error, _) => error,
        }
    })
}

/// The place of a run directory in which it is no run: while it is removed, or not yet all there.
pub(super) fn hidden(run: &RunDirectory) -> PathBuf {
    run.path.with_file_name(format!(".{}{REMOVED}", run.trace_id))
}

/// Removes what interrupted removals left; gives the number of runs.
pub(super) fn remove_leftovers(runs_dir: &Path) -> Result<u64, MaintenanceError> {
    let mut removed = 0;
    for entry in fs::read_dir(runs_dir).map_err(MaintenanceError::at(runs_dir))? {
        let entry = entry.map_err(MaintenanceError::at(runs_dir))?;
        let is_leftover = entry.file_name().to_str().is_some_and(is_removed_name);
        if is_leftover && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            remove_tree(&entry.path(), &Disk)?;
            removed += 1;
        }
    }
    Ok(removed)
}

fn is_removed_name(name: &str) -> bool {
    let id = name.strip_prefix('.').and_then(|rest| rest.strip_suffix(REMOVED));
    id.is_some_and(|id| id.parse::<TraceId>().is_ok())
}

/// The files that make a directory a run, in the order in which they are removed.
const OWN_FILES: [&str; 3] = [LIVE_FILE, SPANS_FILE, META_FILE];

/// Removes a directory; a symbolic link in it is removed, never followed.
pub(super) fn remove_tree(directory: &Path, file_system: &dyn FileSystem) -> Result<(), MaintenanceError> {
    let entries: io::Result<Vec<fs::DirEntry>> = fs::read_dir(directory).and_then(Iterator::collect);
    let mut entries = entries.map_err(MaintenanceError::at(directory))?;
    // The files that make it a run are removed last: when something else cannot be removed, the run is whole.
    entries.sort_by_key(|entry| OWN_FILES.iter().position(|own| entry.file_name() == *own));
    for entry in entries {
        let path = entry.path();
        if entry.file_type().map_err(MaintenanceError::at(&path))?.is_dir() {
            remove_tree(&path, file_system)?;
        } else {
            file_system.remove(&path).map_err(MaintenanceError::at(&path))?;
        }
    }
    file_system
        .remove_empty_directory(directory)
        .map_err(MaintenanceError::at(directory))
}

/// Total size of the files in a run directory, in bytes; a file without readable metadata counts 0.
pub(super) fn directory_bytes(directory: &Path) -> u64 {
    let entries = fs::read_dir(directory)
        .into_iter()
        .flatten()
        .filter_map(io::Result::ok);
    entries
        .map(|entry| match entry.metadata() {
            Ok(metadata) if metadata.is_dir() => directory_bytes(&entry.path()),
            Ok(metadata) => metadata.len(),
            Err(_) => 0,
        })
        .sum()
}
