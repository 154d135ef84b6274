//! What the first spans of runs tell, remembered as long as their files stay the same.

use std::collections::HashMap;

use parking_lot::Mutex;
use serde::Serialize;
use tracer_sdk::format::{EventType, Payload, TraceId, Usage};
use tracer_sdk::read::RunSummary;

use super::run::kind::Kind;
use super::run::stamp::Stamp;
use tracer_insight::log_ends;
use tracer_insight::status::RunStatus;
use tracer_insight::{run_subtitle, totals};

/// So many runs are remembered.
const MOST_RUNS: usize = 20_000;
/// The path of a run is told in so many cells.
const PATH_CELLS: usize = 12;

/// What the spans of a run tell.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Details {
    /// How many steps there are; at least so many, when not the whole run was read.
    steps: u64,
    /// The tokens of its model calls, when they say; at least so many, when not the whole run was read.
    tokens: Option<u64>,
    /// Whether the whole run was read.
    is_whole: bool,
    /// What tells it from the others of its name: why it failed, what it repeated, what it was asked.
    subtitle: Option<String>,
    /// The kinds of its steps in the order of time, in at most twelve cells; of its first steps, when not the whole run was
    /// read.
    path: Vec<Kind>,
}

/// What was seen of runs.
#[derive(Debug, Default)]
pub(super) struct Seen(Mutex<HashMap<TraceId, (Stamp, Details)>>);

impl Seen {
    /// What was seen of a run that has not changed since.
    pub(super) fn known(&self, run: &RunSummary) -> Option<Details> {
        let (stamp, details) = self.0.lock().get(&run.directory.trace_id)?.clone();
        (stamp == Stamp::of(&run.directory.path)).then_some(details)
    }

    /// Looks at the first spans of a run.
    pub(super) fn look(&self, run: &RunSummary, standing: RunStatus) -> Option<Details> {
        if let Some(known) = self.known(run) {
            return Some(known);
        }
        let stamp = Stamp::of(&run.directory.path);
        let details = look(run, standing)?;
        let mut seen = self.0.lock();
        if seen.len() >= MOST_RUNS {
            seen.clear();
        }
        seen.insert(run.directory.trace_id, (stamp, details.clone()));
        Some(details)
    }
}

fn look(run: &RunSummary, standing: RunStatus) -> Option<Details> {
    // A log that cannot be read leaves the cells empty; the page of the run says why.
    let ends = log_ends::read(&run.directory.path)?;
    let mut tokens = Usage::default();
    let mut path = Vec::new();
    for record in &ends.records {
        if !matches!(record.event_type(), EventType::RunStart | EventType::RunEnd) {
            path.push(Kind::of(record.event_type()));
        }
        if let Payload::LlmCall { usage, .. } = &record.payload {
            totals::add(&mut tokens, usage);
        }
    }
    Some(Details {
        steps: path.len() as u64,
        tokens: tokens.total_tokens,
        is_whole: ends.first.is_to_end,
        subtitle: run_subtitle::of(standing, &ends.records, ends.last.as_deref()),
        path: cells(&path),
    })
}

/// The path in a few cells; of the kinds that share one, the worst is told.
fn cells(path: &[Kind]) -> Vec<Kind> {
    if path.len() <= PATH_CELLS {
        return path.to_vec();
    }
    let severity = |kind: &Kind| match kind {
        Kind::Error => 4,
        Kind::Loop => 3,
        Kind::Llm => 2,
        Kind::Tool => 1,
        Kind::Run | Kind::State | Kind::Other => 0,
    };
    (0..PATH_CELLS)
        .filter_map(|cell| {
            let part = path.get(cell * path.len() / PATH_CELLS..(cell + 1) * path.len() / PATH_CELLS)?;
            part.iter().copied().max_by_key(severity)
        })
        .collect()
}
