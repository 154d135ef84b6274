//! Taking a run into a store at once, and that of a gate's trial marked as one.

use std::fs;
use std::io;
use std::path::Path;

use super::error::MaintenanceError;
use super::remove::{hidden, remove_tree};
use crate::{RunDirectory, RunStore, open_run_file};
use tracer_format::GATE_KEY;
use tracer_format::parse::MAX_META_BYTES;
use tracer_format::{GateTrial, META_FILE, TraceId};
use tracer_sdk::disk::MetaText;
use tracer_sdk::disk::read_input;
use tracer_sdk::disk::{Disk, FileSystem, OpenMode, write_all};

/// Copies a run into a store, with the mark of the trial in its `meta.json`, and gives its place. The run need not be
/// complete: what a process left that died is evidence too.
///
/// For readers it is there at once, with its mark. Only regular files are taken.
///
/// # Errors
///
/// [`MaintenanceError::RunExists`] when the store has a run with this ID, which is left as it is; [`MaintenanceError::Io`] when a file
/// cannot be read or written, after which the store is as it was.
pub fn adopt_run(
    run: &RunDirectory,
    store: &RunStore,
    mark: &GateTrial,
) -> Result<RunDirectory, MaintenanceError> {
    adopt_run_on(run, store, mark, &Disk)
}

pub(super) fn adopt_run_on(
    run: &RunDirectory,
    store: &RunStore,
    mark: &GateTrial,
    file_system: &dyn FileSystem,
) -> Result<RunDirectory, MaintenanceError> {
    place_run(store, run.trace_id, file_system, |hidden| {
        copy(&run.path, hidden, mark, file_system)
    })
}

/// Gives a store the run that `fill` writes into a directory, which is there for it; for readers the run is there at once.
/// A run that the store has is left as it is, and after an error the store is as it was.
fn place_run(
    store: &RunStore,
    trace_id: TraceId,
    file_system: &dyn FileSystem,
    fill: impl FnOnce(&Path) -> Result<(), MaintenanceError>,
) -> Result<RunDirectory, MaintenanceError> {
    let runs_dir = store.runs_dir();
    let placed = RunDirectory {
        trace_id,
        path: runs_dir.join(trace_id.to_string()),
    };
    if placed.path.symlink_metadata().is_ok() {
        return Err(MaintenanceError::RunExists);
    }
    file_system
        .create_directories(&runs_dir)
        .map_err(MaintenanceError::at(&runs_dir))?;
    // A name that no reader takes for a run, and that `remove_leftovers` takes away.
    let hidden = hidden(&placed);
    if hidden.symlink_metadata().is_ok() {
        remove_tree(&hidden, file_system)?;
    }
    let filled = file_system
        .create_directory(&hidden)
        .map_err(MaintenanceError::at(&hidden))
        .and_then(|()| fill(&hidden))
        .and_then(|()| {
            file_system
                .rename(&hidden, &placed.path)
                .map_err(MaintenanceError::at(&placed.path))
        });
    if let Err(error) = filled {
        // The error that matters is the first one.
        let _ = remove_tree(&hidden, file_system);
        return Err(error);
    }
    Ok(placed)
}

fn copy(
    from: &Path,
    to: &Path,
    mark: &GateTrial,
    file_system: &dyn FileSystem,
) -> Result<(), MaintenanceError> {
    for entry in fs::read_dir(from).map_err(MaintenanceError::at(from))? {
        let entry = entry.map_err(MaintenanceError::at(from))?;
        let path = entry.path();
        let kind = entry.file_type().map_err(MaintenanceError::at(&path))?;
        let target = to.join(entry.file_name());
        if kind.is_file() && entry.file_name() == META_FILE {
            let text = read_input(&path, MAX_META_BYTES).map_err(MaintenanceError::at(&path))?;
            // Metadata that cannot be read is kept as it is: it is what the trial left.
            let text = marked(&text, mark).unwrap_or(text);
            write(&target, &mut text.as_slice(), file_system).map_err(MaintenanceError::at(&target))?;
        } else if kind.is_file() {
            let mut file = open_run_file(&path).map_err(MaintenanceError::at(&path))?;
            write(&target, &mut file, file_system).map_err(MaintenanceError::at(&target))?;
        }
    }
    Ok(())
}

fn marked(meta: &[u8], mark: &GateTrial) -> serde_json::Result<Vec<u8>> {
    let mut meta = MetaText::parse(meta)?;
    meta.set(GATE_KEY, mark)?;
    meta.to_text()
}

fn write(path: &Path, from: &mut dyn io::Read, file_system: &dyn FileSystem) -> io::Result<()> {
    let mut file = file_system.open(path, OpenMode::New)?;
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let length = from.read(&mut buffer)?;
        let Some(read) = buffer.get(..length).filter(|read| !read.is_empty()) else {
            return Ok(());
        };
        write_all(file.as_mut(), read)?;
    }
}
