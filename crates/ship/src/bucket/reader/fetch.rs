//! Fetches a run: its `meta.json`, which says what belongs to it, and then its spans, checked before anybody sees them.

use std::fs::{self, File};
use std::io::{self, BufWriter, Read, Write};
use std::path::Path;

use futures_util::StreamExt;
use sha2::{Digest, Sha256};
use tracer_catalog::{FetchError, RunLease};
use tracer_insight::digest::hex;
use tracer_sdk::format::{META_FILE, SPANS_FILE, TraceId};

use super::ReaderState;
use super::cache::{FetchedRun, UnfinishedRun};
use crate::bucket::committed_run::{CommittedRun, MAX_META_BYTES, StoredSpans};
use crate::bucket::layout;
use crate::bucket::store::OpenBucket;
use crate::error::{RequestFailure, ShipError, optional};

/// Bytes of a log: what claims to be larger is not fetched.
const MAX_LOG_BYTES: u64 = 64 * 1024 * 1024 * 1024;
/// Attempts to fetch a run that changes meanwhile.
const MAX_STARTS: usize = 3;

/// Why a run was not fetched.
enum NotFetched {
    Failed(FetchError),
    /// The object that `meta.json` named has expired or is another one, as the error says, or it was replaced meanwhile.
    Changed(FetchError),
}

impl From<io::Error> for NotFetched {
    fn from(error: io::Error) -> Self {
        Self::Failed(FetchError::NotKept(error.to_string()))
    }
}

impl From<RequestFailure> for NotFetched {
    fn from(failure: RequestFailure) -> Self {
        Self::Failed(match failure {
            RequestFailure::Missing(_) => FetchError::Gone,
            RequestFailure::Transient { reason, .. } => FetchError::Unreachable(reason),
            RequestFailure::Fatal(ShipError::Refused { reason }) => FetchError::Refused(reason),
            other => FetchError::Refused(other.into_error().to_string()),
        })
    }
}

/// The run in this state or a newer one. Without the bucket, an older state serves.
pub(super) fn fetch(state: &ReaderState, run: TraceId, generation: u64) -> Result<RunLease, FetchError> {
    let known = state.cache.lease(run);
    if let Some((fetched, lease)) = known
        && fetched.generation >= generation
    {
        return Ok(lease);
    }
    let mut changed = FetchError::Gone;
    for _ in 0..MAX_STARTS {
        match fetch_once(state, run) {
            Ok(()) => {
                let lease = state.cache.lease(run).map(|(_, lease)| lease);
                return lease.ok_or_else(|| FetchError::NotKept("it was removed at once".to_owned()));
            }
            Err(NotFetched::Changed(error)) => changed = error,
            Err(NotFetched::Failed(error @ FetchError::Unreachable(_))) => {
                return state.cache.lease(run).map(|(_, lease)| lease).ok_or(error);
            }
            Err(NotFetched::Failed(error)) => return Err(error),
        }
    }
    Err(changed)
}

fn fetch_once(state: &ReaderState, run: TraceId) -> Result<(), NotFetched> {
    let unreachable = || NotFetched::Failed(FetchError::Unreachable("the folder does not exist".to_owned()));
    let open = state.bucket.as_ref().ok_or_else(unreachable)?;
    let (bucket, path) = (open.clone(), layout::meta(&open.prefix, run));
    let read = async move { bucket.get(&path, MAX_META_BYTES).await };
    let found = state.worker.wait(read).ok_or_else(stopped)??;
    let committed = CommittedRun::parse(&found.bytes).ok_or_else(|| {
        NotFetched::Failed(FetchError::Damaged(
            "its meta.json is not one that this version of tracer reads".to_owned(),
        ))
    })?;
    let is_of_run = committed.meta.get("trace_id").and_then(|id| id.as_str()) == Some(&run.to_string());
    if !is_of_run || committed.stored.bytes > MAX_LOG_BYTES {
        let reason = "its meta.json is of another run, or names a log that is too large";
        return Err(NotFetched::Failed(FetchError::Damaged(reason.to_owned())));
    }
    let unfinished = state.cache.begin(run)?;
    let here = state.here.runs_dir().join(run.to_string()).join(SPANS_FILE);
    if !copied(&here, &unfinished, &committed.stored) {
        let job = SpansJob {
            bucket: open.clone(),
            run,
            stored: committed.stored.clone(),
            file: unfinished.create(SPANS_FILE)?,
        };
        state.worker.wait(job.read()).ok_or_else(stopped)??;
    }
    let mut meta = serde_json::to_vec_pretty(&committed.meta).unwrap_or_default();
    meta.push(b'\n');
    unfinished.write(META_FILE, &meta)?;
    let bytes = committed.stored.bytes.saturating_add(meta.len() as u64);
    let fetched = FetchedRun::new(committed.stored.generation, bytes);
    Ok(state.cache.keep(run, &unfinished, &fetched)?)
}

