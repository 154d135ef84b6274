//! Synchronization of the mirror with the facts of a bucket.
//!
//! Each listing begins with the partition before the last one, so that two days are listed whole: a shipper names an object
//! before it writes it, and clocks differ. Rows of partitions that are gone are dropped.

use std::collections::{BTreeSet, HashSet};
use std::fs::{self, File};
use std::path::Path as FilePath;
use std::pin::pin;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::future::ready;
use futures_util::{StreamExt, TryStreamExt};
use object_store::ObjectMeta;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tracer_catalog::{LineProblem, MirrorLine, MirrorWriter};
use tracer_insight::units;
use tracer_sdk::format::Timestamp;

use super::ReaderState;
use crate::bucket::join::MAX_FACTS_BYTES;
use crate::bucket::layout;
use crate::bucket::store::{OpenBucket, no_folder};
use crate::error::{RequestFailure, ShipError, optional};

/// Objects that are read at the same time.
const CONCURRENT_OBJECTS: usize = 16;
/// Mebibytes of objects that are read or wait to be taken, but for one object that is larger by itself.
const MAX_MEBIBYTES: u32 = 64;
/// Objects that were read and wait to be taken.
const WAITING_OBJECTS: usize = 2;
/// Lines that are taken over together.
const LINES_PER_TURN: usize = 1_000;
/// Lines between two commits; the first time no other process waits for the database.
const LINES_PER_COMMIT: usize = 8_000;
const FIRST_LINES_PER_COMMIT: usize = 64_000;
/// Time for the first answer of the bucket: without a network, what is here is shown.
const MAX_FIRST_ANSWER: Duration = Duration::from_secs(10);
/// Listings of one synchronization, where objects are removed meanwhile.
const MAX_LISTINGS: usize = 3;
/// Time for another process that synchronizes.
const MAX_TURN_WAIT: Duration = Duration::from_secs(60);
/// Names of one answer of a listing, to count requests.
const NAMES_PER_LISTING: u64 = 1_000;

/// Progress of synchronizing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SyncProgress {
    /// Objects of facts that were read.
    pub objects: u64,
    /// Lines of them.
    pub lines: u64,
}

/// Result of synchronizing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SyncSummary {
    /// Objects of facts that were read.
    pub objects: u64,
    /// Lines of them.
    pub lines: u64,
    /// Lines that said something new of a run.
    pub changed_runs: u64,
    /// Lines that a newer release wrote.
    pub newer_lines: u64,
    /// Lines that are no facts, or are too large.
    pub malformed_lines: u64,
    /// Objects that cannot be read, or have no name of facts.
    pub odd_objects: u64,
    /// Requests to the bucket.
    pub requests: u64,
    /// `true` when another process synchronized at the same time, and for long.
    pub is_busy: bool,
}

impl SyncSummary {
    /// Lines and objects that were not used.
    #[must_use]
    pub fn passed_over(&self) -> u64 {
        self.newer_lines + self.malformed_lines + self.odd_objects
    }
}

/// An object of facts that was read, or why it was not.
enum FoundFacts {
    Object {
        name: String,
        content: Bytes,
        /// Its share of the memory, until it is taken over.
        _room: Option<OwnedSemaphorePermit>,
    },
    /// It has no name of facts, or is too large.
    Odd,
    /// It was removed after it was listed.
    Gone,
}

pub(super) fn sync(
    state: &ReaderState,
    observe: &mut dyn FnMut(SyncProgress),
) -> Result<SyncSummary, ShipError> {
    let bucket = state.bucket.clone().ok_or_else(no_folder)?;
    let mut writer = state.mirror.writer()?;
    let Some(_turn) = turn(state.mirror.folder()) else {
        return Ok(SyncSummary {
            is_busy: true,
            ..SyncSummary::default()
        });
    };
    let from = writer.cursor()?;
    let mut taking = Taking {
        writer: &mut writer,
        lines: Vec::new(),
        uncommitted: 0,
        per_commit: if from.is_some() {
            LINES_PER_COMMIT
        } else {
            FIRST_LINES_PER_COMMIT
        },
        summary: SyncSummary::default(),
        observe,
    };
    let partitions = partitions(state, &bucket)?;
    taking.summary.requests += 1;
    // First, so that what a later day lists again is there afterwards.
    taking.summary.changed_runs += taking.writer.keep_partitions(&partitions)?;
    let mut gone = 0;
    for _ in 0..MAX_LISTINGS {
        gone = taking.all(state, &bucket, from.clone())?;
        if gone == 0 {
            break;
        }
        // What was gone may have been joined with others of its day since it was listed.
    }
    let summary = taking.summary;
    let next = if gone == 0 {
        next_listing(&partitions, units::now())
    } else {
        from
    };
    writer.has_synced(units::now(), next.as_deref())?;
    Ok(summary)
}

