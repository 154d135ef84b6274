//! [`RunCatalog`]: all runs of a store in databases, for questions whose answers are small: there may be millions.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use rayon::prelude::*;
use rusqlite::functions::FunctionFlags;
use rusqlite::{Row, ToSql, params_from_iter};
use tracer_insight::status::RunStatus;
use tracer_runs::{CancelToken, RunDirectory, StoreError};
use tracer_sdk::format::{Timestamp, TraceId};

use crate::database::{RunDatabase, id_at, status_at};
use crate::database_file::DatabaseError;
use crate::query::{self, Condition, RunQuery, SqlFilter, StepQuery};
use crate::run_column::RunColumn;
use crate::run_row::status_now;
use crate::search::{RunHits, StepSearch, hits, matches_by_steps, reading_threads};
use crate::stats::{Grouping, StatsSums, StoreStats};
use crate::store::{DatabaseRow, FactsStore, ListedRun, ReadingProgress};
use crate::survey::Survey;
use crate::threads::RunThreads;
use crate::workers;

/// Runs whose steps are read that are in memory at a time.
const RUNS_PER_STEPS: usize = 1_000;
/// Rows that are in memory at a time.
const ROWS_PER_TURN: usize = 256;

/// The order of runs without another one.
const NEWEST_FIRST: &str = "placed DESC, trace_id";

/// The progress of a selection that reads the steps of runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MatchProgress {
    /// Runs whose steps decide.
    pub runs: usize,
    /// Those of them that were looked through.
    pub read_runs: usize,
}

/// The runs that a query selects.
#[derive(Debug, Clone)]
pub struct SelectedRuns {
    filter: SqlFilter,
    now: Timestamp,
}

impl SelectedRuns {
    /// Those of them that a list, the newest first, has after a run.
    #[must_use]
    pub fn after(mut self, run: &ListedRun) -> Self {
        let id = run.directory.trace_id;
        let is_later = match run.placed() {
            None => format!("(placed IS NULL AND trace_id > x'{id}')"),
            Some(placed) => {
                let placed = placed.unix_microseconds();
                format!("(coalesce(placed < {placed}, 1) OR placed = {placed} AND trace_id > x'{id}')")
            }
        };
        self.filter.possible = format!("{} AND {is_later}", self.filter.possible);
        self
    }

    /// Those of them that meet another condition, which no steps decide.
    #[must_use]
    pub fn with(self, condition: Condition) -> Self {
        Self {
            filter: self.filter.with(condition, self.now),
            now: self.now,
        }
    }
}

/// The order of the runs of a list.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RunOrder {
    /// The column that they are sorted by.
    pub column: RunColumn,
    /// Set where the last one comes first.
    pub is_reversed: bool,
    /// Set where the runs of each thread are together, at the place of the first of them.
    pub groups_threads: bool,
}

/// The number of runs, without any one of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunCensus {
    /// The runs, in no order.
    pub ids: Vec<TraceId>,
    /// The number of runs with each status.
    pub statuses: BTreeMap<RunStatus, usize>,
    /// Trials of gates that were left out.
    pub hidden_trials: usize,
    /// A number that changes when a run is added, changes, or goes.
    pub version: u64,
}

/// All runs of a store, as they were at one instant: those of this machine, and of the bucket that is read as well.
#[derive(Debug)]
pub struct RunCatalog {
    /// Runs that are missing because reading was cancelled.
    pub unread: usize,
    /// Why facts could not be kept; they are read again the next time then.
    pub not_kept: Option<DatabaseError>,
    /// Why runs of the bucket that is read as well are missing.
    pub unread_bucket: Option<DatabaseError>,
    pub(crate) store: FactsStore,
    /// The last change of the mirror of the bucket; 0 without one.
    pub(crate) mirrored: i64,
    /// The runs of this machine that have not ended, with their statuses.
    pub(crate) open: Vec<(TraceId, RunStatus)>,
    /// The runs that are read from this machine.
    pub(crate) here: Arc<HashSet<TraceId>>,
    pub(crate) database: RunDatabase,
}

