//! Runs as lists of them are written as JSON: by `tracer list --json` and the viewer's `/api/runs` (decisions, section 11).

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Serialize;
use tracer_runs::{RunStatus, RunSummary};
use tracer_sdk::format::{Problem, RunMeta, TraceId, Usage};

use crate::cost::CostReport;

/// The additive keys, in addition to those of the format.
const ADDED: [&str; 9] = [
    "run_status",
    "failed_calls",
    "unknown_calls",
    "waiting",
    "tags",
    "thread",
    "tokens",
    "cost",
    "origin",
];

/// The metadata of a run, and its status.
#[derive(Debug, Serialize, schemars::JsonSchema)]
pub struct RunEntry<'a> {
    #[serde(flatten)]
    /// Its metadata.
    pub meta: Cow<'a, RunMeta>,
    /// The status of the run, in the words that every list uses: `running`, `interrupted`, `failed`, `loop`, `ok`.
    #[schemars(schema_with = "run_status")]
    pub run_status: &'static str,
    /// Model and tool calls that failed, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed_calls: Option<u64>,
    /// Model and tool calls whose end was not seen, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unknown_calls: Option<u64>,
    /// Set where it waits for a person.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waiting: Option<bool>,
    /// Its tags, where it has some.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tags: Option<&'a BTreeMap<String, String>>,
    /// The conversation or session that it belongs to: runs that share one are one thread.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread: Option<&'a str>,
    /// The tokens of its model calls, each number the sum over the calls that report it; left out where none does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<Usage>,
    /// Cost of its model calls, where that was looked up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<CostReport>,
    /// Origin of the run, where a bucket is read in addition to this machine: its URL, or `this machine`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin: Option<&'a str>,
}

impl<'a> RunEntry<'a> {
    /// Nothing for a run that is damaged.
    pub fn of(run: &'a RunSummary) -> Option<Self> {
        let run_status = run.status();
        let meta = run
            .meta
            .as_ref()
            .ok()
            .filter(|_| run_status != RunStatus::Damaged)?;
        let mut meta = Cow::Borrowed(meta);
        if !meta.has_exact_counts() {
            meta.to_mut().counts = run.counts();
        }
        for key in ADDED {
            if meta.additional.contains_key(key) {
                // An emitter's own key of this name would be in the object twice.
                meta.to_mut().additional.remove(key);
            }
        }
        Some(Self {
            meta,
            run_status: run_status.as_str(),
            failed_calls: None,
            unknown_calls: None,
            waiting: None,
            tags: None,
            thread: None,
            tokens: None,
            cost: None,
            origin: None,
        })
    }
}

/// A run that cannot be read.
#[derive(Debug, Serialize, schemars::JsonSchema)]
pub struct DamagedRun<'a> {
    trace_id: TraceId,
    /// Its problems, within what a list reads: its metadata, and the last line of its log.
    diagnostics: Cow<'a, [Problem]>,
}

impl<'a> DamagedRun<'a> {
    /// Nothing for a run that is not damaged.
    pub fn of(run: &'a RunSummary) -> Option<Self> {
        (run.status() == RunStatus::Damaged).then(|| Self {
            trace_id: run.directory.trace_id,
            diagnostics: Cow::Borrowed(run.problems()),
        })
    }
}

/// The statuses of runs that can be read.
fn run_status(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    let words = RunStatus::ALL
        .into_iter()
        .filter(|state| *state != RunStatus::Damaged);
    schemars::json_schema!({"enum": words.map(RunStatus::as_str).collect::<Vec<_>>()})
}

/// The statuses of all runs.
pub fn any_run_status(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({"enum": RunStatus::ALL.map(RunStatus::as_str)})
}