/// The partitions of the bucket's facts. The bucket has to answer within a while.
fn partitions(state: &ReaderState, bucket: &OpenBucket) -> Result<BTreeSet<String>, ShipError> {
    let bucket = bucket.clone();
    let list = async move {
        tokio::time::timeout(MAX_FIRST_ANSWER, bucket.partitions())
            .await
            .unwrap_or_else(|_| Err(RequestFailure::transient("it does not answer")))
    };
    let stopped = || RequestFailure::transient("the request was not made");
    let listed = state.worker.wait(list).ok_or_else(stopped).flatten();
    listed.map_err(RequestFailure::into_error)
}

/// The partition with which the next listing begins: the one before the last, whose day the last shippers may still be
/// writing. A partition of the future, by the clock of this machine, would hide what comes before it.
fn next_listing(partitions: &BTreeSet<String>, now: Timestamp) -> Option<String> {
    let today = layout::partition(now, 0);
    let last = partitions.range(..=today).next_back()?;
    let begin = format!("{}T00:00:00.000000Z", last.get("date=".len()..)?);
    Some(layout::partition(begin.parse().ok()?, 1))
}

/// The lock of the process that synchronizes; `None` when another one has it for long.
fn turn(folder: &FilePath) -> Option<File> {
    let lock = fs::File::options()
        .write(true)
        .create(true)
        .truncate(false)
        .open(folder.join("sync.lock"))
        .ok()?;
    let began = Instant::now();
    loop {
        match lock.try_lock() {
            // Where files cannot be locked, the database itself keeps writers apart.
            Ok(()) | Err(fs::TryLockError::Error(_)) => return Some(lock),
            Err(fs::TryLockError::WouldBlock) if began.elapsed() < MAX_TURN_WAIT => {
                thread::sleep(Duration::from_millis(20));
            }
            Err(fs::TryLockError::WouldBlock) => return None,
        }
    }
}

/// Taker of lines into the mirror.
struct Taking<'a> {
    writer: &'a mut MirrorWriter,
    lines: Vec<MirrorLine>,
    uncommitted: usize,
    per_commit: usize,
    summary: SyncSummary,
    observe: &'a mut dyn FnMut(SyncProgress),
}

impl Taking<'_> {
    /// Lists the objects of facts from a partition on, and takes over those that are not here; how many were gone when they
    /// were to be read. What was read before a failure stays.
    fn all(
        &mut self,
        state: &ReaderState,
        bucket: &OpenBucket,
        from: Option<String>,
    ) -> Result<u64, ShipError> {
        let (sender, mut found) = mpsc::channel(WAITING_OBJECTS);
        let known = self.writer.objects()?;
        state
            .worker
            .begin(list_and_read(bucket.clone(), from, known, sender));
        let (mut listed, mut gone) = (0, 0);
        let mut take_all = || -> Result<(), ShipError> {
            while let Some(found) = found.blocking_recv() {
                listed += 1;
                match found? {
                    FoundFacts::Gone => {
                        gone += 1;
                        self.summary.requests += 1;
                    }
                    FoundFacts::Odd => self.summary.odd_objects += 1,
                    FoundFacts::Object { name, content, .. } => self.object(&name, &content)?,
                }
            }
            Ok(())
        };
        let taken = take_all();
        self.commit()?;
        self.summary.requests += 1 + listed / NAMES_PER_LISTING;
        taken.map(|()| gone)
    }

    fn object(&mut self, name: &str, content: &[u8]) -> Result<(), ShipError> {
        let partition = layout::partition_of(name).unwrap_or_default();
        let lines = content.split(|byte| *byte == b'\n');
        for line in lines.filter(|line| !line.is_empty()) {
            self.line(MirrorLine::parse(line), partition)?;
        }
        self.take_over(partition)?;
        self.writer.has_applied(name)?;
        self.summary.objects += 1;
        self.summary.requests += 1;
        (self.observe)(SyncProgress {
            objects: self.summary.objects,
            lines: self.summary.lines,
        });
        if self.uncommitted >= self.per_commit {
            self.commit()?;
        }
        Ok(())
    }

    fn line(&mut self, line: Result<MirrorLine, LineProblem>, partition: &str) -> Result<(), ShipError> {
        self.summary.lines += 1;
        match line {
            Ok(line) => self.lines.push(line),
            Err(LineProblem::Newer) => self.summary.newer_lines += 1,
            Err(_) => self.summary.malformed_lines += 1,
        }
        if self.lines.len() >= LINES_PER_TURN {
            self.take_over(partition)?;
            if self.uncommitted >= self.per_commit {
                self.commit()?;
            }
        }
        Ok(())
    }

    fn take_over(&mut self, partition: &str) -> Result<(), ShipError> {
        self.summary.changed_runs += self.writer.apply(&self.lines, partition)?;
        self.uncommitted += self.lines.len();
        self.lines.clear();
        Ok(())
    }

    fn commit(&mut self) -> Result<(), ShipError> {
        self.uncommitted = 0;
        Ok(self.writer.commit()?)
    }
}