impl Survey {
    /// Reads the runs that have to be read, the newest first, in several threads, and keeps their facts as it goes. When
    /// `cancel` is cancelled, what was read until then is given, and kept.
    ///
    /// # Errors
    ///
    /// [`DatabaseError`]: the runs cannot be kept anywhere.
    pub fn open(
        self,
        cancel: &CancelToken,
        progress: impl FnMut(ReadingProgress),
    ) -> Result<RunCatalog, DatabaseError> {
        let store = self.store.clone();
        let read = self.read_here(cancel, progress)?;
        let runs = RunCatalog::new(store, Arc::new(read.ids), read.database)?;
        let open = "SELECT trace_id, current_status FROM listed WHERE status IN ('running', 'interrupted')";
        Ok(RunCatalog {
            unread: read.unread,
            not_kept: read.not_kept,
            open: runs
                .database
                .all(open, [], |row| Ok((id_at(row, 0)?, status_at(row, 1)?)))?,
            ..runs
        })
    }
}

impl RunCatalog {
    fn new(
        store: FactsStore,
        here: Arc<HashSet<TraceId>>,
        mut database: RunDatabase,
    ) -> Result<Self, DatabaseError> {
        let runs_dir = store.runs().runs_dir();
        let is_here = Arc::clone(&here);
        database.with(|connection| {
            query::register(connection, store.prices())?;
            let flags = FunctionFlags::SQLITE_UTF8;
            connection.create_scalar_function("is_here", 1, flags, move |context| {
                let id = TraceId::from_u128(u128::from_be_bytes(context.get(0)?));
                Ok(id.is_some_and(|id| is_here.contains(&id)))
            })?;
            // Files say if a run has ended, and its process if it is running.
            connection.create_scalar_function("status_now", 2, flags, move |context| {
                let recorded = context.get_raw(0).as_str_or_null().ok().flatten();
                let recorded = recorded.and_then(RunStatus::from_word);
                let id = TraceId::from_u128(u128::from_be_bytes(context.get(1)?));
                let status = recorded.zip(id).map(|(recorded, id)| {
                    let directory = RunDirectory {
                        trace_id: id,
                        path: runs_dir.join(id.to_string()),
                    };
                    status_now(recorded, &directory).as_str()
                });
                Ok(status)
            })
        })?;
        let attached = attach_bucket(&store, &mut database);
        database.begin()?;
        let mirrored = attached.and_then(|is_attached| {
            let mirrored = is_attached.then(|| database.last_number("bucket"));
            mirrored.transpose()
        });
        let (mirrored, unread_bucket) = match mirrored {
            Ok(mirrored) => (mirrored, None),
            Err(error) => (None, Some(error)),
        };
        let here_alone = listed("main", 0);
        let both = || format!("{here_alone} UNION ALL {}", listed("bucket", 1));
        let view = mirrored.map_or_else(|| here_alone.clone(), |_| both());
        database
            .with(|connection| connection.execute_batch(&format!("CREATE TEMP VIEW listed AS {view}")))?;
        Ok(Self {
            unread: 0,
            not_kept: None,
            unread_bucket,
            mirrored: mirrored.unwrap_or_default(),
            open: Vec::new(),
            store,
            here,
            database,
        })
    }

    /// The same runs for another thread.
    ///
    /// # Errors
    ///
    /// [`DatabaseError`]: the database cannot be opened again.
    pub fn reopen(&self) -> Result<Self, DatabaseError> {
        let database = self.database.reopen(self.store.runs().data_dir())?;
        Ok(Self {
            mirrored: self.mirrored,
            open: self.open.clone(),
            ..Self::new(self.store.clone(), Arc::clone(&self.here), database)?
        })
    }

    /// Lets other processes write again. What is read from now on may be newer.
    ///
    /// # Errors
    ///
    /// [`DatabaseError`]: the database cannot be read.
    pub fn end_reading(&self) -> Result<(), DatabaseError> {
        self.database.end()
    }

