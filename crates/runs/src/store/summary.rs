//! [`RunSummary`]: a run in a list, without its spans.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use super::parallel;
use super::status::RunStatus;
use crate::log::end_problems;
use crate::run::{
    InvalidRun, Liveness, LoadedRun, RunReader, Strictness, probe_liveness, read_live_file, read_meta_file,
};
use tracer_format::loops::{self, Trail};
use tracer_format::parse::read_meta;
use tracer_format::{Counts, Problem, ProblemCode, RecordedStatus, RunMeta, Timestamp, TraceId};

/// Location of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunDirectory {
    /// The run's ID, which is the name of the directory.
    pub trace_id: TraceId,
    /// The directory.
    pub path: PathBuf,
}

impl RunDirectory {
    /// The directory of a run in the folder of all runs.
    pub(super) fn in_folder(runs_dir: &Path, trace_id: TraceId) -> Self {
        Self {
            trace_id,
            path: runs_dir.join(trace_id.to_string()),
        }
    }

    /// Reads the run's `meta.json`.
    #[must_use]
    pub fn read_summary(self) -> RunSummary {
        let reading = read_meta_file(&self.path);
        let meta = match reading.meta {
            Some(meta) if reading.problems.is_empty() => Ok(meta),
            _ => self.not_written_yet(reading.problems),
        };
        RunSummary {
            directory: self,
            meta,
            log: OnceLock::new(),
            counted: OnceLock::new(),
        }
    }

    /// The same of metadata that is known from elsewhere, of a run whose files need not be here.
    #[must_use]
    pub fn summary_of(self, meta: &[u8]) -> RunSummary {
        let reading = read_meta(meta);
        let meta = match reading.meta {
            Some(meta) if reading.problems.is_empty() => Ok(meta),
            _ => Err(reading.problems),
        };
        RunSummary {
            directory: self,
            meta,
            log: OnceLock::from(Vec::new()),
            counted: OnceLock::new(),
        }
    }

    /// The metadata of a run that has no `meta.json` yet, from its `.live`.
    fn not_written_yet(&self, problems: Vec<Problem>) -> Result<RunMeta, Vec<Problem>> {
        let is_missing = problems
            .iter()
            .any(|problem| problem.code == ProblemCode::MissingFile);
        let live = is_missing.then(|| read_live_file(&self.path)).flatten();
        live.map(|live| live.as_meta(self.trace_id)).ok_or(problems)
    }

    /// Reads all of the run, and refuses it when it has a problem, see [`LoadedRun::read`].
    ///
    /// # Errors
    ///
    /// [`InvalidRun`] with every problem.
    pub fn load(&self) -> Result<LoadedRun, InvalidRun> {
        LoadedRun::read(&self.path)
    }
}

/// A run as a list shows it.
#[derive(Debug, Clone, PartialEq)]
pub struct RunSummary {
    /// Location of the run.
    pub directory: RunDirectory,
    /// Its metadata, or what is wrong with that.
    pub meta: Result<RunMeta, Vec<Problem>>,
    /// Problems at the ends of its log, once they were asked for.
    log: OnceLock<Vec<Problem>>,
    /// Counts of its log, once they were asked for and `meta.json` leaves them open.
    counted: OnceLock<Option<Counts>>,
}

impl RunSummary {
    /// The start of the run, if it can be read.
    #[must_use]
    pub fn started(&self) -> Option<Timestamp> {
        self.meta.as_ref().ok().map(|meta| meta.started_at.instant())
    }

    /// Number of records of each type: from `meta.json`, or from the log where other processes wrote into it as well.
    /// Zeros when the run cannot be read.
    #[must_use]
    pub fn counts(&self) -> Counts {
        let Ok(meta) = &self.meta else {
            return Counts::default();
        };
        let count = || {
            let run = RunReader::open(&self.directory.path, Strictness::Lenient);
            run.ok().map(|run| run.counts())
        };
        let counted = if meta.has_exact_counts() {
            None
        } else {
            *self.counted.get_or_init(count)
        };
        counted.unwrap_or(meta.counts)
    }

    /// Probes whether the run is still being recorded.
    #[must_use]
    pub fn probe_liveness(&self) -> Liveness {
        let status = self
            .meta
            .as_ref()
            .map_or(RecordedStatus::Running, |meta| meta.status);
        probe_liveness(&self.directory.path, status)
    }

    /// Reasons why the run is not what its metadata says: problems of `meta.json` or, when that can be read, of the
    /// last line of the log. Empty for most damaged logs too: only [`validate`](crate::run::validate())
    /// reads all of one.
    ///
    /// The log is checked once, at the first call.
    #[must_use]
    pub fn problems(&self) -> &[Problem] {
        match &self.meta {
            Ok(meta) => self.log.get_or_init(|| end_problems(&self.directory.path, meta)),
            Err(problems) => problems,
        }
    }

    /// Checks the logs of many runs at once, as [`RunSummary::problems`] otherwise does one by one.
    pub fn check_all_logs(runs: &[Self]) {
        parallel::map(runs, |run| {
            let _ = run.problems();
        });
    }

    /// The status of the run, in the one vocabulary of everything that shows runs.
    #[must_use]
    pub fn status(&self) -> RunStatus {
        match &self.meta {
            Ok(meta) if self.problems().is_empty() => {
                let is_interrupted = || self.probe_liveness() == Liveness::Interrupted;
                RunStatus::recorded(meta, is_interrupted, || self.has_looped())
            }
            _ => RunStatus::Damaged,
        }
    }

    /// Returns whether some process records the run, or may do so: it is not to be changed or removed.
    #[must_use]
    pub fn may_be_live(&self) -> bool {
        match self.probe_liveness() {
            Liveness::Running => true,
            // Without metadata nothing says that it runs.
            Liveness::Unknown => self.meta.is_ok(),
            Liveness::Ended | Liveness::Interrupted => false,
        }
    }

    /// Returns whether the run ended well and looped on the way: calls asked the same again and again, or may have,
    /// where what they asked was not recorded. A loop warning alone says that shapes repeat, which three files read in
    /// a row do as well.
    ///
    /// This is what makes the status of a run `loop`, wherever it is shown. An emitter that saw all of a run says it in
    /// `meta.json` (`loops`); of any other run with a warning the spans are read.
    #[must_use]
    pub fn has_looped(&self) -> bool {
        let meta = self.meta.as_ref();
        meta.is_ok_and(|meta| has_looped(meta, || self.spans_loop()))
    }

    /// Returns whether the spans have a loop. Where they cannot be read, or lack the warnings, the counts of
    /// `meta.json` decide.
    fn spans_loop(&self) -> bool {
        let Ok(run) = RunReader::open(&self.directory.path, Strictness::Lenient) else {
            return true;
        };
        let mut trail = Trail::default();
        for record in run.records {
            let Ok(record) = record else { return true };
            trail.take(&record, &loops::of_scalar);
        }
        let lacks_warnings = !trail.has_warnings() && self.meta.as_ref().is_ok_and(RunMeta::has_exact_counts);
        lacks_warnings || trail.has_loop()
    }
}

/// Returns whether a run with this metadata looped, see [`RunSummary::has_looped`]; `spans_loop` is called only where
/// the metadata leaves it open.
pub fn has_looped(meta: &RunMeta, spans_loop: impl FnOnce() -> bool) -> bool {
    let has_none = meta.has_exact_counts() && meta.counts.loop_warnings == 0;
    if meta.status != RecordedStatus::Ok || has_none {
        return false;
    }
    meta.loops().map_or_else(spans_loop, |loops| loops > 0)
}