/// Lists the objects of facts from a partition on, and reads those that are not here.
async fn list_and_read(
    bucket: OpenBucket,
    from: Option<String>,
    known: HashSet<String>,
    sender: mpsc::Sender<Result<FoundFacts, ShipError>>,
) {
    let read = async {
        let folder = layout::facts(&bucket.prefix);
        let listing = match &from {
            Some(name) => bucket
                .store
                .list_with_offset(Some(&folder), &layout::facts_object(&bucket.prefix, name)),
            None => bucket.store.list(Some(&folder)),
        };
        let unknown = listing.filter_map(|object| {
            let object =
                object.map(|object| (layout::facts_name_of(&bucket.prefix, &object.location), object));
            let is_known = matches!(&object, Ok((Some(name), _)) if known.contains(name));
            ready((!is_known).then_some(object))
        });
        let room = Arc::new(Semaphore::new(MAX_MEBIBYTES as usize));
        let read = unknown.map(|object| read_listed(bucket.clone(), Arc::clone(&room), object));
        let mut objects = pin!(read.buffer_unordered(CONCURRENT_OBJECTS));
        while let Some(found) = objects.try_next().await? {
            if sender.send(Ok(found)).await.is_err() {
                // The receiver has failed.
                return Ok(());
            }
        }
        Ok(())
    };
    if let Err(error) = read.await {
        let _ = sender.send(Err(error)).await;
    }
}

/// The share of an object in [`MAX_MEBIBYTES`]; one that is larger is read alone.
fn mebibytes(size: u64) -> u32 {
    let mebibytes = u32::try_from(size.div_ceil(1024 * 1024)).unwrap_or(u32::MAX);
    mebibytes.clamp(1, MAX_MEBIBYTES)
}

async fn read_listed(
    bucket: OpenBucket,
    room: Arc<Semaphore>,
    object: object_store::Result<(Option<String>, ObjectMeta)>,
) -> Result<FoundFacts, ShipError> {
    let (name, object) = object.map_err(|error| RequestFailure::from(error).into_error())?;
    let Some(name) = name else {
        return Ok(FoundFacts::Odd);
    };
    if object.size > MAX_FACTS_BYTES {
        return Ok(FoundFacts::Odd);
    }
    // It is never closed.
    let room = room.acquire_many_owned(mebibytes(object.size)).await.ok();
    let read = bucket.get(&object.location, MAX_FACTS_BYTES).await;
    Ok(match optional(read).map_err(RequestFailure::into_error)? {
        Some(found) => FoundFacts::Object {
            name,
            content: found.bytes,
            _room: room,
        },
        None => FoundFacts::Gone,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_share_the_memory_by_their_size() {
        const MIB: u64 = 1024 * 1024;
        for (size, share) in [(0, 1), (1, 1), (MIB + 1, 2), (MAX_FACTS_BYTES, MAX_MEBIBYTES)] {
            assert_eq!(mebibytes(size), share, "{size}");
        }
    }
}
