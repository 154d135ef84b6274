//! [`RunDatabase`]: runs in a file of `SQLite`, of this machine or of a bucket: one schema for both.
//!
//! It is a cache: what is wrong with it costs time, and is computed or synchronized again. Each change of a run gets the next
//! number, so that a reader of everything up to a number reads only what came after it. A run that was removed from a bucket
//! keeps its row, without facts.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::backup::{Backup, StepResult};
use rusqlite::{Connection, OptionalExtension, Params, Row, Transaction, TransactionBehavior, params};
use serde_json::value::{RawValue, to_raw_value};
use tracer_insight::status::RunStatus;
use tracer_sdk::format::{Timestamp, TraceId};

use crate::database_file::{self, CACHE_FOLDER, DatabaseError, DatabaseFormat, damaged};
use crate::run_facts::{FullReading, RunFacts};

/// The version of what is in a file.
const VERSION: i64 = 11;

/// The runs of this machine. The file's name has the version: an older and a newer `tracer` each have their own.
const OF_THIS_MACHINE: DatabaseFormat = DatabaseFormat {
    name: "facts-11.sqlite",
    version: VERSION,
    schema: SCHEMA,
    // Facts quote traces: of a run that was deleted nothing may stay in free pages.
    pragmas: "PRAGMA secure_delete = ON;",
    max_wait: if cfg!(test) {
        Duration::from_millis(50)
    } else {
        Duration::from_secs(1)
    },
    replaced: &[],
};

/// 32 MiB of pages in memory, where it is attached.
const BUCKET_CACHE: &str = "PRAGMA bucket.cache_size = -32768;";

/// The runs of a bucket.
const OF_BUCKET: DatabaseFormat = DatabaseFormat {
    name: "mirror-7.sqlite",
    version: VERSION,
    schema: SCHEMA,
    // 32 MiB of pages in memory: IDs come in no order.
    pragmas: "PRAGMA cache_size = -32768;",
    // Another process writes for a second at most.
    max_wait: Duration::from_secs(10),
    // It is large, and an older release synchronizes again.
    replaced: &[
        "mirror-1.sqlite",
        "mirror-2.sqlite",
        "mirror-3.sqlite",
        "mirror-4.sqlite",
        "mirror-5.sqlite",
        "mirror-6.sqlite",
    ],
};

