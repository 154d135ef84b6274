//! [`BucketDestination`]: a bucket that gets completed runs, each once and whole.
//!
//! A run is committed by its `meta.json`, which is written after its spans. Then the facts of the batch are written as one
//! object, whose name the journal remembers before: the process after one that was killed looks it up. So a run is listed
//! once, whenever a process dies.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::pin::pin;
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream;
use object_store::path::Path;
use tracer_insight::units;
use tracer_runs::RunDirectory;
use tracer_sdk::format::{Timestamp, TraceId};
use tracer_sdk::redaction::Redaction;
use tracer_sdk::settings::Settings;

use super::layout;
use super::store::OpenBucket;
use super::upload::{CommittedUpload, RunUploader, SentRun, Upload};
use crate::destination::{ChangedRun, Destination, ShipState};
use crate::error::{RequestFailure, ShipError, optional};
use crate::retry::Requests;

/// Runs that are sent at the same time: most of a request is waiting.
const CONCURRENT_RUNS: usize = 16;
/// Age of a name at which an unwritten object of facts gets a newer one: readers list two days. A name of another day gets one
/// too, because this clock stands still while the machine sleeps.
const MAX_NAME_AGE: Duration = Duration::from_secs(3600);

/// A team's bucket that runs are sent to.
pub struct BucketDestination {
    uploader: RunUploader,
    /// Part of the names of facts: distinguishes writers.
    writer: String,
}

impl BucketDestination {
    /// A bucket; the redaction of the settings is applied once more to what is sent.
    #[must_use]
    pub fn new(bucket: OpenBucket, settings: &Settings) -> Self {
        Self {
            uploader: RunUploader::new(bucket, Redaction::new(settings, std::env::vars())),
            writer: format!("{:08x}", fastrand::u32(..)),
        }
    }

    fn bucket(&self) -> &OpenBucket {
        &self.uploader.bucket
    }
}

impl fmt::Display for BucketDestination {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.bucket().fmt(formatter)
    }
}

impl Destination for BucketDestination {
    type Sent = SentRun;

    // Runs that end within it share an object of facts.
    const POLL_INTERVAL: Duration = Duration::from_secs(5);

    fn key(&self) -> String {
        self.bucket().key.clone()
    }

    fn is_remote(&self) -> bool {
        self.bucket().url.is_remote()
    }

    fn is_complete(sent: &SentRun) -> bool {
        sent.complete
    }

    fn is_unchanged(sent: &SentRun, run: &ChangedRun) -> bool {
        run.stamp.as_deref() == Some(sent.files.as_str())
    }

    /// Lists runs that a killed process committed, and perhaps did not list.
    async fn resume(
        &mut self,
        state: &mut ShipState<SentRun>,
        requests: &Requests<'_>,
    ) -> Result<(), ShipError> {
        let mut by_name: HashMap<Option<String>, Vec<TraceId>> = HashMap::new();
        for (run, sent) in state.journal.iter().filter(|(_, sent)| !sent.complete) {
            by_name.entry(sent.facts.clone()).or_default().push(run);
        }
        for (name, runs) in by_name {
            let Some(name) = name else { continue };
            let path = layout::facts_object(&self.bucket().prefix, &name);
            let head = async || optional(self.bucket().head(&path).await);
            if requests.repeat(head).await?.is_some() {
                remember(&runs, None, state)?;
            }
        }
        let unlisted = state.journal.iter().filter(|(_, sent)| !sent.complete);
        // These are in the bucket already, which costs a request, and then they get their facts.
        let runs = unlisted.map(|(run, _)| {
            let path = state.store.runs_dir().join(run.to_string());
            ChangedRun::new(RunDirectory { trace_id: run, path }, false)
        });
        let runs = runs.collect();
        self.send(runs, state, requests).await
    }

