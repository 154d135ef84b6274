//! [`FilesStamp`]: what the files of a run look like from outside: equal stamps are the same contents.

use std::fs::{self, Metadata};
use std::path::Path;
use std::time::{Duration, SystemTime};

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

/// Room for two files whose numbers are as large as they usually are.
const BYTES: usize = 80;

/// Identity, size and times of the files of a run; a file that is missing has none.
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
        let mut stamp = Self {
            bytes: Vec::with_capacity(BYTES),
            ..Self::default()
        };
        stamp.add(&directory.join(META_FILE));
        stamp.log_bytes = stamp.add(&directory.join(SPANS_FILE));
        if is_open {
            stamp.add(&directory.join(LIVE_FILE));
        }
        stamp
    }

    /// Adds the directory itself: the time of a run without a readable start.
    pub(crate) fn add_directory(&mut self, directory: &Path) {
        self.add(directory);
    }

    /// The bytes that are compared and kept.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// True where a later change would show: the newest file is older than its clock is coarse.
    pub(crate) fn is_settled(&self) -> bool {
        let clock = if self.is_coarse { COARSE_CLOCK } else { FINE_CLOCK };
        self.newest.is_none_or(|newest| {
            SystemTime::now()
                .duration_since(newest)
                .is_ok_and(|age| age > clock)
        })
    }

    /// Adds the file or link at a path; gives its size.
    fn add(&mut self, path: &Path) -> u64 {
        let Ok(file) = fs::symlink_metadata(path) else {
            self.bytes.push(0);
            return 0;
        };
        self.bytes.push(1);
        self.number(file.len());
        for number in identity(&file) {
            self.number(number);
        }
        // Of its contents, and of its inode, which no program sets back.
        for time in [file.modified().ok(), changed(&file)].into_iter().flatten() {
            let since = time
                .duration_since(SystemTime::UNIX_EPOCH)
                .unwrap_or_else(|before| before.duration());
            self.number(since.as_secs());
            self.number(u64::from(since.subsec_nanos()));
            self.is_coarse |= since.subsec_nanos() == 0;
            self.newest = self.newest.max(Some(time));
        }
        file.len()
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

#[cfg(unix)]
fn changed(metadata: &Metadata) -> Option<SystemTime> {
    use std::os::unix::fs::MetadataExt;
    let seconds = Duration::from_secs(metadata.ctime().unsigned_abs());
    let whole = if metadata.ctime() < 0 {
        SystemTime::UNIX_EPOCH.checked_sub(seconds)
    } else {
        SystemTime::UNIX_EPOCH.checked_add(seconds)
    };
    whole?.checked_add(Duration::from_nanos(u64::try_from(metadata.ctime_nsec()).ok()?))
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