    /// Selects the runs that match a query: its terms on runs by their facts, those on steps by reading the steps, in several
    /// threads, while other processes can write. `progress` is called before the first run is read and after each one, and never
    /// where facts decide. When `cancel` is cancelled, runs that were not read yet do not match.
    ///
    /// # Errors
    ///
    /// [`DatabaseError`]: the database cannot be read.
    pub fn select(
        &self,
        query: &RunQuery,
        with_trials: bool,
        now: Timestamp,
        cancel: &CancelToken,
        mut progress: impl FnMut(MatchProgress),
    ) -> Result<SelectedRuns, DatabaseError> {
        let mut filter = SqlFilter::new(query, with_trials, now);
        if !filter.undecided.is_empty() {
            let undecided = format!("AND ({}) ORDER BY trace_id", filter.undecided);
            let undecided = self.possible(&filter, &undecided)?;
            let matching = if undecided.is_empty() {
                Vec::new()
            } else {
                self.end_reading()?;
                let matching =
                    self.match_steps(&undecided, &StepQuery::of_runs(query), cancel, &mut progress)?;
                // All that is read of the selection is of one instant.
                self.database.begin()?;
                matching
            };
            filter.decide(&matching);
        }
        Ok(SelectedRuns { filter, now })
    }

    /// Those of some runs whose steps match.
    fn match_steps(
        &self,
        undecided: &[TraceId],
        test: &StepQuery,
        cancel: &CancelToken,
        progress: &mut impl FnMut(MatchProgress),
    ) -> Result<Vec<TraceId>, DatabaseError> {
        let mut reading = MatchProgress {
            runs: undecided.len(),
            read_runs: 0,
        };
        progress(reading);
        let mut matching = Vec::new();
        self.read_steps(
            undecided,
            cancel,
            |run| matches_by_steps(run, test),
            |_, run, matches| {
                reading.read_runs += 1;
                progress(reading);
                matching.extend(matches.then_some(run.directory.trace_id));
            },
        )?;
        Ok(matching)
    }

    /// The number of selected runs.
    ///
    /// # Errors
    ///
    /// [`DatabaseError`]: the database cannot be read.
    pub fn count(&self, selection: &SelectedRuns) -> Result<usize, DatabaseError> {
        let SelectedRuns { filter, .. } = selection;
        let query = format!(
            "SELECT count(*) FROM (SELECT 1 FROM listed WHERE {})",
            filter.possible
        );
        let count = self
            .database
            .first(&query, params_from_iter(&filter.parameters), |row| {
                count_at(row, 0)
            })?;
        Ok(count.unwrap_or_default())
    }

    /// The number of selected runs with each status.
    ///
    /// # Errors
    ///
    /// [`DatabaseError`]: the database cannot be read.
    pub fn statuses(&self, selection: &SelectedRuns) -> Result<BTreeMap<RunStatus, usize>, DatabaseError> {
        let SelectedRuns { filter, .. } = selection;
        let query = format!(
            "SELECT current_status, count(*) FROM (SELECT current_status FROM listed WHERE {}) GROUP BY 1",
            filter.possible
        );
        self.database
            .all(&query, params_from_iter(&filter.parameters), |row| {
                Ok((status_at(row, 0)?, count_at(row, 1)?))
            })
    }

