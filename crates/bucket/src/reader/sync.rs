//! Synchronizes the facts of a bucket into the mirror: what is new sorts last, so that one listing finds it.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io;
use std::path::Path as FilePath;
use std::pin::pin;
use std::thread;
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::future::ready;
use futures_util::{StreamExt, TryStreamExt};
use object_store::path::Path;
use object_store::{GetOptions, GetResult, ObjectMeta};
use tokio::sync::mpsc;
use tracer_capture::push::RetryPolicy;
use tracer_facts::{LineProblem, MirrorLine, MirrorWriter};
use tracer_insight::units;
use tracer_sdk::format::{Timestamp, TraceId};

use super::ReaderState;
use super::lines::Body;
use crate::bucket::{OpenBucket, no_folder};
use crate::error::{BucketError, RequestFailure, if_there};
use crate::layout;
use crate::removals::{MAX_LISTING, MAX_READER_PAUSE};

/// How far behind the last name the next listing begins, by the store's clock: shippers name an object before they write it.
const OVERLAP: Duration = Duration::from_secs(600);
/// Objects that are read at the same time.
const CONCURRENT_OBJECTS: usize = 16;
/// Bytes of an object that is read in one piece.
const MAX_WHOLE_OBJECT: u64 = 4 * 1024 * 1024;
/// Parts of a large object that wait to be taken.
const WAITING_PARTS: usize = 16;
/// Lines that are taken over together.
const LINES_PER_TURN: usize = 1_000;
/// Lines between two commits; the first time nobody else waits for the database.
const LINES_PER_COMMIT: usize = 8_000;
const FIRST_LINES_PER_COMMIT: usize = 64_000;
/// How long the first answer of the bucket may take: without a network, what is here is shown.
const MAX_FIRST_ANSWER: Duration = Duration::from_secs(10);
/// How often a request is made, at most.
const MAX_ATTEMPTS: u32 = 5;
/// How long another process that synchronizes is waited for.
const MAX_TURN_WAIT: Duration = Duration::from_secs(60);
/// Names of one answer of a listing, to count requests.
const NAMES_PER_LISTING: u64 = 1_000;

/// How far synchronizing is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SyncProgress {
    /// Objects of facts that were read.
    pub objects: u64,
    /// Lines of them.
    pub lines: u64,
}

/// What synchronizing did.
///
/// ```
/// assert_eq!(tracer_bucket::SyncSummary::default().passed_over(), 0);
/// ```
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
    /// Whether another process synchronized at the same time, and for long.
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
        /// Its time, by its name; `None` when that cannot be.
        at: Option<Timestamp>,
        body: Body,
    },
    /// It has no name of facts.
    Odd,
    /// It was removed after it was listed.
    Gone,
}

/// Why synchronizing ends.
enum SyncHalt {
    Error(BucketError),
    /// The content of an object; the others are read.
    Content,
}

impl<E: Into<BucketError>> From<E> for SyncHalt {
    fn from(error: E) -> Self {
        Self::Error(error.into())
    }
}

/// What an object of facts failed with while it was read.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct PartFailure(String);

pub(super) fn sync(
    state: &ReaderState,
    observe: &mut dyn FnMut(SyncProgress),
) -> Result<SyncSummary, BucketError> {
    let bucket = state.bucket.clone().ok_or_else(no_folder)?;
    let mut writer = state.mirror.writer()?;
    let Some(_turn) = turn(state.mirror.folder()) else {
        return Ok(SyncSummary {
            is_busy: true,
            ..SyncSummary::default()
        });
    };
    let cursor = writer.cursor()?;
    let mut taking = Taking {
        writer: &mut writer,
        lines: Vec::new(),
        uncommitted: 0,
        per_commit: if cursor.is_some() {
            LINES_PER_COMMIT
        } else {
            FIRST_LINES_PER_COMMIT
        },
        summary: SyncSummary::default(),
        newest: cursor,
        listed_runs: None,
        gone_objects: 0,
        observe,
    };
    let known = taking.writer.objects()?;
    let was_interrupted = cursor.is_none() && !known.is_empty();
    taking.all(state, &bucket, cursor.map(overlapping), known)?;
    // After the listing: what is left out of the facts from now on was in them.
    let pruned = pruned_at(state, &bucket)?;
    taking.summary.requests += 1;
    let limit = pruned.map(|pruned| before(pruned, MAX_READER_PAUSE));
    // What was read by a first synchronization that did not come to its end is as old as that may be.
    let is_outdated = was_interrupted || (cursor.is_some() && cursor < limit);
    let is_read_again = is_outdated && limit.is_some();
    if is_read_again {
        taking.gone_objects = 0;
        let unread = taking.unread();
        taking.listed_runs = Some(HashSet::new());
        taking.all(state, &bucket, None, HashSet::new())?;
        taking.forget_unlisted(unread)?;
    }
    let (summary, newest) = (taking.summary, taking.newest);
    // What was gone may have said that a run was removed: where everything was read, it is read again the next time.
    let is_to_be_read_again = taking.gone_objects > 0 && (cursor.is_none() || is_read_again);
    let cursor = if is_to_be_read_again {
        cursor
    } else {
        newest.max(pruned.map(|pruned| before(pruned, MAX_LISTING)))
    };
    writer.has_synced(units::now(), cursor, cursor.map(overlapping).as_deref())?;
    Ok(summary)
}

