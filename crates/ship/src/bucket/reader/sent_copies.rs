//! [`SentCopies`]: runs of this machine that are as they were sent to a bucket, by its journal.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant, SystemTime};

use tracer_runs::RunDirectory;
use tracer_sdk::format::TraceId;

use super::locked;
use crate::bucket::upload::SentRun;
use crate::destination::files_stamp;
use crate::journal;

/// Time for which a stamp of the journal serves: many runs are checked at once.
#[cfg(not(test))]
const STAMP_INTERVAL: Duration = Duration::from_millis(100);
#[cfg(test)]
const STAMP_INTERVAL: Duration = Duration::ZERO;

/// Cache of a bucket's journal, read again when the file has changed.
pub(super) struct SentCopies {
    path: PathBuf,
    known: Mutex<KnownJournal>,
}

#[derive(Default)]
struct KnownJournal {
    stamp: Option<(u64, SystemTime)>,
    stamped: Option<Instant>,
    sent: HashMap<TraceId, SentRun>,
}

impl SentCopies {
    pub(super) fn new(data_dir: &Path, key: &str) -> Self {
        Self {
            path: journal::path(data_dir, key),
            known: Mutex::default(),
        }
    }

    /// `true` when a run that is in the bucket has changed here since it was sent. One that this machine did not send has not:
    /// it came from elsewhere.
    pub(super) fn has_changed(&self, directory: &RunDirectory) -> bool {
        let mut known = locked(&self.known);
        let is_recent = |stamped: Instant| stamped.elapsed() < STAMP_INTERVAL;
        if !known.stamped.is_some_and(is_recent) {
            let stamp = fs::metadata(&self.path).and_then(|file| Ok((file.len(), file.modified()?)));
            let stamp = stamp.ok();
            if stamp != known.stamp {
                known.sent = journal::read(&self.path);
                known.stamp = stamp;
            }
            known.stamped = Some(Instant::now());
        }
        let sent = known.sent.get(&directory.trace_id);
        sent.is_some_and(|sent| files_stamp(&directory.path).as_ref() != Some(&sent.files))
    }
}
