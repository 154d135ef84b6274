//! [`MirrorDatabase`]: the facts of a bucket on this machine, in a database of their own.
//!
//! Each change of a run gets the next number, so that a reader of everything up to a number reads only what came after it. A
//! run that is gone keeps its row, without facts. A damaged file is replaced, and all is synchronized again.

use std::collections::{BTreeSet, HashSet};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OptionalExtension, params};
use tracer_insight::status::RunStatus;
use tracer_sdk::format::{Timestamp, TraceId};

use super::line::MirrorLine;
use crate::database_file::{self, DatabaseError, DatabaseFormat, as_id, damaged};

const FORMAT: DatabaseFormat = DatabaseFormat {
    name: "mirror-3.sqlite",
    version: 3,
    schema: SCHEMA,
    // 32 MiB of pages in memory: IDs come in no order.
    pragmas: "PRAGMA cache_size = -32768;",
    // Another process writes for a second at most.
    max_wait: Duration::from_secs(10),
    // It is large, and whoever still wants it synchronizes again.
    replaced: &["mirror-1.sqlite", "mirror-2.sqlite"],
};

/// Rows that are in memory as texts at a time.
const ROWS_PER_LOAD: i64 = 2_000;

const SCHEMA: &str = "
    CREATE TABLE runs (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        trace_id BLOB NOT NULL UNIQUE,
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

/// A run as it is mirrored.
#[derive(Debug)]
pub(crate) struct MirroredRow {
    pub(crate) trace_id: TraceId,
    pub(crate) generation: i64,
    /// `None` when it was removed.
    pub(crate) facts: Option<String>,
    pub(crate) details: Option<String>,
    /// The number of its last change.
    pub(crate) number: i64,
}

/// When a mirror was synchronized, and the partition with which the next listing begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SyncState {
    pub(crate) at: Timestamp,
    pub(crate) cursor: Option<String>,
}

/// The open database.
#[derive(Debug)]
pub(crate) struct MirrorDatabase {
    connection: Connection,
    path: PathBuf,
}

impl MirrorDatabase {
    /// Opens the database of a mirror whose folder is there.
    pub(crate) fn open(folder: &Path) -> Result<Self, DatabaseError> {
        let (path, connection) = FORMAT.open(folder)?;
        Ok(Self { connection, path })
    }