    /// The selected runs in an order, `limit` of them from a place on.
    ///
    /// # Errors
    ///
    /// [`DatabaseError`]: the database cannot be read.
    pub fn page(
        &self,
        selection: &SelectedRuns,
        order: RunOrder,
        from: usize,
        limit: usize,
    ) -> Result<Vec<ListedRun>, DatabaseError> {
        let SelectedRuns { filter, now } = selection;
        let key = order.column.sort_key(*now).unwrap_or_else(|| "NULL".to_owned());
        let sorted = order.column.order_by(order.is_reversed);
        let matching = format!(
            "SELECT trace_id, placed, session, {key} AS key FROM listed WHERE {}",
            filter.possible
        );
        let [limit, from] = [limit, from].map(|number| i64::try_from(number).unwrap_or(i64::MAX));
        let query = if order.groups_threads {
            format!(
                "SELECT trace_id FROM (
                    SELECT trace_id, session, row_number() OVER (ORDER BY {sorted}) AS rank FROM ({matching})
                ) ORDER BY min(rank) OVER (PARTITION BY session, iif(session IS NULL, trace_id, NULL)), rank
                LIMIT {limit} OFFSET {from}"
            )
        } else {
            format!("SELECT trace_id, placed FROM ({matching}) ORDER BY {sorted} LIMIT {limit} OFFSET {from}")
        };
        let ids: Vec<TraceId> = self
            .database
            .all(&query, params_from_iter(&filter.parameters), |row| id_at(row, 0))?;
        self.runs(&ids)
    }

    /// The IDs of the selected runs, in no order.
    ///
    /// # Errors
    ///
    /// [`DatabaseError`]: the database cannot be read.
    pub fn ids(&self, selection: &SelectedRuns) -> Result<Vec<TraceId>, DatabaseError> {
        self.possible(&selection.filter, "")
    }

    /// The directories of the selected runs, the newest first.
    ///
    /// # Errors
    ///
    /// [`DatabaseError`]: the database cannot be read.
    pub fn directories(&self, selection: &SelectedRuns) -> Result<Vec<RunDirectory>, DatabaseError> {
        let SelectedRuns { filter, .. } = selection;
        let query = format!(
            "SELECT trace_id, origin, placed FROM listed WHERE {} ORDER BY {NEWEST_FIRST}",
            filter.possible
        );
        self.database
            .all(&query, params_from_iter(&filter.parameters), |row| {
                Ok(self.store.directory_at(id_at(row, 0)?, row.get(1)?))
            })
    }

    /// The IDs of possible runs that meet a further condition.
    fn possible(&self, filter: &SqlFilter, rest: &str) -> Result<Vec<TraceId>, DatabaseError> {
        let query = format!(
            "SELECT trace_id, placed FROM listed WHERE {} {rest}",
            filter.possible
        );
        self.database
            .all(&query, params_from_iter(&filter.parameters), |row| id_at(row, 0))
    }

    /// Runs by their IDs; one that has gone meanwhile is missing.
    ///
    /// # Errors
    ///
    /// [`DatabaseError`]: the database cannot be read.
    pub fn runs(&self, ids: &[TraceId]) -> Result<Vec<ListedRun>, DatabaseError> {
        let rows = self.rows(ids)?;
        Ok(rows.iter().filter_map(|row| row.listed(&self.store)).collect())
    }

    fn rows(&self, ids: &[TraceId]) -> Result<Vec<DatabaseRow>, DatabaseError> {
        let query = format!("SELECT {} FROM listed WHERE trace_id = ?1", DatabaseRow::COLUMNS);
        self.database.with(|connection| {
            let mut statement = connection.prepare(&query)?;
            let mut found = Vec::new();
            for id in ids {
                let mut rows = statement.query([id.to_bytes()])?;
                while let Some(row) = rows.next()? {
                    found.push(DatabaseRow::of(row)?);
                }
            }
            Ok(found)
        })
    }

    /// One run; `None` when there is none with this ID.
    ///
    /// # Errors
    ///
    /// [`DatabaseError`]: the database cannot be read.
    pub fn run(&self, id: TraceId) -> Result<Option<ListedRun>, DatabaseError> {
        Ok(self.runs(&[id])?.pop())
    }

    /// Counts all runs.
    ///
    /// # Errors
    ///
    /// [`DatabaseError`]: the database cannot be read.
    pub fn census(&self, with_trials: bool) -> Result<RunCensus, DatabaseError> {
        let mut census = RunCensus::default();
        let query = "SELECT trace_id, current_status, is_trial, files, generation FROM listed";
        let _: Vec<()> = self.database.all(query, [], |row| {
            let (run, status) = (id_at(row, 0)?, status_at(row, 1)?);
            let mut hasher = DefaultHasher::new();
            (run, status, row.get_ref(3)?.as_blob()?, row.get::<_, i64>(4)?).hash(&mut hasher);
            // The order says nothing.
            census.version = census.version.wrapping_add(hasher.finish());
            if row.get(2)? && !with_trials {
                census.hidden_trials += 1;
            } else {
                census.ids.push(run);
                *census.statuses.entry(status).or_default() += 1;
            }
            Ok(())
        })?;
        Ok(census)
    }

    /// The runs whose facts do not exclude them, the newest first, for a [`search`](Self::search) of their steps.
    ///
    /// # Errors
    ///
    /// [`DatabaseError`]: the database cannot be read.
    pub fn candidates(
        &self,
        query: &RunQuery,
        with_trials: bool,
        now: Timestamp,
    ) -> Result<Vec<TraceId>, DatabaseError> {
        let filter = SqlFilter::new(query, with_trials, now);
        self.possible(&filter, &format!("ORDER BY {NEWEST_FIRST}"))
    }

    /// Searches the steps of runs in several threads, while other processes can write. `found` is called for each run, with its
    /// place among `ids`, as soon as it is searched; of a run at most `wanted.limit` hits are given. What cannot be read has no
    /// hits. After `cancel` is cancelled, no further run is searched.
    ///
    /// # Errors
    ///
    /// [`DatabaseError`]: the database cannot be read.
    pub fn search(
        &self,
        ids: &[TraceId],
        wanted: &StepSearch<'_>,
        cancel: &CancelToken,
        mut found: impl FnMut(usize, &ListedRun, RunHits),
    ) -> Result<(), DatabaseError> {
        self.end_reading()?;
        self.read_steps(
            ids,
            cancel,
            |run| hits(run, wanted),
            |at, run, hits| found(at, run, hits),
        )
    }

    /// Reads the steps of runs in several threads, some of the runs at a time: there may be millions.
    fn read_steps<Read: Send>(
        &self,
        ids: &[TraceId],
        cancel: &CancelToken,
        read: impl Fn(&ListedRun) -> Read + Sync,
        mut take: impl FnMut(usize, &ListedRun, Read),
    ) -> Result<(), DatabaseError> {
        let store = &self.store;
        // It is read in between, and what was found is not lost to another process that writes meanwhile.
        self.database.wait_longer()?;
        for (chunk, ids) in ids.chunks(RUNS_PER_STEPS).enumerate() {
            if cancel.is_cancelled() {
                break;
            }
            let places: HashMap<TraceId, usize> = ids.iter().copied().zip(chunk * RUNS_PER_STEPS..).collect();
            let rows = self.rows(ids)?;
            // Rows are parsed by the threads that read the steps.
            let read = |row: &DatabaseRow| {
                let run = row.listed(store)?;
                let read = read(&run);
                Some((run, read))
            };
            workers::each(&rows, reading_threads(&rows), cancel, read, |_, read| {
                if let Some((run, read)) = read
                    && let Some(place) = places.get(&run.directory.trace_id)
                {
                    take(*place, &run, read);
                }
            });
        }
        Ok(())
    }

    /// The statistics of the selected runs, as a whole and by group.
    ///
    /// # Errors
    ///
    /// [`DatabaseError`]: the database cannot be read.
    pub fn stats(&self, selection: &SelectedRuns, by: Option<Grouping>) -> Result<StoreStats, DatabaseError> {
        let SelectedRuns { filter, .. } = selection;
        let query = format!(
            "SELECT {} FROM listed WHERE {}",
            DatabaseRow::COLUMNS,
            filter.possible
        );
        let (store, mut sums) = (&self.store, StatsSums::new(by));
        let mut add = |rows: Vec<DatabaseRow>| {
            let runs: Vec<ListedRun> = rows.into_par_iter().filter_map(|row| row.listed(store)).collect();
            for run in &runs {
                sums.add_run(run);
            }
        };
        self.database.with(|connection| {
            let mut statement = connection.prepare(&query)?;
            let mut rows = statement.query(params_from_iter(&filter.parameters))?;
            let mut waiting = Vec::new();
            while let Some(row) = rows.next()? {
                waiting.push(DatabaseRow::of(row)?);
                if waiting.len() >= ROWS_PER_TURN {
                    add(std::mem::take(&mut waiting));
                }
            }
            add(waiting);
            Ok(())
        })?;
        Ok(sums.finish())
    }

    /// The threads of these runs.
    ///
    /// # Errors
    ///
    /// [`DatabaseError`]: the database cannot be read.
    pub fn threads(&self, listed: &[ListedRun], with_trials: bool) -> Result<RunThreads, DatabaseError> {
        let sessions = listed.iter().filter_map(|run| run.row.session.as_deref());
        // The oldest is the first.
        let query = "SELECT trace_id, row_number() OVER (ORDER BY placed, trace_id DESC), count(*) OVER ()
            FROM (SELECT trace_id, placed FROM listed WHERE session = ?1 AND is_trial <= ?2)";
        let mut threads = RunThreads::default();
        for session in sessions.collect::<HashSet<&str>>() {
            let parameters: [&dyn ToSql; 2] = [&session, &with_trials];
            let found: Vec<(TraceId, (usize, usize))> = self.database.all(query, parameters, |row| {
                Ok((id_at(row, 0)?, (count_at(row, 1)?, count_at(row, 2)?)))
            })?;
            threads
                .places
                .extend(found.into_iter().filter(|(_, (_, count))| *count > 1));
        }
        Ok(threads)
    }

    /// The number of threads of several runs.
    ///
    /// # Errors
    ///
    /// [`DatabaseError`]: the database cannot be read.
    pub fn thread_count(&self) -> Result<usize, DatabaseError> {
        let query = "SELECT count(*) FROM (
            SELECT 1 FROM (SELECT session FROM listed WHERE session IS NOT NULL)
            GROUP BY session HAVING count(*) > 1)";
        let count = self.database.first(query, [], |row| count_at(row, 0))?;
        Ok(count.unwrap_or_default())
    }

    /// The names of the runs, each once, from A to Z, at most `limit`; `None` comes first, of runs without one.
    ///
    /// # Errors
    ///
    /// [`DatabaseError`]: the database cannot be read.
    pub fn names(&self, limit: usize) -> Result<Vec<Option<String>>, DatabaseError> {
        let query =
            format!("SELECT DISTINCT name FROM (SELECT name FROM listed) ORDER BY name LIMIT {limit}");
        self.database.all(&query, [], |row| row.get(0))
    }
}

