//! [`Survey`]: the runs of this machine as they were kept, and those whose files have changed since.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::PoisonError;
use std::time::{Duration, Instant, SystemTime};

use rayon::ThreadPoolBuilder;
use rayon::prelude::*;
use tracer_runs::{CancelToken, RunDirectory, StoreError};
use tracer_sdk::format::{Timestamp, TraceId};

use crate::database::{KnownState, RunDatabase, RunToStore};
use crate::database_file::DatabaseError;
use crate::files_stamp::FilesStamp;
use crate::run_row::{self, FullReading};
use crate::store::{FactsStore, ReadingProgress, placed};
use crate::workers;

/// Threads that stat the files of runs: a disk answers many questions at once.
const MAX_LOOKING: usize = 16;
/// Runs that are worth a thread.
const RUNS_PER_THREAD: usize = 64;
/// Runs that are kept in one transaction, and how long that may wait: what was read is kept when reading is cancelled.
const RUNS_PER_WRITE: usize = 500;
const MAX_UNWRITTEN: Duration = Duration::from_secs(1);
/// A run whose reading takes longer, and that is still written, is not read again at every look …
const LONG_READING: Duration = Duration::from_millis(50);
/// … but when as many times its reading have passed: reading takes a part of the time only.
#[cfg(not(test))]
const REST_FACTOR: u32 = 4;
/// Tests change runs at once after they were read.
#[cfg(test)]
const REST_FACTOR: u32 = 0;

/// The runs of a store by their files alone: those that are known, and those to be read.
#[derive(Debug)]
pub struct Survey {
    pub(crate) store: FactsStore,
    /// Runs of this machine whose files are as they were when they were read.
    pub(crate) known: HashSet<TraceId>,
    /// The newest first.
    unread: Vec<UnreadRun>,
    gone: Vec<TraceId>,
    database: Result<RunDatabase, Option<DatabaseError>>,
}

#[derive(Debug)]
struct UnreadRun {
    directory: RunDirectory,
    newest: Option<SystemTime>,
    bytes: u64,
}

/// The runs of this machine, in a database.
pub(crate) struct RunsHere {
    pub(crate) database: RunDatabase,
    pub(crate) ids: HashSet<TraceId>,
    pub(crate) unread: usize,
    pub(crate) not_kept: Option<DatabaseError>,
}

impl FactsStore {
    /// Compares the files of all runs with what is kept of them, and reads none.
    ///
    /// # Errors
    ///
    /// [`StoreError`] when the folder of runs is missing or cannot be read.
    pub fn survey(&self) -> Result<Survey, StoreError> {
        let (database, known) = self.kept();
        let survey = self.compare(&known)?;
        Ok(survey.with_database(database))
    }

    /// The number of the last change of the mirror; `otherwise` where it cannot be opened.
    pub(crate) fn last_mirrored(&self, otherwise: i64) -> i64 {
        let Some(team) = self.team() else { return 0 };
        match team.mirror().open_database() {
            Ok(Some(database)) => database.last_number("main").unwrap_or(otherwise),
            Ok(None) => 0,
            Err(_) => otherwise,
        }
    }

    /// Compares the files of the runs of this machine with their known states.
    pub(crate) fn compare(&self, known: &HashMap<TraceId, KnownState>) -> Result<Survey, StoreError> {
        let directories = self.local_directories()?;
        let listed: HashSet<TraceId> = directories.iter().map(|run| run.trace_id).collect();
        let gone = known
            .keys()
            .filter(|run| !listed.contains(run))
            .copied()
            .collect();
        // Of a run that is in the bucket as well, only one of both is read.
        let mirror = self.team().and_then(|team| team.mirror().database());
        let in_bucket = mirror
            .and_then(|mirror| mirror.known_of(listed.into_iter()).ok())
            .unwrap_or_default();
        let is_read_here = |directory: &RunDirectory| {
            !in_bucket.contains(&directory.trace_id)
                || self.team().is_none_or(|team| team.has_changed_here(directory))
        };
        let look = |directory: &RunDirectory| {
            let state = known.get(&directory.trace_id);
            let is_known = state.is_some_and(|state| self.is_unchanged(state, directory));
            (!is_known)
                .then(|| UnreadRun::of(directory.clone()))
                .ok_or(directory.trace_id)
        };
        let directories: Vec<RunDirectory> = directories.into_iter().filter(is_read_here).collect();
        let looks: Vec<Result<UnreadRun, TraceId>> = match ThreadPoolBuilder::new()
            .num_threads(directories.len().div_ceil(RUNS_PER_THREAD).clamp(1, MAX_LOOKING))
            .build()
        {
            Ok(pool) => pool.install(|| directories.par_iter().map(look).collect()),
            Err(_) => directories.iter().map(look).collect(),
        };
        let mut survey = Survey {
            gone,
            ..Survey::empty(self)
        };
        for look in looks {
            match look {
                Ok(unread) => survey.unread.push(unread),
                Err(known) => drop(survey.known.insert(known)),
            }
        }
        survey.unread.sort_by(|one, other| {
            let newest_first = other.newest.cmp(&one.newest);
            newest_first.then_with(|| one.directory.trace_id.cmp(&other.directory.trace_id))
        });
        Ok(survey)
    }

