//! Cache of the settings files, as read when a run last began.
//!
//! A program that begins many runs reads them once.

use std::fs::Metadata;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Number of files that are cached: the user's, and those of a few working directories.
const MAX_FILES: usize = 4;
/// A file that changed so lately may change again without a trace: the clock of a file system has coarse steps.
const MIN_AGE: Duration = Duration::from_secs(2);

/// The texts of files, for as long as these are not touched.
#[derive(Debug)]
pub(super) struct FileCache {
    /// The one used last at the end.
    files: Vec<(PathBuf, FileStamp, String)>,
}

/// Stamp of a file, which changes when somebody writes to it, or puts another one in its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FileStamp {
    length: u64,
    changed: SystemTime,
    /// The device and the number on it.
    identity: (u64, u64),
}

impl FileStamp {
    #[cfg(unix)]
    fn of(metadata: &Metadata) -> Option<Self> {
        use std::os::unix::fs::MetadataExt;
        let seconds = u64::try_from(metadata.ctime()).ok()?;
        let nanoseconds = u32::try_from(metadata.ctime_nsec()).ok()?;
        Some(Self {
            length: metadata.len(),
            // Unlike the time of the last write it cannot be set back.
            changed: SystemTime::UNIX_EPOCH + Duration::new(seconds, nanoseconds),
            identity: (metadata.dev(), metadata.ino()),
        })
    }

    #[cfg(not(unix))]
    fn of(metadata: &Metadata) -> Option<Self> {
        Some(Self {
            length: metadata.len(),
            changed: metadata.modified().ok()?,
            identity: (0, 0),
        })
    }

    fn is_settled(&self, now: SystemTime) -> bool {
        now.duration_since(self.changed).is_ok_and(|age| age >= MIN_AGE)
    }
}

impl FileCache {
    pub(super) const fn new() -> Self {
        Self { files: Vec::new() }
    }

    /// The text of a file, which is read unless it is as it was.
    pub(super) fn text(
        &mut self,
        path: &Path,
        metadata: &Metadata,
        now: SystemTime,
        read: impl FnOnce(&Path) -> io::Result<String>,
    ) -> io::Result<String> {
        let stamp = FileStamp::of(metadata).filter(|stamp| stamp.is_settled(now));
        let position = self.files.iter().position(|(known, ..)| known == path);
        let known = position.map(|position| self.files.remove(position));
        let text = match known {
            Some((_, known, text)) if Some(known) == stamp => text,
            _ => read(path)?,
        };
        if let Some(stamp) = stamp {
            if self.files.len() >= MAX_FILES {
                self.files.remove(0);
            }
            self.files.push((path.to_owned(), stamp, text.clone()));
        }
        Ok(text)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    struct Reader {
        cache: FileCache,
        reads: usize,
    }

    impl Reader {
        fn new() -> Self {
            Self {
                cache: FileCache::new(),
                reads: 0,
            }
        }

        /// The text of a file, so long after now; how often files were read.
        fn text(&mut self, path: &Path, later: Duration) -> (String, usize) {
            let metadata = fs::metadata(path).unwrap();
            let reads = &mut self.reads;
            let text = self
                .cache
                .text(path, &metadata, SystemTime::now() + later, |path| {
                    *reads += 1;
                    fs::read_to_string(path)
                });
            (text.unwrap(), self.reads)
        }
    }

    const LATER: Duration = Duration::from_secs(60);

    #[test]
    fn a_file_is_read_once_until_it_is_touched_or_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.toml");
        fs::write(&path, "one").unwrap();
        let mut reader = Reader::new();
        assert_eq!(reader.text(&path, LATER), ("one".to_owned(), 1));
        assert_eq!(reader.text(&path, LATER), ("one".to_owned(), 1));

        fs::write(&path, "another").unwrap();
        assert_eq!(reader.text(&path, LATER), ("another".to_owned(), 2));
        // Another file of the same length and time.
        fs::write(folder.path().join("new"), "replace").unwrap();
        fs::rename(folder.path().join("new"), &path).unwrap();
        assert_eq!(reader.text(&path, LATER), ("replace".to_owned(), 3));
        assert_eq!(reader.text(&path, LATER), ("replace".to_owned(), 3));
    }

    #[test]
    fn a_file_that_has_just_changed_is_read_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.toml");
        fs::write(&path, "one").unwrap();
        let mut reader = Reader::new();
        assert_eq!(reader.text(&path, Duration::ZERO), ("one".to_owned(), 1));
        fs::write(&path, "two").unwrap();
        assert_eq!(reader.text(&path, Duration::ZERO), ("two".to_owned(), 2));
    }

    #[test]
    fn only_a_few_files_are_remembered() {
        let folder = tempfile::tempdir().unwrap();
        let mut reader = Reader::new();
        for number in 0..20 {
            let path = folder.path().join(number.to_string());
            fs::write(&path, "text").unwrap();
            reader.text(&path, LATER);
        }
        assert_eq!(reader.cache.files.len(), MAX_FILES);
    }
}
