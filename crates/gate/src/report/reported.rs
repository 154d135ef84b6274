//! The report itself: JSON whose core other tools read as `2.0.x`, with additive keys (gate-contract, section 10;
//! gate, section 4).

use std::collections::BTreeMap;

use serde::Serialize;

use super::{CheckResult, CountedDiff};
use crate::trial::TrialFailure;
use crate::verdict::{StoppingRule, Verdict};
use crate::{Acceptance, EnvironmentFingerprint};
use tracer_insight::profile::{CountMismatch, GuardrailStop, MissingSpans, RepeatedCalls};
use tracer_insight::signature::Signature;

/// What a gate saw and decided.
///
/// ```
/// use tracer_gate::{GateDetails, Judgement, Report, StoppingRule, Verdict};
///
/// let judgement = Judgement {
///     verdict: Verdict::Pass,
///     checks: Vec::new(),
///     invariants: Vec::new(),
///     trials_budgeted: 3,
///     stopping_rule: StoppingRule::FixedN,
///     abort_reason: None,
/// };
/// let report = Report::new(judgement, &[], None, serde_json::Map::new(), GateDetails::default());
/// assert_eq!(serde_json::to_value(&report)?["verdict"], "pass");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Report {
    /// The version of the report's form.
    #[cfg_attr(
        feature = "schema",
        schemars(schema_with = "super::super::schema::report_version")
    )]
    pub report_version: String,
    /// How many trials were asked for.
    pub trials_requested: u32,
    /// The verdict of the gate.
    pub verdict: Verdict,
    /// Whether it passed; null when the evidence does not decide.
    pub passed: Option<bool>,
    /// How the trials went.
    pub metadata: ReportMetadata,
    /// The trials, in order.
    pub trials: Vec<ReportedTrial>,
    /// The checks.
    pub aggregate_results: Vec<CheckResult>,
    /// Who accepted the baseline; there only when somebody did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub baseline_acceptance: Option<Acceptance>,
    /// The gate itself.
    pub gate: GateDetails,
}

/// How the trials of a gate went.
///
/// ```
/// use tracer_gate::{ReportMetadata, StoppingRule};
///
/// let metadata = ReportMetadata {
///     trials_used: 3,
///     trials_budgeted: 25,
///     stopping_rule: StoppingRule::FixedNFailFast,
///     abort_reason: Some("invariant_violation".to_owned()),
///     environment_fingerprint: serde_json::Map::new(),
/// };
/// assert!(metadata.trials_used < metadata.trials_budgeted);
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ReportMetadata {
    /// How many there are.
    pub trials_used: u32,
    /// How many there were to be.
    pub trials_budgeted: u32,
    /// By which rule they stopped.
    pub stopping_rule: StoppingRule,
    /// Why they stopped early; null when they did not.
    pub abort_reason: Option<String>,
    /// Where they ran.
    pub environment_fingerprint: EnvironmentFingerprint,
}

/// The gate itself: what was run, from what, when.
///
/// ```
/// use tracer_gate::GateDetails;
///
/// let gate = GateDetails { command: vec!["cargo".to_owned(), "run".to_owned()], ..GateDetails::default() };
/// assert_eq!(serde_json::to_value(&gate)?["command"][0], "cargo");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GateDetails {
    /// Its ID, which the runs of its trials carry under the key `gate` of `meta.json`; null when a stored run is judged.
    pub id: Option<String>,
    /// The version of this program.
    pub tracer_version: String,
    /// The command of a trial, secrets redacted; empty when a stored run is judged.
    pub command: Vec<String>,
    /// The options that say how its trials are made and judged, beside the policy and the baseline, secrets redacted: with
    /// them the gate can be run again.
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
    #[cfg_attr(
        feature = "schema",
        schemars(schema_with = "super::super::schema::sha256_or_null")
    )]
    pub digest: Option<String>,
    /// What a reader should know besides: another environment than that of the baseline, an old form of the policy.
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct InputFile {
    /// As it was named.
    pub path: String,
    /// The SHA-256 digest of its bytes.
    #[cfg_attr(feature = "schema", schemars(schema_with = "super::super::schema::sha256"))]
    pub sha256: String,
}

