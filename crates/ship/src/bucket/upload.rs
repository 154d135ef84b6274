//! [`RunUploader`]: the upload of a run: first its spans, then the `meta.json` that commits it.

use bytes::Bytes;
use object_store::path::Path;
use object_store::{MultipartUpload, ObjectStoreExt, PutPayload};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};
use tokio::sync::Semaphore;
use tracer_insight::digest::{hex, sha256_hex};
use tracer_runs::RunDirectory;
use tracer_sdk::redaction::Redaction;

use super::committed_run::{CommittedRun, MAX_META_BYTES, StoredSpans};
use super::facts_row;
use super::layout;
use super::package::{CheckedLog, NoPackage, RunPackage};
use super::store::OpenBucket;
use crate::destination::ChangedRun;
use crate::error::{RequestFailure, ShipError, optional};
use crate::event::ShipEvent;
use crate::retry::Requests;

/// Large runs that are sent at the same time: each needs the memory of a part.
const CONCURRENT_LARGE_RUNS: usize = 2;
/// Bytes of a part of a large object. Stores want 5 MiB or more, and take 10,000 parts.
#[cfg(not(test))]
const PART_BYTES: usize = 16 * 1024 * 1024;
#[cfg(test)]
const PART_BYTES: usize = 64 * 1024;
/// Attempts to commit a run that another writer commits, too.
const MAX_RACES: usize = 8;

/// Sends runs, each up to its commit.
pub(super) struct RunUploader {
    pub(super) bucket: OpenBucket,
    redaction: Redaction,
    large_runs: Semaphore,
}

/// Outcome of sending a run.
pub(super) enum Upload {
    Committed(CommittedUpload),
    Open,
    NotSent(String),
}

/// Journal entry of a run in a bucket.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SentRun {
    /// Stamp of its files when they were sent.
    pub(super) files: String,
    /// Hash of the log as it was sent.
    pub(super) sha256: String,
    pub(super) generation: u64,
    /// The object of facts that is to list it: named before it is written, for the process after one that is killed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) facts: Option<String>,
    /// The facts are there, too: nothing is left to do.
    pub(super) complete: bool,
}

/// A run that is committed; its line of facts is still to be written.
pub(super) struct CommittedUpload {
    pub(super) sent: SentRun,
    pub(super) row: Vec<u8>,
    pub(super) bytes: u64,
    pub(super) redacted_values: u64,
}

impl RunUploader {
    pub(super) fn new(bucket: OpenBucket, redaction: Redaction) -> Self {
        Self {
            bucket,
            redaction,
            large_runs: Semaphore::new(CONCURRENT_LARGE_RUNS),
        }
    }

    /// Sends a run, up to its commit.
    pub(super) async fn send(
        &self,
        run: &ChangedRun,
        before: Option<&SentRun>,
        requests: &Requests<'_>,
    ) -> Result<Upload, ShipError> {
        requests.check()?;
        let package = match RunPackage::read(&run.directory, &self.redaction) {
            Ok(package) => package,
            Err(NoPackage::Open) => return Ok(Upload::Open),
            Err(NoPackage::Unreadable(reason)) => return Ok(Upload::NotSent(reason)),
        };
        let Some(generation) = self.commit(run, &package, before, requests).await? else {
            return Ok(Upload::NotSent("it changed while it was read".to_owned()));
        };
        let line = facts_row::line(&run.directory, generation, package.bytes, &self.redaction);
        let Some(row) = line else {
            return Ok(Upload::NotSent("it was deleted while it was read".to_owned()));
        };
        let name = package.meta.get("run_name").and_then(Value::as_str);
        requests.notify(ShipEvent::Completed {
            run: run.directory.trace_id,
            name: name.map(str::to_owned),
            spans: None,
            bytes: package.bytes,
            is_changed: generation > 1,
        });
        Ok(Upload::Committed(CommittedUpload {
            sent: SentRun {
                files: run.stamp.clone().unwrap_or_default(),
                sha256: package.sha256,
                generation,
                facts: None,
                complete: false,
            },
            row,
            bytes: package.bytes,
            redacted_values: package.redacted_values,
        }))
    }

