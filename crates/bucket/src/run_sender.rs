//! [`RunSender`]: makes a run in the bucket what it is on this machine: first its spans, then the `meta.json` that commits it.

use bytes::Bytes;
use object_store::path::Path;
use object_store::{ObjectStoreExt, PutPayload};
use serde_json::Value;
use tokio::sync::Semaphore;
use tracer_insight::digest::sha256_hex;
use tracer_sdk::read::RunDirectory;
use tracer_sdk::redaction::Redaction;

use crate::bucket::OpenBucket;
use crate::committed_run::{CommittedRun, MAX_META_BYTES, StoredSpans};
use crate::error::{BucketError, RequestFailure, if_there};
use crate::event::ShipEvent;
use crate::facts_row;
use crate::layout;
use crate::package::{NoPackage, PackageParts, RunPackage};
use crate::patience::{Halt, Patience, SharedObserver};
use crate::sent_run::SentRun;

const CONCURRENT_LARGE_RUNS: usize = 2;
/// Bytes of a part of a large object. Stores want 5 MiB or more, and take 10,000 parts.
#[cfg(not(test))]
const PART_BYTES: usize = 16 * 1024 * 1024;
#[cfg(test)]
const PART_BYTES: usize = 64 * 1024;
/// Attempts to commit a run that another writer commits, too.
const MAX_RACES: usize = 8;

/// Sends runs, each up to its commit.
pub(crate) struct RunSender {
    pub(crate) bucket: OpenBucket,
    pub(crate) redaction: Redaction,
    pub(crate) patience: Patience,
    /// A check in the bucket of runs that were sent before.
    again: bool,
    /// Large runs that are sent at the same time: each needs the memory of a part.
    large_runs: Semaphore,
}

/// Outcome of sending a run.
pub(crate) enum Shipped {
    /// It is committed; its line of facts is still to be written.
    Committed {
        sent: SentRun,
        row: Vec<u8>,
        bytes: u64,
        redacted_values: u64,
    },
    Open,
    NotSent(String),
}

impl RunSender {
    pub(crate) fn new(bucket: OpenBucket, redaction: Redaction, patience: Patience, again: bool) -> Self {
        Self {
            bucket,
            redaction,
            patience,
            again,
            large_runs: Semaphore::new(CONCURRENT_LARGE_RUNS),
        }
    }

    /// Sends a run, up to its commit.
    pub(crate) async fn send(
        &self,
        run: &RunDirectory,
        files: &str,
        before: Option<&SentRun>,
        observe: &SharedObserver<'_>,
    ) -> Result<Shipped, Halt> {
        let package = match RunPackage::read(run, &self.redaction) {
            Ok(package) => package,
            Err(NoPackage::Open) => return Ok(Shipped::Open),
            Err(NoPackage::Unreadable(reason)) => return Ok(Shipped::NotSent(reason)),
        };
        let outcome = self.commit(run, &package, before, observe).await?;
        let Some(generation) = outcome else {
            return Ok(Shipped::NotSent("it changed while it was read".to_owned()));
        };
        let Some(row) = facts_row::row(run, generation, package.bytes) else {
            return Ok(Shipped::NotSent("it was deleted while it was read".to_owned()));
        };
        let row = facts_row::without_secrets(row, &self.redaction);
        let name = package
            .meta
            .get("run_name")
            .and_then(Value::as_str)
            .map(str::to_owned);
        observe.notify(ShipEvent::Committed {
            run: run.trace_id,
            name,
            generation,
            bytes: package.bytes,
        });
        let mut line = serde_json::to_vec(&row).map_err(|error| BucketError::Refused {
            reason: error.to_string(),
        })?;
        line.push(b'\n');
        Ok(Shipped::Committed {
            sent: SentRun {
                files: files.to_owned(),
                sha256: package.sha256,
                generation,
                facts: None,
                complete: false,
            },
            row: line,
            bytes: package.bytes,
            redacted_values: package.redacted_values,
        })
    }

