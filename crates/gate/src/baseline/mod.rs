//! What is usual: the file that a candidate is compared with (gate-contract, section 9; gate, section 1).

mod acceptance;
mod build;
mod check;
mod comparison;
mod error;
mod read;
mod report;
mod usual_path;

pub use acceptance::{Acceptance, AcceptanceSource, AcceptanceVerdict, PreviousBaseline, PullRequest};
pub use build::moment;
pub use error::{BaselineError, BaselineErrorCode};
#[cfg(feature = "schema")]
pub(super) use read::SCHEMA_VERSION;
pub use usual_path::{BASELINES_FOLDER, usual_path};

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use tracer_insight::profile::{RunProfile, agent_of};
use tracer_insight::signature::Signature;

/// What an agent usually does: one run or a sample of runs. Schema 0.3.1, as other tools read and write it, with one
/// additive key, `x_tracer`.
///
/// ```
/// use tracer_gate::Baseline;
/// use tracer_insight::profile::{Metric, RunProfile};
/// use tracer_sdk::testing::capture;
///
/// let run = capture(|| tracer_sdk::tool_call("search").record());
/// let baseline = Baseline::of_run(&RunProfile::new(&run.meta, run.records), "2026-01-01T00:00:00.000Z");
/// assert_eq!(baseline.sample(&Metric::ToolCallCount), Some(vec![1.0]));
/// assert_eq!(Baseline::parse(baseline.to_json().as_bytes())?, baseline);
/// # Ok::<(), tracer_gate::BaselineError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Baseline {
    /// The version of the file's form.
    #[cfg_attr(feature = "schema", schemars(schema_with = "super::schema::baseline_version"))]
    pub schema_version: String,
    /// When it was made.
    pub created_at: String,
    /// The first run of the sample.
    pub source_run_id: String,
    /// All runs of the sample.
    #[serde(default)]
    pub source_run_ids: Vec<String>,
    /// The label of the first run.
    pub source_run_name: Option<String>,
    /// The numbers of the first run.
    pub summary: BaselineSummary,
    /// The tools of the first run, sorted, each once.
    pub tool_path: Vec<String>,
    /// The tools of the first run in the order of their calls; absent in old files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_call_sequence: Option<Vec<String>>,
    /// How often the first run called each tool.
    #[serde(default)]
    pub tool_call_counts: BTreeMap<String, u64>,
    /// The models that the first run asked, sorted.
    #[serde(default)]
    pub llm_models_used: Vec<String>,
    /// The types of the first run's records.
    #[serde(default)]
    pub event_type_sequence: Vec<Cow<'static, str>>,
    /// How the first run ended.
    #[serde(default)]
    pub final_status: String,
    /// The whole sample; absent in old files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trial_sample: Option<TrialSample>,
    /// The `ERROR` records of guardrails, whole; only in a baseline of one run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<Vec<Map<String, Value>>>"))]
    pub guardrail_events: Option<Vec<Value>>,
    /// Who accepted it, when and why; only after it was accepted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acceptance: Option<Acceptance>,
    /// What only this program writes; absent in files of other tools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub x_tracer: Option<Provenance>,
}

/// The numbers of one run as a baseline keeps them; null what is not known.
///
/// ```
/// use tracer_gate::BaselineSummary;
///
/// assert_eq!(BaselineSummary::default().total_tokens, None); // not known, and not zero
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BaselineSummary {
    /// How the run ended.
    pub status: Option<String>,
    /// `step_count`.
    #[cfg_attr(feature = "schema", schemars(schema_with = "super::schema::measured_or_null"))]
    pub total_events: Option<f64>,
    /// `llm_call_count`.
    #[cfg_attr(feature = "schema", schemars(schema_with = "super::schema::measured_or_null"))]
    pub llm_calls: Option<f64>,
    /// `tool_call_count`.
    #[cfg_attr(feature = "schema", schemars(schema_with = "super::schema::measured_or_null"))]
    pub tool_calls: Option<f64>,
    /// `error_count`.
    #[cfg_attr(feature = "schema", schemars(schema_with = "super::schema::measured_or_null"))]
    pub errors: Option<f64>,
    /// `loop_warning_count`.
    #[cfg_attr(feature = "schema", schemars(schema_with = "super::schema::measured_or_null"))]
    pub loop_warnings: Option<f64>,
    /// `latency_ms`.
    #[cfg_attr(feature = "schema", schemars(schema_with = "super::schema::measured_or_null"))]
    pub duration_ms: Option<f64>,
    /// `cost_tokens`.
    #[cfg_attr(feature = "schema", schemars(schema_with = "super::schema::measured_or_null"))]
    pub total_tokens: Option<f64>,
}

/// The runs of a baseline, one value for each, in the order of the trials.
///
/// ```
/// use tracer_gate::Baseline;
/// use tracer_insight::profile::RunProfile;
/// use tracer_sdk::testing::capture;
///
/// let run = capture(|| ());
/// let baseline = Baseline::of_run(&RunProfile::new(&run.meta, run.records), "2026-01-01T00:00:00.000Z");
/// assert_eq!(baseline.trial_sample.unwrap().trials, 1);
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TrialSample {
    /// How many runs.
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    pub trials: u64,
    /// Where the sample was taken; null when it is not known.
    pub environment_fingerprint: Option<EnvironmentFingerprint>,
    /// The numeric metrics by name, one value for each run. A metric that is not known of every run is left out.
    pub metrics: BTreeMap<String, Vec<f64>>,
    /// The outcomes of invariants by name, one for each run.
    pub invariants: BTreeMap<String, Vec<bool>>,
    /// The ID of each run's structural signature.
    pub signature_ids: Vec<String>,
    /// How many runs had each signature.
    pub signature_counts: BTreeMap<String, u64>,
    /// The signatures by their IDs.
    pub signatures: BTreeMap<String, Signature>,
}