/// One trial in a report.
///
/// ```
/// use tracer_gate::{GateDetails, Judgement, Report, StoppingRule, Trial, Verdict};
/// use tracer_insight::profile::RunProfile;
/// use tracer_sdk::testing::capture;
///
/// let run = capture(|| tracer_sdk::tool_call("search").record());
/// let trial = Trial::of_run(1, RunProfile::new(&run.meta, run.records));
/// let judgement = Judgement {
///     verdict: Verdict::Pass,
///     checks: Vec::new(),
///     invariants: Vec::new(),
///     trials_budgeted: 1,
///     stopping_rule: StoppingRule::FixedN,
///     abort_reason: None,
/// };
/// let report = Report::new(judgement, &[trial], None, serde_json::Map::new(), GateDetails::default());
/// assert_eq!(report.trials[0].metric_values["tool_call_count"], Some(1.0));
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct ReportedTrial {
    /// Its number, from 1.
    pub trial: u32,
    /// The run that it left; null when there is none.
    pub trace_id: Option<String>,
    /// The label of that run.
    pub run_name: Option<String>,
    /// The exit code, below zero for a signal; null when no process was run.
    pub process_exit_code: Option<i32>,
    /// Whether it counts and kept every invariant.
    pub passed: bool,
    /// The outcome of each invariant.
    pub checks: Vec<TrialCheck>,
    /// The numeric metrics by name; null what is not known.
    pub metric_values: BTreeMap<String, Option<f64>>,
    /// The outcomes of the invariants by name.
    pub invariant_outcomes: BTreeMap<String, bool>,
    /// The way that the run went; null when there is none that can be read.
    pub structural_signature: Option<Signature>,
    /// What differs from the baseline; null without one.
    pub baseline_diff: Option<CountedDiff>,
    /// What only this program writes.
    pub details: TrialDetails,
}

/// The outcome of an invariant in one trial.
///
/// ```
/// use tracer_gate::TrialCheck;
///
/// let check = TrialCheck::new("no_loops", Some(false));
/// assert_eq!((check.reason_code.as_str(), check.passed), ("invariant_violation", false));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TrialCheck {
    /// The invariant.
    pub check_name: String,
    /// Whether the trial kept it.
    pub passed: bool,
    /// `no_regression`, `invariant_violation`, or `unknown`.
    pub reason_code: String,
    /// The outcome in words.
    pub message: String,
    /// What was allowed; null where the message has it.
    pub expected: Option<String>,
    /// What was seen; null where the message has it.
    pub actual: Option<String>,
    /// Always false: what is not to be checked is left out of a policy.
    pub ignored: bool,
}

impl TrialCheck {
    /// The outcome of an invariant; `None` when the trial does not hold enough evidence.
    ///
    /// ```
    /// use tracer_gate::TrialCheck;
    ///
    /// assert_eq!(TrialCheck::new("no_loops", Some(true)).reason_code, "no_regression");
    /// ```
    #[must_use]
    pub fn new(check_name: &str, passed: Option<bool>) -> Self {
        let (reason_code, message) = match passed {
            Some(true) => ("no_regression", "the trial kept it"),
            Some(false) => ("invariant_violation", "the trial did not keep it"),
            None => ("unknown", "the trial does not hold enough evidence"),
        };
        Self {
            check_name: check_name.to_owned(),
            passed: passed == Some(true),
            reason_code: reason_code.to_owned(),
            message: message.to_owned(),
            expected: None,
            actual: None,
            ignored: false,
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives the field so")]
const fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// Details of a trial beyond the contract.
///
/// ```
/// use tracer_gate::TrialDetails;
///
/// assert!(TrialDetails::default().failure.is_none());
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TrialDetails {
    /// Why the trial does not count; null when it does.
    pub failure: Option<TrialFailure>,
    /// The signal that ended the process.
    pub signal: Option<i32>,
    /// How long the process ran, in milliseconds.
    pub wall_time_ms: Option<u64>,
    /// Model calls whose tokens are unknown.
    pub calls_without_tokens: u64,
    /// Model calls whose cost is unknown.
    #[serde(skip_serializing_if = "is_zero")]
    pub unpriced_calls: u64,
    /// Calls that asked the same again and again.
    pub repeats: Vec<RepeatedCalls>,
    /// Calls that came again and again of which neither what they asked was recorded nor what came of them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unknown_repeats: Vec<RepeatedCalls>,
    /// How many loop warnings rest on calls that asked something else each time, and on attempts.
    #[serde(skip_serializing_if = "is_zero")]
    pub harmless_warnings: u64,
    /// How many loop warnings rest on calls of which that is not known.
    #[serde(skip_serializing_if = "is_zero")]
    pub open_warnings: u64,
    /// Guardrails that stopped the run.
    pub guardrail_stops: Vec<GuardrailStop>,
    /// Where `meta.json`, the root or the run says otherwise than what was counted and measured.
    pub mismatches: Vec<CountMismatch>,
    /// The spans that the trace has lost; there only when there is a sign of any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missing_spans: Option<MissingSpans>,
    /// Tools that spans name which are something else in the first place, and how often.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub possible_tools: BTreeMap<String, u64>,
    /// The last lines of standard error, redacted.
    pub stderr_tail: String,
}
