//! Completing a run whose process died: only what an interrupted emitter leaves is repaired, anything else refused.
//!
//! In this order, so that a repair that is itself interrupted is taken up again by the next: a copy of the log, the torn
//! line cut off, the missing spans appended with the root last, `meta.json`, and at last `.live` and the lock removed.

use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use super::completion::{Completion, LogSummary, complete};
use super::error::MaintenanceError;
use crate::{Liveness, RunReader, Strictness, open_run_file, probe_liveness, validate};
use tracer_format::parse::MAX_META_BYTES;
use tracer_format::{LIVE_FILE, LOCK_FILE, META_FILE, RecordedStatus, RunMeta, SPANS_FILE};
use tracer_sdk::disk::MetaText;
use tracer_sdk::disk::read_input;
use tracer_sdk::disk::replace_text;
use tracer_sdk::disk::{Disk, FileSystem, OpenFile, OpenMode, write_all};

/// File that keeps the log as it was found.
const BROKEN_FILE: &str = "spans.jsonl.broken";

/// Plan of a run's repair.
#[derive(Debug, Clone, PartialEq)]
pub struct Repair {
    /// Number of bytes of a torn last line that are cut off; `None` when the last line is whole.
    pub cut: Option<u64>,
    /// The spans to append and the outcome; `None` when the run had ended and only its `.live` is left.
    pub completion: Option<Completion>,
    /// Copy of the log as it was found; `None` when there is no log or it is not changed.
    pub copy: Option<PathBuf>,
    /// Length of the log once the torn line is cut off, and whether a line break must follow.
    log: LogEnd,
    /// Metadata of the run, when it has no `meta.json` yet.
    new_meta: Option<RunMeta>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct LogEnd {
    length: u64,
    lacks_newline: bool,
}

/// Works out what [`repair`] would do, and changes nothing.
///
/// # Errors
///
/// [`MaintenanceError`]: the run is live, or may be, it ended, or it has other damage.
pub fn plan_repair(directory: &Path) -> Result<Repair, MaintenanceError> {
    match state(directory)? {
        RepairState::Interrupted => plan_completion(directory),
        RepairState::LeftBehind => Ok(Repair {
            cut: None,
            completion: None,
            copy: None,
            log: LogEnd::default(),
            new_meta: None,
        }),
    }
}

/// Completes an interrupted run, so that it is valid, and gives what was done.
///
/// # Errors
///
/// As [`plan_repair`], with nothing changed; or [`MaintenanceError::Io`] when a file cannot be written, after which the repair
/// can be tried again.
pub fn repair(directory: &Path) -> Result<Repair, MaintenanceError> {
    repair_on(directory, &Disk)
}

pub(super) fn repair_on(directory: &Path, file_system: &dyn FileSystem) -> Result<Repair, MaintenanceError> {
    let spans = directory.join(SPANS_FILE);
    // Kept from before planning until the end, so that no two repairs complete the run at once.
    let mut log = None;
    if matches!(state(directory)?, RepairState::Interrupted) && spans.symlink_metadata().is_ok() {
        log = Some(lock(file_system, &spans)?);
    }
    let plan = plan_repair(directory)?;
    if let Some(completion) = &plan.completion {
        if let Some(copy) = &plan.copy {
            keep_copy(file_system, &spans, copy)?;
        }
        let mut log = match log {
            Some(log) => log,
            None => lock(file_system, &spans)?,
        };
        append(log.as_mut(), &plan, completion).map_err(MaintenanceError::at(&spans))?;
        write_meta(file_system, directory, &plan, completion)?;
    }
    let live = directory.join(LIVE_FILE);
    file_system.remove(&live).map_err(MaintenanceError::at(&live))?;
    // Only some emitters have one, and without `.live` it says nothing.
    let _ = file_system.remove(&directory.join(LOCK_FILE));
    Ok(plan)
}

enum RepairState {
    /// The process died before the run ended.
    Interrupted,
    /// It died right after, before it could take its `.live` away.
    LeftBehind,
}

fn state(directory: &Path) -> Result<RepairState, MaintenanceError> {
    match probe_liveness(directory, RecordedStatus::Running) {
        Liveness::Interrupted => Ok(RepairState::Interrupted),
        Liveness::Running => Err(MaintenanceError::RunActive),
        Liveness::Ended => after_the_end(directory),
        Liveness::Unknown => match read_status(directory) {
            Some(status) if status.is_completed() => after_the_end(directory),
            _ => Err(MaintenanceError::LivenessUnknown),
        },
    }
}

fn read_status(directory: &Path) -> Option<RecordedStatus> {
    validate(directory).status
}

fn after_the_end(directory: &Path) -> Result<RepairState, MaintenanceError> {
    let report = validate(directory);
    if !report.is_valid() {
        return Err(MaintenanceError::RunDamaged {
            problems: report.problems,
            more_problems: report.more_problems,
        });
    }
    let is_left_behind = directory.join(LIVE_FILE).symlink_metadata().is_ok();
    if is_left_behind {
        Ok(RepairState::LeftBehind)
    } else {
        Err(MaintenanceError::AlreadyComplete)
    }
}

fn plan_completion(directory: &Path) -> Result<Repair, MaintenanceError> {
    let mut run =
        RunReader::open(directory, Strictness::Lenient).map_err(|invalid| MaintenanceError::RunDamaged {
            problems: invalid.problems,
            more_problems: invalid.more_problems,
        })?;
    let RunReader { meta: Some(meta), .. } = &run else {
        return Err(damaged(run));
    };
    if !run.problems.is_empty() {
        return Err(damaged(run));
    }
    let (meta, tags) = (meta.clone(), run.read_tags());
    let (counts, cut, in_flight) = (run.counts(), run.cut_tail, run.in_flight);
    let spans = directory.join(SPANS_FILE);
    let mut seen = LogSummary::default();
    for span in run.records.into_spans() {
        let span = span.map_err(|error| MaintenanceError::at(&spans)(io::Error::other(error.to_string())))?;
        seen.add(&span);
    }
    let end = log_end(&spans, cut.unwrap_or(0)).map_err(MaintenanceError::at(&spans))?;
    let has_meta = directory.join(META_FILE).symlink_metadata().is_ok();
    Ok(Repair {
        cut,
        completion: Some(complete(&meta, seen, counts, &in_flight, &tags)),
        copy: end.map(|_| directory.join(BROKEN_FILE)),
        log: end.unwrap_or_default(),
        new_meta: (!has_meta).then_some(meta),
    })
}

fn damaged(run: RunReader) -> MaintenanceError {
    MaintenanceError::RunDamaged {
        problems: run.problems,
        more_problems: run.more_problems,
    }
}

/// End of the log without its torn line; `None` when there is no log.
fn log_end(path: &Path, cut: u64) -> io::Result<Option<LogEnd>> {
    let mut file = match open_run_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        file => file?,
    };
    let length = file.metadata()?.len().saturating_sub(cut);
    let mut last = [b'\n'];
    if length > 0 {
        file.seek(SeekFrom::Start(length - 1))?;
        file.read_exact(&mut last)?;
    }
    let lacks_newline = last != *b"\n";
    if cut > 0 && lacks_newline {
        return Err(io::Error::other("the log has changed while it was read"));
    }
    Ok(Some(LogEnd {
        length,
        lacks_newline,
    }))
}

