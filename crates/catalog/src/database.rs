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
use tracer_insight::status::RunStatus;
use tracer_sdk::format::{Timestamp, TraceId};

use crate::database_file::{self, CACHE_FOLDER, DatabaseError, DatabaseFormat, damaged};

/// The version of what is in a file.
const VERSION: i64 = 12;

/// The runs of this machine. The file's name has the version: an older and a newer `tracer` each make their own.
const OF_THIS_MACHINE: DatabaseFormat = DatabaseFormat {
    name: "facts-12.sqlite",
    version: VERSION,
    schema: SCHEMA,
    // Facts quote traces: of a run that was deleted nothing may stay in free pages.
    pragmas: "PRAGMA secure_delete = ON;",
    max_wait: if cfg!(test) {
        Duration::from_millis(50)
    } else {
        Duration::from_secs(1)
    },
};

/// 32 MiB of pages in memory, where it is attached.
const BUCKET_CACHE: &str = "PRAGMA bucket.cache_size = -32768;";

/// The runs of a bucket.
const OF_BUCKET: DatabaseFormat = DatabaseFormat {
    name: "mirror-8.sqlite",
    version: VERSION,
    schema: SCHEMA,
    // 32 MiB of pages in memory: IDs come in no order.
    pragmas: "PRAGMA cache_size = -32768;",
    // Another process writes for a second at most.
    max_wait: Duration::from_secs(10),
};

const SCHEMA: &str = "
    CREATE TABLE runs (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        trace_id BLOB NOT NULL UNIQUE CHECK (length(trace_id) = 16),
        -- Which state of the run it is: by its files on this machine, by its generation in a bucket.
        files BLOB NOT NULL,
        -- 0 where its files may change without another stamp.
        is_settled INTEGER NOT NULL,
        generation INTEGER NOT NULL,
        partition TEXT NOT NULL,
        -- Its start, or else when its directory was last changed.
        placed INTEGER,
        -- NULL of a run that was removed from a bucket.
        status TEXT CHECK (status IN ('running', 'interrupted', 'failed', 'loop', 'ok', 'damaged')),
        is_trial INTEGER NOT NULL DEFAULT 0,
        name TEXT,
        session TEXT,
        started INTEGER,
        duration INTEGER,
        steps INTEGER NOT NULL DEFAULT 0,
        llm_calls INTEGER NOT NULL DEFAULT 0,
        tool_calls INTEGER NOT NULL DEFAULT 0,
        errors INTEGER NOT NULL DEFAULT 0,
        loop_warnings INTEGER NOT NULL DEFAULT 0,
        failed_calls INTEGER NOT NULL DEFAULT 0,
        unknown_calls INTEGER NOT NULL DEFAULT 0,
        retries INTEGER NOT NULL DEFAULT 0,
        is_waiting INTEGER NOT NULL DEFAULT 0,
        total_tokens INTEGER,
        input_tokens INTEGER,
        output_tokens INTEGER,
        cached_tokens INTEGER,
        reasoning_tokens INTEGER
    ) STRICT;
    CREATE INDEX runs_newest ON runs (placed DESC, trace_id, status, is_trial) WHERE status IS NOT NULL;
    CREATE INDEX runs_session ON runs (session, placed, trace_id, is_trial) WHERE session IS NOT NULL;
    CREATE TABLE facts (
        number INTEGER PRIMARY KEY,
        -- All that is known of the run, as JSON.
        facts TEXT NOT NULL CHECK (json_valid(facts)),
        -- The metadata of a run in a bucket, whose files need not be here.
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

/// Stores a run, and the columns that its facts have.
const INSERT: &str = "
    INSERT INTO runs (
        trace_id, files, is_settled, generation, partition, placed, status, is_trial, name, session, started, duration,
        steps, llm_calls, tool_calls, errors, loop_warnings, failed_calls, unknown_calls, retries, is_waiting,
        total_tokens, input_tokens, output_tokens, cached_tokens, reasoning_tokens
    ) VALUES (
        ?1, ?2, ?3, ?4, ?5, ?6, ?7 ->> '$.st', coalesce(?7 ->> '$.tr', 0), ?7 ->> '$.name', ?7 ->> '$.x', ?7 ->> '$.at',
        CAST(?7 ->> '$.us' AS INTEGER), CAST(coalesce(?7 ->> '$.n', 0) AS INTEGER),
        CAST(coalesce(?7 ->> '$.lc', 0) AS INTEGER), CAST(coalesce(?7 ->> '$.tc', 0) AS INTEGER),
        CAST(coalesce(?7 ->> '$.er', 0) AS INTEGER), CAST(coalesce(?7 ->> '$.lw', 0) AS INTEGER),
        CAST(coalesce(?7 ->> '$.fc', 0) AS INTEGER), CAST(coalesce(?7 ->> '$.uc', 0) AS INTEGER),
        CAST(coalesce(?7 ->> '$.re', 0) AS INTEGER), coalesce(?7 ->> '$.wa', 0),
        CAST(?7 ->> '$.tk.t' AS INTEGER), CAST(?7 ->> '$.tk.i' AS INTEGER), CAST(?7 ->> '$.tk.o' AS INTEGER),
        CAST(?7 ->> '$.tk.r' AS INTEGER), CAST(?7 ->> '$.tk.z' AS INTEGER)
    )";

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
    /// Its facts and its metadata as JSON; `None` when it was removed from a bucket.
    pub(crate) facts: Option<(&'a str, &'a str)>,
}