/// Where trials ran, so that a sample from elsewhere is recognised: names and digests, whichever the writer knows.
pub type EnvironmentFingerprint = Map<String, Value>;

/// What only this program writes into a baseline.
///
/// ```
/// use tracer_gate::Baseline;
/// use tracer_insight::profile::RunProfile;
/// use tracer_sdk::testing::capture;
///
/// let run = capture(|| ());
/// let baseline = Baseline::of_run(&RunProfile::new(&run.meta, run.records), "2026-01-01T00:00:00.000Z");
/// assert_eq!(baseline.x_tracer.as_ref().unwrap().digest, baseline.sample_digest());
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Provenance {
    /// The SHA-256 digest of what was measured: a file that was edited is refused.
    #[cfg_attr(feature = "schema", schemars(schema_with = "super::schema::sha256"))]
    pub digest: String,
    /// The verdict of the report that the sample comes from; null for a baseline of a single run.
    pub report_verdict: Option<super::Verdict>,
    /// Whether it was made although the report did not pass.
    pub forced: bool,
    /// The most loops that were found in a run of the sample; null when its report does not have it.
    #[serde(default)]
    pub repeated_calls: Option<u64>,
    /// The agent that was sampled: the label of its runs without a time stamp; null when they have none, or several.
    #[serde(default)]
    pub agent: Option<String>,
    /// The command that the trials ran, secrets redacted; empty when none was run.
    #[serde(default)]
    pub command: Vec<String>,
    /// Tools that spans of the sample name which are something else in the first place.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub possible_tools: BTreeSet<String>,
}

#[cfg(test)]
mod tests;

/// The keys of a summary and the metrics that they hold, in the order in which changes are shown: time, which differs by
/// chance alone, comes last.
pub(crate) const SUMMARY_METRICS: [(&str, &str); 7] = [
    ("total_events", "step_count"),
    ("tool_calls", "tool_call_count"),
    ("llm_calls", "llm_call_count"),
    ("total_tokens", "cost_tokens"),
    ("errors", "error_count"),
    ("loop_warnings", "loop_warning_count"),
    ("duration_ms", "latency_ms"),
];

impl Baseline {
    /// The agent that the baseline is of: the label of its runs without a time stamp; `None` when they have none.
    ///
    /// ```
    /// use tracer_gate::Baseline;
    /// use tracer_insight::profile::RunProfile;
    /// use tracer_sdk::testing::capture;
    ///
    /// let run = capture(|| ());
    /// let baseline = Baseline::of_run(&RunProfile::new(&run.meta, run.records), "2026-01-01T00:00:00.000Z");
    /// assert_eq!(baseline.agent(), Some("captured"));
    /// ```
    #[must_use]
    pub fn agent(&self) -> Option<&str> {
        match &self.x_tracer {
            Some(ours) => ours.agent.as_deref(),
            None => agent_of(self.source_run_name.as_deref()?),
        }
    }

    /// The agent of a run, when it is another one than that of the baseline. Where one of them has no name nobody can
    /// tell.
    ///
    /// ```
    /// use tracer_gate::Baseline;
    /// use tracer_insight::profile::RunProfile;
    /// use tracer_sdk::testing::capture;
    ///
    /// let mut run = RunProfile::new(&capture(|| ()).meta, []);
    /// let baseline = Baseline::of_run(&run, "2026-01-01T00:00:00.000Z");
    /// assert_eq!(baseline.foreign_agent(&run), None);
    /// run.run_name = Some("another - 2026-01-01 07:05".to_owned());
    /// assert_eq!(baseline.foreign_agent(&run), Some("another"));
    /// ```
    #[must_use]
    pub fn foreign_agent<'run>(&self, run: &'run RunProfile) -> Option<&'run str> {
        let known = self.agent()?;
        run.agent().filter(|agent| *agent != known)
    }
}

impl Baseline {
    /// Every tool that any of the runs called, in any reading of their spans.
    pub(crate) fn known_tools(&self) -> BTreeSet<&str> {
        let sampled = self
            .trial_sample
            .iter()
            .flat_map(|sample| sample.signatures.values());
        let sampled = sampled.flat_map(|signature| &signature.tool_path);
        let possible = self.x_tracer.iter().flat_map(|ours| &ours.possible_tools);
        let known = self.tool_path.iter().chain(sampled).chain(possible);
        known.map(String::as_str).collect()
    }

    /// The tools that every one of the runs called.
    pub(crate) fn tools_of_every_run(&self) -> Vec<&String> {
        let others: Vec<_> = self
            .trial_sample
            .iter()
            .flat_map(|sample| sample.signatures.values())
            .collect();
        let is_in_all = |tool: &&String| others.iter().all(|other| other.tool_path.contains(tool));
        self.tool_path.iter().filter(is_in_all).collect()
    }
}
