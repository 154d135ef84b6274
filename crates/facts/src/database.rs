//! [`RunDatabase`]: runs in a file of `SQLite`, of this machine or of a bucket: one schema for both.
//!
//! It is a cache: what is wrong with it costs time, and is computed or synchronized again. Each change of a run gets the next
//! number, so that a reader of everything up to a number reads only what came after it. A run that was removed from a bucket
//! keeps its row, without facts.

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OptionalExtension, Params, Row, Transaction, TransactionBehavior, params};
use serde_json::value::{RawValue, to_raw_value};
use tracer_insight::status::RunStatus;
use tracer_sdk::format::{Timestamp, TraceId};

use crate::database_file::{self, CACHE_FOLDER, DatabaseError, DatabaseFormat, damaged};
use crate::run_facts::{FullReading, RunFacts};

/// The version of what is in a file.
const VERSION: i64 = 8;

/// The runs of this machine. The file's name has the version: an older and a newer `tracer` each have their own.
const OF_THIS_MACHINE: DatabaseFormat = DatabaseFormat {
    name: "facts-8.sqlite",
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

/// The runs of a bucket.
const OF_BUCKET: DatabaseFormat = DatabaseFormat {
    name: "mirror-4.sqlite",
    version: VERSION,
    schema: SCHEMA,
    // 32 MiB of pages in memory: IDs come in no order.
    pragmas: "PRAGMA cache_size = -32768;",
    // Another process writes for a second at most.
    max_wait: Duration::from_secs(10),
    // It is large, and an older release synchronizes again.
    replaced: &["mirror-1.sqlite", "mirror-2.sqlite", "mirror-3.sqlite"],
};

/// Rows that are in memory as texts at a time.
const ROWS_PER_LOAD: i64 = 2_000;

const SCHEMA: &str = "
    CREATE TABLE runs (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        trace_id BLOB NOT NULL UNIQUE,
        -- Which state of the run it is: by its files on this machine, by its generation in a bucket.
        files BLOB NOT NULL,
        generation INTEGER NOT NULL,
        partition TEXT NOT NULL,
        started INTEGER,
        status TEXT,
        is_trial INTEGER NOT NULL,
        name TEXT,
        session TEXT,
        facts TEXT
    ) STRICT;
    CREATE INDEX runs_newest ON runs (started DESC, trace_id, status, is_trial) WHERE facts IS NOT NULL;
    CREATE INDEX runs_session ON runs (session, started, trace_id, is_trial) WHERE session IS NOT NULL;
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
    /// 0 on this machine.
    pub(crate) generation: i64,
    /// Empty on this machine.
    pub(crate) partition: &'a str,
    /// `None` when it was removed from a bucket.
    pub(crate) state: Option<&'a FactsTexts>,
}

/// A row as it is stored.
#[derive(Debug)]
pub(crate) struct DatabaseRow {
    /// The number of its last change.
    pub(crate) number: i64,
    pub(crate) trace_id: TraceId,
    pub(crate) files: Vec<u8>,
    pub(crate) generation: i64,
    /// Its facts as JSON; `None` when it was removed from a bucket.
    pub(crate) facts: Option<String>,
    /// Its details as JSON, where they were asked for.
    pub(crate) details: Option<String>,
}

impl DatabaseRow {
    fn of_row(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            number: row.get(0)?,
            trace_id: id_at(row, 1)?,
            files: row.get(2)?,
            generation: row.get(3)?,
            facts: row.get(4)?,
            details: row.get(5)?,
        })
    }
}

