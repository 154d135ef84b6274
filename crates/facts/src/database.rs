//! [`Database`]: facts in a file of `SQLite`. It is a cache: whatever is wrong with it, what it held is computed again.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OptionalExtension, params};
use tracer_sdk::format::TraceId;

use crate::database_file::{self, CACHE_FOLDER, DatabaseError, DatabaseFormat, as_id};

/// The version of what is in the file, stored in it and in its name: an older and a newer `tracer` each have their own.
const VERSION: i64 = 7;

const FORMAT: DatabaseFormat = DatabaseFormat {
    name: "facts-7.sqlite",
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

const SCHEMA: &str = "
    CREATE TABLE runs (
        number INTEGER PRIMARY KEY,
        trace_id BLOB NOT NULL UNIQUE,
        files BLOB NOT NULL,
        facts TEXT NOT NULL,
        checksum INTEGER NOT NULL
    ) STRICT;
    CREATE TABLE details (
        number INTEGER PRIMARY KEY,
        details TEXT NOT NULL,
        checksum INTEGER NOT NULL
    ) STRICT;
";

/// A run as it is kept.
#[derive(Debug)]
pub(crate) struct KeptRun {
    /// The stamp of its files.
    pub(crate) files: Vec<u8>,
    /// Its facts as JSON.
    pub(crate) facts: String,
    /// Its details as JSON, where they were asked for.
    pub(crate) details: Option<String>,
}

/// A run to be kept.
#[derive(Debug)]
pub(crate) struct RunToStore {
    pub(crate) trace_id: TraceId,
    pub(crate) files: Vec<u8>,
    pub(crate) facts: String,
    pub(crate) details: String,
}

/// The open database.
#[derive(Debug)]
pub(crate) struct Database {
    connection: Connection,
    path: PathBuf,
    is_writable: bool,
}

impl Database {
    /// Opens the database of a data directory, and makes it where it is missing. A file that is no such database, or is
    /// damaged, is replaced.
    pub(crate) fn open(data_dir: &Path) -> Result<Self, DatabaseError> {
        let (path, connection) = FORMAT.open(data_dir)?;
        let is_writable = !connection
            .is_readonly(rusqlite::MAIN_DB)
            .map_err(|source| database_file::failed(&path, source))?;
        Ok(Self {
            connection,
            path,
            is_writable,
        })
    }

    /// Whether there is a database to open.
    pub(crate) fn is_there(data_dir: &Path) -> bool {
        data_dir.join(CACHE_FOLDER).join(FORMAT.name).is_file()
    }

    /// All runs that are kept, with their details when these are wanted. What is damaged is left out.
    pub(crate) fn load(&self, with_details: bool) -> Result<HashMap<TraceId, KeptRun>, DatabaseError> {
        let query = if with_details {
            "SELECT trace_id, files, facts, runs.checksum, details.details, details.checksum
             FROM runs LEFT JOIN details USING (number)"
        } else {
            "SELECT trace_id, files, facts, checksum, NULL, NULL FROM runs"
        };
        self.load_by(query).map_err(|error| self.failed(error))
    }

    fn load_by(&self, query: &str) -> rusqlite::Result<HashMap<TraceId, KeptRun>> {
        let mut statement = self.connection.prepare(query)?;
        let mut rows = statement.query([])?;
        let mut kept = HashMap::new();
        while let Some(row) = rows.next()? {
            let Some(trace_id) = as_id(row.get_ref(0)?.as_blob()?) else {
                continue;
            };
            let run = KeptRun {
                files: row.get(1)?,
                facts: row.get(2)?,
                details: row.get(4)?,
            };
            if row.get::<_, i64>(3)? != checksum(trace_id, &run.files, &run.facts) {
                continue;
            }
            let is_torn = |details: &String| {
                let expected = checksum(trace_id, &run.files, details);
                row.get::<_, i64>(5).ok() != Some(expected)
            };
            if run.details.as_ref().is_some_and(is_torn) {
                continue;
            }
            kept.insert(trace_id, run);
        }
        Ok(kept)
    }

    /// The details of a run whose files have this stamp.
    pub(crate) fn details(&self, trace_id: TraceId, files: &[u8]) -> Result<Option<String>, DatabaseError> {
        let query = "SELECT details.details, details.checksum FROM runs JOIN details USING (number)
                     WHERE trace_id = ?1 AND files = ?2";
        let found = self
            .connection
            .prepare(query)
            .and_then(|mut statement| {
                statement
                    .query_row(params![trace_id.to_bytes(), files], |row| {
                        Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)?))
                    })
                    .optional()
            })
            .map_err(|error| self.failed(error))?;
        Ok(found.and_then(|(details, sum): (String, i64)| {
            (sum == checksum(trace_id, files, &details)).then_some(details)
        }))
    }

    /// Keeps runs, each in the place of what was kept of it, and removes others, all or nothing.
    pub(crate) fn write(&mut self, runs: &[RunToStore], gone: &[TraceId]) -> Result<(), DatabaseError> {
        if (runs.is_empty() && gone.is_empty()) || !self.is_writable {
            return Ok(());
        }
        self.write_all(runs, gone).map_err(|error| self.failed(error))
    }

    fn write_all(&mut self, runs: &[RunToStore], gone: &[TraceId]) -> rusqlite::Result<()> {
        let transaction = self
            .connection
            .transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
        {
            let mut upsert = transaction.prepare(
                "INSERT INTO runs (trace_id, files, facts, checksum) VALUES (?1, ?2, ?3, ?4)
                 ON CONFLICT (trace_id) DO UPDATE SET files = ?2, facts = ?3, checksum = ?4 RETURNING number",
            )?;
            let mut details = transaction
                .prepare("INSERT OR REPLACE INTO details (number, details, checksum) VALUES (?1, ?2, ?3)")?;
            for run in runs {
                let sum = checksum(run.trace_id, &run.files, &run.facts);
                let number: i64 = upsert.query_row(
                    params![run.trace_id.to_bytes(), run.files, run.facts, sum],
                    |row| row.get(0),
                )?;
                let sum = checksum(run.trace_id, &run.files, &run.details);
                details.execute(params![number, run.details, sum])?;
            }
            let mut forget_details = transaction.prepare(
                "DELETE FROM details WHERE number IN (SELECT number FROM runs WHERE trace_id = ?1)",
            )?;
            let mut forget = transaction.prepare("DELETE FROM runs WHERE trace_id = ?1")?;
            for trace_id in gone {
                forget_details.execute(params![trace_id.to_bytes()])?;
                forget.execute(params![trace_id.to_bytes()])?;
            }
        }
        transaction.commit()
    }

    fn failed(&self, source: rusqlite::Error) -> DatabaseError {
        database_file::failed(&self.path, source)
    }
}

