//! [`RunStamp`]: what the files of a run look like from outside, and the version of an answer that follows from it.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;

use tracer_catalog::FilesStamp;

/// The stamp of a run that may still change.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct RunStamp(FilesStamp);

impl RunStamp {
    /// Stats the files of a run directory.
    pub(crate) fn of(directory: &Path) -> Self {
        Self(FilesStamp::of(directory, true))
    }

    /// Size of the log in bytes.
    pub(crate) fn log_bytes(&self) -> u64 {
        self.0.log_bytes
    }

    /// A text that changes with the files; `also` is what changes without them.
    pub(crate) fn version(&self, also: &impl Hash) -> String {
        let mut hasher = DefaultHasher::new();
        self.hash(&mut hasher);
        also.hash(&mut hasher);
        format!("{:016x}", hasher.finish())
    }
}

impl Hash for RunStamp {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.bytes().hash(state);
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};

    use tracer_sdk::format::META_FILE;

    use super::*;

    #[test]
    fn a_file_replaced_by_one_of_its_size_and_time_is_another_version() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(META_FILE);
        fs::write(&path, "{}").unwrap();
        let before = RunStamp::of(folder.path());
        let modified = fs::metadata(&path).unwrap().modified().unwrap();
        let new = folder.path().join("new");
        fs::write(&new, "[]").unwrap();
        fs::rename(&new, &path).unwrap();
        let file = File::options().write(true).open(&path).unwrap();
        file.set_modified(modified).unwrap();
        let after = RunStamp::of(folder.path());
        assert_ne!(before.version(&0), after.version(&0));
        assert_eq!(after.version(&0), RunStamp::of(folder.path()).version(&0));
        assert_ne!(after.version(&0), after.version(&1));
    }
}
