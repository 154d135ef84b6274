//! [`DatabaseFormat`]: a database of `SQLite` in a file that can be made again. Opening one makes it where it is missing, and
//! replaces what is damaged or something else.
//!
//! The journal is a rollback journal, not a write-ahead log: a process writes in few short transactions, and a write-ahead log
//! needs memory shared between processes, which network file systems lack, and two files more, which a directory that cannot
//! be written has no room for.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, OpenFlags, TransactionBehavior};
use tracer_sdk::disk::{private_file, private_folder};

/// The folder in a data directory for what can be computed again.
pub(crate) const CACHE_FOLDER: &str = "cache";

/// Why facts are not kept: everything works without, and takes longer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DatabaseError {
    /// The folder or the file cannot be made.
    #[error("{path} cannot be opened")]
    Unopened {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// A symbolic link is in the place of the folder or the file.
    #[error("{path} is a symbolic link")]
    SymbolicLink {
        /// The link.
        path: PathBuf,
    },
    /// It is damaged, or no such database; it is gone now, and the next one who opens it makes a new one.
    #[error("{path} is damaged")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The reason of `SQLite`.
        source: rusqlite::Error,
    },
    /// The mirror of a bucket is damaged, or no such database; it is gone now, and the next synchronization makes a new one.
    #[error("{path} is damaged: the bucket has to be read again")]
    DamagedMirror {
        /// The file.
        path: PathBuf,
        /// The reason of `SQLite`.
        source: rusqlite::Error,
    },
    /// Another process has locked it, or it cannot be written.
    #[error("{path} cannot be used")]
    Unusable {
        /// The file.
        path: PathBuf,
        /// The reason of `SQLite`.
        source: rusqlite::Error,
    },
    /// It was deleted while it was read, and another one is in its place, which has less in it.
    #[error("{path} was deleted")]
    Replaced {
        /// The file.
        path: PathBuf,
    },
}

impl DatabaseError {
    /// True where the same question, asked again from the survey on, is answered: the file is made again.
    #[must_use]
    pub const fn is_made_again(&self) -> bool {
        matches!(self, Self::Damaged { .. } | Self::Replaced { .. })
    }
}

/// The name and the contents of a file.
#[derive(Debug)]
pub(crate) struct DatabaseFormat {
    /// The file's name in the folder for what can be computed again: `NAME-NUMBER.sqlite`. A new version has the next number.
    pub(crate) name: &'static str,
    /// The version of what is in the file, stored in it; not 0, which an empty file has.
    pub(crate) version: i64,
    /// The statements that make the tables in an empty file.
    pub(crate) schema: &'static str,
    /// Further settings of each connection.
    pub(crate) pragmas: &'static str,
    /// The longest wait for another process.
    pub(crate) max_wait: Duration,
}

impl DatabaseFormat {
    /// Opens the database of a data directory, and makes it where it is missing. A file that is no such database, or is
    /// damaged, is replaced.
    pub(crate) fn open(&self, data_dir: &Path) -> Result<(PathBuf, Connection), DatabaseError> {
        let path = prepared(data_dir, self.name)?;
        let connected = match self.connect(&path) {
            Err(error) if is_damage(&error) => {
                discard(&path);
                create(&path)?;
                self.connect(&path)
            }
            connected => connected,
        };
        match connected {
            Ok(connection) => {
                discard_older(&path);
                Ok((path, connection))
            }
            Err(source) => Err(DatabaseError::Unusable { path, source }),
        }
    }

    fn connect(&self, path: &Path) -> rusqlite::Result<Connection> {
        let flags = OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_NOFOLLOW;
        let mut connection = Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        connection.busy_timeout(self.max_wait)?;
        connection.execute_batch(
            "PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON; PRAGMA temp_store = MEMORY;
             PRAGMA synchronous = NORMAL; PRAGMA mmap_size = 0;",
        )?;
        connection.execute_batch(self.pragmas)?;
        if version(&connection)? != self.version {
            self.make_tables(&mut connection)?;
        }
        Ok(connection)
    }

    /// Makes the tables, unless another process made them since the version was read: what is new is not taken for damage.
    fn make_tables(&self, connection: &mut Connection) -> rusqlite::Result<()> {
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let found = version(&transaction)?;
        if found == self.version {
            return Ok(());
        }
        let tables: i64 =
            transaction.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
        if tables > 0 || found != 0 {
            return Err(damaged());
        }
        transaction.execute_batch(self.schema)?;
        transaction.pragma_update(None, "user_version", self.version)?;
        transaction.commit()
    }
}

fn version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.pragma_query_value(None, "user_version", |row| row.get(0))
}

/// A failure, after which a file that is damaged is gone: the next one who opens it makes a new one.
pub(crate) fn failed(path: &Path, source: rusqlite::Error) -> DatabaseError {
    let path = path.to_owned();
    if is_damage(&source) {
        discard(&path);
        return DatabaseError::Damaged { path, source };
    }
    DatabaseError::Unusable { path, source }
}