    /// Makes a run in the bucket what it is here, and gives its generation. `None` when the run changed meanwhile.
    async fn commit(
        &self,
        run: &ChangedRun,
        package: &RunPackage,
        before: Option<&SentRun>,
        requests: &Requests<'_>,
    ) -> Result<Option<u64>, ShipError> {
        let is_again = run.is_again;
        let run = &run.directory;
        let path = layout::meta(&self.bucket.prefix, run.trace_id);
        // A run that was never sent is not asked for: its first commit fails where it is there already.
        let mut is_new = before.is_none() && !is_again;
        let mut spans = None;
        for _ in 0..MAX_RACES {
            let found = if is_new {
                None
            } else {
                let get = async || optional(self.bucket.get(&path, MAX_META_BYTES).await);
                requests.repeat(get).await?
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
                None => match self.write_spans(run, package, &hash, is_first, requests).await? {
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
            let put = async || {
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
            if requests.repeat(put).await? {
                return Ok(Some(generation));
            }
        }
        Err(RequestFailure::Changed.into_error())
    }

    /// Writes the spans of a run under a name that nothing else has. `None` when the run changed meanwhile.
    async fn write_spans(
        &self,
        run: &RunDirectory,
        package: &RunPackage,
        hash: &str,
        is_first: bool,
        requests: &Requests<'_>,
    ) -> Result<Option<String>, ShipError> {
        let own_name = layout::spans_name(Some(hash));
        let path_of = |name: &str| layout::of_run(&self.bucket.prefix, run.trace_id, name);
        let Some(whole) = &package.whole else {
            // In parts, an object cannot be written only where there is none: it has the name of its contents, and
            // another writer of it writes the same.
            let path = path_of(&own_name);
            let upload = async || self.upload(run, package, &path, requests).await;
            return Ok(requests.repeat(upload).await?.then_some(own_name));
        };
        if is_first {
            let name = layout::spans_name(None);
            if self.create_or_same(&path_of(&name), whole, requests).await? {
                return Ok(Some(name));
            }
        }
        // The bytes under the name of their hash are the same ones, by any writer. Compressed by another version they
        // may differ, and hold the same log.
        self.create_or_same(&path_of(&own_name), whole, requests).await?;
        Ok(Some(own_name))
    }

    /// Writes an object, and gives whether it is there with these bytes.
    async fn create_or_same(
        &self,
        path: &Path,
        bytes: &Bytes,
        requests: &Requests<'_>,
    ) -> Result<bool, ShipError> {
        let put = async || {
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
        requests.repeat(put).await
    }

    /// Sends a large log in parts; `false` when it is not the log that was hashed.
    async fn upload(
        &self,
        run: &RunDirectory,
        package: &RunPackage,
        path: &Path,
        requests: &Requests<'_>,
    ) -> Result<bool, RequestFailure> {
        // It is never closed.
        let _permit = self.large_runs.acquire().await;
        if optional(self.bucket.head(path).await)?.is_some() {
            return Ok(true);
        }
        // A log that cannot be read any more was there a moment ago.
        let Ok(mut log) = CheckedLog::open(&run.path, &self.redaction) else {
            return Ok(false);
        };
        let mut upload = self.bucket.store.put_multipart(path).await?;
        let sent = match send_log(&mut log, upload.as_mut(), requests).await {
            Ok(Some(sha256)) if sha256 == package.sha256 => match upload.complete().await {
                Ok(_) => return Ok(true),
                Err(error) => Err(error.into()),
            },
            sent => sent.map(|_| false),
        };
        // Parts that are left over are removed by the bucket's own rule where this fails, too.
        let _ = upload.abort().await;
        match sent {
            // The bucket was there a moment ago: the upload is gone, perhaps completed by a request whose answer was lost.
            Err(RequestFailure::Missing(reason)) => Err(RequestFailure::transient(reason)),
            sent => sent,
        }
    }
}

/// Sends the lines of a log in parts, and gives their hash; `None` when they cannot be read any more.
async fn send_log(
    log: &mut CheckedLog<'_>,
    upload: &mut dyn MultipartUpload,
    requests: &Requests<'_>,
) -> Result<Option<String>, RequestFailure> {
    let mut hash = Sha256::new();
    let mut part = Vec::new();
    loop {
        match log.next_line() {
            Ok(Some(line)) => {
                hash.update(line);
                part.extend_from_slice(line);
            }
            Ok(None) => break,
            Err(_) => return Ok(None),
        }
        // Parts are of exactly this size but for the last, as some stores want it. One is sent at a time: each needs the
        // memory of its bytes.
        while part.len() >= PART_BYTES {
            let rest = part.split_off(PART_BYTES);
            let full = std::mem::replace(&mut part, rest);
            upload.put_part(PutPayload::from(full)).await?;
        }
        requests.check()?;
    }
    if !part.is_empty() {
        upload.put_part(PutPayload::from(part)).await?;
    }
    Ok(Some(hex(&hash.finalize())))
}