const SCHEMA: &str = "
    CREATE TABLE runs (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        trace_id BLOB NOT NULL UNIQUE,
        -- Which state of the run it is: by its files on this machine, by its generation in a bucket.
        files BLOB NOT NULL,
        -- 0 where its files may change without another stamp.
        is_settled INTEGER NOT NULL,
        generation INTEGER NOT NULL,
        partition TEXT NOT NULL,
        -- Its start, or else when its directory was last changed.
        placed INTEGER,
        status TEXT AS (facts ->> '$.st') STORED,
        is_trial INTEGER NOT NULL AS (coalesce(facts ->> '$.tr', 0)) STORED,
        name TEXT AS (facts ->> '$.name') STORED,
        session TEXT AS (facts ->> '$.x') STORED,
        started INTEGER AS (facts ->> '$.at') STORED,
        duration INTEGER AS (CAST(facts ->> '$.us' AS INTEGER)) STORED,
        steps INTEGER NOT NULL AS (CAST(coalesce(facts ->> '$.n', 0) AS INTEGER)) STORED,
        llm_calls INTEGER NOT NULL AS (CAST(coalesce(facts ->> '$.lc', 0) AS INTEGER)) STORED,
        tool_calls INTEGER NOT NULL AS (CAST(coalesce(facts ->> '$.tc', 0) AS INTEGER)) STORED,
        errors INTEGER NOT NULL AS (CAST(coalesce(facts ->> '$.er', 0) AS INTEGER)) STORED,
        loop_warnings INTEGER NOT NULL AS (CAST(coalesce(facts ->> '$.lw', 0) AS INTEGER)) STORED,
        failed_calls INTEGER NOT NULL AS (CAST(coalesce(facts ->> '$.fc', 0) AS INTEGER)) STORED,
        unknown_calls INTEGER NOT NULL AS (CAST(coalesce(facts ->> '$.uc', 0) AS INTEGER)) STORED,
        retries INTEGER NOT NULL AS (CAST(coalesce(facts ->> '$.re', 0) AS INTEGER)) STORED,
        is_waiting INTEGER NOT NULL AS (coalesce(facts ->> '$.wa', 0)) STORED,
        total_tokens INTEGER AS (CAST(facts ->> '$.tk.t' AS INTEGER)) STORED,
        input_tokens INTEGER AS (CAST(facts ->> '$.tk.i' AS INTEGER)) STORED,
        output_tokens INTEGER AS (CAST(facts ->> '$.tk.o' AS INTEGER)) STORED,
        cached_tokens INTEGER AS (CAST(facts ->> '$.tk.r' AS INTEGER)) STORED,
        reasoning_tokens INTEGER AS (CAST(facts ->> '$.tk.z' AS INTEGER)) STORED,
        -- All of them, as JSON; NULL where it was removed from a bucket.
        facts TEXT
    ) STRICT;
    CREATE INDEX runs_newest ON runs (placed DESC, trace_id, status, is_trial) WHERE facts IS NOT NULL;
    CREATE INDEX runs_session ON runs (session, placed, trace_id, is_trial) WHERE session IS NOT NULL;
    CREATE TABLE details (
        number INTEGER PRIMARY KEY,
        details TEXT NOT NULL,
        meta TEXT NOT NULL
    ) STRICT;
    CREATE TABLE objects (name TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;
    CREATE TABLE partitions (name TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;
    CREATE TABLE synced (
        only INTEGER PRIMARY KEY CHECK (only = 1),
        at INTEGER NOT NULL,
        cursor TEXT
    ) STRICT;
";

/// The facts and details of a run, as they are stored.
#[derive(Debug, Clone)]
pub(crate) struct FactsTexts {
    pub(crate) known: RunFacts,
    pub(crate) facts: Box<RawValue>,
    pub(crate) details: Box<RawValue>,
    /// The metadata of a run in a bucket, whose files need not be here.
    pub(crate) meta: Box<RawValue>,
}

impl FactsTexts {
    pub(crate) fn of_reading(read: &FullReading) -> Option<Self> {
        Some(Self {
            known: read.facts.clone(),
            facts: to_raw_value(&read.facts).ok()?,
            details: to_raw_value(&read.details).ok()?,
            meta: RawValue::NULL.to_owned(),
        })
    }
}

/// A row to be stored.
#[derive(Debug)]
pub(crate) struct RunToStore<'a> {
    pub(crate) trace_id: TraceId,
    /// The stamp of its files; empty in a bucket.
    pub(crate) files: &'a [u8],
    /// False where its files may change without another stamp.
    pub(crate) is_settled: bool,
    /// By which it is placed among others.
    pub(crate) placed: Option<Timestamp>,
    /// 0 on this machine.
    pub(crate) generation: i64,
    /// Empty on this machine.
    pub(crate) partition: &'a str,
    /// `None` when it was removed from a bucket.
    pub(crate) state: Option<&'a FactsTexts>,
}

/// The columns of a [`DatabaseRow`], without the details.
pub(crate) const ROW: &str = "trace_id, placed, generation, facts";

/// A row as it is stored.
#[derive(Debug)]
pub(crate) struct DatabaseRow {
    pub(crate) trace_id: TraceId,
    pub(crate) placed: Option<Timestamp>,
    pub(crate) generation: i64,
    /// Its facts as JSON; `None` when it was removed from a bucket.
    pub(crate) facts: Option<String>,
    /// Its details as JSON, where they were asked for.
    pub(crate) details: Option<String>,
}

impl DatabaseRow {
    pub(crate) fn of_row(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            trace_id: id_at(row, 0)?,
            placed: time_at(row, 1)?,
            generation: row.get(2)?,
            facts: row.get(3)?,
            details: row.get(4)?,
        })
    }
}

/// The query of rows without details; `rest` follows the table.
fn select(rest: &str) -> String {
    format!("SELECT {ROW}, NULL FROM runs {rest}")
}