/// The path of the file, which is there then: private to the user, and no link to elsewhere.
fn prepared(data_dir: &Path, file: &str) -> Result<PathBuf, DatabaseError> {
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
fn create(path: &Path) -> Result<(), DatabaseError> {
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

/// Removes the files of older versions, which quote traces as well; an older `tracer` makes its own again.
fn discard_older(path: &Path) {
    let number = |path: &Path| -> Option<(String, u32)> {
        let (name, number) = path.file_stem()?.to_str()?.rsplit_once('-')?;
        let is_database = path.extension()? == "sqlite";
        Some((name.to_owned(), number.parse().ok().filter(|_| is_database)?))
    };
    let (Some((name, newest)), Some(Ok(entries))) = (number(path), path.parent().map(fs::read_dir)) else {
        return;
    };
    for other in entries.flatten().map(|entry| entry.path()) {
        if number(&other).is_some_and(|(other, number)| other == name && number < newest) {
            discard(&other);
        }
    }
}

/// True of a file that is damaged itself, not of one that is in use or in a wrong place.
pub(crate) fn is_damage(error: &rusqlite::Error) -> bool {
    match error {
        rusqlite::Error::SqliteFailure(failure, message) => match failure.code {
            ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase => true,
            // A database of something else has no such table.
            ErrorCode::Unknown => message
                .as_ref()
                .is_some_and(|message| message.contains("no such") || message.contains("malformed")),
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

#[cfg(test)]
mod tests {
    use std::sync::Barrier;
    use std::thread;

    use super::*;

    const FORMAT: DatabaseFormat = DatabaseFormat {
        name: "numbers-7.sqlite",
        version: 7,
        schema: "CREATE TABLE numbers (number INTEGER PRIMARY KEY) STRICT;",
        pragmas: "",
        max_wait: Duration::from_secs(60),
    };

    fn numbers(connection: &Connection) -> i64 {
        let query = "SELECT count(*) FROM numbers";
        connection.query_row(query, [], |row| row.get(0)).unwrap()
    }

    #[test]
    fn tables_that_another_connection_made_stay() {
        let folder = tempfile::tempdir().unwrap();
        let path = prepared(folder.path(), FORMAT.name).unwrap();
        // It read the version before the other made the tables.
        let mut late = Connection::open(&path).unwrap();
        assert_eq!(version(&late).unwrap(), 0);
        let (_, first) = FORMAT.open(folder.path()).unwrap();
        first.execute("INSERT INTO numbers VALUES (1)", []).unwrap();
        FORMAT.make_tables(&mut late).unwrap();
        assert_eq!((numbers(&late), numbers(&first)), (1, 1));
    }

    #[test]
    fn all_may_be_first_at_once() {
        const OPENING: u8 = 4;
        for _ in 0..25 {
            let folder = tempfile::tempdir().unwrap();
            let barrier = Barrier::new(OPENING.into());
            thread::scope(|scope| {
                for number in 0..OPENING {
                    let (folder, barrier) = (folder.path(), &barrier);
                    scope.spawn(move || {
                        barrier.wait();
                        let (_, connection) = FORMAT.open(folder).unwrap();
                        connection
                            .execute("INSERT INTO numbers VALUES (?1)", [number])
                            .unwrap();
                    });
                }
            });
            let (_, connection) = FORMAT.open(folder.path()).unwrap();
            assert_eq!(
                numbers(&connection),
                i64::from(OPENING),
                "nobody replaced another's file"
            );
        }
    }

    #[test]
    fn files_of_older_versions_go_whenever_one_is_opened() {
        let folder = tempfile::tempdir().unwrap();
        let path = prepared(folder.path(), FORMAT.name).unwrap();
        let older = ["numbers-2.sqlite", "numbers-6.sqlite", "numbers-6.sqlite-journal"];
        let others = ["numbers-10.sqlite", "numbers-6.json", "others-6.sqlite"];
        let is_there = |name: &&str| path.with_file_name(name).exists();
        for _ in 0..2 {
            for name in older.iter().chain(&others) {
                fs::write(path.with_file_name(name), "").unwrap();
            }
            let (_, connection) = FORMAT.open(folder.path()).unwrap();
            assert!(!older.iter().any(is_there));
            assert!(others.iter().all(is_there));
            assert_eq!(numbers(&connection), 0);
        }
    }

    #[test]
    fn other_contents_are_replaced() {
        for other in [
            "PRAGMA user_version = 6; CREATE TABLE numbers (number TEXT);",
            "PRAGMA user_version = 6;",
            "CREATE TABLE others (number INTEGER);",
        ] {
            let folder = tempfile::tempdir().unwrap();
            let path = prepared(folder.path(), FORMAT.name).unwrap();
            Connection::open(path).unwrap().execute_batch(other).unwrap();
            let (_, connection) = FORMAT.open(folder.path()).unwrap();
            assert_eq!(version(&connection).unwrap(), FORMAT.version, "{other}");
            assert_eq!(numbers(&connection), 0, "{other}");
        }
    }
}