    /// When it was synchronized last; `None` before the first time is whole.
    pub(crate) fn synced(&self) -> Result<Option<SyncState>, DatabaseError> {
        let read = |row: &rusqlite::Row<'_>| {
            Ok(SyncState {
                at: Timestamp::from_unix_microseconds(row.get(0)?),
                cursor: row.get(1)?,
            })
        };
        let found = self
            .connection
            .query_row("SELECT at, cursor FROM synced", [], read)
            .optional();
        found.map_err(|error| self.failed(error))
    }

    /// The objects of facts that are in it, as far as a listing can name them again.
    pub(crate) fn objects(&self) -> Result<HashSet<String>, DatabaseError> {
        let read = || -> rusqlite::Result<HashSet<String>> {
            let mut statement = self.connection.prepare("SELECT name FROM objects")?;
            statement.query_map([], |row| row.get(0))?.collect()
        };
        read().map_err(|error| self.failed(error))
    }

    pub(crate) fn begin(&self) -> Result<(), DatabaseError> {
        let begun = self.connection.execute_batch("BEGIN IMMEDIATE");
        begun.map_err(|error| self.failed(error))
    }

    pub(crate) fn commit(&self) -> Result<(), DatabaseError> {
        let committed = self.connection.execute_batch("COMMIT");
        committed.map_err(|error| self.failed(error))
    }

    /// Takes lines of a partition over, each unless it says less than what is known; how many said something new.
    pub(crate) fn apply(&self, lines: &[MirrorLine], partition: &str) -> Result<u64, DatabaseError> {
        self.apply_lines(lines, partition)
            .map_err(|error| self.failed(error))
    }

    fn apply_lines(&self, lines: &[MirrorLine], partition: &str) -> rusqlite::Result<u64> {
        let connection = &self.connection;
        let mut find =
            connection.prepare("SELECT number, generation, facts IS NULL FROM runs WHERE trace_id = ?1")?;
        let mut forget = connection.prepare("DELETE FROM runs WHERE number = ?1")?;
        let mut forget_details = connection.prepare("DELETE FROM details WHERE number = ?1")?;
        let mut list_again = connection.prepare(
            "UPDATE runs SET partition = ?2 WHERE number = ?1 AND partition < ?2 AND facts IS NOT NULL",
        )?;
        let mut insert = connection.prepare(
            "INSERT INTO runs (trace_id, generation, started, status, is_trial, name, session, facts, partition)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
        )?;
        connection.execute("INSERT OR IGNORE INTO partitions (name) VALUES (?1)", [partition])?;
        let mut insert_details =
            connection.prepare("INSERT INTO details (number, details, meta) VALUES (?1, ?2, ?3)")?;
        let mut new_lines = 0;
        for line in lines {
            let id = line.trace_id.to_bytes();
            let known: Option<(i64, i64, bool)> = find
                .query_row([id], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
                .optional()?;
            if let Some((number, generation, is_removed)) = known {
                let is_removal = line.generation == generation && line.state.is_none() && !is_removed;
                if line.generation <= generation && !is_removal {
                    // It stays as long as the last day that lists it.
                    list_again.execute(params![number, partition])?;
                    continue;
                }
                forget.execute([number])?;
                forget_details.execute([number])?;
            }
            let state = line.state.as_ref();
            insert.execute(params![
                id,
                line.generation,
                state.and_then(|state| state.started_us),
                state.map(|state| state.status.as_str()),
                state.is_some_and(|state| state.is_trial),
                state.and_then(|state| state.name.as_deref()),
                state.and_then(|state| state.session.as_deref()),
                state.map(|state| state.facts.get()),
                partition,
            ])?;
            if let Some(state) = state {
                let number = connection.last_insert_rowid();
                insert_details.execute(params![number, state.details.get(), state.meta.get()])?;
            }
            new_lines += 1;
        }
        Ok(new_lines)
    }

    /// Forgets the runs that are listed last by a partition that is gone; how many these are. A line of any later partition
    /// brings one back.
    pub(crate) fn keep_partitions(&self, kept: &BTreeSet<String>) -> Result<u64, DatabaseError> {
        let drop_others = || -> rusqlite::Result<u64> {
            let mut known = self.connection.prepare("SELECT name FROM partitions")?;
            let known: Vec<String> = known.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
            let mut dropped = 0;
            for gone in known.iter().filter(|name| !kept.contains(*name)) {
                let of_gone = "FROM runs WHERE partition = ?1 AND facts IS NOT NULL";
                self.connection.execute(
                    &format!("DELETE FROM details WHERE number IN (SELECT number {of_gone})"),
                    [gone],
                )?;
                // The row gets the next number.
                dropped += self.connection.execute(
                    &format!(
                        "INSERT OR REPLACE INTO runs (trace_id, generation, partition, is_trial)
                         SELECT trace_id, 0, '', 0 {of_gone} ORDER BY number"
                    ),
                    [gone],
                )?;
                self.connection
                    .execute("DELETE FROM partitions WHERE name = ?1", [gone])?;
                self.connection.execute(
                    "DELETE FROM objects WHERE name >= ?1 || '/' AND name < ?1 || '0'",
                    [gone],
                )?;
            }
            Ok(dropped as u64)
        };
        drop_others().map_err(|error| self.failed(error))
    }

    /// Remembers that all of an object is in it.
    pub(crate) fn has_applied(&self, name: &str) -> Result<(), DatabaseError> {
        let keep = "INSERT OR IGNORE INTO objects (name) VALUES (?1)";
        let kept = self.connection.execute(keep, [name]);
        kept.map(drop).map_err(|error| self.failed(error))
    }

    /// Remembers that everything before a partition is in it, and forgets the names of objects that no listing from now on has.
    pub(crate) fn has_synced(&self, at: Timestamp, cursor: Option<&str>) -> Result<(), DatabaseError> {
        let write = || -> rusqlite::Result<()> {
            self.connection.execute(
                "INSERT OR REPLACE INTO synced (only, at, cursor) VALUES (1, ?1, ?2)",
                params![at.unix_microseconds(), cursor],
            )?;
            if let Some(cursor) = cursor {
                self.connection
                    .execute("DELETE FROM objects WHERE name < ?1", [cursor])?;
            }
            Ok(())
        };
        write().map_err(|error| self.failed(error))
    }

    /// The number of the last change.
    pub(crate) fn last_number(&self) -> Result<i64, DatabaseError> {
        let query = "SELECT coalesce(max(number), 0) FROM runs";
        let found = self.connection.query_row(query, [], |row| row.get(0));
        found.map_err(|error| self.failed(error))
    }

    /// The first changes after a number; none when there are no more.
    pub(crate) fn load(&self, after: i64, with_details: bool) -> Result<Vec<MirroredRow>, DatabaseError> {
        let query = if with_details {
            "SELECT trace_id, generation, facts, details, number FROM runs LEFT JOIN details USING (number)
             WHERE number > ?1 ORDER BY number LIMIT ?2"
        } else {
            "SELECT trace_id, generation, facts, NULL, number FROM runs WHERE number > ?1 ORDER BY number LIMIT ?2"
        };
        self.rows(query, params![after, ROWS_PER_LOAD])
    }

    /// Which of these runs are there, and not removed.
    pub(crate) fn known_of(
        &self,
        runs: impl Iterator<Item = TraceId>,
    ) -> Result<HashSet<TraceId>, DatabaseError> {
        let mut runs = runs;
        let mut read = || -> rusqlite::Result<HashSet<TraceId>> {
            let query = "SELECT 1 FROM runs WHERE trace_id = ?1 AND facts IS NOT NULL";
            let mut statement = self.connection.prepare(query)?;
            let mut known = HashSet::new();
            for run in runs.by_ref() {
                if statement.exists([run.to_bytes()])? {
                    known.insert(run);
                }
            }
            Ok(known)
        };
        read().map_err(|error| self.failed(error))
    }

    /// One run, unless it is unknown or removed.
    pub(crate) fn run(&self, run: TraceId) -> Result<Option<MirroredRow>, DatabaseError> {
        let query =
            "SELECT trace_id, generation, facts, details, number FROM runs LEFT JOIN details USING (number)
                     WHERE trace_id = ?1 AND facts IS NOT NULL";
        Ok(self.rows(query, params![run.to_bytes()])?.pop())
    }

    /// The newest runs.
    pub(crate) fn newest(&self, limit: usize) -> Result<Vec<MirroredRow>, DatabaseError> {
        let mut found = Vec::new();
        self.each_newest(true, |row| {
            if found.len() == limit {
                return ControlFlow::Break(());
            }
            found.push(row);
            ControlFlow::Continue(())
        })?;
        Ok(found)
    }

    /// Each run that is not removed, with the trials of gates or without, the newest first, until `take` has enough.
    pub(crate) fn each_newest(
        &self,
        with_trials: bool,
        mut take: impl FnMut(MirroredRow) -> ControlFlow<()>,
    ) -> Result<(), DatabaseError> {
        let query = "SELECT trace_id, generation, facts, NULL, number FROM runs INDEXED BY runs_newest
                     WHERE facts IS NOT NULL AND is_trial <= ?1 ORDER BY started DESC, trace_id";
        self.each_row(query, params![with_trials], &mut take)
    }

    /// What everything that is read from now on is of: no writer changes it until reading ends.
    pub(crate) fn begin_reading(&self) -> Result<(), DatabaseError> {
        let begun = self.connection.execute_batch("BEGIN");
        begun.map_err(|error| self.failed(error))
    }

    /// Lets writers go on, unless they can already.
    pub(crate) fn end_reading(&self) -> Result<(), DatabaseError> {
        if self.connection.is_autocommit() {
            return Ok(());
        }
        self.commit()
    }

    /// Each run that is not removed, in no order, one after the other.
    pub(crate) fn each(
        &self,
        with_details: bool,
        mut take: impl FnMut(MirroredRow),
    ) -> Result<(), DatabaseError> {
        let query = if with_details {
            "SELECT trace_id, generation, facts, details, number FROM runs LEFT JOIN details USING (number)
             WHERE facts IS NOT NULL ORDER BY number"
        } else {
            "SELECT trace_id, generation, facts, NULL, number FROM runs WHERE facts IS NOT NULL ORDER BY number"
        };
        self.each_row(query, params![], &mut |row| {
            take(row);
            ControlFlow::Continue(())
        })
    }

    /// Each run that is not removed, in no order, by what lists count: its ID, its status, and whether it is a trial of a gate.
    pub(crate) fn each_counted(
        &self,
        mut take: impl FnMut(TraceId, RunStatus, bool),
    ) -> Result<(), DatabaseError> {
        let mut read = || {
            // All of it is in the index.
            let query =
                "SELECT trace_id, status, is_trial FROM runs INDEXED BY runs_newest WHERE facts IS NOT NULL";
            let mut statement = self.connection.prepare(query)?;
            let mut rows = statement.query([])?;
            while let Some(row) = rows.next()? {
                let id = as_id(row.get_ref(0)?.as_blob()?);
                let status = RunStatus::from_word(row.get_ref(1)?.as_str()?);
                let (Some(id), Some(status)) = (id, status) else {
                    return Err(damaged());
                };
                take(id, status, row.get(2)?);
            }
            Ok(())
        };
        read().map_err(|error| self.failed(error))
    }

    /// When each run of a session started, and whether it is a trial of a gate.
    pub(crate) fn of_session(
        &self,
        session: &str,
    ) -> Result<Vec<(TraceId, Option<Timestamp>, bool)>, DatabaseError> {
        let read = || {
            let query = "SELECT trace_id, started, is_trial FROM runs WHERE session = ?1";
            let mut statement = self.connection.prepare(query)?;
            let mut rows = statement.query([session])?;
            let mut found = Vec::new();
            while let Some(row) = rows.next()? {
                let id = as_id(row.get_ref(0)?.as_blob()?).ok_or_else(damaged)?;
                let started: Option<i64> = row.get(1)?;
                found.push((id, started.map(Timestamp::from_unix_microseconds), row.get(2)?));
            }
            Ok(found)
        };
        read().map_err(|error| self.failed(error))
    }

    /// The runs with a name, the newest first.
    pub(crate) fn named(&self, name: &str) -> Result<Vec<MirroredRow>, DatabaseError> {
        let query =
            "SELECT trace_id, generation, facts, NULL, number FROM runs WHERE name = ?1 AND facts IS NOT NULL
                     ORDER BY started DESC, trace_id";
        self.rows(query, params![name])
    }

    /// The IDs of all runs, or of those that begin so.
    pub(crate) fn ids(&self, prefix: &str) -> Result<Vec<TraceId>, DatabaseError> {
        let (Some(first), Some(last)) = (padded(prefix, '0'), padded(prefix, 'f')) else {
            return Ok(Vec::new());
        };
        let read = || {
            let query = "SELECT trace_id FROM runs WHERE trace_id BETWEEN ?1 AND ?2 AND facts IS NOT NULL ORDER BY trace_id";
            let mut statement = self.connection.prepare(query)?;
            let mut rows = statement.query(params![first, last])?;
            let mut found = Vec::new();
            while let Some(row) = rows.next()? {
                found.extend(as_id(row.get_ref(0)?.as_blob()?));
            }
            Ok(found)
        };
        read().map_err(|error| self.failed(error))
    }

    /// A text of the table of details: `details` or `meta`.
    pub(crate) fn text(&self, run: TraceId, is_meta: bool) -> Result<Option<String>, DatabaseError> {
        let query = if is_meta {
            "SELECT meta FROM runs JOIN details USING (number) WHERE trace_id = ?1"
        } else {
            "SELECT details FROM runs JOIN details USING (number) WHERE trace_id = ?1"
        };
        let read = || {
            let mut statement = self.connection.prepare(query)?;
            statement.query_row([run.to_bytes()], |row| row.get(0)).optional()
        };
        read().map_err(|error| self.failed(error))
    }

    fn rows(
        &self,
        query: &str,
        parameters: &[&dyn rusqlite::ToSql],
    ) -> Result<Vec<MirroredRow>, DatabaseError> {
        let mut found = Vec::new();
        self.each_row(query, parameters, &mut |row| {
            found.push(row);
            ControlFlow::Continue(())
        })?;
        Ok(found)
    }

    fn each_row(
        &self,
        query: &str,
        parameters: &[&dyn rusqlite::ToSql],
        take: &mut dyn FnMut(MirroredRow) -> ControlFlow<()>,
    ) -> Result<(), DatabaseError> {
        let mut read = || {
            let mut statement = self.connection.prepare(query)?;
            let mut rows = statement.query(parameters)?;
            while let Some(row) = rows.next()? {
                let Some(trace_id) = as_id(row.get_ref(0)?.as_blob()?) else {
                    return Err(damaged());
                };
                let row = MirroredRow {
                    trace_id,
                    generation: row.get(1)?,
                    facts: row.get(2)?,
                    details: row.get(3)?,
                    number: row.get(4)?,
                };
                if take(row).is_break() {
                    break;
                }
            }
            Ok(())
        };
        read().map_err(|error| self.failed(error))
    }

    fn failed(&self, source: rusqlite::Error) -> DatabaseError {
        database_file::failed(&self.path, source)
    }
}

/// The first or the last ID that begins so; `None` when none does.
fn padded(prefix: &str, with: char) -> Option<Vec<u8>> {
    let is_hex = prefix
        .bytes()
        .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    if !is_hex || prefix.len() > 32 {
        return None;
    }
    let mut digits: Vec<char> = prefix.chars().collect();
    digits.resize(32, with);
    let values: Vec<u8> = digits
        .iter()
        .filter_map(|digit| u8::try_from(digit.to_digit(16)?).ok())
        .collect();
    Some(
        values
            .chunks(2)
            .map(|pair| pair.iter().fold(0, |byte, digit| byte << 4 | digit))
            .collect(),
    )
}
