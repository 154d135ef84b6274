//! Giving a run another name: in its `meta.json` only, which is where lists have it from.

use std::io;

use super::error::MaintenanceError;
use crate::{Liveness, RunDirectory};
use tracer_format::META_FILE;
use tracer_format::parse::MAX_META_BYTES;
use tracer_sdk::disk::MetaText;
use tracer_sdk::disk::Redactor;
use tracer_sdk::disk::read_input;
use tracer_sdk::disk::replace_text;
use tracer_sdk::disk::{Disk, FileSystem};
use tracer_sdk::settings::Settings;

/// Renames a run and gives the name as it was written: a run name goes through redaction, whatever its source.
///
/// # Errors
///
/// [`MaintenanceError`]: the run may still be recorded, and would write its own name at its end; its
/// `meta.json` is damaged; or it cannot be written.
pub fn rename_run(run: &RunDirectory, name: &str, settings: &Settings) -> Result<String, MaintenanceError> {
    rename_run_on(run, name, &Redactor::of_process(settings), &Disk)
}

pub(super) fn rename_run_on(
    run: &RunDirectory,
    name: &str,
    redactor: &Redactor,
    file_system: &dyn FileSystem,
) -> Result<String, MaintenanceError> {
    let listed = run.clone().read_summary();
    if let Err(problems) = &listed.meta {
        return Err(MaintenanceError::RunDamaged {
            problems: problems.clone(),
            more_problems: 0,
        });
    }
    match listed.probe_liveness() {
        Liveness::Ended | Liveness::Interrupted => {}
        Liveness::Running => return Err(MaintenanceError::RunActive),
        Liveness::Unknown => return Err(MaintenanceError::LivenessUnknown),
    }
    let name = redactor.text(name).into_owned();
    let path = run.path.join(META_FILE);
    read_input(&path, MAX_META_BYTES)
        .and_then(|old| {
            let mut meta = MetaText::parse(&old)?;
            meta.set("run_name", &name)?;
            Ok(meta.to_text()?)
        })
        .and_then(|text: Vec<u8>| replace_text(file_system, &run.path, &text))
        .map_err(|error: io::Error| MaintenanceError::at(&path)(error))?;
    Ok(name)
}