fn time_at(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<Timestamp>> {
    let microseconds: Option<i64> = row.get(column)?;
    Ok(microseconds.map(Timestamp::from_unix_microseconds))
}

/// The state of a run of this machine when it was read.
#[derive(Debug)]
pub(crate) struct KnownState {
    /// The stamp of its files.
    pub(crate) files: Box<[u8]>,
    /// False where its files may change without another stamp.
    pub(crate) is_settled: bool,
    /// True of a run that has not ended.
    pub(crate) is_open: bool,
}

pub(crate) fn status_at(row: &Row<'_>, column: usize) -> rusqlite::Result<RunStatus> {
    RunStatus::from_word(row.get_ref(column)?.as_str()?).ok_or_else(damaged)
}

pub(crate) fn id_at(row: &Row<'_>, column: usize) -> rusqlite::Result<TraceId> {
    let bytes = row.get(column)?;
    TraceId::from_u128(u128::from_be_bytes(bytes)).ok_or_else(damaged)
}

/// The open database.
#[derive(Debug)]
pub(crate) struct RunDatabase {
    connection: Connection,
    path: PathBuf,
    /// The path of another one that is read by the same connection.
    attached: Option<PathBuf>,
    /// Set of one that no file holds.
    pub(crate) is_in_memory: bool,
}

impl RunDatabase {
    /// Opens the database of a data directory, and makes it where it is missing. A file that is no such database, or is
    /// damaged, is replaced.
    pub(crate) fn of_this_machine(data_dir: &Path) -> Result<Self, DatabaseError> {
        Self::open(&OF_THIS_MACHINE, data_dir)
    }

    /// The same of the mirror of a bucket whose folder is there.
    pub(crate) fn of_bucket(folder: &Path) -> Result<Self, DatabaseError> {
        Self::open(&OF_BUCKET, folder)
    }

    fn open(format: &DatabaseFormat, folder: &Path) -> Result<Self, DatabaseError> {
        let (path, connection) = format.open(folder)?;
        Ok(Self {
            connection,
            path,
            attached: None,
            is_in_memory: false,
        })
    }

    /// A database in memory in the place of that of a data directory, with no runs, or with those of `copied`.
    pub(crate) fn in_memory(data_dir: &Path, copied: Option<&Self>) -> Result<Self, DatabaseError> {
        let path = data_dir.join(CACHE_FOLDER).join(OF_THIS_MACHINE.name);
        match connect_in_memory(copied) {
            Ok(connection) => Ok(Self {
                connection,
                path,
                attached: None,
                is_in_memory: true,
            }),
            Err(error) => Err(database_file::failed(&path, error)),
        }
    }

    /// Another connection to the runs of a data directory: to the file, or to a copy of what is in memory.
    pub(crate) fn reopen(&self, data_dir: &Path) -> Result<Self, DatabaseError> {
        if self.is_in_memory {
            return Self::in_memory(data_dir, Some(self));
        }
        let reopened = Self::of_this_machine(data_dir)?;
        if reopened.last_number("main")? < self.last_number("main")? {
            return Err(DatabaseError::Replaced {
                path: self.path.clone(),
            });
        }
        Ok(reopened)
    }

    /// True of a file that can be read as before, or cannot be opened now; false where it was deleted meanwhile.
    pub(crate) fn is_same(&self, data_dir: &Path) -> bool {
        self.is_in_memory || !matches!(self.reopen(data_dir), Err(DatabaseError::Replaced { .. }))
    }

    /// Reads the tables of another database as well, under the name `bucket`.
    pub(crate) fn attach(&mut self, bucket: Self) -> Result<(), DatabaseError> {
        let path = bucket.path.clone();
        drop(bucket);
        let name = path.to_string_lossy();
        // The settings of its own connection: it is large, and is written for longer.
        let attached = self
            .connection
            .busy_timeout(OF_BUCKET.max_wait)
            .and_then(|()| self.connection.execute("ATTACH ?1 AS bucket", [&*name]))
            .and_then(|_| self.connection.execute_batch(BUCKET_CACHE));
        attached.map_err(|error| database_file::failed(&path, error))?;
        self.attached = Some(path);
        Ok(())
    }

    /// True of a file that cannot be written.
    pub(crate) fn is_read_only(&self) -> bool {
        self.connection.is_readonly(rusqlite::MAIN_DB).unwrap_or(true)
    }

    /// True of a file that can be written now.
    pub(crate) fn is_writable(&self) -> bool {
        !self.is_in_memory && self.connection.execute_batch("BEGIN IMMEDIATE; ROLLBACK").is_ok()
    }

    /// The states of all runs.
    pub(crate) fn states(&self) -> Result<HashMap<TraceId, KnownState>, DatabaseError> {
        let query = "SELECT trace_id, files, is_settled, status FROM runs ORDER BY number";
        self.all(query, [], |row| {
            let state = KnownState {
                files: row.get(1)?,
                is_settled: row.get(2)?,
                is_open: status_at(row, 3)?.is_open(),
            };
            Ok((id_at(row, 0)?, state))
        })
    }

    /// Reads all runs once, and their details where answers are read from these: damage shows here.
    pub(crate) fn check(&self, with_details: bool) -> Result<(), DatabaseError> {
        for query in [
            "SELECT max(length(facts)) FROM runs",
            "SELECT count(*) FROM runs INDEXED BY runs_newest WHERE facts IS NOT NULL",
            "SELECT count(*) FROM runs INDEXED BY runs_session WHERE session IS NOT NULL",
            "SELECT count(*) FROM runs INDEXED BY sqlite_autoindex_runs_1 WHERE trace_id IS NOT NULL",
        ] {
            self.with(|connection| connection.query_row(query, [], |_| Ok(())))?;
        }
        if with_details {
            let query = "SELECT max(length(details)) FROM details";
            self.with(|connection| connection.query_row(query, [], |_| Ok(())))?;
        }
        Ok(())
    }

    /// True of a data directory that has a database to open.
    pub(crate) fn is_there(data_dir: &Path) -> bool {
        data_dir.join(CACHE_FOLDER).join(OF_THIS_MACHINE.name).is_file()
    }

    /// Does something with the connection. After damage the file is gone, and the next one who opens it makes a new one.
    pub(crate) fn with<T>(
        &self,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, DatabaseError> {
        work(&self.connection).map_err(|error| self.failed(error))
    }

    fn failed(&self, error: rusqlite::Error) -> DatabaseError {
        let attached = self.attached.as_deref();
        if let Some(attached) = attached.filter(|_| database_file::is_damage(&error)) {
            match (self.is_sound("main"), self.is_sound("bucket")) {
                (true, false) => return database_file::failed(attached, error),
                (false, true) => {}
                // Which of both is damaged is not known.
                (true, true) | (false, false) => database_file::discard(attached),
            }
        }
        database_file::failed(&self.path, error)
    }

    /// False of an attached database, or of the own one (`main`), where a check finds damage.
    fn is_sound(&self, name: &str) -> bool {
        let query = format!("PRAGMA {name}.quick_check(1)");
        let checked: rusqlite::Result<String> = self.connection.query_row(&query, [], |row| row.get(0));
        match checked {
            Ok(answer) => answer == "ok",
            Err(error) => !database_file::is_damage(&error),
        }
    }

    /// All that a query finds.
    pub(crate) fn all<T, Found: FromIterator<T>>(
        &self,
        query: &str,
        parameters: impl Params,
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Found, DatabaseError> {
        self.with(|connection| connection.prepare(query)?.query_map(parameters, read)?.collect())
    }

    /// The first that a query finds.
    pub(crate) fn first<T>(
        &self,
        query: &str,
        parameters: impl Params,
        read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Option<T>, DatabaseError> {
        self.with(|connection| connection.query_row(query, parameters, read).optional())
    }

    /// Stores runs, each in the place of what was known of it, and forgets others, all or nothing.
    pub(crate) fn write(&self, runs: &[RunToStore<'_>], gone: &[TraceId]) -> Result<(), DatabaseError> {
        self.with(|connection| {
            if runs.is_empty() && gone.is_empty() {
                return Ok(());
            }
            let transaction = Transaction::new_unchecked(connection, TransactionBehavior::Immediate)?;
            for run in runs {
                put(connection, run)?;
            }
            for run in gone {
                forget(connection, *run)?;
            }
            transaction.commit()
        })
    }

    /// The metadata of a run in a bucket.
    pub(crate) fn meta(&self, run: TraceId) -> Result<Option<String>, DatabaseError> {
        let query = "SELECT meta FROM runs JOIN details USING (number) WHERE trace_id = ?1";
        self.first(query, [run.to_bytes()], |row| row.get(0))
    }

    /// The number of the last change in it (`main`), or in an attached one.
    pub(crate) fn last_number(&self, name: &str) -> Result<i64, DatabaseError> {
        let query = format!("SELECT coalesce(max(number), 0) FROM {name}.runs");
        self.with(|connection| connection.query_row(&query, [], |row| row.get(0)))
    }

    /// Which of these runs are there, and not removed.
    pub(crate) fn known_of(
        &self,
        runs: impl Iterator<Item = TraceId>,
    ) -> Result<HashSet<TraceId>, DatabaseError> {
        self.with(|connection| {
            let query = "SELECT 1 FROM runs WHERE trace_id = ?1 AND facts IS NOT NULL";
            let mut statement = connection.prepare(query)?;
            let mut known = HashSet::new();
            for run in runs {
                if statement.exists([run.to_bytes()])? {
                    known.insert(run);
                }
            }
            Ok(known)
        })
    }

    /// One run, unless it is unknown or removed.
    pub(crate) fn run(&self, run: TraceId) -> Result<Option<DatabaseRow>, DatabaseError> {
        let query = select("WHERE trace_id = ?1 AND facts IS NOT NULL");
        self.first(&query, [run.to_bytes()], DatabaseRow::of_row)
    }

    /// The newest runs that are not removed.
    pub(crate) fn newest(&self, limit: usize) -> Result<Vec<DatabaseRow>, DatabaseError> {
        let newest = "INDEXED BY runs_newest WHERE facts IS NOT NULL ORDER BY placed DESC, trace_id LIMIT ?1";
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        self.all(&select(newest), [limit], DatabaseRow::of_row)
    }

    /// The runs with a name, the newest first.
    pub(crate) fn named(&self, name: &str) -> Result<Vec<DatabaseRow>, DatabaseError> {
        let query = select("WHERE name = ?1 AND facts IS NOT NULL ORDER BY placed DESC, trace_id");
        self.all(&query, [name], DatabaseRow::of_row)
    }

    /// The IDs that begin so.
    pub(crate) fn ids(&self, prefix: &str) -> Result<Vec<TraceId>, DatabaseError> {
        let is_hex = prefix.len() <= 32 && prefix.bytes().all(|byte| byte.is_ascii_hexdigit());
        let bound = |digits: String| u128::from_str_radix(&digits, 16).ok().filter(|_| is_hex);
        let bounds = bound(format!("{prefix:0<32}")).zip(bound(format!("{prefix:f<32}")));
        let Some((first, last)) = bounds else {
            return Ok(Vec::new());
        };
        let query = "SELECT trace_id FROM runs WHERE trace_id BETWEEN ?1 AND ?2 AND facts IS NOT NULL ORDER BY trace_id";
        self.all(query, [first.to_be_bytes(), last.to_be_bytes()], |row| {
            id_at(row, 0)
        })
    }

    /// Begins to read: all that is read until the end is of one instant.
    pub(crate) fn begin(&self) -> Result<(), DatabaseError> {
        self.with(|connection| connection.execute_batch("BEGIN"))
    }

    /// Ends reading or writing, unless it has ended: others can write, and what was written is kept.
    pub(crate) fn end(&self) -> Result<(), DatabaseError> {
        self.with(|connection| {
            if connection.is_autocommit() {
                return Ok(());
            }
            connection.execute_batch("COMMIT")
        })
    }
}

/// Connects to a new database in memory, with no runs, or with those of another one.
fn connect_in_memory(copied: Option<&RunDatabase>) -> rusqlite::Result<Connection> {
    let mut connection = Connection::open_in_memory()?;
    match copied {
        None => connection.execute_batch(SCHEMA)?,
        Some(copied) => {
            let copy = Backup::new(&copied.connection, &mut connection)?;
            // Another process writes now.
            if copy.step(-1)? != StepResult::Done {
                return Err(rusqlite::Error::SqliteFailure(
                    rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_BUSY),
                    None,
                ));
            }
        }
    }
    Ok(connection)
}

/// Stores a run in the place of what was known of it.
pub(crate) fn put(connection: &Connection, run: &RunToStore<'_>) -> rusqlite::Result<()> {
    forget(connection, run.trace_id)?;
    let mut insert = connection.prepare_cached(
        "INSERT INTO runs
            (trace_id, files, is_settled, generation, partition, placed, facts)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    )?;
    insert.execute(params![
        run.trace_id.to_bytes(),
        run.files,
        run.is_settled,
        run.generation,
        run.partition,
        run.placed.map(Timestamp::unix_microseconds),
        run.state.map(|state| state.facts.get()),
    ])?;
    if let Some(state) = run.state {
        let number = connection.last_insert_rowid();
        let mut insert =
            connection.prepare_cached("INSERT INTO details (number, details, meta) VALUES (?1, ?2, ?3)")?;
        insert.execute(params![number, state.details.get(), state.meta.get()])?;
    }
    Ok(())
}

fn forget(connection: &Connection, run: TraceId) -> rusqlite::Result<()> {
    for statement in [
        "DELETE FROM details WHERE number = (SELECT number FROM runs WHERE trace_id = ?1)",
        "DELETE FROM runs WHERE trace_id = ?1",
    ] {
        connection.prepare_cached(statement)?.execute([run.to_bytes()])?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(database: &RunDatabase, runs: &[(u32, usize)]) -> Result<(), DatabaseError> {
        let known: RunFacts = serde_json::from_str(r#"{"st":"ok"}"#).unwrap();
        let state = |bytes: usize| FactsTexts {
            known: known.clone(),
            facts: to_raw_value(&known).unwrap(),
            details: to_raw_value(&"x".repeat(bytes)).unwrap(),
            meta: RawValue::NULL.to_owned(),
        };
        let states: Vec<FactsTexts> = runs.iter().map(|(_, bytes)| state(*bytes)).collect();
        let runs = runs.iter().zip(&states).map(|((number, _), state)| RunToStore {
            trace_id: id(*number),
            files: &[1, 2],
            is_settled: true,
            placed: None,
            generation: 0,
            partition: "",
            state: Some(state),
        });
        database.write(&runs.collect::<Vec<_>>(), &[])
    }

    fn id(number: u32) -> TraceId {
        format!("{number:032x}").parse().unwrap()
    }

    #[test]
    fn a_full_disk_keeps_what_there_is() {
        let folder = tempfile::tempdir().unwrap();
        let database = RunDatabase::of_this_machine(folder.path()).unwrap();
        write(&database, &[(1, 10)]).unwrap();
        let pages: i64 = database
            .with(|connection| connection.pragma_query_value(None, "page_count", |row| row.get(0)))
            .unwrap();
        database
            .with(|connection| connection.pragma_update(None, "max_page_count", pages + 5))
            .unwrap();
        let full = write(&database, &[(2, 100), (3, 100_000)]);
        assert!(matches!(full, Err(DatabaseError::Unusable { .. })), "{full:?}");
        drop(database);
        let database = RunDatabase::of_this_machine(folder.path()).unwrap();
        assert_eq!(database.states().unwrap().len(), 1);
        let kept = format!("\"{}\"", "x".repeat(10));
        let details: Vec<String> = database
            .all("SELECT details FROM details", [], |row| row.get(0))
            .unwrap();
        assert_eq!(details, [kept]);
    }

    #[test]
    fn ids_are_found_by_their_beginning() {
        let folder = tempfile::tempdir().unwrap();
        let database = RunDatabase::of_this_machine(folder.path()).unwrap();
        write(&database, &[(1, 1), (0x20, 1)]).unwrap();
        let zeros = "0".repeat(30);
        for (prefix, expected) in [
            ("", 2),
            ("0", 2),
            (&format!("{zeros}2"), 1),
            (&format!("{zeros}20"), 1),
            (&format!("{zeros}21"), 0),
            ("+0", 0),
            ("f", 0),
        ] {
            assert_eq!(database.ids(prefix).unwrap().len(), expected, "{prefix}");
        }
    }
}
