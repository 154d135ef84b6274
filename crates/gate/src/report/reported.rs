//! The report itself (gate, *Report*).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{BaselineChanges, CheckResult};
use crate::{Acceptance, EnvironmentFingerprint, Finding, ProcessExit, StopReason, TrialFailure, Verdict};
use tracer_insight::profile::{CountMismatch, GuardrailStop, MissingSpans, RepeatedCalls};
use tracer_insight::signature::Signature;

/// The record of a gate.
///
/// ```
/// use tracer_gate::{GateDetails, Judgement, Report, Verdict};
///
/// let judgement = Judgement {
///     verdict: Verdict::Pass,
///     checks: Vec::new(),
///     findings: Vec::new(),
///     trials_planned: 3,
///     stop_reason: None,
/// };
/// let report = Report::new(judgement, &[], None, serde_json::Map::new(), GateDetails::default());
/// assert_eq!(serde_json::to_value(&report)?["verdict"], "pass");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, schemars::JsonSchema)]
#[non_exhaustive]
pub struct Report {
    /// Version of the format.
    #[schemars(extend("const" = crate::digest::REPORT_VERSION))]
    pub report_version: u32,
    /// The verdict of the gate.
    pub verdict: Verdict,
    /// Planned trials.
    pub trials_planned: u32,
    /// Reason why they stopped early; null when they did not.
    pub stop_reason: Option<StopReason>,
    /// Names and digests of the place where they ran.
    pub environment: EnvironmentFingerprint,
    /// The trials, in order.
    pub trials: Vec<ReportedTrial>,
    /// The checks.
    pub checks: Vec<CheckResult>,
    /// The acceptance of the baseline; absent when it was not accepted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub baseline_acceptance: Option<Acceptance>,
    /// The gate itself.
    pub gate: GateDetails,
}

/// The gate itself: command, inputs and times.
///
/// ```
/// use tracer_gate::GateDetails;
///
/// let gate = GateDetails { command: vec!["cargo".to_owned(), "run".to_owned()], ..GateDetails::default() };
/// assert_eq!(serde_json::to_value(&gate)?["command"][0], "cargo");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct GateDetails {
    /// Its ID, which the runs of its trials carry under the key `gate` of `meta.json`; null when a stored run is judged.
    pub id: Option<String>,
    /// The version of this program.
    pub tracer_version: String,
    /// The command of a trial, secrets redacted; empty when a stored run is judged.
    pub command: Vec<String>,
    /// The options of the gate without those of policy and baseline, secrets redacted: with them it can be run again.
    pub options: Vec<String>,
    /// The commit of the workspace; null outside a repository.
    pub commit: Option<String>,
    /// When the first trial began.
    pub started_at: Option<String>,
    /// When the last trial ended.
    pub ended_at: Option<String>,
    /// The policy; null when there is no file.
    pub policy: Option<InputFile>,
    /// The baseline; null when there is none.
    pub baseline: Option<InputFile>,
    /// The SHA-256 digest of the report without this: one that was edited is no source of a baseline.
    #[schemars(schema_with = "super::super::schema::sha256_or_null")]
    pub digest: Option<String>,
    /// Notices for the reader, such as another environment than that of the baseline.
    pub notices: Vec<String>,
}

/// A file that a gate was given.
///
/// ```
/// use tracer_gate::InputFile;
/// use tracer_insight::digest::sha256_hex;
///
/// let policy = InputFile { path: ".tracer/policy.yaml".to_owned(), sha256: sha256_hex(b"version: 2\n") };
/// assert_eq!(policy.sha256.len(), 64);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct InputFile {
    /// As it was named.
    pub path: String,
    /// The SHA-256 digest of its bytes.
    #[schemars(schema_with = "super::super::schema::sha256")]
    pub sha256: String,
}

/// One trial in a report.
///
/// ```
/// use tracer_gate::{GateDetails, Judgement, Report, Trial, Verdict};
/// use tracer_insight::profile::RunProfile;
/// use tracer_sdk::testing::capture;
///
/// let run = capture(|| tracer_sdk::tool_call("search").record());
/// let trial = Trial::of_run(1, RunProfile::new(&run.meta, run.records));
/// let judgement = Judgement {
///     verdict: Verdict::Pass,
///     checks: Vec::new(),
///     findings: Vec::new(),
///     trials_planned: 1,
///     stop_reason: None,
/// };
/// let report = Report::new(judgement, &[trial], None, serde_json::Map::new(), GateDetails::default());
/// assert_eq!(report.trials[0].metrics["tool_call_count"], Some(1.0));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[non_exhaustive]
pub struct ReportedTrial {
    /// Its number, from 1.
    pub trial: u32,
    /// The run that it left; null when there is none.
    pub trace_id: Option<String>,
    /// The label of that run.
    pub run_name: Option<String>,
    /// The end of the process; null when none was run.
    pub exit: Option<ProcessExit>,
    /// It counts and kept every invariant.
    pub passed: bool,
    /// The findings of the invariants, by name.
    pub findings: BTreeMap<String, Finding>,
    /// The numeric metrics by name; null where unknown.
    pub metrics: BTreeMap<String, Option<f64>>,
    /// The structural signature of the run; null when there is none that can be read.
    pub signature: Option<Signature>,
    /// Changes against the baseline; null without one.
    pub changes: Option<BaselineChanges>,
    /// Reason why the trial does not count; null when it does.
    pub failure: Option<TrialFailure>,
    /// Duration of the process in milliseconds.
    pub wall_time_ms: Option<u64>,
    /// Model calls whose tokens are unknown.
    pub calls_without_tokens: u64,
    /// Model calls whose cost is unknown.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unpriced_calls: u64,
    /// Repeated calls with the same arguments.
    pub repeats: Vec<RepeatedCalls>,
    /// Repeated calls without recorded arguments or results.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unknown_repeats: Vec<RepeatedCalls>,
    /// Loop warnings about calls with different arguments, and about attempts.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub harmless_warnings: u64,
    /// Loop warnings about calls with unknown arguments.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub open_warnings: u64,
    /// Guardrails that stopped the run.
    pub guardrail_stops: Vec<GuardrailStop>,
    /// Contradictions between `meta.json`, the root, the run and the counts.
    pub mismatches: Vec<CountMismatch>,
    /// The spans that the trace has lost; absent without a sign of any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing_spans: Option<MissingSpans>,
    /// Tools named by spans of another kind, with their numbers of calls.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub possible_tools: BTreeMap<String, u64>,
    /// The last lines of standard error, redacted.
    pub stderr_tail: String,
}

impl ReportedTrial {
    /// Checks if it left a run that counts.
    #[must_use]
    pub fn has_left_a_run(&self) -> bool {
        self.trace_id.is_some() && self.signature.is_some() && self.failure.is_none()
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives the field so")]
const fn is_zero(count: &u64) -> bool {
    *count == 0
}