impl FactsStore {
    /// The runs that are known now, and those that have to be read; `None` where nothing has changed since `before`. Where
    /// nothing has been recorded yet, there are no runs.
    ///
    /// # Errors
    ///
    /// [`StoreError`] when the folder of runs cannot be read.
    pub fn survey_after(&self, before: Option<&RunCatalog>) -> Result<Option<Survey>, StoreError> {
        let survey = match before {
            None => self.survey().map(Some),
            Some(before) => self.survey_again(before),
        };
        match survey {
            Err(StoreError::Missing { .. }) => Ok(Some(Survey::empty(self))),
            survey => survey,
        }
    }

    fn survey_again(&self, before: &RunCatalog) -> Result<Option<Survey>, StoreError> {
        if !before.database.is_same(self.runs().data_dir()) {
            return self.survey().map(Some);
        }
        let Ok(states) = before.database.states() else {
            return self.survey().map(Some);
        };
        let survey = self.compare(&states)?;
        let is_same = survey.finds_nothing_new() && survey.known == *before.here;
        let is_still = |(run, status): &(TraceId, RunStatus)| {
            let directory = self.directory(*run);
            status_now(RunStatus::Running, &directory) == *status
        };
        if is_same
            && self.last_mirrored(before.mirrored) == before.mirrored
            && before.open.iter().all(is_still)
        {
            return Ok(None);
        }
        let kept = self.survey()?;
        if !before.database.is_in_memory || kept.can_be_kept() {
            return Ok(Some(kept));
        }
        let database = before.database.reopen(self.runs().data_dir());
        Ok(Some(survey.with_database(database.map_err(Some))))
    }
}

fn count_at(row: &Row<'_>, column: usize) -> rusqlite::Result<usize> {
    let count: i64 = row.get(column)?;
    Ok(usize::try_from(count).unwrap_or_default())
}

/// Attaches the mirror of the bucket that is read as well; `false` where there is none, or nothing was ever synchronized.
fn attach_bucket(store: &FactsStore, database: &mut RunDatabase) -> Result<bool, DatabaseError> {
    let Some(team) = store.team() else {
        return Ok(false);
    };
    let Some(mirror) = team.mirror().open_database()? else {
        return Ok(false);
    };
    database.attach(mirror)?;
    Ok(true)
}

/// The query of the runs of a database; of one that is here and in the bucket, only one of both is shown. Both databases have
/// the same expressions: `SQLite` then takes the view apart, and computes what a question needs.
fn listed(database: &str, origin: u8) -> String {
    format!(
        "SELECT runs.*, status_now(status, trace_id) AS current_status, {origin} AS origin,
            (SELECT facts FROM {database}.facts WHERE facts.number = runs.number) AS facts
         FROM {database}.runs WHERE status IS NOT NULL AND is_here(trace_id) = {}",
        1 - origin
    )
}

#[cfg(test)]
mod tests;
