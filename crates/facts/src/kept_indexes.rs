//! [`KeptIndexes`]: the indexes of large logs, in files of their own beside the database.
//!
//! An index is one value of some megabytes that is read whole or not at all: in the database it would lie between the facts
//! of all runs, and its room would not be given back. A file is replaced by renaming, so that no reader sees half of one.

use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, SystemTime};

use tracer_sdk::format::{SPANS_FILE, TraceId};
use tracer_sdk::private_files::{private_file, private_folder};
use tracer_sdk::read::{LogIndex, RunDirectory};

use crate::database_file::CACHE_FOLDER;

/// The folder in the cache.
const FOLDER: &str = "indexes";
const ENDING: &str = ".index";
/// The ending of one that is being written.
const UNFINISHED: &str = ".new";
/// What stays unfinished for longer was left by a process that died.
const MAX_UNFINISHED: Duration = Duration::from_secs(3_600);
/// A smaller log is read before anybody notices.
#[cfg(not(test))]
const MIN_LOG_BYTES: u64 = 16 * 1024 * 1024;
/// Tests write small ones.
#[cfg(test)]
const MIN_LOG_BYTES: u64 = 1;
/// All of them together; those that were not used for the longest time go first.
const MAX_BYTES: u64 = 512 * 1024 * 1024;

/// The indexes of the large logs of a data directory, each of which is believed only as long as its log is the same file.
///
/// Nothing here is an error: an index that cannot be kept or read costs the time to read the log.
///
/// ```
/// use tracer_facts::KeptIndexes;
/// use tracer_sdk::read::{LogIndex, RunStore};
/// use tracer_sdk::testing::capture;
///
/// let folder = tempfile::tempdir()?;
/// capture(|| tracer_sdk::tool_call("search").record()).save(folder.path())?;
/// let run = RunStore::new(folder.path()).list_directories()?.remove(0);
/// let indexes = KeptIndexes::new(folder.path());
/// assert!(indexes.read(&run).is_none());
///
/// let index = LogIndex::open(&run.path, Some(run.trace_id), false)?;
/// assert!(!indexes.keep(run.trace_id, &index)); // a log this small is read at once
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct KeptIndexes {
    data_dir: PathBuf,
    max_bytes: u64,
}

impl KeptIndexes {
    /// The indexes in a data directory, in `cache/indexes`.
    pub fn new(data_dir: impl Into<PathBuf>) -> Self {
        Self {
            data_dir: data_dir.into(),
            max_bytes: MAX_BYTES,
        }
    }

    /// Those of the data directory, or of the mirror of a bucket, that a run lies in.
    #[must_use]
    pub fn beside(run: &RunDirectory) -> Option<Self> {
        Some(Self::new(run.path.parent()?.parent()?))
    }

    /// The same with other room for all of them together.
    #[cfg(test)]
    pub(crate) fn with_max_bytes(self, max_bytes: u64) -> Self {
        Self { max_bytes, ..self }
    }

    /// The index that is kept of the log of a run, if the log is as it was then.
    #[must_use]
    pub fn read(&self, run: &RunDirectory) -> Option<LogIndex> {
        let log = fs::symlink_metadata(run.path.join(SPANS_FILE)).ok()?;
        if log.len() < MIN_LOG_BYTES {
            return None;
        }
        let path = self.folder()?.join(file_name(run.trace_id));
        fs::symlink_metadata(&path).ok().filter(fs::Metadata::is_file)?;
        let file = File::open(&path).ok()?;
        let index = LogIndex::read_kept(&run.path, Some(run.trace_id), BufReader::new(&file))?;
        // What is used stays longer; where this cannot be written, the order is that of writing.
        let _ = file.set_modified(SystemTime::now());
        Some(index)
    }

    /// Whether reading a log takes so long that its index is worth keeping.
    #[must_use]
    pub fn is_worth_keeping(index: &LogIndex) -> bool {
        index.bytes_read() >= MIN_LOG_BYTES
    }

    /// Keeps the index of the log of a run; whether it could. That of a small log is not kept, nor is one that could not be
    /// trusted later: see [`LogIndex::write_kept`].
    pub fn keep(&self, run: TraceId, index: &LogIndex) -> bool {
        Self::is_worth_keeping(index) && self.write(run, index).unwrap_or(false)
    }

