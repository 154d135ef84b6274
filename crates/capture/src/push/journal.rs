//! [`Journal`]: what one destination has acknowledged, in a file of the data directory.
//!
//! Each acknowledgement is one line that is appended; a line that a crash has torn is sent again. The file is written
//! anew, beside the old one and renamed into its place, when it is opened and when it has grown.

use std::collections::{HashMap, HashSet};
use std::fs::{File, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tempfile::NamedTempFile;
use tracer_sdk::format::TraceId;
use tracer_sdk::private_files::{private_file, private_folder};
use tracer_sdk::read::{RunStore, read_input};

/// Folder of the journals in the data directory.
const FOLDER: &str = "pushed";
/// Version of the journal's format.
const VERSION: u32 = 1;
/// Bytes of a journal that is read: about a million runs.
const MAX_BYTES: u64 = 256 * 1024 * 1024;
/// Lines beyond those that are needed, with which it is written anew.
const MAX_EXTRA_LINES: usize = 10_000;

/// Why what was sent cannot be remembered.
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
        /// What the system reports.
        source: io::Error,
    },
}

/// How far a run is sent to an endpoint of OTLP.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SentPart {
    /// Bytes of its log.
    pub(super) bytes: u64,
    /// Number of spans in them.
    pub(super) spans: u64,
    /// Hash of the end of those bytes: tells a log that has grown from another one.
    pub(super) end: u64,
    /// Whether the run has ended, and all of it is sent.
    pub(super) complete: bool,
}

/// What a destination has acknowledged of each run. While it is open no other process can open it.
///
/// ```
/// use std::collections::BTreeMap;
/// use tracer_capture::push::{Journal, JournalError};
/// use tracer_sdk::read::RunStore;
///
/// let folder = tempfile::tempdir()?;
/// let store = RunStore::new(folder.path());
/// let open = || Journal::<BTreeMap<String, u64>>::open(&store, "a1b2", "s3://team/agents");
/// let run = "10000000000000000000000000000001".parse().unwrap();
/// let mut journal = open()?;
/// journal.record(run, BTreeMap::from([("bytes".to_owned(), 42)]))?;
/// assert!(matches!(open(), Err(JournalError::Locked)));
/// drop(journal);
/// assert_eq!(open()?.sent(run).unwrap()["bytes"], 42);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Journal<Part> {
    path: PathBuf,
    file: File,
    /// Keeps the lock.
    _lock: File,
    head: JournalHead,
    runs: HashMap<TraceId, Part>,
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

/// What is remembered of a run. The part of a push by OTLP is written into the line itself, as it always was.
#[derive(Serialize, Deserialize)]
struct JournalLine<Part> {
    run: TraceId,
    #[serde(flatten)]
    part: Part,
}

impl<Part: Serialize + DeserializeOwned> Journal<Part> {
    /// Opens the journal of a destination in the data directory of `store`, and forgets the runs that are not there any
    /// more. `key` names its file; `destination` is what a person reads in it, and holds no secret.
    ///
    /// # Errors
    ///
    /// [`JournalError`]: it cannot be used, or another process has it.
    pub fn open(store: &RunStore, key: &str, destination: &str) -> Result<Self, JournalError> {
        let folder = store.data_dir().join(FOLDER);
        let path = folder.join(format!("{key}.jsonl"));
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
        let file = write_anew(&path, &head, &runs).map_err(failed)?;
        Ok(Self {
            lines: runs.len(),
            path,
            file,
            _lock: lock,
            head,
            runs,
        })
    }

    /// Whether the user agreed to send runs there.
    #[must_use]
    pub fn is_confirmed(&self) -> bool {
        self.head.confirmed
    }

    /// Remembers that the user agreed to send runs there.
    ///
    /// # Errors
    ///
    /// [`JournalError::Io`]: it cannot be written.
    pub fn confirm(&mut self) -> Result<(), JournalError> {
        self.head.confirmed = true;
        self.write_anew()
    }

    /// What is remembered of a run.
    #[must_use]
    pub fn sent(&self, run: TraceId) -> Option<&Part> {
        self.runs.get(&run)
    }

    /// All that is remembered, in no order.
    pub fn iter(&self) -> impl Iterator<Item = (TraceId, &Part)> {
        self.runs.iter().map(|(run, part)| (*run, part))
    }

    /// Remembers something of a run, in the place of what was.
    ///
    /// # Errors
    ///
    /// [`JournalError::Io`]: it cannot be written.
    pub fn record(&mut self, run: TraceId, part: Part) -> Result<(), JournalError> {
        // One write for the line: a crash leaves all of it, or a torn one that nothing follows.
        let line = serde_json::to_vec(&JournalLine { run, part: &part });
        self.runs.insert(run, part);
        self.lines += 1;
        if self.lines > 2 * self.runs.len() + MAX_EXTRA_LINES {
            return self.write_anew();
        }
        line.map_err(io::Error::from)
            .and_then(|mut line| {
                line.push(b'\n');
                self.file.write_all(&line)
            })
            .map_err(|source| self.failed(source))
    }

    fn write_anew(&mut self) -> Result<(), JournalError> {
        self.file = write_anew(&self.path, &self.head, &self.runs).map_err(|source| self.failed(source))?;
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

/// The head and the last line of each run; `None` without a head of this version.
fn parse<Part: DeserializeOwned>(bytes: &[u8]) -> Option<(JournalHead, HashMap<TraceId, Part>)> {
    let mut lines = bytes.split(|byte| *byte == b'\n');
    let head: JournalHead = serde_json::from_slice(lines.next()?).ok()?;
    if head.version != VERSION {
        return None;
    }
    // A line that cannot be read was torn: its spans are sent again.
    let lines = lines.filter_map(|line| serde_json::from_slice::<JournalLine<Part>>(line).ok());
    Some((head, lines.map(|line| (line.run, line.part)).collect()))
}

/// Replaces the journal; the file is at its end.
fn write_anew<Part: Serialize>(
    path: &Path,
    head: &JournalHead,
    runs: &HashMap<TraceId, Part>,
) -> io::Result<File> {
    let mut text = serde_json::to_vec(head)?;
    text.push(b'\n');
    for (run, part) in runs {
        serde_json::to_writer(&mut text, &JournalLine { run: *run, part })?;
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
    use crate::push::PushEndpoint;

    const FIRST: &str = "10000000000000000000000000000001";
    const SECOND: &str = "20000000000000000000000000000002";

    fn endpoint() -> PushEndpoint {
        PushEndpoint::from_base("https://me:s3cret@a.test?key=s3cret", "").unwrap()
    }

    fn open_at(data_dir: &Path, endpoint: &PushEndpoint) -> Result<Journal<SentPart>, JournalError> {
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
        let other = PushEndpoint::from_base("https://b.test", "").unwrap();
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
