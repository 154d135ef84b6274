//! [`MirrorWriter`]: what a bucket lists, taken over into the database of its mirror.

use std::collections::{BTreeSet, HashSet};

use rusqlite::{Connection, OptionalExtension, params};
use tracer_sdk::format::Timestamp;

use super::line::MirrorLine;
use crate::database::{RunDatabase, RunToStore, put};
use crate::database_file::DatabaseError;

/// Takes over what a bucket lists. What was written is kept once it is committed; what is written twice is there once.
///
/// ```
/// use tracer_catalog::{MirrorLine, StoreMirror};
///
/// let folder = tempfile::tempdir()?;
/// let mut writer = StoreMirror::new(folder.path(), "s3://team/agents").writer()?;
/// let line = br#"{"version":1,"trace_id":"10000000000000000000000000000001","generation":1,"removed":true}"#;
/// let lines = [MirrorLine::parse(line)?];
/// assert_eq!(writer.apply(&lines, "date=2026-01-01")?, 1);
/// assert_eq!(writer.apply(&lines, "date=2026-01-02")?, 0); // nothing new
/// writer.commit()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct MirrorWriter {
    database: RunDatabase,
}

impl MirrorWriter {
    pub(super) fn new(database: RunDatabase) -> Self {
        Self { database }
    }

    /// The partition with which the next listing begins; `None` before the first time.
    ///
    /// # Errors
    ///
    /// [`DatabaseError`]: the database cannot be used.
    pub fn cursor(&self) -> Result<Option<String>, DatabaseError> {
        let found = self
            .database
            .first("SELECT cursor FROM synced", [], |row| row.get(0));
        Ok(found?.flatten())
    }

    /// The objects that are here, of those that a listing can name again.
    ///
    /// # Errors
    ///
    /// [`DatabaseError`]: the database cannot be used.
    pub fn objects(&self) -> Result<HashSet<String>, DatabaseError> {
        self.database
            .all("SELECT name FROM objects", [], |row| row.get(0))
    }

    /// Takes lines of a partition over, each unless it says less than what is known; how many say something new.
    ///
    /// # Errors
    ///
    /// [`DatabaseError`]: the database cannot be used.
    pub fn apply(&mut self, lines: &[MirrorLine], partition: &str) -> Result<u64, DatabaseError> {
        self.write(|connection| apply(connection, lines, partition))
    }

    /// Forgets the runs that no partition but those lists any more; how many these are. A line of any later partition brings
    /// one back.
    ///
    /// ```
    /// use std::collections::BTreeSet;
    /// use tracer_catalog::{MirrorLine, StoreMirror};
    ///
    /// let folder = tempfile::tempdir()?;
    /// let mut writer = StoreMirror::new(folder.path(), "s3://team/agents").writer()?;
    /// let line = br#"{"version":2,"trace_id":"10000000000000000000000000000001","generation":1,
    ///     "facts":{"st":"ok"},"meta":{}}"#;
    /// let lines = [MirrorLine::parse(line)?];
    /// assert_eq!(writer.apply(&lines, "date=2026-01-01")?, 1);
    /// writer.commit()?;
    /// assert_eq!(writer.keep_partitions(&BTreeSet::from(["date=2026-01-01".to_owned()]))?, 0);
    /// assert_eq!(writer.keep_partitions(&BTreeSet::new())?, 1);
    /// assert_eq!(writer.apply(&lines, "date=2026-01-02")?, 1);
    /// writer.commit()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`DatabaseError`]: the database cannot be used.
    pub fn keep_partitions(&mut self, kept: &BTreeSet<String>) -> Result<u64, DatabaseError> {
        let forgotten = self.write(|connection| keep_partitions(connection, kept))?;
        self.commit()?;
        Ok(forgotten)
    }

    /// Remembers that all lines of an object are here.
    ///
    /// # Errors
    ///
    /// [`DatabaseError`]: the database cannot be used.
    pub fn has_applied(&mut self, object: &str) -> Result<(), DatabaseError> {
        self.write(|connection| {
            connection.execute("INSERT OR IGNORE INTO objects (name) VALUES (?1)", [object])?;
            Ok(())
        })
    }