fn lock(file_system: &dyn FileSystem, path: &Path) -> Result<Box<dyn OpenFile>, MaintenanceError> {
    let file = file_system
        .open(path, OpenMode::Append)
        .map_err(MaintenanceError::at(path))?;
    match file.try_lock() {
        Ok(false) => Err(MaintenanceError::RunActive),
        // On a file system without locks there is nothing to wait for.
        Ok(true) | Err(_) => Ok(file),
    }
}

/// Keeps the log as it was found. One that is kept already is from an earlier attempt, and nearer to what happened.
fn keep_copy(file_system: &dyn FileSystem, from: &Path, to: &Path) -> Result<(), MaintenanceError> {
    if to.symlink_metadata().is_ok() {
        return Ok(());
    }
    let temporary = to.with_extension(format!("broken.{}.tmp", std::process::id()));
    let copied = copy(file_system, from, &temporary).and_then(|()| file_system.rename(&temporary, to));
    copied.map_err(|error| {
        // It may not be there; the error that matters is the first one.
        let _ = file_system.remove(&temporary);
        MaintenanceError::at(to)(error)
    })
}

fn copy(file_system: &dyn FileSystem, from: &Path, to: &Path) -> io::Result<()> {
    let mut source = open_run_file(from)?;
    let mut target = file_system.open(to, OpenMode::New)?;
    let mut buffer = vec![0; 256 * 1024];
    loop {
        match source.read(&mut buffer) {
            Ok(0) => return target.sync(),
            Ok(read) => write_all(target.as_mut(), buffer.get(..read).unwrap_or_default())?,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

fn append(log: &mut dyn OpenFile, plan: &Repair, completion: &Completion) -> io::Result<()> {
    if plan.cut.is_some() {
        log.cut(plan.log.length)?;
    }
    let mut lines = Vec::new();
    if plan.log.lacks_newline {
        lines.push(b'\n');
    }
    for span in &completion.spans {
        serde_json::to_writer(&mut lines, span)?;
        lines.push(b'\n');
    }
    write_all(log, &lines)?;
    log.sync()
}

fn write_meta(
    file_system: &dyn FileSystem,
    directory: &Path,
    plan: &Repair,
    completion: &Completion,
) -> Result<(), MaintenanceError> {
    let path = directory.join(META_FILE);
    let text = |old: &[u8]| {
        let mut meta = MetaText::parse(old)?;
        meta.set("status", &completion.status)?;
        meta.set("ended_at", &completion.ended_at)?;
        meta.set("duration_ms", &completion.duration_ms)?;
        meta.set("counts", &completion.counts)?;
        meta.to_text()
    };
    let old = match &plan.new_meta {
        Some(meta) => serde_json::to_vec(meta).map_err(io::Error::from),
        None => read_input(&path, MAX_META_BYTES),
    };
    old.and_then(|old| Ok(text(&old)?))
        .and_then(|text| replace_text(file_system, directory, &text))
        .map_err(MaintenanceError::at(&path))
}
