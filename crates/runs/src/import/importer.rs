//! [`Importer`]: where runs of other programs go and by which rules, and what an earlier process left unfinished.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::error::ImportError;
use super::writer::{RunPhase, RunWriter};
use crate::{Liveness, probe_liveness, read_live_file};
use tracer_format::{
    LIVE_FILE, LOCK_FILE, META_FILE, RUNS_FOLDER, RecordedStatus, TRANSCRIPT_KEY, Timestamp, TraceId,
    TranscriptOrigin,
};
use tracer_sdk::disk::ForeignLimits;
use tracer_sdk::disk::MetaText;
use tracer_sdk::disk::Redactor;
use tracer_sdk::disk::{Disk, FileSystem, OpenFile, OpenMode};
use tracer_sdk::settings::Settings;

/// The folder of traces that may become a run, next to the folder of the runs.
const STAGING_FOLDER: &str = "staging";
/// The ending of the file there whose name is that of a run which has not ended.
const UNFINISHED_ENDING: &str = "run";
/// The additive key of `meta.json` that every imported run has.
pub(super) const IMPORTED: &str = "imported";

/// Destination of other programs' runs, with the rules of their import.
#[derive(Debug, Clone)]
pub struct Importer {
    pub(super) file_system: Arc<dyn FileSystem>,
    data_directory: PathBuf,
    pub(super) redactor: Arc<Redactor>,
    pub(super) limits: ForeignLimits,
}

/// Lock of the process that continues what others left; dropping it unlocks.
#[derive(Debug)]
pub struct StagingLock {
    _file: Box<dyn OpenFile>,
}

/// A trace that an earlier process left unfinished.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Unfinished {
    /// The run.
    pub trace_id: TraceId,
    /// [`RunPhase::Staged`] or [`RunPhase::Running`].
    pub phase: RunPhase,
}

impl Importer {
    /// An importer into the data directory of these settings, with their redaction and limits.
    #[must_use]
    pub fn new(settings: &Settings) -> Self {
        Self::on(settings, Arc::new(Disk))
    }

    pub(crate) fn on(settings: &Settings, file_system: Arc<dyn FileSystem>) -> Self {
        Self {
            file_system,
            data_directory: settings.data_dir.clone(),
            redactor: Redactor::of_process(settings),
            limits: ForeignLimits {
                max_message_bytes: settings.max_message_bytes,
                omits_content: false,
            },
        }
    }

    /// Keeps shapes, sizes, names and numbers, but no texts.
    #[must_use]
    pub fn without_content(mut self) -> Self {
        self.limits.omits_content = true;
        self
    }

    /// The arguments of a program without the values of secret-like options.
    #[must_use]
    pub fn redact_arguments(&self, arguments: impl IntoIterator<Item = String>) -> Vec<String> {
        self.redactor.arguments(arguments)
    }

    /// Begins to collect spans that are not yet known to be a run.
    ///
    /// # Errors
    ///
    /// [`ImportError::Io`]: its folder cannot be made.
    pub fn stage(&self, trace_id: TraceId) -> Result<RunWriter, ImportError> {
        let directory = self.staging().join(trace_id.to_string());
        self.file_system
            .create_directories(&directory)
            .map_err(ImportError::at(&directory))?;
        Ok(RunWriter::new(
            self.clone(),
            trace_id,
            directory,
            RunPhase::Staged,
        ))
    }

    /// Begins a run: from now on readers see it as running.
    ///
    /// # Errors
    ///
    /// [`ImportError::Io`], also when there is a run with this ID.
    pub fn start(
        &self,
        trace_id: TraceId,
        name: &str,
        started_at: Timestamp,
    ) -> Result<RunWriter, ImportError> {
        let directory = self.runs().join(trace_id.to_string());
        if directory.symlink_metadata().is_ok() {
            let exists = io::Error::from(io::ErrorKind::AlreadyExists);
            return Err(ImportError::at(&directory)(exists));
        }
        // It becomes visible as a whole: no kill leaves half of its description, or a run without its lock.
        let mut run = self.stage(trace_id)?;
        run.read_known()?;
        run.promote_at(name, started_at)?;
        Ok(run)
    }

    /// Continues a run, or a trace that may become one, from disk; `None` when there is nothing of this trace.
    ///
    /// # Errors
    ///
    /// [`ImportError::NotImported`] when the run's own program recorded it here, [`ImportError::RunActive`] when another
    /// process writes it, and what reading it can fail with.
    pub fn resume(&self, trace_id: TraceId) -> Result<Option<RunWriter>, ImportError> {
        let directory = self.runs().join(trace_id.to_string());
        if directory.symlink_metadata().is_ok() {
            return self.resume_run(trace_id, directory).map(Some);
        }
        let directory = self.staging().join(trace_id.to_string());
        if directory.symlink_metadata().is_ok() {
            self.clean_staged(&directory)?;
            let mut staged = RunWriter::new(self.clone(), trace_id, directory, RunPhase::Staged);
            staged.read_known()?;
            return Ok(Some(staged));
        }
        Ok(None)
    }

