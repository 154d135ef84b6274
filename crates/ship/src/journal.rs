//! [`Journal`]: acknowledgements of one destination, in a file of the data directory.
//!
//! Each acknowledgement is one appended line; a line that a crash has torn is sent again. The file is rewritten when it is
//! opened and when it has grown.

use std::collections::{HashMap, HashSet};
use std::fs::{File, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tempfile::NamedTempFile;
use tracer_runs::{RunStore, read_input};
use tracer_sdk::disk::{private_file, private_folder};
use tracer_sdk::format::TraceId;

/// Folder of the journals in the data directory.
const FOLDER: &str = "pushed";
/// Version of the journal's format.
const VERSION: u32 = 1;
/// Bytes of a journal that is read: about a million runs.
const MAX_BYTES: u64 = 256 * 1024 * 1024;
/// Lines beyond those that are needed, with which it is written anew.
const MAX_EXTRA_LINES: usize = 10_000;

/// Reason why the journal cannot remember what was sent.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JournalError {
    /// Another process has the journal.
    #[error("another process pushes to this destination already")]
    Locked,
    /// The journal is not one that this version understands.
    #[error("`{}` is damaged, or of a newer version", path.display())]
    Damaged {
        /// The journal.
        path: PathBuf,
    },
    /// The journal cannot be read or written.
    #[error("failed to remember what was sent in `{}`", path.display())]
    Io {
        /// The journal.
        path: PathBuf,
        /// The system's report.
        source: io::Error,
    },
}

/// Acknowledgements of a destination, by run. While it is open no other process can open it.
#[derive(Debug)]
pub(crate) struct Journal<Sent> {
    path: PathBuf,
    file: File,
    /// Keeps the lock.
    _lock: File,
    head: JournalHead,
    runs: HashMap<TraceId, Sent>,
    lines: usize,
}

/// The first line.
#[derive(Debug, Serialize, Deserialize)]
struct JournalHead {
    version: u32,
    endpoint: String,
    /// Whether the user agreed to send runs there.
    confirmed: bool,
}

/// The line of a run.
#[derive(Serialize, Deserialize)]
struct JournalLine<Sent> {
    run: TraceId,
    #[serde(flatten)]
    sent: Sent,
}

impl<Sent: Serialize + DeserializeOwned> Journal<Sent> {
    /// Opens the journal of a destination in the data directory of `store`, and forgets the runs that are not there any
    /// more. `key` names its file; `destination` is what a person reads in it, and holds no secret.
    pub(crate) fn open(store: &RunStore, key: &str, destination: &str) -> Result<Self, JournalError> {
        let folder = store.data_dir().join(FOLDER);
        let path = self::path(store.data_dir(), key);
        let failed = |source| JournalError::Io {
            path: path.clone(),
            source,
        };
        private_folder().recursive(true).create(&folder).map_err(failed)?;
        let lock = private_file()
            .write(true)
            .create(true)
            .truncate(false)
            .open(path.with_extension("lock"))
            .map_err(failed)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(JournalError::Locked),
            Err(TryLockError::Error(error)) => return Err(failed(error)),
        }
        let (head, mut runs) = match read_input(&path, MAX_BYTES) {
            Ok(bytes) => parse(&bytes).ok_or_else(|| JournalError::Damaged { path: path.clone() })?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let head = JournalHead {
                    version: VERSION,
                    endpoint: destination.to_owned(),
                    confirmed: false,
                };
                (head, HashMap::new())
            }
            Err(error) => return Err(failed(error)),
        };
        // Runs are only forgotten when the folder can be listed: it may be on a disk that is not there now.
        if let Ok(directories) = store.list_directories() {
            let known: HashSet<TraceId> = directories.iter().map(|directory| directory.trace_id).collect();
            runs.retain(|run, _| known.contains(run));
        }
        let file = rewrite(&path, &head, &runs).map_err(failed)?;
        Ok(Self {
            lines: runs.len(),
            path,
            file,
            _lock: lock,
            head,
            runs,
        })
    }

    /// `true` when the user agreed to send runs there.
    pub(crate) fn is_confirmed(&self) -> bool {
        self.head.confirmed
    }

    /// Remembers that the user agreed to send runs there.
    pub(crate) fn confirm(&mut self) -> Result<(), JournalError> {
        self.head.confirmed = true;
        self.rewrite()
    }

    /// The entry of a run.
    pub(crate) fn sent(&self, run: TraceId) -> Option<&Sent> {
        self.runs.get(&run)
    }

    /// All entries, in no order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (TraceId, &Sent)> {
        self.runs.iter().map(|(run, sent)| (*run, sent))
    }

    /// Replaces the entry of a run.
    pub(crate) fn record(&mut self, run: TraceId, sent: Sent) -> Result<(), JournalError> {
        // One write for the line: a crash leaves all of it, or a torn one that nothing follows.
        let line = serde_json::to_vec(&JournalLine { run, sent: &sent });
        self.runs.insert(run, sent);
        self.lines += 1;
        if self.lines > 2 * self.runs.len() + MAX_EXTRA_LINES {
            return self.rewrite();
        }
        line.map_err(io::Error::from)
            .and_then(|mut line| {
                line.push(b'\n');
                self.file.write_all(&line)
            })
            .map_err(|source| self.failed(source))
    }

    fn rewrite(&mut self) -> Result<(), JournalError> {
        self.file = rewrite(&self.path, &self.head, &self.runs).map_err(|source| self.failed(source))?;
        self.lines = self.runs.len();
        Ok(())
    }

    fn failed(&self, source: io::Error) -> JournalError {
        JournalError::Io {
            path: self.path.clone(),
            source,
        }
    }
}