fn stopped() -> NotFetched {
    NotFetched::Failed(FetchError::Unreachable("the request was not made".to_owned()))
}

/// Copies the log of this machine, where that is what the bucket has.
fn copied(here: &Path, unfinished: &UnfinishedRun, stored: &StoredSpans) -> bool {
    let is_likely = fs::symlink_metadata(here).is_ok_and(|log| log.is_file() && log.len() == stored.bytes);
    let copy = || -> io::Result<bool> {
        let (mut hash, mut count) = (Sha256::new(), 0);
        let mut from = File::open(here)?.take(stored.bytes.saturating_add(1));
        let mut to = unfinished.create(SPANS_FILE)?;
        let mut buffer = vec![0; 256 * 1024];
        loop {
            let read = from.read(&mut buffer)?;
            let Some(part) = buffer.get(..read).filter(|part| !part.is_empty()) else {
                break;
            };
            hash.update(part);
            to.write_all(part)?;
            count += read as u64;
        }
        to.sync_all()?;
        Ok(count == stored.bytes && hex(&hash.finalize()) == stored.sha256)
    };
    if is_likely && copy().unwrap_or(false) {
        return true;
    }
    // It was not there, or not the same.
    let _ = fs::remove_file(unfinished.join(SPANS_FILE));
    false
}

/// The reading of a run's spans into a file.
struct SpansJob {
    bucket: OpenBucket,
    run: TraceId,
    stored: StoredSpans,
    file: File,
}

impl SpansJob {
    async fn read(self) -> Result<(), NotFetched> {
        let (bucket, stored) = (&self.bucket, &self.stored);
        let path = layout::of_run(&bucket.prefix, self.run, &stored.spans);
        let Some(found) = optional(bucket.open_object(&path).await)? else {
            return Err(NotFetched::Changed(FetchError::Gone));
        };
        if found.meta.size != stored.bytes {
            return Err(damaged("its spans have another size"));
        }
        let mut log = FetchedLog {
            file: BufWriter::with_capacity(256 * 1024, self.file),
            hash: Sha256::new(),
            left: stored.bytes,
        };
        let mut content = found.into_stream();
        while let Some(part) = content.next().await {
            let part = part.map_err(RequestFailure::from)?;
            log.write_all(&part).map_err(too_long)?;
        }
        log.ended(&stored.sha256)
    }
}

fn damaged(reason: &str) -> NotFetched {
    NotFetched::Changed(FetchError::Damaged(reason.to_owned()))
}

/// Content that is too long is not what `meta.json` names; a full disk is another matter.
fn too_long(error: io::Error) -> NotFetched {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::PermissionDenied => {
            error.into()
        }
        _ => damaged("its spans are longer than they should be"),
    }
}

/// A log that is written, counted and hashed.
struct FetchedLog {
    file: BufWriter<File>,
    hash: Sha256,
    /// Bytes that are still to come.
    left: u64,
}

impl Write for FetchedLog {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = bytes.len() as u64;
        if count > self.left {
            return Err(io::Error::from(io::ErrorKind::InvalidData));
        }
        self.file.write_all(bytes)?;
        self.hash.update(bytes);
        self.left -= count;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl FetchedLog {
    fn ended(mut self, sha256: &str) -> Result<(), NotFetched> {
        self.file.flush()?;
        self.file.get_ref().sync_all()?;
        if self.left > 0 || hex(&self.hash.finalize()) != sha256.to_ascii_lowercase() {
            return Err(damaged("its spans are not those that its meta.json names"));
        }
        Ok(())
    }
}