    fn write(&self, run: TraceId, index: &LogIndex) -> io::Result<bool> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        self.prepare()?;
        let Some(folder) = self.folder() else {
            return Ok(false);
        };
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let unfinished = folder.join(format!("{run}-{}-{number}{UNFINISHED}", std::process::id()));
        let file = private_file().write(true).create_new(true).open(&unfinished)?;
        let mut writer = BufWriter::with_capacity(128 * 1024, file);
        let written = index.write_kept(&mut writer).and_then(|is_whole| {
            let file = writer.into_inner().map_err(io::IntoInnerError::into_error)?;
            let is_kept = is_whole && file.metadata()?.len() <= self.max_bytes;
            if is_kept {
                fs::rename(&unfinished, folder.join(file_name(run)))?;
            }
            Ok(is_kept)
        });
        if !matches!(written, Ok(true)) {
            // What stays is removed in an hour.
            let _ = fs::remove_file(&unfinished);
        }
        self.make_room(&folder);
        written
    }

    /// Forgets what is kept of a run.
    pub fn forget(&self, run: TraceId) {
        if let Some(folder) = self.folder() {
            // What cannot be removed is removed with the next listing.
            let _ = fs::remove_file(folder.join(file_name(run)));
        }
    }

    /// Forgets what is kept of runs that are gone.
    pub(crate) fn retain(&self, is_there: impl Fn(TraceId) -> bool) {
        for file in self.folder().iter().flat_map(|folder| IndexFile::list(folder)) {
            let is_wanted = match file.run {
                Some(run) => is_there(run),
                None => file.age() < MAX_UNFINISHED,
            };
            if !is_wanted {
                let _ = fs::remove_file(&file.path);
            }
        }
    }

    /// Removes those that were not used for the longest time, until the others have room.
    fn make_room(&self, folder: &Path) {
        let mut files: Vec<IndexFile> = IndexFile::list(folder)
            .filter(|file| file.run.is_some())
            .collect();
        files.sort_unstable_by_key(|file| file.used);
        let mut bytes: u64 = files.iter().map(|file| file.bytes).sum();
        for file in files {
            if bytes <= self.max_bytes {
                break;
            }
            let _ = fs::remove_file(&file.path);
            bytes -= file.bytes;
        }
    }

    /// The folder; `None` where a link is in its place, which leads elsewhere.
    fn folder(&self) -> Option<PathBuf> {
        let cache = self.data_dir.join(CACHE_FOLDER);
        let folder = cache.join(FOLDER);
        let is_folder = |path: &Path| fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_dir());
        (is_folder(&cache) && is_folder(&folder)).then_some(folder)
    }

    fn prepare(&self) -> io::Result<()> {
        let cache = self.data_dir.join(CACHE_FOLDER);
        for folder in [cache.clone(), cache.join(FOLDER)] {
            match private_folder().create(&folder) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
                _ if fs::symlink_metadata(&folder)?.is_dir() => {}
                _ => return Err(io::Error::other("is no folder")),
            }
        }
        Ok(())
    }
}

/// A file in the folder.
struct IndexFile {
    path: PathBuf,
    /// The run whose index it is; `None` of one that is being written, or is none.
    run: Option<TraceId>,
    bytes: u64,
    used: SystemTime,
}

impl IndexFile {
    fn list(folder: &Path) -> impl Iterator<Item = Self> {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        entries.filter_map(|entry| {
            let metadata = entry.metadata().ok()?;
            let name = entry.file_name();
            let run = name.to_str().and_then(|name| name.strip_suffix(ENDING));
            Some(Self {
                path: entry.path(),
                run: run.and_then(|run| run.parse().ok()),
                bytes: metadata.len(),
                used: metadata.modified().ok()?,
            })
        })
    }

    fn age(&self) -> Duration {
        SystemTime::now().duration_since(self.used).unwrap_or_default()
    }
}