    /// Keeps what was written.
    ///
    /// # Errors
    ///
    /// [`DatabaseError`]: the database cannot be used.
    pub fn commit(&mut self) -> Result<(), DatabaseError> {
        self.database.end()
    }

    /// Keeps what was written, and that everything before the partition `cursor` is here: the names of objects that no listing
    /// from now on has are forgotten.
    ///
    /// # Errors
    ///
    /// [`DatabaseError`]: the database cannot be used.
    pub fn has_synced(&mut self, at: Timestamp, cursor: Option<&str>) -> Result<(), DatabaseError> {
        self.write(|connection| {
            connection.execute(
                "INSERT OR REPLACE INTO synced (only, at, cursor) VALUES (1, ?1, ?2)",
                params![at.unix_microseconds(), cursor],
            )?;
            connection.execute("DELETE FROM objects WHERE name < ?1", [cursor])?;
            Ok(())
        })?;
        self.commit()
    }

    fn write<T>(&self, work: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T, DatabaseError> {
        self.database.with(|connection| {
            if connection.is_autocommit() {
                connection.execute_batch("BEGIN IMMEDIATE")?;
            }
            work(connection)
        })
    }
}

fn apply(connection: &Connection, lines: &[MirrorLine], partition: &str) -> rusqlite::Result<u64> {
    connection.execute("INSERT OR IGNORE INTO partitions (name) VALUES (?1)", [partition])?;
    let mut find =
        connection.prepare_cached("SELECT generation, status IS NULL FROM runs WHERE trace_id = ?1")?;
    let mut list_again = connection.prepare_cached(
        "UPDATE runs SET partition = ?2 WHERE trace_id = ?1 AND partition < ?2 AND status IS NOT NULL",
    )?;
    let mut new_lines = 0;
    for line in lines {
        let id = line.trace_id.to_bytes();
        let known: Option<(i64, bool)> = find
            .query_row([id], |row| Ok((row.get(0)?, row.get(1)?)))
            .optional()?;
        let says_less = known.is_some_and(|(generation, is_removed)| {
            let is_removal = line.generation == generation && line.state.is_none() && !is_removed;
            line.generation <= generation && !is_removal
        });
        if says_less {
            // It stays as long as the last day that lists it.
            list_again.execute(params![id, partition])?;
            continue;
        }
        let run = RunToStore {
            trace_id: line.trace_id,
            files: &[],
            is_settled: true,
            placed: line.state.as_ref().and_then(|state| state.started),
            generation: line.generation,
            partition,
            facts: line
                .state
                .as_ref()
                .map(|state| (state.facts.as_str(), state.meta.get())),
        };
        put(connection, &run)?;
        new_lines += 1;
    }
    Ok(new_lines)
}

fn keep_partitions(connection: &Connection, kept: &BTreeSet<String>) -> rusqlite::Result<u64> {
    let mut known = connection.prepare("SELECT name FROM partitions")?;
    let known: Vec<String> = known.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
    let mut dropped = 0;
    for gone in known.iter().filter(|name| !kept.contains(*name)) {
        let of_gone = "FROM runs WHERE partition = ?1 AND status IS NOT NULL";
        connection.execute(
            &format!("DELETE FROM facts WHERE number IN (SELECT number {of_gone})"),
            [gone],
        )?;
        // The row gets the next number.
        dropped += connection.execute(
            &format!(
                "INSERT OR REPLACE INTO runs (trace_id, files, is_settled, generation, partition)
                 SELECT trace_id, x'', 1, 0, '' {of_gone} ORDER BY number"
            ),
            [gone],
        )?;
        connection.execute("DELETE FROM partitions WHERE name = ?1", [gone])?;
        connection.execute(
            "DELETE FROM objects WHERE name >= ?1 || '/' AND name < ?1 || '0'",
            [gone],
        )?;
    }
    Ok(dropped as u64)
}