    /// True of a run whose files are what they were.
    fn is_unchanged(&self, state: &KnownState, directory: &RunDirectory) -> bool {
        if !state.is_settled {
            let readings = self.long_readings.lock().unwrap_or_else(PoisonError::into_inner);
            let reading = readings.get(&directory.trace_id);
            return reading.is_some_and(|(read, took)| read.elapsed() < took.saturating_mul(REST_FACTOR));
        }
        let mut files = FilesStamp::of(&directory.path, state.is_open);
        files.bytes() == &*state.files || {
            files.add_directory(&directory.path);
            files.bytes() == &*state.files
        }
    }

    /// The database, and the states of the runs in it.
    fn kept(&self) -> KeptStates {
        if !self.runs().runs_dir().is_dir() {
            return (Err(None), HashMap::new());
        }
        let open = || {
            let database = RunDatabase::of_this_machine(self.runs().data_dir())?;
            Ok((database.states()?, database))
        };
        // A file that turns out to be damaged is gone then, and there is a new one the second time.
        let opened =
            open().or_else(|error: DatabaseError| if error.is_made_again() { open() } else { Err(error) });
        match opened {
            Ok((states, database)) => (Ok(database), states),
            Err(error) => (Err(Some(error)), HashMap::new()),
        }
    }
}

type KeptStates = (
    Result<RunDatabase, Option<DatabaseError>>,
    HashMap<TraceId, KnownState>,
);

impl Survey {
    /// Number of runs that have to be read, and the bytes of their logs.
    #[must_use]
    pub fn unread(&self) -> (usize, u64) {
        (self.unread.len(), self.unread.iter().map(|run| run.bytes).sum())
    }

    /// The same with the database that its known runs are in.
    pub(crate) fn with_database(self, database: Result<RunDatabase, Option<DatabaseError>>) -> Self {
        Self { database, ..self }
    }

    /// True where each run is known, and none has gone.
    pub(crate) fn finds_nothing_new(&self) -> bool {
        self.unread.is_empty() && self.gone.is_empty()
    }

    /// True where the database is a file that can be written.
    pub(crate) fn can_be_kept(&self) -> bool {
        self.database.as_ref().is_ok_and(RunDatabase::is_writable)
    }

    /// No runs.
    pub(crate) fn empty(store: &FactsStore) -> Self {
        Self {
            store: store.clone(),
            known: HashSet::new(),
            unread: Vec::new(),
            gone: Vec::new(),
            database: Err(None),
        }
    }

    /// Reads the runs of this machine that have to be read.
    pub(crate) fn read_here(
        mut self,
        cancel: &CancelToken,
        progress: impl FnMut(ReadingProgress),
    ) -> Result<RunsHere, DatabaseError> {
        let database = std::mem::replace(&mut self.database, Err(None));
        let gone = std::mem::take(&mut self.gone);
        let mut writer = FactsWriter::new(self.store.runs().data_dir(), database, gone)?;
        let mut ids = std::mem::take(&mut self.known);
        let unread = std::mem::take(&mut self.unread);
        let (mut read, mut left) = self.read_runs(&unread, &mut writer, cancel, progress)?;
        if writer.has_lost_runs {
            let lost = std::mem::take(&mut ids).into_iter().chain(read);
            let unread = lost.map(|run| UnreadRun::of(self.store.directory(run)));
            let left_again;
            (read, left_again) = self.read_runs(&unread.collect::<Vec<_>>(), &mut writer, cancel, |_| ())?;
            left += left_again;
        }
        ids.extend(read);
        Ok(RunsHere {
            database: writer.database,
            ids,
            unread: left,
            not_kept: writer.not_kept,
        })
    }

    /// Reads runs, and gives them to a writer: the IDs of those that were read, and how many were not because of `cancel`.
    fn read_runs(
        &self,
        unread: &[UnreadRun],
        writer: &mut FactsWriter<'_>,
        cancel: &CancelToken,
        mut progress: impl FnMut(ReadingProgress),
    ) -> Result<(Vec<TraceId>, usize), DatabaseError> {
        let mut reading = ReadingProgress {
            runs: unread.len(),
            bytes: unread.iter().map(|run| run.bytes).sum(),
            ..ReadingProgress::default()
        };
        let (mut read_runs, mut written) = (Vec::new(), Ok(()));
        workers::each(
            unread,
            workers::processors(),
            cancel,
            |run| RunReading::of(&run.directory),
            |at, read| {
                reading.read_runs += 1;
                reading.read_bytes += unread.get(at).map_or(0, |run| run.bytes);
                if let (Some(run), Some(read)) = (unread.get(at), read) {
                    let id = run.directory.trace_id;
                    self.store.remember_reading(id, &read);
                    read_runs.push(id);
                    if written.is_ok() {
                        written = writer.add(id, read);
                    }
                }
                progress(reading);
            },
        );
        written?;
        writer.write()?;
        Ok((read_runs, reading.runs - reading.read_runs))
    }
}

