//! [`FilesStamp`]: what the files of a run look like from outside: equal stamps are the same contents.

use std::fs::{self, Metadata};
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use tracer_sdk::format::{LIVE_FILE, META_FILE, SPANS_FILE};

/// Two changes within the resolution of a clock have one time: files that were changed so shortly before they were read
/// are read again.
#[cfg(not(test))]
const FINE_CLOCK: Duration = Duration::from_millis(200);
/// Tests change names and sizes, too, and do not wait.
#[cfg(test)]
const FINE_CLOCK: Duration = Duration::ZERO;
/// The same where times are whole seconds, as on FAT.
const COARSE_CLOCK: Duration = Duration::from_secs(3);

/// The same of the folder of runs. Tests list folders at once after they changed, and not every clock is fine enough for that.
#[cfg(not(test))]
const FOLDER_CLOCK: Duration = FINE_CLOCK;
#[cfg(test)]
const FOLDER_CLOCK: Duration = Duration::from_millis(20);
/// The folder is listed again after so long in any case: not every file system keeps the times of folders.
const MAX_LISTING_AGE: Duration = Duration::from_secs(10);

/// Room for two files whose numbers are as large as they usually are.
const BYTES: usize = 80;

/// Identity, size and times of the files of a run; a file that is missing has none.
///
/// ```
/// use tracer_facts::FilesStamp;
///
/// let run = tempfile::tempdir()?;
/// let before = FilesStamp::of(run.path(), true);
/// std::fs::write(run.path().join("spans.jsonl"), "{}\n")?;
/// assert_ne!(FilesStamp::of(run.path(), true), before);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FilesStamp {
    bytes: Vec<u8>,
    /// The time of the newest file, for the order of reading.
    pub(crate) newest: Option<SystemTime>,
    is_coarse: bool,
    /// Bytes of its log.
    pub log_bytes: u64,
}

impl FilesStamp {
    /// The stamp of the run in a directory, as it is now. `.live` matters while the run has not ended.
    #[must_use]
    pub fn of(directory: &Path, is_open: bool) -> Self {
        let look = |file: &str| FileLook::at(&directory.join(file));
        let mut stamp = Self::of_files(look(META_FILE), look(SPANS_FILE));
        if is_open {
            stamp.add_live_file(directory);
        }
        stamp
    }

    /// The stamp of a run that has ended, by its metadata and its log.
    pub(crate) fn of_files(meta: Option<FileLook>, log: Option<FileLook>) -> Self {
        let mut stamp = Self {
            bytes: Vec::with_capacity(BYTES),
            ..Self::default()
        };
        stamp.add(meta);
        stamp.log_bytes = stamp.add(log);
        stamp
    }

    /// The same of a run that turns out not to have ended.
    pub(crate) fn add_live_file(&mut self, directory: &Path) {
        self.add(FileLook::at(&directory.join(LIVE_FILE)));
    }

    /// The bytes that are compared and kept.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// True where a later change would show: the newest file is older than its clock is coarse.
    pub(crate) fn is_settled(&self) -> bool {
        self.is_settled_by(FINE_CLOCK)
    }

    fn is_settled_by(&self, fine_clock: Duration) -> bool {
        let clock = if self.is_coarse { COARSE_CLOCK } else { fine_clock };
        self.newest.is_none_or(|newest| {
            SystemTime::now()
                .duration_since(newest)
                .is_ok_and(|age| age > clock)
        })
    }

    /// Adds a file; gives its size.
    fn add(&mut self, file: Option<FileLook>) -> u64 {
        let Some(file) = file else {
            self.bytes.push(0);
            return 0;
        };
        self.bytes.push(1);
        self.number(file.bytes);
        for number in file.identity {
            self.number(number);
        }
        for time in file.times.into_iter().flatten() {
            let since = time
                .duration_since(SystemTime::UNIX_EPOCH)
                .unwrap_or_else(|before| before.duration());
            self.number(since.as_secs());
            self.number(u64::from(since.subsec_nanos()));
            self.is_coarse |= since.subsec_nanos() == 0;
            self.newest = self.newest.max(Some(time));
        }
        file.bytes
    }

    /// A number in as few bytes as it needs: there is a stamp for every run.
    fn number(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.bytes.push((number & 0x7f) as u8 | 0x80);
            number >>= 7;
        }
        self.bytes.push((number & 0x7f) as u8);
    }
}

/// A listing of the folder of runs: as long as the folder is as it was before, no run has come or gone.
#[derive(Debug, Clone)]
pub(crate) struct FolderListing {
    folder: FilesStamp,
    /// When it was listed.
    pub(crate) listed: Instant,
}

impl FolderListing {
    /// The listing that is made after this; `None` when the folder has changed so shortly before that another change might not
    /// show.
    pub(crate) fn begin(folder: &Path) -> Option<Self> {
        let listed = Instant::now();
        let mut stamp = FilesStamp::default();
        // The folder of runs may be a link.
        stamp.add(Some((&fs::metadata(folder).ok()?).into()));
        stamp.is_settled_by(FOLDER_CLOCK).then_some(Self {
            folder: stamp,
            listed,
        })
    }