/// The query of rows; `rest` follows the table.
fn select(with_details: bool, rest: &str) -> String {
    let (details, join) = if with_details {
        ("details", "LEFT JOIN details USING (number)")
    } else {
        ("NULL", "")
    };
    format!("SELECT number, trace_id, files, generation, facts, {details} FROM runs {join} {rest}")
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
        Ok(Self { connection, path })
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
        work(&self.connection).map_err(|error| database_file::failed(&self.path, error))
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

    /// Gives each row that a query finds, until `take` has enough.
    fn each_row(
        &self,
        query: &str,
        parameters: impl Params,
        mut take: impl FnMut(DatabaseRow) -> ControlFlow<()>,
    ) -> Result<(), DatabaseError> {
        self.with(|connection| {
            let mut statement = connection.prepare(query)?;
            let mut rows = statement.query(parameters)?;
            while let Some(row) = rows.next()? {
                if take(DatabaseRow::of_row(row)?).is_break() {
                    break;
                }
            }
            Ok(())
        })
    }

    /// Stores runs, each in the place of what was known of it, and forgets others, all or nothing. A database that cannot be
    /// written stays as it is.
    pub(crate) fn write(&self, runs: &[RunToStore<'_>], gone: &[TraceId]) -> Result<(), DatabaseError> {
        self.with(|connection| {
            if (runs.is_empty() && gone.is_empty()) || connection.is_readonly(rusqlite::MAIN_DB)? {
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

    /// The details of a run in this state.
    pub(crate) fn details(&self, run: TraceId, files: &[u8]) -> Result<Option<String>, DatabaseError> {
        let query = "SELECT details FROM runs JOIN details USING (number) WHERE trace_id = ?1 AND files = ?2";
        self.first(query, params![run.to_bytes(), files], |row| row.get(0))
    }

    /// The metadata of a run in a bucket.
    pub(crate) fn meta(&self, run: TraceId) -> Result<Option<String>, DatabaseError> {
        let query = "SELECT meta FROM runs JOIN details USING (number) WHERE trace_id = ?1";
        self.first(query, [run.to_bytes()], |row| row.get(0))
    }

    /// The number of the last change.
    pub(crate) fn last_number(&self) -> Result<i64, DatabaseError> {
        let query = "SELECT coalesce(max(number), 0) FROM runs";
        self.with(|connection| connection.query_row(query, [], |row| row.get(0)))
    }

    /// The first changes after a number; none when there are no more.
    pub(crate) fn changes(&self, after: i64, with_details: bool) -> Result<Vec<DatabaseRow>, DatabaseError> {
        let query = select(with_details, "WHERE number > ?1 ORDER BY number LIMIT ?2");
        self.all(&query, [after, ROWS_PER_LOAD], DatabaseRow::of_row)
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
        let query = select(true, "WHERE trace_id = ?1 AND facts IS NOT NULL");
        self.first(&query, [run.to_bytes()], DatabaseRow::of_row)
    }

    /// The newest runs that are not removed.
    pub(crate) fn newest(&self, limit: usize) -> Result<Vec<DatabaseRow>, DatabaseError> {
        let newest =
            "INDEXED BY runs_newest WHERE facts IS NOT NULL ORDER BY started DESC, trace_id LIMIT ?1";
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        self.all(&select(false, newest), [limit], DatabaseRow::of_row)
    }

    /// Each run that is not removed, with the trials of gates or without, the newest first, until `take` has enough.
    pub(crate) fn each_newest(
        &self,
        with_trials: bool,
        take: impl FnMut(DatabaseRow) -> ControlFlow<()>,
    ) -> Result<(), DatabaseError> {
        let newest = "INDEXED BY runs_newest WHERE facts IS NOT NULL AND is_trial <= ?1 ORDER BY started DESC, trace_id";
        self.each_row(&select(false, newest), [with_trials], take)
    }

    /// Each run that is not removed, in no order, one after the other.
    pub(crate) fn each(
        &self,
        with_details: bool,
        mut take: impl FnMut(DatabaseRow),
    ) -> Result<(), DatabaseError> {
        let query = select(with_details, "WHERE facts IS NOT NULL ORDER BY number");
        self.each_row(&query, [], |row| {
            take(row);
            ControlFlow::Continue(())
        })
    }

    /// Each run that is not removed, in no order, by what lists count: its ID, its status, and whether it is a trial of a gate.
    pub(crate) fn each_counted(
        &self,
        mut take: impl FnMut(TraceId, RunStatus, bool),
    ) -> Result<(), DatabaseError> {
        self.with(|connection| {
            // All of it is in the index.
            let query =
                "SELECT trace_id, status, is_trial FROM runs INDEXED BY runs_newest WHERE facts IS NOT NULL";
            let mut statement = connection.prepare(query)?;
            let mut rows = statement.query([])?;
            while let Some(row) = rows.next()? {
                let status = RunStatus::from_word(row.get_ref(1)?.as_str()?).ok_or_else(damaged)?;
                take(id_at(row, 0)?, status, row.get(2)?);
            }
            Ok(())
        })
    }

    /// When each run of a session started, and whether it is a trial of a gate.
    pub(crate) fn of_session(
        &self,
        session: &str,
    ) -> Result<Vec<(TraceId, Option<Timestamp>, bool)>, DatabaseError> {
        let query = "SELECT trace_id, started, is_trial FROM runs WHERE session = ?1";
        self.all(query, [session], |row| {
            let started: Option<i64> = row.get(1)?;
            let started = started.map(Timestamp::from_unix_microseconds);
            Ok((id_at(row, 0)?, started, row.get(2)?))
        })
    }

    /// The runs with a name, the newest first.
    pub(crate) fn named(&self, name: &str) -> Result<Vec<DatabaseRow>, DatabaseError> {
        let query = select(
            false,
            "WHERE name = ?1 AND facts IS NOT NULL ORDER BY started DESC, trace_id",
        );
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

    /// Begins one reading: no writer changes anything until it ends.
    pub(crate) fn begin_reading(&self) -> Result<(), DatabaseError> {
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

/// Stores a run in the place of what was known of it.
pub(crate) fn put(connection: &Connection, run: &RunToStore<'_>) -> rusqlite::Result<()> {
    forget(connection, run.trace_id)?;
    let mut insert = connection.prepare_cached(
        "INSERT INTO runs (trace_id, files, generation, partition, started, status, is_trial, name, session, facts)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
    )?;
    let known = run.state.map(|state| &state.known);
    insert.execute(params![
        run.trace_id.to_bytes(),
        run.files,
        run.generation,
        run.partition,
        known.and_then(|known| known.started_us),
        known.map(|known| known.recorded_status.as_str()),
        known.is_some_and(|known| known.is_trial),
        known.and_then(|known| known.name.as_deref()),
        known.and_then(|known| known.session.as_deref()),
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
            facts: RawValue::NULL.to_owned(),
            details: to_raw_value(&"x".repeat(bytes)).unwrap(),
            meta: RawValue::NULL.to_owned(),
        };
        let states: Vec<FactsTexts> = runs.iter().map(|(_, bytes)| state(*bytes)).collect();
        let runs = runs.iter().zip(&states).map(|((number, _), state)| RunToStore {
            trace_id: id(*number),
            files: &[1, 2],
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
        assert_eq!(database.changes(0, true).unwrap().len(), 1);
        let kept = format!("\"{}\"", "x".repeat(10));
        assert_eq!(database.details(id(1), &[1, 2]).unwrap(), Some(kept));
        assert_eq!(database.details(id(1), &[1, 3]).unwrap(), None, "of other files");
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
