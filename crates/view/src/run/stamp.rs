//! Size and time of a run's files: they change when the files do.

use std::fs::Metadata;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;
use std::time::UNIX_EPOCH;

use tracer_sdk::format::{LIVE_FILE, META_FILE, SPANS_FILE};

/// Sizes and times of the files of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) struct RunStamp {
    meta: Option<(u64, u128)>,
    log: Option<(u64, u128)>,
    live: Option<(u64, u128)>,
}

impl RunStamp {
    /// Looks at the files of a run directory.
    pub(crate) fn of(directory: &Path) -> Self {
        let look = |name: &str| {
            let metadata = directory.join(name).symlink_metadata().ok()?;
            Some((metadata.len(), changed(&metadata)))
        };
        Self {
            meta: look(META_FILE),
            log: look(SPANS_FILE),
            live: look(LIVE_FILE),
        }
    }

    /// How many bytes the log has.
    pub(crate) fn log_bytes(&self) -> u64 {
        self.log.map_or(0, |(length, _)| length)
    }

    /// A text that changes with the files; `also` is what changes without them.
    pub(crate) fn version(&self, also: &impl Hash) -> String {
        let mut hasher = DefaultHasher::new();
        self.hash(&mut hasher);
        also.hash(&mut hasher);
        format!("{:016x}", hasher.finish())
    }
}

fn changed(metadata: &Metadata) -> u128 {
    let modified = metadata.modified().ok();
    let since = modified.and_then(|modified| modified.duration_since(UNIX_EPOCH).ok());
    since.map_or(0, |since| since.as_nanos())
}
