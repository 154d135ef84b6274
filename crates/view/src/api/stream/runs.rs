//! The table of runs, watched.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::Serialize;
use tracer_facts::FactsSnapshot;
use tracer_sdk::format::TraceId;

use super::Change;
use crate::answer::ApiError;
use crate::api::table::{self, TableRow};
use crate::known_facts::Facts;
use crate::viewer::Viewer;

/// How often to poll the runs.
const POLL_INTERVAL: Duration = Duration::from_millis(500);
/// With more changed runs the page requests the table again.
const MAX_CHANGED_RUNS: usize = 200;

/// The runs that the page knows.
#[derive(Debug)]
pub(super) struct WatchedRuns {
    /// `None` while they are read for the first time.
    known: Option<Arc<FactsSnapshot>>,
    /// Whether the page knows other runs than these.
    is_behind: bool,
    looked: Instant,
}

/// The runs that changed.
#[derive(Serialize)]
struct ChangedRuns {
    /// New runs, and those that have changed.
    runs: Vec<TableRow>,
    /// The IDs of runs that are gone.
    removed: Vec<TraceId>,
    /// Whether there are too many to be sent: the table has to be asked for again.
    reload: bool,
}

impl WatchedRuns {
    /// Watches from now on; `version` is that of the table that the page has, now when it is left out.
    pub(super) fn new(viewer: &Viewer, version: Option<&str>) -> Result<Self, ApiError> {
        // Whether the page is behind is known of the files as they are now alone.
        viewer.facts().look_again();
        let known = match viewer.facts().now(false)? {
            Facts::All(snapshot) => Some(snapshot),
            Facts::Reading(_) => None,
        };
        let is_other =
            |known: &Arc<FactsSnapshot>| version.is_some_and(|version| version != table::version_text(known));
        Ok(Self {
            is_behind: known.as_ref().is_some_and(is_other),
            known,
            looked: Instant::now(),
        })
    }

    /// What has changed since the last look.
    pub(super) fn look(&mut self, viewer: &Viewer) -> Result<Vec<Change>, ApiError> {
        if std::mem::take(&mut self.is_behind) {
            return reload();
        }
        if self.looked.elapsed() < POLL_INTERVAL {
            return Ok(Vec::new());
        }
        self.looked = Instant::now();
        let Facts::All(now) = viewer.facts().now(false)? else {
            return Ok(Vec::new());
        };
        match self.known.replace(Arc::clone(&now)) {
            None => reload(),
            Some(before) if Arc::ptr_eq(&before, &now) => Ok(Vec::new()),
            Some(before) => compare(viewer, &before, &now),
        }
    }
}

/// The table has to be asked for again.
fn reload() -> Result<Vec<Change>, ApiError> {
    let reload = ChangedRuns {
        runs: Vec::new(),
        removed: Vec::new(),
        reload: true,
    };
    Ok(vec![Change::new("runs", None, &reload)?])
}

fn compare(viewer: &Viewer, before: &FactsSnapshot, now: &FactsSnapshot) -> Result<Vec<Change>, ApiError> {
    let mut known: HashMap<TraceId, u64> = before
        .runs()
        .iter()
        .map(|run| (run.directory.trace_id, run.fingerprint()))
        .collect();
    let mut changed = Vec::new();
    for run in now.runs() {
        let id = run.directory.trace_id;
        if known.remove(&id) != Some(run.fingerprint()) {
            changed.push(id);
        }
    }
    if changed.is_empty() && known.is_empty() {
        return Ok(Vec::new());
    }
    if changed.len() > MAX_CHANGED_RUNS {
        return reload();
    }
    let changed = ChangedRuns {
        runs: table::rows_of(viewer, now, &changed),
        removed: known.into_keys().collect(),
        reload: false,
    };
    Ok(vec![Change::new("runs", None, &changed)?])
}
