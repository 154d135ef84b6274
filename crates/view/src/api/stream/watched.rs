//! One run that is watched.

use std::time::{Duration, Instant};

use serde::Serialize;
use serde_json::json;
use tracer_sdk::format::TraceId;

use super::Change;
use crate::answer::ApiError;
use crate::api::overview::{self, InFlight};
use crate::run::open_run::OpenRun;
use crate::viewer::Viewer;

/// How often the overview of a running run is sent.
const OVERVIEW_INTERVAL: Duration = Duration::from_secs(1);
/// A run is polled at most once in this many times the duration of arranging its rows.
const BACKOFF_FACTOR: u32 = 4;

/// A run and what its page knows of it.
#[derive(Debug)]
pub(super) struct WatchedRun {
    trace_id: TraceId,
    /// How far the log had been read; `None` before the first look, for a page that has just read everything.
    offset: Option<u64>,
    version: String,
    run_status: &'static str,
    in_flight: Vec<String>,
    overview_sent: Option<Instant>,
    /// Whether the run has changed since the last overview.
    is_behind: bool,
    not_before: Option<Instant>,
    is_deleted: bool,
}

/// What is under way.
#[derive(Serialize)]
struct InFlightNow {
    in_flight: Vec<InFlight>,
}

impl WatchedRun {
    pub(super) fn new(trace_id: TraceId, offset: Option<u64>) -> Self {
        Self {
            trace_id,
            offset,
            version: String::new(),
            run_status: "",
            in_flight: Vec::new(),
            overview_sent: None,
            is_behind: true,
            not_before: None,
            is_deleted: false,
        }
    }

    pub(super) fn is_deleted(&self) -> bool {
        self.is_deleted
    }

    /// What has changed since the last look.
    pub(super) fn look(&mut self, viewer: &Viewer) -> Result<Vec<Change>, ApiError> {
        if viewer.runs().directory(self.trace_id).is_err() {
            self.is_deleted = true;
            return Ok(vec![Change::new(
                "deleted",
                None,
                &json!({"run_id": self.trace_id}),
            )?]);
        }
        let begun = Instant::now();
        if self.not_before.is_some_and(|moment| begun < moment) {
            return Ok(Vec::new());
        }
        let trace_id = self.trace_id;
        let changes = viewer.runs().with(trace_id, |run| self.compare(run));
        self.not_before = Some(begun + begun.elapsed() * BACKOFF_FACTOR);
        changes
    }

    fn compare(&mut self, run: &OpenRun) -> Result<Vec<Change>, ApiError> {
        let version = run.version();
        let is_same = version == self.version;
        let mut changes = Vec::new();
        self.is_behind |= !is_same;
        if !self.is_behind {
            return Ok(changes);
        }
        let end = run.steps.index.bytes_read();
        let in_flight: Vec<String> = run
            .steps
            .in_flight
            .iter()
            .map(|started| started.span_id.to_string())
            .collect();
        let known = self.offset.unwrap_or(end);
        let is_moved = known != end || in_flight != self.in_flight;
        let is_first = self.version.is_empty() && self.offset.is_none();
        if is_moved
            && !is_first
            && let Some(rows) = run.changes(known)?
        {
            changes.push(Change::new("rows", Some(end), &rows)?);
        }
        if in_flight != self.in_flight {
            let now = InFlightNow {
                in_flight: overview::in_flight(run),
            };
            changes.push(Change::new("in_flight", None, &now)?);
        }
        let run_status = run.steps.status.as_str();
        let is_due = self
            .overview_sent
            .is_none_or(|sent| sent.elapsed() >= OVERVIEW_INTERVAL);
        if run_status != self.run_status || is_due || !run.steps.status.is_open() {
            changes.push(Change::new("run", Some(end), &overview::of(run)?)?);
            self.overview_sent = Some(Instant::now());
            self.is_behind = false;
        }
        self.offset = Some(end);
        self.in_flight = in_flight;
        self.run_status = run_status;
        self.version = version;
        Ok(changes)
    }
}
