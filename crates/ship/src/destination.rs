//! [`Destination`]: an endpoint or a bucket that runs are sent to.

use std::collections::HashMap;
use std::fmt;
use std::fs;
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

use serde::Serialize;
use serde::de::DeserializeOwned;
use tracer_runs::{RunDirectory, RunStore};
use tracer_sdk::format::{META_FILE, SPANS_FILE, TraceId};

use crate::error::ShipError;
use crate::event::{NotSent, ShipEvent, ShipSummary};
use crate::journal::Journal;
use crate::retry::Requests;

/// Destination of runs; its text is its URL without secrets.
pub trait Destination: fmt::Display {
    /// Entry of the journal: the part of a run that was acknowledged.
    type Sent: Serialize + DeserializeOwned;

    /// Interval in which the data directory is listed while runs are followed.
    const POLL_INTERVAL: Duration;

    /// Name of the destination's files in a data directory.
    fn key(&self) -> String;

    /// `true` when what is sent there leaves this machine.
    fn is_remote(&self) -> bool;

    /// `true` of a run that had ended when all of it was acknowledged.
    fn is_complete(sent: &Self::Sent) -> bool;

    /// `true` of a complete run whose files are as they were.
    fn is_unchanged(sent: &Self::Sent, run: &ChangedRun) -> bool;

    /// Completes the work of a process that was killed.
    fn resume(
        &mut self,
        _state: &mut ShipState<Self::Sent>,
        _requests: &Requests<'_>,
    ) -> impl Future<Output = Result<(), ShipError>> {
        async { Ok(()) }
    }

    /// Sends a batch of runs, and records what is acknowledged.
    fn send(
        &mut self,
        runs: Vec<ChangedRun>,
        state: &mut ShipState<Self::Sent>,
        requests: &Requests<'_>,
    ) -> impl Future<Output = Result<(), ShipError>>;
}

/// A run that has changed since it was sent, or was never sent.
#[derive(Debug, Clone)]
pub struct ChangedRun {
    pub(crate) directory: RunDirectory,
    /// Stamp of its files before they are read; `None` when one is missing.
    pub(crate) stamp: Option<String>,
    /// The journal is not to be trusted: the user asked to send it again.
    pub(crate) is_again: bool,
}

impl ChangedRun {
    pub(crate) fn new(directory: RunDirectory, is_again: bool) -> Self {
        Self {
            stamp: files_stamp(&directory.path),
            directory,
            is_again,
        }
    }
}

/// Journal and summary of a shipper.
pub struct ShipState<Sent> {
    pub(crate) store: RunStore,
    pub(crate) journal: Journal<Sent>,
    pub(crate) summary: ShipSummary,
    /// Runs that cannot be sent, by the stamp of their files.
    pub(crate) unsendable: HashMap<TraceId, Option<String>>,
}

impl<Sent> ShipState<Sent> {
    /// Reports a run that is skipped until its files change.
    pub(crate) fn not_sent(&mut self, run: &ChangedRun, reason: impl Into<String>, requests: &Requests<'_>) {
        self.unsendable.insert(run.directory.trace_id, run.stamp.clone());
        let not_sent = NotSent {
            run: run.directory.trace_id,
            reason: reason.into(),
        };
        self.summary.not_sent.push(not_sent.clone());
        requests.notify(ShipEvent::NotSent(not_sent));
    }
}

/// Stamp of the files of a run: sizes and times; `None` when one is missing.
pub(crate) fn files_stamp(directory: &Path) -> Option<String> {
    let part = |name: &str| {
        let metadata = fs::symlink_metadata(directory.join(name)).ok()?;
        let modified = metadata.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
        metadata
            .is_file()
            .then(|| format!("{}@{}", metadata.len(), modified.as_nanos()))
    };
    Some(format!("{} {}", part(META_FILE)?, part(SPANS_FILE)?))
}