/// When the bucket was pruned, or its facts compacted, by its own clock; `None` when it never was.
fn pruned_at(state: &ReaderState, bucket: &OpenBucket) -> Result<Option<Timestamp>, BucketError> {
    let (bucket, path) = (bucket.clone(), layout::pruned(&bucket.prefix));
    let look = async move { if_there(repeatedly(|| bucket.head(&path)).await) };
    let stopped = || RequestFailure::Transient("the request was not made".to_owned());
    let looked = state.worker.wait(look).ok_or_else(stopped).flatten();
    let found = looked.map_err(RequestFailure::into_error)?;
    Ok(found.map(|found| Timestamp::from_unix_microseconds(found.last_modified.timestamp_micros())))
}

/// A time, so much earlier.
fn before(at: Timestamp, duration: Duration) -> Timestamp {
    let duration = i64::try_from(duration.as_micros()).unwrap_or(i64::MAX);
    Timestamp::from_unix_microseconds(at.unix_microseconds().saturating_sub(duration))
}

/// Where a listing begins that knows everything up to a time, as a name.
fn overlapping(cursor: Timestamp) -> String {
    layout::facts_name_from(before(cursor, OVERLAP))
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

/// What takes lines over.
struct Taking<'a> {
    writer: &'a mut MirrorWriter,
    lines: Vec<MirrorLine>,
    uncommitted: usize,
    per_commit: usize,
    summary: SyncSummary,
    /// The time of the last name.
    newest: Option<Timestamp>,
    /// The runs that were listed, where all facts are read again.
    listed_runs: Option<HashSet<TraceId>>,
    /// Objects that were removed after they were listed.
    gone_objects: u64,
    observe: &'a mut dyn FnMut(SyncProgress),
}

impl From<io::Error> for SyncHalt {
    fn from(error: io::Error) -> Self {
        match error
            .get_ref()
            .and_then(|source| source.downcast_ref::<PartFailure>())
        {
            Some(PartFailure(reason)) => Self::Error(BucketError::GaveUp {
                reason: reason.clone(),
                after: Duration::ZERO,
            }),
            None => Self::Content,
        }
    }
}

impl Taking<'_> {
    /// Lists the objects of facts from a name on, and takes over those that are not known. What was read before a failure
    /// stays.
    fn all(
        &mut self,
        state: &ReaderState,
        bucket: &OpenBucket,
        from: Option<String>,
        known: HashSet<String>,
    ) -> Result<(), BucketError> {
        let (sender, mut found) = mpsc::channel(CONCURRENT_OBJECTS);
        let listing = list_and_read(bucket.clone(), from, known, sender);
        state.worker.begin(listing);
        let mut listed = 0;
        let mut take_all = || -> Result<(), BucketError> {
            while let Some(found) = found.blocking_recv() {
                listed += 1;
                match found? {
                    FoundFacts::Gone => {
                        self.gone_objects += 1;
                        self.summary.requests += 1;
                    }
                    FoundFacts::Odd => self.summary.odd_objects += 1,
                    FoundFacts::Object { name, at, body } => {
                        self.object(&name, body)?;
                        self.newest = self.newest.max(at);
                    }
                }
            }
            Ok(())
        };
        let taken = take_all();
        self.commit()?;
        self.summary.requests += 1 + listed / NAMES_PER_LISTING;
        taken
    }

    /// Lines and objects that were not used, whatever they say.
    fn unread(&self) -> u64 {
        self.summary.passed_over() + self.gone_objects
    }

    /// Forgets the runs that all facts together do not list: they were removed so long ago that nothing says so any more.
    /// What could not be read, beyond what was `unread` before, may list any run: then none is forgotten.
    fn forget_unlisted(&mut self, unread: u64) -> Result<(), BucketError> {
        let listed = self.listed_runs.take().unwrap_or_default();
        if self.unread() > unread {
            return Ok(());
        }
        self.summary.changed_runs += self.writer.retain(|run| listed.contains(&run))?;
        self.commit()
    }

    fn object(&mut self, name: &str, body: Body) -> Result<(), BucketError> {
        let taken = body.lines(layout::is_compressed(name), |line| self.line(line));
        match taken {
            Ok(()) => {}
            Err(SyncHalt::Content) => self.summary.odd_objects += 1,
            Err(SyncHalt::Error(error)) => return Err(error),
        }
        self.take_over()?;
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

    fn line(&mut self, line: Result<MirrorLine, LineProblem>) -> Result<(), SyncHalt> {
        self.summary.lines += 1;
        match line {
            Ok(line) => {
                if let Some(listed) = &mut self.listed_runs {
                    listed.insert(line.run());
                }
                self.lines.push(line);
            }
            Err(LineProblem::Newer) => self.summary.newer_lines += 1,
            Err(_) => self.summary.malformed_lines += 1,
        }
        if self.lines.len() >= LINES_PER_TURN {
            self.take_over()?;
            if self.uncommitted >= self.per_commit {
                self.commit()?;
            }
        }
        Ok(())
    }

    fn take_over(&mut self) -> Result<(), BucketError> {
        self.summary.changed_runs += self.writer.apply(&self.lines)?;
        self.uncommitted += self.lines.len();
        self.lines.clear();
        Ok(())
    }

    fn commit(&mut self) -> Result<(), BucketError> {
        self.uncommitted = 0;
        Ok(self.writer.commit()?)
    }
}