/// The file of a destination's journal.
pub(crate) fn path(data_dir: &Path, key: &str) -> PathBuf {
    data_dir.join(FOLDER).join(format!("{key}.jsonl"))
}

/// The entries in a journal that another process may be writing; none when it cannot be read.
pub(crate) fn read<Sent: DeserializeOwned>(path: &Path) -> HashMap<TraceId, Sent> {
    let bytes = read_input(path, MAX_BYTES).unwrap_or_default();
    parse(&bytes).map(|(_, runs)| runs).unwrap_or_default()
}

/// The head and the last line of each run; `None` without a head of this version.
fn parse<Sent: DeserializeOwned>(bytes: &[u8]) -> Option<(JournalHead, HashMap<TraceId, Sent>)> {
    let mut lines = bytes.split(|byte| *byte == b'\n');
    let head: JournalHead = serde_json::from_slice(lines.next()?).ok()?;
    if head.version != VERSION {
        return None;
    }
    // An unreadable line was torn: its spans are sent again.
    let lines = lines.filter_map(|line| serde_json::from_slice::<JournalLine<Sent>>(line).ok());
    Some((head, lines.map(|line| (line.run, line.sent)).collect()))
}

/// Replaces the journal; the file is at its end.
fn rewrite<Sent: Serialize>(
    path: &Path,
    head: &JournalHead,
    runs: &HashMap<TraceId, Sent>,
) -> io::Result<File> {
    let mut text = serde_json::to_vec(head)?;
    text.push(b'\n');
    for (run, sent) in runs {
        serde_json::to_writer(&mut text, &JournalLine { run: *run, sent })?;
        text.push(b'\n');
    }
    let mut file = NamedTempFile::new_in(path.parent().unwrap_or(path))?;
    file.write_all(&text)?;
    file.as_file().sync_all()?;
    Ok(file.persist(path)?)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use tracer_sdk::format::RUNS_FOLDER;

    use super::*;
    use crate::otlp::{OtlpEndpoint, SentPart};

    const FIRST: &str = "10000000000000000000000000000001";
    const SECOND: &str = "20000000000000000000000000000002";

    fn endpoint() -> OtlpEndpoint {
        OtlpEndpoint::from_base("https://me:s3cret@a.test?key=s3cret", "").unwrap()
    }

    fn open_at(data_dir: &Path, endpoint: &OtlpEndpoint) -> Result<Journal<SentPart>, JournalError> {
        Journal::open(&RunStore::new(data_dir), &endpoint.key(), &endpoint.to_string())
    }

    fn open(data_dir: &Path) -> Result<Journal<SentPart>, JournalError> {
        open_at(data_dir, &endpoint())
    }

    fn sent(journal: &Journal<SentPart>, run: &str) -> SentPart {
        journal.sent(id(run)).copied().unwrap_or_default()
    }

    fn id(text: &str) -> TraceId {
        text.parse().unwrap()
    }

    fn part(bytes: u64) -> SentPart {
        SentPart {
            bytes,
            spans: 1,
            end: u64::MAX,
            complete: false,
        }
    }

    #[test]
    fn what_was_recorded_is_remembered_and_the_last_line_counts() {
        let data_dir = tempfile::tempdir().unwrap();
        let mut journal = open(data_dir.path()).unwrap();
        assert_eq!(sent(&journal, FIRST), SentPart::default());
        journal.record(id(FIRST), part(10)).unwrap();
        journal.record(id(SECOND), part(5)).unwrap();
        journal.record(id(FIRST), part(20)).unwrap();
        journal.confirm().unwrap();
        journal.record(id(SECOND), SentPart::default()).unwrap();
        drop(journal);
        let journal = open(data_dir.path()).unwrap();
        assert!(journal.is_confirmed());
        assert_eq!(sent(&journal, FIRST), part(20));
        assert_eq!(sent(&journal, SECOND), SentPart::default());
    }

    #[test]
    fn a_torn_line_is_forgotten_alone() {
        let data_dir = tempfile::tempdir().unwrap();
        let mut journal = open(data_dir.path()).unwrap();
        journal.record(id(FIRST), part(10)).unwrap();
        let path = journal.path.clone();
        drop(journal);
        let mut text = fs::read(&path).unwrap();
        text.extend_from_slice(br#"{"run":"2000000000000"#);
        fs::write(&path, &text).unwrap();
        let mut journal = open(data_dir.path()).unwrap();
        assert_eq!(sent(&journal, FIRST), part(10));
        journal.record(id(SECOND), part(7)).unwrap();
        drop(journal);
        assert_eq!(sent(&open(data_dir.path()).unwrap(), SECOND), part(7));
    }

    #[test]
    fn one_process_at_a_time_has_a_journal() {
        let data_dir = tempfile::tempdir().unwrap();
        let first = open(data_dir.path()).unwrap();
        assert!(matches!(open(data_dir.path()), Err(JournalError::Locked)));
        let other = OtlpEndpoint::from_base("https://b.test", "").unwrap();
        assert!(open_at(data_dir.path(), &other).is_ok());
        drop(first);
        assert!(open(data_dir.path()).is_ok());
    }

    #[test]
    fn a_newer_or_damaged_journal_is_refused() {
        for head in [r#"{"version":2,"endpoint":"","confirmed":false}"#, "", "garbage"] {
            let data_dir = tempfile::tempdir().unwrap();
            let path = open(data_dir.path()).unwrap().path.clone();
            fs::write(&path, head).unwrap();
            assert!(
                matches!(open(data_dir.path()), Err(JournalError::Damaged { path: damaged }) if damaged == path)
            );
        }
    }

    #[test]
    fn runs_that_are_gone_are_forgotten() {
        let data_dir = tempfile::tempdir().unwrap();
        let mut journal = open(data_dir.path()).unwrap();
        journal.record(id(FIRST), part(10)).unwrap();
        journal.record(id(SECOND), part(5)).unwrap();
        drop(journal);
        let journal = open(data_dir.path()).unwrap();
        assert_eq!(sent(&journal, FIRST), part(10), "nothing can be listed");
        drop(journal);
        fs::create_dir_all(data_dir.path().join(RUNS_FOLDER).join(SECOND)).unwrap();
        let journal = open(data_dir.path()).unwrap();
        assert_eq!(sent(&journal, FIRST), SentPart::default());
        assert_eq!(sent(&journal, SECOND), part(5));
    }

    #[test]
    fn it_is_rewritten_before_it_grows_large() {
        let data_dir = tempfile::tempdir().unwrap();
        let mut journal = open(data_dir.path()).unwrap();
        for bytes in 0..=(MAX_EXTRA_LINES as u64 + 5) {
            journal.record(id(FIRST), part(bytes)).unwrap();
        }
        let length = fs::metadata(&journal.path).unwrap().len();
        assert!(length < 1_000, "{length}");
        drop(journal);
        let sent = sent(&open(data_dir.path()).unwrap(), FIRST);
        assert_eq!(sent, part(MAX_EXTRA_LINES as u64 + 5));
    }

    #[test]
    fn no_secret_is_written() {
        let data_dir = tempfile::tempdir().unwrap();
        let path = open(data_dir.path()).unwrap().path.clone();
        assert!(!fs::read_to_string(&path).unwrap().contains("s3cret"));
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        }
    }
}
