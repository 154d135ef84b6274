//! The table of runs, watched.

use std::collections::HashMap;
use std::fs;
use std::time::{Duration, Instant, SystemTime};

use serde::Serialize;
use tracer_sdk::format::TraceId;

use super::super::answer::ApiError;
use super::super::api::table::{self, TableRow};
use super::super::run::stamp::Stamp;
use super::super::viewer::Viewer;
use super::Change;

/// How often the runs are looked at that may change.
const PAUSE: Duration = Duration::from_millis(500);
/// How often all are, in case one is changed that nobody expects to.
const LONG_PAUSE: Duration = Duration::from_secs(5);
/// More changed runs are not sent: the page asks for the table again.
const MOST_RUNS: usize = 200;

/// The runs that the page knows.
#[derive(Debug, Default)]
pub(super) struct WatchedRuns {
    known: Option<HashMap<TraceId, (Stamp, &'static str)>>,
    folder: Option<SystemTime>,
    looked: Option<Instant>,
    looked_at_all: Option<Instant>,
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
    /// What has changed since the last look.
    pub(super) fn look(&mut self, viewer: &Viewer) -> Result<Vec<Change>, ApiError> {
        let is_soon = |moment: Option<Instant>, pause: Duration| moment.is_some_and(|moment| moment.elapsed() < pause);
        if is_soon(self.looked, PAUSE) {
            return Ok(Vec::new());
        }
        self.looked = Some(Instant::now());
        let runs_dir = viewer.runs().store().runs_dir();
        let folder = fs::metadata(&runs_dir).and_then(|metadata| metadata.modified()).ok();
        if self.known.is_some()
            && folder == self.folder
            && is_soon(self.looked_at_all, LONG_PAUSE)
            && !self.has_open_run_changed(viewer)
        {
            return Ok(Vec::new());
        }
        self.folder = folder;
        self.looked_at_all = Some(Instant::now());
        self.compare(viewer)
    }

    /// Whether a run has changed that has not ended.
    fn has_open_run_changed(&self, viewer: &Viewer) -> bool {
        let runs_dir = viewer.runs().store().runs_dir();
        let open = self.known.iter().flatten().filter(|(_, (_, standing))| *standing == "running");
        open.into_iter().any(|(trace_id, known)| {
            let directory = tracer_sdk::read::RunDirectory {
                trace_id: *trace_id,
                path: runs_dir.join(trace_id.to_string()),
            };
            let stamp = Stamp::of(&directory.path);
            stamp != known.0 || crate::commands::standing(&directory.listed()).word() != known.1
        })
    }

    fn compare(&mut self, viewer: &Viewer) -> Result<Vec<Change>, ApiError> {
        let listed = super::super::api::list::listed(viewer)?;
        let mut known = HashMap::with_capacity(listed.len());
        let mut changed = Vec::new();
        for run in &listed {
            let now = (Stamp::of(&run.directory.path), crate::commands::standing(run).word());
            let before = self.known.as_ref().and_then(|known| known.get(&run.directory.trace_id));
            if before != Some(&now) {
                changed.push(run);
            }
            known.insert(run.directory.trace_id, now);
        }
        let removed: Vec<TraceId> = self
            .known
            .iter()
            .flat_map(HashMap::keys)
            .filter(|trace_id| !known.contains_key(trace_id))
            .copied()
            .collect();
        let is_first = self.known.replace(known).is_none();
        // The page has just been given the table.
        if is_first || (changed.is_empty() && removed.is_empty()) {
            return Ok(Vec::new());
        }
        let reload = changed.len() > MOST_RUNS;
        let runs = if reload {
            Vec::new()
        } else {
            changed.into_iter().map(|run| table::row(viewer, run, true)).collect()
        };
        Ok(vec![Change::new(
            "runs",
            None,
            &ChangedRuns { runs, removed, reload },
        )?])
    }
}
