//! [`SentCopies`]: runs of this machine that are as they were sent to a bucket, by the journal of their shipper.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant, SystemTime};

use serde::Deserialize;
use tracer_sdk::format::TraceId;
use tracer_sdk::read::{RunDirectory, read_input};

use super::locked;
use crate::sent_run::files_stamp;

/// Bytes of a journal that is read.
const MAX_JOURNAL_BYTES: u64 = 256 * 1024 * 1024;

/// Time for which a stamp of the journal serves: many runs are checked at once.
#[cfg(not(test))]
const LOOK_INTERVAL: Duration = Duration::from_millis(100);
#[cfg(test)]
const LOOK_INTERVAL: Duration = Duration::ZERO;

/// Content of the journal of a bucket, read again when it has changed.
pub(super) struct SentCopies {
    path: PathBuf,
    known: Mutex<KnownJournal>,
}

#[derive(Default)]
struct KnownJournal {
    look: Option<(u64, SystemTime)>,
    looked: Option<Instant>,
    files: HashMap<TraceId, String>,
}

#[derive(Deserialize)]
struct SentLine {
    run: TraceId,
    files: String,
}

impl SentCopies {
    pub(super) fn new(data_dir: &Path, key: &str) -> Self {
        Self {
            path: data_dir.join("pushed").join(format!("{key}.jsonl")),
            known: Mutex::default(),
        }
    }

    /// `true` when a run that is in the bucket has changed here since it was sent. One that this machine did not send has not:
    /// it came from elsewhere.
    pub(super) fn has_changed(&self, directory: &RunDirectory) -> bool {
        let mut known = locked(&self.known);
        if known
            .looked
            .is_none_or(|looked| looked.elapsed() >= LOOK_INTERVAL)
        {
            let look = fs::metadata(&self.path)
                .and_then(|file| Ok((file.len(), file.modified()?)))
                .ok();
            if look != known.look {
                known.files = self.read();
                known.look = look;
            }
            known.looked = Some(Instant::now());
        }
        let sent = known.files.get(&directory.trace_id);
        sent.is_some_and(|sent| files_stamp(&directory.path).as_ref() != Some(sent))
    }

    fn read(&self) -> HashMap<TraceId, String> {
        let bytes = read_input(&self.path, MAX_JOURNAL_BYTES).unwrap_or_default();
        let lines = bytes.split(|byte| *byte == b'\n');
        // Of several lines of a run the last counts; the head is none.
        lines
            .filter_map(|line| serde_json::from_slice::<SentLine>(line).ok())
            .map(|line| (line.run, line.files))
            .collect()
    }
}
