//! [`Database`]: facts in a file of `SQLite`. It is a cache: whatever is wrong with it, what it held is computed again.
//!
//! The journal is a rollback journal, not a write-ahead log: a listing writes once, in one short transaction, and a
//! write-ahead log needs memory shared between processes, which network file systems lack, and two files more, which a
//! directory that cannot be written has no room for.

use std::collections::HashMap;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension, params};
use tracer_sdk::format::TraceId;

/// The folder in the data directory for what can be computed again.
pub(crate) const CACHE_FOLDER: &str = "cache";
/// The file, by the version of what is in it: an older and a newer `tracer` each have their own.
const FILE: &str = "facts-3.sqlite";
/// The version of what is in the file, stored in it.
const VERSION: i64 = 3;
/// How long another process is waited for.
#[cfg(not(test))]
const MAX_WAIT: Duration = Duration::from_secs(1);
#[cfg(test)]
const MAX_WAIT: Duration = Duration::from_millis(50);

const SCHEMA: &str = "
    CREATE TABLE IF NOT EXISTS runs (
        number INTEGER PRIMARY KEY,
        trace_id BLOB NOT NULL UNIQUE,
        files BLOB NOT NULL,
        facts TEXT NOT NULL,
        checksum INTEGER NOT NULL
    ) STRICT;
    CREATE TABLE IF NOT EXISTS details (
        number INTEGER PRIMARY KEY,
        details TEXT NOT NULL,
        checksum INTEGER NOT NULL
    ) STRICT;
";

/// Why facts are not kept: everything works without, and takes longer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DatabaseError {
    /// The folder or the file cannot be made.
    #[error("{path} cannot be opened")]
    Unopened {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// A symbolic link is in the place of the folder or the file.
    #[error("{path} is a symbolic link")]
    SymbolicLink {
        /// What is one.
        path: PathBuf,
    },
    /// Another process has locked it, or it cannot be written.
    #[error("{path} cannot be used")]
    Unusable {
        /// The file.
        path: PathBuf,
        /// What `SQLite` says.
        source: rusqlite::Error,
    },
}

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
        let path = prepared(data_dir, FILE)?;
        match Self::connect(&path) {
            Err(error) if is_damage(&error) => {
                discard(&path);
                create(&path)?;
                Self::connect(&path)
            }
            connected => connected,
        }
        .map_err(|source| DatabaseError::Unusable { path, source })
    }

    /// Whether there is a database to open.
    pub(crate) fn is_there(data_dir: &Path) -> bool {
        data_dir.join(CACHE_FOLDER).join(FILE).is_file()
    }

    fn connect(path: &Path) -> rusqlite::Result<Self> {
        let flags = OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_NOFOLLOW;
        let mut connection = Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        let is_writable = !connection.is_readonly(rusqlite::MAIN_DB)?;
        connection.busy_timeout(MAX_WAIT)?;
        connection.execute_batch(
            "PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON; PRAGMA temp_store = MEMORY;
             PRAGMA synchronous = NORMAL; PRAGMA secure_delete = ON; PRAGMA mmap_size = 0;",
        )?;
        let version: i64 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
        if version != VERSION {
            let tables: i64 =
                connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
            if tables > 0 || version != 0 {
                return Err(damaged());
            }
            let transaction =
                connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
            transaction.execute_batch(SCHEMA)?;
            transaction.pragma_update(None, "user_version", VERSION)?;
            transaction.commit()?;
        }
        Ok(Self {
            connection,
            path: path.to_owned(),
            is_writable,
        })
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

    /// A failure, after which a file that is damaged is gone: the next one who opens it makes a new one.
    fn failed(&self, source: rusqlite::Error) -> DatabaseError {
        if is_damage(&source) {
            discard(&self.path);
        }
        DatabaseError::Unusable {
            path: self.path.clone(),
            source,
        }
    }
}

/// The path of the file, which is there then: private to the user, and no link to elsewhere.
pub(crate) fn prepared(data_dir: &Path, file: &str) -> Result<PathBuf, DatabaseError> {
    // The data directory itself may be reached by links; what is in it may not be one.
    let data_dir = fs::canonicalize(data_dir).map_err(|source| DatabaseError::Unopened {
        path: data_dir.to_owned(),
        source,
    })?;
    let folder = data_dir.join(CACHE_FOLDER);
    let path = folder.join(file);
    let unopened = |source| DatabaseError::Unopened {
        path: path.clone(),
        source,
    };
    match private_folder().create(&folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(unopened(error)),
        _ => {}
    }
    for part in [&folder, &path] {
        if fs::symlink_metadata(part).is_ok_and(|metadata| metadata.is_symlink()) {
            return Err(DatabaseError::SymbolicLink { path: part.clone() });
        }
    }
    if !path.exists() {
        create(&path)?;
    }
    Ok(path)
}

/// Makes an empty file, unless another process does so first: `SQLite` gives its journal the same permissions.
pub(crate) fn create(path: &Path) -> Result<(), DatabaseError> {
    match private_file().write(true).create_new(true).open(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(DatabaseError::Unopened {
            path: path.to_owned(),
            source: error,
        }),
        _ => Ok(()),
    }
}

/// Removes a file that is no database. The journal goes first: left alone, it would be rolled back into the next file.
pub(crate) fn discard(path: &Path) {
    for ending in ["-journal", "-wal", "-shm", ""] {
        let mut name = path.as_os_str().to_owned();
        name.push(ending);
        // What cannot be removed cannot be replaced either: facts are not kept then.
        let _ = fs::remove_file(PathBuf::from(name));
    }
}

#[cfg(unix)]
pub(crate) fn private_folder() -> fs::DirBuilder {
    use std::os::unix::fs::DirBuilderExt;
    let mut builder = fs::DirBuilder::new();
    builder.mode(0o700);
    builder
}

#[cfg(not(unix))]
pub(crate) fn private_folder() -> fs::DirBuilder {
    fs::DirBuilder::new()
}

#[cfg(unix)]
pub(crate) fn private_file() -> fs::OpenOptions {
    use std::os::unix::fs::OpenOptionsExt;
    let mut options = fs::OpenOptions::new();
    options.mode(0o600);
    options
}

#[cfg(not(unix))]
pub(crate) fn private_file() -> fs::OpenOptions {
    fs::OpenOptions::new()
}

/// Whether the file itself is wrong, not who else uses it or where it is.
pub(crate) fn is_damage(error: &rusqlite::Error) -> bool {
    match error {
        rusqlite::Error::SqliteFailure(failure, message) => match failure.code {
            ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase => true,
            // A database of something else has no such table.
            ErrorCode::Unknown => message
                .as_ref()
                .is_some_and(|message| message.contains("no such")),
            _ => false,
        },
        rusqlite::Error::InvalidColumnType(..)
        | rusqlite::Error::FromSqlConversionFailure(..)
        | rusqlite::Error::IntegralValueOutOfRange(..)
        | rusqlite::Error::Utf8Error(..)
        | rusqlite::Error::SqlInputError { .. } => true,
        _ => false,
    }
}

pub(crate) fn damaged() -> rusqlite::Error {
    rusqlite::Error::SqliteFailure(rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_CORRUPT), None)
}

pub(crate) fn as_id(blob: &[u8]) -> Option<TraceId> {
    TraceId::from_u128(u128::from_be_bytes(blob.try_into().ok()?))
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