/// Of what belongs together: a row that another program changed, or that is torn, is not believed.
#[expect(clippy::cast_possible_wrap, reason = "any 64 bits")]
fn checksum(trace_id: TraceId, files: &[u8], text: &str) -> i64 {
    let mut hasher = DefaultHasher::new();
    (VERSION, trace_id, files, text).hash(&mut hasher);
    hasher.finish() as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_keeps_what_there_is() {
        let folder = tempfile::tempdir().unwrap();
        let run = |number: u32, bytes: usize| RunToStore {
            trace_id: format!("{number:032x}").parse().unwrap(),
            files: vec![1, 2],
            facts: "{}".to_owned(),
            details: "x".repeat(bytes),
        };
        let mut database = Database::open(folder.path()).unwrap();
        database.write(&[run(1, 10)], &[]).unwrap();
        database
            .connection
            .pragma_update(None, "max_page_count", 10)
            .unwrap();
        let full = database.write(&[run(2, 100), run(3, 100_000)], &[]);
        assert!(matches!(full, Err(DatabaseError::Unusable { .. })), "{full:?}");
        drop(database);
        let database = Database::open(folder.path()).unwrap();
        assert_eq!(database.load(true).unwrap().len(), 1);
        let id = run(1, 0).trace_id;
        assert_eq!(database.details(id, &[1, 2]).unwrap(), Some("x".repeat(10)));
        assert_eq!(database.details(id, &[1, 3]).unwrap(), None, "of other files");
    }
}