fn file_name(run: TraceId) -> String {
    format!("{run}{ENDING}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tracer_sdk::read::RunStore;

    use super::*;
    use crate::FactsStore;
    use crate::test_support::{SampleRun, SampleSpan, Sandbox};

    fn run(number: u32, spans: u32) -> SampleRun {
        (0..spans).fold(SampleRun::new(number, "agent"), |run, span| {
            run.span(SampleSpan::tool(
                span + 1,
                &format!("tool {}", span % 7),
                &json!({}),
                &json!({}),
            ))
        })
    }

    fn directory(sandbox: &Sandbox, number: u32) -> RunDirectory {
        let all = RunStore::new(sandbox.path()).list_directories().unwrap();
        let id = crate::test_support::id(number);
        all.into_iter()
            .find(|run| run.trace_id.to_string() == id)
            .unwrap()
    }

    /// The index of a log that has not changed for so long that it can be kept.
    fn open(run: &RunDirectory) -> LogIndex {
        loop {
            let index = LogIndex::open(&run.path, Some(run.trace_id), false).unwrap();
            if index.write_kept(&mut io::sink()).unwrap() {
                return index;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn spans(index: &LogIndex) -> Vec<tracer_sdk::read::IndexedSpan> {
        (0..index.len()).filter_map(|at| index.span(at)).collect()
    }

    fn files(sandbox: &Sandbox) -> Vec<PathBuf> {
        let entries = fs::read_dir(sandbox.path().join("cache/indexes"));
        entries
            .into_iter()
            .flatten()
            .flatten()
            .map(|entry| entry.path())
            .collect()
    }

    #[test]
    fn an_index_is_kept_until_its_log_changes() {
        let sandbox = Sandbox::new();
        sandbox.write(&run(1, 300));
        let (indexes, one) = (KeptIndexes::new(sandbox.path()), directory(&sandbox, 1));
        assert!(indexes.read(&one).is_none());
        let index = open(&one);
        assert!(indexes.keep(one.trace_id, &index));
        assert_eq!(spans(&indexes.read(&one).unwrap()), spans(&index));
        let bytes = fs::metadata(&files(&sandbox)[0]).unwrap().len();
        assert!(
            bytes <= 64 * index.len() as u64,
            "{bytes} for {} spans",
            index.len()
        );
        // Another run with the same ID.
        sandbox.write(&run(1, 301));
        assert!(indexes.read(&one).is_none());
    }

    #[test]
    fn an_index_goes_with_its_run() {
        for is_listed in [false, true] {
            let sandbox = Sandbox::new();
            let indexes = KeptIndexes::new(sandbox.path());
            for number in [1, 2] {
                sandbox.write(&run(number, 5));
                let directory = directory(&sandbox, number);
                assert!(indexes.keep(directory.trace_id, &open(&directory)));
            }
            let (one, two) = (directory(&sandbox, 1), directory(&sandbox, 2));
            fs::remove_dir_all(&one.path).unwrap();
            let store = FactsStore::new(sandbox.path());
            if is_listed {
                store.all(false).unwrap();
            } else {
                store.forget(&[one.trace_id]);
            }
            assert_eq!(files(&sandbox).len(), 1);
            assert!(indexes.read(&two).is_some());
        }
    }

    #[test]
    fn what_was_used_last_has_room() {
        let sandbox = Sandbox::new();
        let all: Vec<RunDirectory> = (1..=3)
            .map(|number| {
                sandbox.write(&run(number, 50));
                directory(&sandbox, number)
            })
            .collect();
        let indexes = KeptIndexes::new(sandbox.path());
        assert!(indexes.keep(all[0].trace_id, &open(&all[0])));
        let bytes = fs::metadata(&files(&sandbox)[0]).unwrap().len();
        let indexes = indexes.with_max_bytes(2 * bytes + bytes / 2);
        assert!(indexes.keep(all[1].trace_id, &open(&all[1])));
        // The first was used before the second.
        for (age, run) in [(60, &all[0]), (30, &all[1])] {
            let path = sandbox.path().join("cache/indexes").join(file_name(run.trace_id));
            let file = File::options().write(true).open(path).unwrap();
            file.set_modified(SystemTime::now() - Duration::from_secs(age))
                .unwrap();
        }
        assert!(indexes.read(&all[0]).is_some(), "it is used again");
        assert!(indexes.keep(all[2].trace_id, &open(&all[2])));
        let kept: Vec<bool> = all.iter().map(|run| indexes.read(run).is_some()).collect();
        assert_eq!(kept, [true, false, true]);
        // What has no room by itself is not kept.
        assert!(
            !indexes
                .with_max_bytes(bytes / 2)
                .keep(all[1].trace_id, &open(&all[1]))
        );
    }

    #[test]
    fn what_was_left_unfinished_is_removed() {
        let sandbox = Sandbox::new();
        sandbox.write(&run(1, 5));
        let one = directory(&sandbox, 1);
        KeptIndexes::new(sandbox.path()).keep(one.trace_id, &open(&one));
        let folder = sandbox.path().join("cache/indexes");
        for (name, age) in [("a.new", 2 * MAX_UNFINISHED), ("b.new", Duration::ZERO)] {
            let file = File::create(folder.join(name)).unwrap();
            file.set_modified(SystemTime::now() - age).unwrap();
        }
        FactsStore::new(sandbox.path()).all(false).unwrap();
        assert!(!folder.join("a.new").exists());
        assert_eq!(files(&sandbox).len(), 2, "one is kept, and one is being written");
    }

    #[cfg(unix)]
    #[test]
    fn links_and_folders_that_cannot_be_written_keep_nothing() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let sandbox = Sandbox::new();
        sandbox.write(&run(1, 5));
        let (indexes, one) = (KeptIndexes::new(sandbox.path()), directory(&sandbox, 1));
        let index = open(&one);
        let elsewhere = tempfile::tempdir().unwrap();
        fs::create_dir(sandbox.path().join("cache")).unwrap();
        let folder = sandbox.path().join("cache/indexes");
        symlink(elsewhere.path(), &folder).unwrap();
        assert!(!indexes.keep(one.trace_id, &index));
        assert_eq!(fs::read_dir(elsewhere.path()).unwrap().count(), 0);
        fs::remove_file(&folder).unwrap();
        assert!(indexes.keep(one.trace_id, &index));
        let path = folder.join(file_name(one.trace_id));
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        // A link in the place of the file is not followed.
        let kept = elsewhere.path().join("kept");
        fs::rename(&path, &kept).unwrap();
        symlink(&kept, &path).unwrap();
        assert!(indexes.read(&one).is_none());
        // Who cannot write reads what is there.
        fs::rename(&kept, &path).unwrap();
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o500)).unwrap();
        assert!(indexes.read(&one).is_some());
        indexes.keep(one.trace_id, &index);
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).unwrap();
        assert!(indexes.read(&one).is_some());
    }
}