/// Writes runs that were read to the database, or to a copy of it in memory where it cannot be written.
struct FactsWriter<'a> {
    data_dir: &'a Path,
    database: RunDatabase,
    /// Set where the copy lacks the runs of the database.
    has_lost_runs: bool,
    /// Why runs are not kept.
    not_kept: Option<DatabaseError>,
    /// Each with its row as JSON.
    waiting: Vec<(TraceId, RunReading, String)>,
    gone: Vec<TraceId>,
    last_write: Instant,
}

impl<'a> FactsWriter<'a> {
    fn new(
        data_dir: &'a Path,
        database: Result<RunDatabase, Option<DatabaseError>>,
        gone: Vec<TraceId>,
    ) -> Result<Self, DatabaseError> {
        let (database, not_kept) = match database {
            Ok(database) => (database, None),
            Err(error) => (RunDatabase::in_memory(data_dir, None)?, error),
        };
        Ok(Self {
            data_dir,
            database,
            has_lost_runs: false,
            not_kept,
            waiting: Vec::new(),
            gone,
            last_write: Instant::now(),
        })
    }

    fn add(&mut self, run: TraceId, read: RunReading) -> Result<(), DatabaseError> {
        let facts = serde_json::to_string(&read.read.row).ok();
        self.waiting.extend(facts.map(|facts| (run, read, facts)));
        if self.waiting.len() >= RUNS_PER_WRITE || self.last_write.elapsed() >= MAX_UNWRITTEN {
            self.write()?;
        }
        Ok(())
    }

    /// Writes what waits. After a failure nothing more is kept: a disk is full, or another process writes.
    fn write(&mut self) -> Result<(), DatabaseError> {
        let runs = self.waiting.iter().map(|(trace_id, read, facts)| RunToStore {
            trace_id: *trace_id,
            files: read.files.bytes(),
            is_settled: read.is_settled,
            placed: read.placed,
            generation: 0,
            partition: "",
            facts: Some((facts, "null")),
        });
        let runs: Vec<RunToStore<'_>> = runs.collect();
        if !runs.is_empty() || !self.gone.is_empty() {
            let written = if !self.database.is_in_memory && self.database.is_read_only() {
                Err(None)
            } else {
                self.database.write(&runs, &self.gone).map_err(Some)
            };
            if let Err(not_kept) = written {
                self.not_kept = not_kept;
                let copy = RunDatabase::in_memory(self.data_dir, Some(&self.database));
                let copy = copy.and_then(|copy| copy.write(&runs, &self.gone).map(|()| copy));
                self.database = if let Ok(copy) = copy {
                    copy
                } else {
                    // It is locked, or damaged.
                    self.has_lost_runs = true;
                    let empty = RunDatabase::in_memory(self.data_dir, None)?;
                    empty.write(&runs, &self.gone)?;
                    empty
                };
            }
        }
        self.waiting.clear();
        self.gone.clear();
        self.last_write = Instant::now();
        Ok(())
    }
}

impl UnreadRun {
    fn of(directory: RunDirectory) -> Self {
        let files = FilesStamp::of(&directory.path, true);
        Self {
            directory,
            newest: files.newest,
            bytes: files.log_bytes,
        }
    }
}

/// A run that was read, and the stamp of its files.
struct RunReading {
    read: FullReading,
    files: FilesStamp,
    /// False where they changed meanwhile or just before: it is read again the next time.
    is_settled: bool,
    placed: Option<Timestamp>,
    took: Duration,
}

impl RunReading {
    /// Reads a run; `None` when it was deleted.
    fn of(directory: &RunDirectory) -> Option<Self> {
        let began = Instant::now();
        let before = FilesStamp::of(&directory.path, true);
        let is_settled = before.is_settled();
        let read = run_row::read(directory);
        if !directory.path.is_dir() {
            return None;
        }
        let is_same = FilesStamp::of(&directory.path, true) == before;
        let mut files = FilesStamp::of(&directory.path, read.row.is_open());
        if read.row.started_us.is_none() {
            files.add_directory(&directory.path);
        }
        Some(Self {
            is_settled: is_same && read.is_complete && is_settled,
            placed: placed(directory, &read.row),
            read,
            files,
            took: began.elapsed(),
        })
    }
}

impl FactsStore {
    /// Remembers a run that takes long to read and is still written.
    fn remember_reading(&self, run: TraceId, reading: &RunReading) {
        let mut readings = self.long_readings.lock().unwrap_or_else(PoisonError::into_inner);
        if reading.is_settled || reading.took < LONG_READING {
            readings.remove(&run);
        } else {
            readings.insert(run, (Instant::now(), reading.took));
        }
    }
}