    /// Whether this one, which would be made now, would have the same runs as an earlier one.
    pub(crate) fn is_same(&self, before: &Self) -> bool {
        self.folder == before.folder && before.listed.elapsed() < MAX_LISTING_AGE
    }
}

/// A file as its metadata shows it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FileLook {
    bytes: u64,
    identity: [u64; 3],
    /// Of its contents, and of its inode, which no program sets back.
    times: [Option<SystemTime>; 2],
}

impl FileLook {
    /// The file or link at a path, if there is one.
    fn at(path: &Path) -> Option<Self> {
        fs::symlink_metadata(path).ok().map(|metadata| (&metadata).into())
    }
}

impl From<&Metadata> for FileLook {
    fn from(metadata: &Metadata) -> Self {
        Self {
            bytes: metadata.len(),
            identity: identity(metadata),
            times: [metadata.modified().ok(), changed(metadata)],
        }
    }
}

#[cfg(target_os = "linux")]
impl From<&rustix::fs::Stat> for FileLook {
    fn from(stat: &rustix::fs::Stat) -> Self {
        let at = |seconds, nanoseconds| moment(seconds, i64::try_from(nanoseconds).ok()?);
        Self {
            bytes: u64::try_from(stat.st_size).unwrap_or(0),
            identity: [stat.st_dev, stat.st_ino, u64::from(stat.st_mode)],
            times: [
                at(stat.st_mtime, stat.st_mtime_nsec),
                at(stat.st_ctime, stat.st_ctime_nsec),
            ],
        }
    }
}

/// A time that a file system gives, which may be before 1970.
#[cfg(unix)]
fn moment(seconds: i64, nanoseconds: i64) -> Option<SystemTime> {
    let whole = Duration::from_secs(seconds.unsigned_abs());
    let at = if seconds < 0 {
        SystemTime::UNIX_EPOCH.checked_sub(whole)
    } else {
        SystemTime::UNIX_EPOCH.checked_add(whole)
    };
    at?.checked_add(Duration::from_nanos(u64::try_from(nanoseconds).ok()?))
}

#[cfg(unix)]
fn changed(metadata: &Metadata) -> Option<SystemTime> {
    use std::os::unix::fs::MetadataExt;
    moment(metadata.ctime(), metadata.ctime_nsec())
}

#[cfg(not(unix))]
fn changed(metadata: &Metadata) -> Option<SystemTime> {
    // When it was made: a file that took the place of another one.
    metadata.created().ok()
}

#[cfg(unix)]
fn identity(metadata: &Metadata) -> [u64; 3] {
    use std::os::unix::fs::MetadataExt;
    [metadata.dev(), metadata.ino(), u64::from(metadata.mode())]
}

#[cfg(not(unix))]
fn identity(metadata: &Metadata) -> [u64; 3] {
    [u64::from(metadata.is_file()), u64::from(metadata.is_dir()), 0]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_change_of_a_file_changes_the_stamp() {
        let folder = tempfile::tempdir().unwrap();
        let look = || FilesStamp::of(folder.path(), true).bytes().to_vec();
        let mut looks = vec![look()];
        for (name, text) in [
            (META_FILE, "{}"),
            (SPANS_FILE, "one"),
            (SPANS_FILE, "longer"),
            (LIVE_FILE, "x"),
        ] {
            fs::write(folder.path().join(name), text).unwrap();
            looks.push(look());
        }
        // The same name, size and time, but another file.
        let path = folder.path().join(META_FILE);
        let before = fs::metadata(&path).unwrap().modified().unwrap();
        fs::write(folder.path().join("new"), "[]").unwrap();
        fs::rename(folder.path().join("new"), &path).unwrap();
        fs::File::options()
            .write(true)
            .open(&path)
            .unwrap()
            .set_modified(before)
            .unwrap();
        looks.push(look());
        fs::remove_file(path).unwrap();
        looks.push(look());
        for pair in looks.windows(2) {
            assert_ne!(pair[0], pair[1]);
        }
        assert_eq!(look(), *looks.last().unwrap());
        let ended = FilesStamp::of(folder.path(), false);
        fs::write(folder.path().join(LIVE_FILE), "longer").unwrap();
        assert_eq!(
            FilesStamp::of(folder.path(), false),
            ended,
            "an ended run has no use for it"
        );
    }

    #[test]
    fn a_file_of_the_future_is_not_settled() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(META_FILE);
        assert!(
            FilesStamp::of(folder.path(), false).is_settled(),
            "nothing is there"
        );
        fs::write(&path, "{}").unwrap();
        assert!(FilesStamp::of(folder.path(), false).is_settled());
        let file = fs::File::options().write(true).open(&path).unwrap();
        file.set_modified(SystemTime::now() + Duration::from_secs(3600))
            .unwrap();
        assert!(!FilesStamp::of(folder.path(), false).is_settled());
    }
}