    /// The transcript that a run was made of; `None` where there is no such run.
    ///
    /// ```
    /// use tracer_runs::import::Importer;
    /// use tracer_sdk::settings::Settings;
    ///
    /// let folder = tempfile::tempdir()?;
    /// let importer = Importer::new(&Settings::with_data_dir(folder.path()));
    /// assert_eq!(importer.transcript("10000000000000000000000000000001".parse()?), None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn transcript(&self, trace_id: TraceId) -> Option<TranscriptOrigin> {
        let path = self.runs().join(trace_id.to_string()).join(META_FILE);
        let text = self.file_system.read_whole(&path).ok()?;
        MetaText::parse(&text).ok()?.get(TRANSCRIPT_KEY)
    }

    /// Takes away what a process left which died at the moment when it made a run of what was staged: the description,
    /// which may be half of one, and a lock.
    fn clean_staged(&self, directory: &Path) -> Result<(), ImportError> {
        refuse_recorded(directory)?;
        for file in [META_FILE, LOCK_FILE] {
            let path = directory.join(file);
            match self.file_system.remove(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(ImportError::at(&path)(error));
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn resume_run(&self, trace_id: TraceId, directory: PathBuf) -> Result<RunWriter, ImportError> {
        let file_system = &self.file_system;
        let path = directory.join(META_FILE);
        let meta = match file_system.read_whole(&path) {
            Ok(text) => Some(MetaText::parse(&text).map_err(|_| ImportError::NotImported)?),
            // Its process died before it could describe the run.
            Err(error) if error.kind() == io::ErrorKind::NotFound && self.is_unfinished(trace_id) => None,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(ImportError::NotImported),
            Err(error) => return Err(ImportError::at(&path)(error)),
        };
        let is_imported = meta.as_ref().is_none_or(|meta| meta.has(IMPORTED));
        if !is_imported {
            return Err(ImportError::NotImported);
        }
        let status = meta.as_ref().and_then(|meta| meta.get::<String>("status"));
        let status = status.and_then(|status| RecordedStatus::from_word(&status));
        let phase = match status {
            Some(status) if status.is_completed() => RunPhase::Completed,
            _ => RunPhase::Running,
        };
        if phase == RunPhase::Running {
            refuse_recorded(&directory)?;
            self.mark_unfinished(trace_id)?;
        } else if self.is_unfinished(trace_id) {
            // Its process died after the last thing that it had to write.
            for file in [LIVE_FILE, LOCK_FILE] {
                let _ = file_system.remove(&directory.join(file));
            }
        }
        let mut run = RunWriter::new(self.clone(), trace_id, directory, phase);
        run.read_known()?;
        if let Some(meta) = &meta {
            run.remember(meta);
        }
        if meta.is_none() {
            let started_at = run.first_start().unwrap_or(Timestamp::from_unix_microseconds(0));
            run.describe(String::new(), started_at)?;
        }
        Ok(run)
    }

    /// Traces that earlier processes left unfinished, in the order of the IDs.
    ///
    /// # Errors
    ///
    /// [`ImportError::Io`] when the folder cannot be read.
    pub fn unfinished(&self) -> Result<Vec<Unfinished>, ImportError> {
        let staging = self.staging();
        let entries = match fs::read_dir(&staging) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(ImportError::at(&staging))?,
        };
        let mut found = Vec::new();
        for entry in entries {
            let name = entry.map_err(ImportError::at(&staging))?.file_name();
            let name = Path::new(&name);
            let ending = name.extension().and_then(|ending| ending.to_str());
            let trace_id = name.file_stem().and_then(|stem| stem.to_str()?.parse().ok());
            let phase = match ending {
                None => RunPhase::Staged,
                Some(UNFINISHED_ENDING) => RunPhase::Running,
                Some(_) => continue,
            };
            if let Some(trace_id) = trace_id {
                found.push(Unfinished { trace_id, phase });
            }
        }
        found.sort_unstable_by_key(|left| left.trace_id);
        Ok(found)
    }

    /// Takes the lock of the process that continues what others left, for as long as the file is open; `None` when
    /// another process has it.
    ///
    /// # Errors
    ///
    /// [`ImportError::Io`]: the file of the lock cannot be opened or locked.
    pub fn lock_staging(&self) -> Result<Option<StagingLock>, ImportError> {
        let staging = self.staging();
        let path = staging.join(LOCK_FILE);
        let file_system = &self.file_system;
        let locked = file_system
            .create_directories(&staging)
            .and_then(|()| file_system.open(&path, OpenMode::Append))
            .and_then(|file| Ok(file.try_lock()?.then_some(StagingLock { _file: file })));
        match locked {
            // On a file system without locks there is no other process to share with.
            Err(error) if error.kind() == io::ErrorKind::Unsupported => Ok(None),
            locked => locked.map_err(ImportError::at(&path)),
        }
    }

    /// Clears the mark of an unfinished run that has ended, or that nothing is left of.
    pub fn forget_unfinished(&self, trace_id: TraceId) {
        // One that stays names a run that has ended, which the next process finds and takes away.
        let _ = self.file_system.remove(&self.unfinished_file(trace_id));
    }

    /// Notes that a run has not ended, so that the next process finds it without reading all runs.
    pub(super) fn mark_unfinished(&self, trace_id: TraceId) -> Result<(), ImportError> {
        let path = self.unfinished_file(trace_id);
        let create = || self.file_system.open(&path, OpenMode::Append).map(drop);
        create()
            .or_else(|_| {
                self.file_system.create_directories(&self.staging())?;
                create()
            })
            .map_err(ImportError::at(&path))
    }

    fn is_unfinished(&self, trace_id: TraceId) -> bool {
        self.unfinished_file(trace_id).symlink_metadata().is_ok()
    }

    fn unfinished_file(&self, trace_id: TraceId) -> PathBuf {
        self.staging().join(format!("{trace_id}.{UNFINISHED_ENDING}"))
    }

    pub(super) fn runs(&self) -> PathBuf {
        self.data_directory.join(RUNS_FOLDER)
    }

    fn staging(&self) -> PathBuf {
        self.data_directory.join(STAGING_FOLDER)
    }

    /// The data directory.
    #[must_use]
    pub fn data_directory(&self) -> &Path {
        &self.data_directory
    }
}

/// Refuses a run that another process records, or may record: beyond its descriptors it holds no lock.
fn refuse_recorded(directory: &Path) -> Result<(), ImportError> {
    let is_recorded = match probe_liveness(directory, RecordedStatus::Running) {
        Liveness::Running => true,
        // A run that this process let rest without a lock is its own.
        Liveness::Unknown => read_live_file(directory).is_some_and(|live| !live.process.is_own()),
        Liveness::Ended | Liveness::Interrupted => false,
    };
    if is_recorded {
        Err(ImportError::RunActive)
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use tracer_sdk::disk::process_identity;

    use super::*;

    #[test]
    fn a_run_or_staged_trace_that_another_process_records_without_a_lock_is_not_taken_over() {
        let folder = tempfile::tempdir().unwrap();
        let importer = Importer::new(&Settings::with_data_dir(folder.path()));
        let started_at = Timestamp::from_unix_microseconds(0);
        let [run, staged] = ["1", "2"].map(|digit| digit.repeat(32).parse::<TraceId>().unwrap());
        let run_directory = importer
            .start(run, "weather", started_at)
            .unwrap()
            .directory()
            .to_owned();
        let staged_directory = importer.stage(staged).unwrap().directory().to_owned();
        let mut header = serde_json::to_value(process_identity()).unwrap();
        header["started_at"] = json!(started_at);
        header["lock"] = Value::Null;
        header["pid"] = json!(std::process::id());
        for (trace_id, directory) in [(run, run_directory), (staged, staged_directory)] {
            let resume = |header: &Value| {
                fs::write(directory.join(LIVE_FILE), format!("{header}\n")).unwrap();
                importer.resume(trace_id)
            };
            let mut of_another = header.clone();
            of_another["boot"] = json!("another");
            assert!(matches!(resume(&of_another), Err(ImportError::RunActive)));
            assert!(directory.join(LIVE_FILE).exists());
            assert!(resume(&header).unwrap().is_some(), "this process let it rest");
        }
    }

    #[test]
    fn a_staged_trace_whose_process_died_with_a_lock_file_is_continued_and_discarded() {
        let folder = tempfile::tempdir().unwrap();
        let importer = Importer::new(&Settings::with_data_dir(folder.path()));
        let trace_id = "1".repeat(32).parse::<TraceId>().unwrap();
        let staged = importer.stage(trace_id).unwrap();
        let directory = staged.directory().to_owned();
        for file in [META_FILE, LOCK_FILE] {
            fs::write(directory.join(file), "{").unwrap();
        }
        assert!(importer.resume(trace_id).unwrap().is_some());
        assert_eq!(fs::read_dir(&directory).unwrap().count(), 0);
        fs::write(directory.join(LOCK_FILE), "").unwrap();
        staged.discard().unwrap();
        assert!(!directory.exists());
    }
}