    /// Sends runs at the same time, until one fails in a way that the others will, too; then writes their facts.
    async fn send(
        &mut self,
        runs: Vec<ChangedRun>,
        state: &mut ShipState<SentRun>,
        requests: &Requests<'_>,
    ) -> Result<(), ShipError> {
        let (mut done, mut ended) = (Vec::new(), Ok(()));
        {
            let (uploader, journal) = (&self.uploader, &state.journal);
            let mut uploads = pin!(
                stream::iter(runs)
                    .map(|run| async move {
                        let before = journal.sent(run.directory.trace_id);
                        let upload = uploader.send(&run, before, requests).await;
                        upload.map(|upload| (run, upload))
                    })
                    .buffer_unordered(CONCURRENT_RUNS)
            );
            while let Some(upload) = uploads.next().await {
                match upload {
                    Ok(upload) => done.push(upload),
                    Err(error) => {
                        ended = Err(error);
                        break;
                    }
                }
            }
        }
        let mut rows = BTreeMap::new();
        for (run, upload) in done {
            match upload {
                Upload::Open => state.summary.open_runs += 1,
                Upload::NotSent(reason) => state.not_sent(&run, reason, requests),
                Upload::Committed(CommittedUpload {
                    sent,
                    row,
                    bytes,
                    redacted_values,
                }) => {
                    state.summary.changed_runs += u64::from(sent.generation > 1);
                    state.summary.bytes += bytes;
                    state.summary.redacted_values += redacted_values;
                    state.journal.record(run.directory.trace_id, sent)?;
                    rows.insert(run.directory.trace_id, row);
                }
            }
        }
        // A user who stops it wants the committed runs to be seen.
        if !rows.is_empty() && matches!(ended, Ok(()) | Err(ShipError::Cancelled)) {
            self.write_facts(&rows, state, requests).await?;
            state.summary.runs += rows.len() as u64;
        }
        ended
    }
}

impl BucketDestination {
    /// Writes the facts of committed runs as one object.
    async fn write_facts(
        &self,
        rows: &BTreeMap<TraceId, Vec<u8>>,
        state: &mut ShipState<SentRun>,
        requests: &Requests<'_>,
    ) -> Result<(), ShipError> {
        let lines: Vec<u8> = rows.values().flatten().copied().collect();
        let content = Bytes::from(lines);
        let runs: Vec<TraceId> = rows.keys().copied().collect();
        let mut object = self.name_facts(&runs, state)?;
        let write = async || {
            if object.is_outdated() && optional(self.bucket().head(&object.path).await)?.is_none() {
                object = self.name_facts(&runs, state)?;
            }
            match self.bucket().create(&object.path, content.clone()).await {
                // No other writer has this name: the object is ours, and its answer was lost.
                Err(RequestFailure::Exists) => Ok(()),
                done => done,
            }
        };
        requests.repeat(write).await?;
        remember(&runs, None, state)
    }

    /// A new name for the facts of runs, which the journal has before it is used.
    fn name_facts(&self, runs: &[TraceId], state: &mut ShipState<SentRun>) -> Result<FactsObject, ShipError> {
        let named_at = units::now();
        let name = layout::facts_name(named_at, &self.writer, fastrand::u64(..));
        remember(runs, Some(&name), state)?;
        Ok(FactsObject {
            path: layout::facts_object(&self.bucket().prefix, &name),
            named_at,
            named: Instant::now(),
        })
    }
}

/// A name for an object of facts.
struct FactsObject {
    path: Path,
    named_at: Timestamp,
    named: Instant,
}

impl FactsObject {
    /// `true` after a long outage, when readers may not list the name's day any more.
    fn is_outdated(&self) -> bool {
        self.named.elapsed() > MAX_NAME_AGE
            || layout::partition(units::now(), 0) > layout::partition(self.named_at, 0)
    }
}

/// Records the object of facts that is to list runs; `None` once one does.
fn remember(runs: &[TraceId], facts: Option<&str>, state: &mut ShipState<SentRun>) -> Result<(), ShipError> {
    for run in runs {
        let sent = SentRun {
            facts: facts.map(str::to_owned),
            complete: facts.is_none(),
            ..state.journal.sent(*run).cloned().unwrap_or_default()
        };
        state.journal.record(*run, sent)?;
    }
    Ok(())
}