/// Lists the objects of facts from a name on, and reads those that are not here.
async fn list_and_read(
    bucket: OpenBucket,
    from: Option<String>,
    known: HashSet<String>,
    sender: mpsc::Sender<Result<FoundFacts, BucketError>>,
) {
    let read = async {
        let folder = layout::facts(&bucket.prefix);
        let listing = match &from {
            Some(name) => bucket
                .store
                .list_with_offset(Some(&folder), &layout::facts_object(&bucket.prefix, name)),
            None => bucket.store.list(Some(&folder)),
        };
        let mut listing = pin!(listing.peekable());
        if tokio::time::timeout(MAX_FIRST_ANSWER, listing.as_mut().peek())
            .await
            .is_err()
        {
            return Err(RequestFailure::Transient("it does not answer".to_owned()).into_error());
        }
        let unknown = listing.filter_map(|object| {
            let object =
                object.map(|object| (layout::facts_name_of(&bucket.prefix, &object.location), object));
            let is_known = matches!(&object, Ok((Some(name), _)) if known.contains(name));
            ready((!is_known).then_some(object))
        });
        let read = unknown.map(|object| read_listed(bucket.clone(), object));
        let mut objects = pin!(read.buffer_unordered(CONCURRENT_OBJECTS));
        while let Some(found) = objects.try_next().await? {
            if sender.send(Ok(found)).await.is_err() {
                // Whoever wanted it has failed.
                return Ok(());
            }
        }
        Ok(())
    };
    if let Err(error) = read.await {
        let _ = sender.send(Err(error)).await;
    }
}

async fn read_listed(
    bucket: OpenBucket,
    object: object_store::Result<(Option<String>, ObjectMeta)>,
) -> Result<FoundFacts, BucketError> {
    let (name, object) = object.map_err(|error| RequestFailure::from(error).into_error())?;
    let Some(name) = name else {
        return Ok(FoundFacts::Odd);
    };
    let read = async {
        if object.size <= MAX_WHOLE_OBJECT {
            return Ok(Body::Whole(whole(&bucket, &object.location).await?));
        }
        let mut content = opened(&bucket, &object.location).await?.into_stream();
        let (sender, parts) = mpsc::channel(WAITING_PARTS);
        tokio::spawn(async move {
            while let Some(part) = content.next().await {
                let part = part.map_err(|error| {
                    io::Error::other(PartFailure(RequestFailure::from(error).into_error().to_string()))
                });
                if sender.send(part).await.is_err() {
                    return;
                }
            }
        });
        Ok(Body::Parts(parts))
    };
    let Some(body) = if_there(read.await).map_err(RequestFailure::into_error)? else {
        return Ok(FoundFacts::Gone);
    };
    Ok(FoundFacts::Object {
        at: named_at(&name, &object),
        name,
        body,
    })
}

/// The time of a name. One of the future, by the store's own clock, would hide everything that comes before it.
fn named_at(name: &str, object: &ObjectMeta) -> Option<Timestamp> {
    let latest = i64::try_from(OVERLAP.as_micros())
        .ok()
        .and_then(|overlap| object.last_modified.timestamp_micros().checked_add(overlap))?;
    layout::facts_time(name).filter(|at| at.unix_microseconds() <= latest)
}

/// Makes a request, and repeats it while the store is overloaded.
pub(super) async fn repeatedly<T, F: Future<Output = Result<T, RequestFailure>>>(
    request: impl Fn() -> F,
) -> Result<T, RequestFailure> {
    for failures in 1..MAX_ATTEMPTS {
        match request().await {
            Err(RequestFailure::Transient(_)) => {
                tokio::time::sleep(RetryPolicy::default().delay(failures)).await;
            }
            done => return done,
        }
    }
    request().await
}

/// Opens an object; its content is still to come.
pub(super) async fn opened(bucket: &OpenBucket, path: &Path) -> Result<GetResult, RequestFailure> {
    repeatedly(|| async { Ok(bucket.store.get_opts(path, GetOptions::default()).await?) }).await
}

/// All of an object.
async fn whole(bucket: &OpenBucket, path: &Path) -> Result<Bytes, RequestFailure> {
    repeatedly(|| async {
        let found = bucket.store.get_opts(path, GetOptions::default()).await?;
        Ok(found.bytes().await?)
    })
    .await
}
