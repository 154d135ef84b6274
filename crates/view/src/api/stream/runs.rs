//! The table of runs, watched.

use std::fs;
use std::time::{Duration, Instant, SystemTime};

use serde::Serialize;
use tracer_sdk::format::TraceId;
use tracer_sdk::read::{RunDirectory, RunSummary};

use super::Change;
use crate::answer::ApiError;
use crate::api::known_runs::Known;
use crate::api::list::listed;
use crate::api::table::{self, TableRow};
use crate::run::stamp::Stamp;
use crate::viewer::Viewer;

use tracer_insight::status::RunStatus;

/// How often to poll the runs that may change.
const POLL_INTERVAL: Duration = Duration::from_millis(500);
/// How often to poll all runs, in case an ended one changed.
const FULL_POLL_INTERVAL: Duration = Duration::from_secs(5);
/// With more changed runs the page requests the table again.
const MAX_CHANGED_RUNS: usize = 200;

/// The runs that the page knows.
#[derive(Debug)]
pub(super) struct WatchedRuns {
    known: Known,
    /// Whether the page knows other runs than these.
    is_behind: bool,
    folder: Option<SystemTime>,
    looked: Instant,
    looked_at_all: Instant,
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
        let folder = changed(viewer);
        let known = Known::of(&listed(viewer)?);
        Ok(Self {
            is_behind: version.is_some_and(|version| version != known.version()),
            known,
            folder,
            looked: Instant::now(),
            looked_at_all: Instant::now(),
        })
    }

    /// What has changed since the last look.
    pub(super) fn look(&mut self, viewer: &Viewer) -> Result<Vec<Change>, ApiError> {
        if std::mem::take(&mut self.is_behind) {
            let reload = ChangedRuns {
                runs: Vec::new(),
                removed: Vec::new(),
                reload: true,
            };
            return Ok(vec![Change::new("runs", None, &reload)?]);
        }
        if self.looked.elapsed() < POLL_INTERVAL {
            return Ok(Vec::new());
        }
        self.looked = Instant::now();
        let folder = changed(viewer);
        if folder == self.folder
            && self.looked_at_all.elapsed() < FULL_POLL_INTERVAL
            && !self.has_open_run_changed(viewer)
        {
            return Ok(Vec::new());
        }
        self.folder = folder;
        self.looked_at_all = Instant::now();
        self.compare(viewer)
    }

    /// Whether a run has changed that had not ended.
    fn has_open_run_changed(&self, viewer: &Viewer) -> bool {
        let runs_dir = viewer.runs().store().runs_dir();
        let mut open = self
            .known
            .0
            .iter()
            .filter(|(_, (_, word))| *word == RunStatus::Running.as_str());
        open.any(|(trace_id, known)| {
            let directory = RunDirectory {
                trace_id: *trace_id,
                path: runs_dir.join(trace_id.to_string()),
            };
            Stamp::of(&directory.path) != known.0 || directory.read_summary().status().as_str() != known.1
        })
    }

    fn compare(&mut self, viewer: &Viewer) -> Result<Vec<Change>, ApiError> {
        let listed = listed(viewer)?;
        let now = Known::of(&listed);
        let before = std::mem::replace(&mut self.known, now);
        let changed: Vec<&RunSummary> = listed
            .iter()
            .filter(|run| {
                let id = &run.directory.trace_id;
                before.0.get(id) != self.known.0.get(id)
            })
            .collect();
        let gone = |trace_id: &&TraceId| !self.known.0.contains_key(*trace_id);
        let removed: Vec<TraceId> = before.0.keys().filter(gone).copied().collect();
        if changed.is_empty() && removed.is_empty() {
            return Ok(Vec::new());
        }
        let reload = changed.len() > MAX_CHANGED_RUNS;
        let rows = changed
            .into_iter()
            .take(if reload { 0 } else { MAX_CHANGED_RUNS });
        let runs = rows.map(|run| table::row(viewer, run, true)).collect();
        let changed = ChangedRuns {
            runs,
            removed,
            reload,
        };
        Ok(vec![Change::new("runs", None, &changed)?])
    }
}

/// When a run was added or taken away last.
fn changed(viewer: &Viewer) -> Option<SystemTime> {
    let folder = fs::metadata(viewer.runs().store().runs_dir()).ok()?;
    folder.modified().ok()
}