    /// Makes a run in the bucket what it is here, and gives its generation. `None` when the run changed meanwhile.
    async fn commit(
        &self,
        run: &RunDirectory,
        package: &RunPackage,
        before: Option<&SentRun>,
        observe: &SharedObserver<'_>,
    ) -> Result<Option<u64>, Halt> {
        let path = layout::meta(&self.bucket.prefix, run.trace_id);
        // A run that was never sent is not asked for: its first commit fails where it is there already.
        let mut is_new = before.is_none() && !self.again;
        let mut spans = None;
        for _ in 0..MAX_RACES {
            let found = if is_new {
                None
            } else {
                let get = || async { if_there(self.bucket.get(&path, MAX_META_BYTES).await) };
                self.patience.patiently(get, observe).await?
            };
            is_new = false;
            let stored = found.as_ref().and_then(|found| CommittedRun::parse(&found.bytes));
            if let Some(stored) = &stored {
                let is_same_log = stored.stored.sha256 == package.sha256;
                if is_same_log && stored.meta == package.meta {
                    return Ok(Some(stored.stored.generation));
                }
                if is_same_log {
                    // Only the metadata changed: a name, a count.
                    spans = Some(stored.stored.spans.clone());
                }
            }
            // A run that was sent and is not there any more has expired, and what is left of it is about to: its spans get a
            // name of their own.
            let has_expired = stored.is_none() && before.is_some();
            let hash = if has_expired {
                sha256_hex(format!("{} {}", package.sha256, fastrand::u64(..)).as_bytes())
            } else {
                package.sha256.clone()
            };
            let is_first = stored.is_none() && !has_expired;
            let name = match &spans {
                Some(name) => name.clone(),
                None => match self.write_spans(run, package, &hash, is_first, observe).await? {
                    Some(name) => name,
                    None => return Ok(None),
                },
            };
            spans = Some(name.clone());
            let generation = match (stored, before) {
                (Some(stored), _) => stored.stored.generation.saturating_add(1),
                (None, None) => 1,
                (None, Some(before)) => before.generation.saturating_add(1),
            };
            let meta = CommittedRun {
                meta: package.meta.clone(),
                stored: StoredSpans::new(generation, name, package.bytes, package.sha256.clone()),
            };
            let bytes = Bytes::from(meta.to_bytes());
            let put = || async {
                let done = match &found {
                    None => self.bucket.create(&path, bytes.clone()).await,
                    Some(found) => {
                        self.bucket
                            .replace(&path, bytes.clone(), found.version.clone())
                            .await
                    }
                };
                match done {
                    Ok(()) => Ok(true),
                    // Another writer, or this one: an answer that was lost on its way.
                    Err(RequestFailure::Exists | RequestFailure::Changed) => Ok(false),
                    Err(failure) => Err(failure),
                }
            };
            if self.patience.patiently(put, observe).await? {
                return Ok(Some(generation));
            }
        }
        Err(RequestFailure::Changed.into_error().into())
    }

    /// Writes the spans of a run under a name that nothing else has. `None` when the run changed meanwhile.
    async fn write_spans(
        &self,
        run: &RunDirectory,
        package: &RunPackage,
        hash: &str,
        is_first: bool,
        observe: &SharedObserver<'_>,
    ) -> Result<Option<String>, Halt> {
        let own_name = layout::spans_name(Some(hash));
        let path_of = |name: &str| layout::of_run(&self.bucket.prefix, run.trace_id, name);
        let Some(whole) = &package.whole else {
            // In parts, an object cannot be written only where there is none: it has the name of its contents, and
            // another writer of it writes the same.
            let path = path_of(&own_name);
            let upload = || self.upload(run, package, &path);
            return Ok(self
                .patience
                .patiently(upload, observe)
                .await?
                .then_some(own_name));
        };
        if is_first {
            let name = layout::spans_name(None);
            if self.create_or_same(&path_of(&name), whole, observe).await? {
                return Ok(Some(name));
            }
        }
        // The bytes under the name of their hash are the same ones, by any writer. Compressed by another version they
        // may differ, and hold the same log.
        self.create_or_same(&path_of(&own_name), whole, observe).await?;
        Ok(Some(own_name))
    }

    /// Writes an object, and gives whether it is there with these bytes.
    async fn create_or_same(
        &self,
        path: &Path,
        bytes: &Bytes,
        observe: &SharedObserver<'_>,
    ) -> Result<bool, Halt> {
        let put = || async {
            match self.bucket.create(path, bytes.clone()).await {
                Ok(()) => Ok(true),
                // A shipper that was killed, or an answer that was lost.
                Err(RequestFailure::Exists) => {
                    let length = bytes.len() as u64;
                    if self.bucket.head(path).await?.size != length {
                        return Ok(false);
                    }
                    Ok(self.bucket.get(path, length).await?.bytes == *bytes)
                }
                Err(failure) => Err(failure),
            }
        };
        self.patience.patiently(put, observe).await
    }

    /// Sends a large log in parts; `false` when it is not the log that was hashed.
    async fn upload(
        &self,
        run: &RunDirectory,
        package: &RunPackage,
        path: &Path,
    ) -> Result<bool, RequestFailure> {
        // It is never closed.
        let _permit = self.large_runs.acquire().await;
        if if_there(self.bucket.head(path).await)?.is_some() {
            return Ok(true);
        }
        // A log that cannot be read any more was there a moment ago.
        let parts = PackageParts::open(&run.path, &self.redaction);
        let Ok(mut parts) = parts else {
            return Ok(false);
        };
        let mut upload = self.bucket.store.put_multipart(path).await?;
        loop {
            let sent = match parts.next_part(PART_BYTES) {
                Ok(None) => break,
                Ok(Some(part)) => upload.put_part(PutPayload::from(part)).await,
                Err(_) => {
                    let _ = upload.abort().await;
                    return Ok(false);
                }
            };
            if let Err(error) = sent {
                // What is left over is removed by the bucket's own rule where this fails, too.
                let _ = upload.abort().await;
                return Err(error.into());
            }
            if self.patience.token.is_cancelled() {
                let _ = upload.abort().await;
                return Err(RequestFailure::Transient("it was stopped".to_owned()));
            }
        }
        if parts.finish() != package.sha256 {
            let _ = upload.abort().await;
            return Ok(false);
        }
        upload.complete().await?;
        Ok(true)
    }
}