pub(crate) fn time_at(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<Timestamp>> {
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
        self.wait_longer()?;
        let attached = self
            .connection
            .execute("ATTACH ?1 AS bucket", [&*name])
            .and_then(|_| self.connection.execute_batch(BUCKET_CACHE));
        attached.map_err(|error| match database_file::failed(&path, error) {
            DatabaseError::Damaged { path, source } => DatabaseError::DamagedMirror { path, source },
            error => error,
        })?;
        self.attached = Some(path);
        Ok(())
    }

    /// Waits from now on for another process as long as the mirror of a bucket does.
    pub(crate) fn wait_longer(&self) -> Result<(), DatabaseError> {
        self.with(|connection| connection.busy_timeout(OF_BUCKET.max_wait))
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
        let attached = self
            .attached
            .as_ref()
            .filter(|_| database_file::is_damage(&error));
        let Some(attached) = attached else {
            return database_file::failed(&self.path, error);
        };
        let (is_sound, is_bucket_sound) = (self.is_sound("main"), self.is_sound("bucket"));
        // A check does not find all damage: where both seem to be sound, it may be in either.
        if !is_sound || is_bucket_sound {
            database_file::discard(&self.path);
        }
        if !is_bucket_sound || is_sound {
            database_file::discard(attached);
            // Until it is synchronized again, answers would be incomplete.
            return DatabaseError::DamagedMirror {
                path: attached.clone(),
                source: error,
            };
        }
        DatabaseError::Damaged {
            path: self.path.clone(),
            source: error,
        }
    }

    /// False of the own database (`main`), or of an attached one, where a check finds damage, or other tables.
    fn is_sound(&self, name: &str) -> bool {
        let check = format!("PRAGMA {name}.integrity_check(1)");
        let tables =
            format!("SELECT runs.*, facts.* FROM {name}.runs JOIN {name}.facts USING (number) LIMIT 0");
        let checked = self
            .connection
            .query_row(&check, [], |row| row.get::<_, String>(0));
        match checked.and_then(|answer| Ok((answer, self.connection.prepare(&tables)?))) {
            Ok((answer, _)) => answer == "ok",
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
        let query = "SELECT meta FROM runs JOIN facts USING (number) WHERE trace_id = ?1";
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
            let query = "SELECT 1 FROM runs WHERE trace_id = ?1 AND status IS NOT NULL";
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

    /// The generation of a run; `None` of one that is unknown or removed.
    pub(crate) fn generation(&self, run: TraceId) -> Result<Option<i64>, DatabaseError> {
        let query = "SELECT generation FROM runs WHERE trace_id = ?1 AND status IS NOT NULL";
        self.first(query, [run.to_bytes()], |row| row.get(0))
    }

    /// The newest runs that are not removed, and their places among others.
    pub(crate) fn newest(&self, limit: usize) -> Result<Vec<(TraceId, Option<Timestamp>)>, DatabaseError> {
        let query = "SELECT trace_id, placed FROM runs INDEXED BY runs_newest
            WHERE status IS NOT NULL ORDER BY placed DESC, trace_id LIMIT ?1";
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        self.all(query, [limit], |row| Ok((id_at(row, 0)?, time_at(row, 1)?)))
    }

    /// The runs with a name, the newest first.
    pub(crate) fn named(&self, name: &str) -> Result<Vec<TraceId>, DatabaseError> {
        let query =
            "SELECT trace_id FROM runs WHERE name = ?1 AND status IS NOT NULL ORDER BY placed DESC, trace_id";
        self.all(query, [name], |row| id_at(row, 0))
    }

    /// The IDs that begin so.
    pub(crate) fn ids(&self, prefix: &str) -> Result<Vec<TraceId>, DatabaseError> {
        let is_hex = prefix.len() <= 32 && prefix.bytes().all(|byte| byte.is_ascii_hexdigit());
        let bound = |digits: String| u128::from_str_radix(&digits, 16).ok().filter(|_| is_hex);
        let bounds = bound(format!("{prefix:0<32}")).zip(bound(format!("{prefix:f<32}")));
        let Some((first, last)) = bounds else {
            return Ok(Vec::new());
        };
        let query = "SELECT trace_id FROM runs WHERE trace_id BETWEEN ?1 AND ?2 AND status IS NOT NULL ORDER BY trace_id";
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
    connection.prepare_cached(INSERT)?.execute(params![
        run.trace_id.to_bytes(),
        run.files,
        run.is_settled,
        run.generation,
        run.partition,
        run.placed.map(Timestamp::unix_microseconds),
        run.facts.map(|(facts, _)| facts),
    ])?;
    if let Some((facts, meta)) = run.facts {
        let number = connection.last_insert_rowid();
        let mut insert =
            connection.prepare_cached("INSERT INTO facts (number, facts, meta) VALUES (?1, ?2, ?3)")?;
        insert.execute(params![number, facts, meta])?;
    }
    Ok(())
}

fn forget(connection: &Connection, run: TraceId) -> rusqlite::Result<()> {
    for statement in [
        "DELETE FROM facts WHERE number = (SELECT number FROM runs WHERE trace_id = ?1)",
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
        let facts = |bytes: &usize| format!(r#"{{"st":"ok","a":"{}"}}"#, "x".repeat(*bytes));
        let facts: Vec<String> = runs.iter().map(|(_, bytes)| facts(bytes)).collect();
        let runs = runs.iter().zip(&facts).map(|((number, _), facts)| RunToStore {
            trace_id: id(*number),
            files: &[1, 2],
            is_settled: true,
            placed: None,
            generation: 0,
            partition: "",
            facts: Some((facts, "null")),
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
        let kept: Vec<String> = database
            .all("SELECT facts ->> '$.a' FROM facts", [], |row| row.get(0))
            .unwrap();
        assert_eq!(kept, ["x".repeat(10)]);
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
