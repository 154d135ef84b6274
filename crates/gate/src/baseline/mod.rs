//! Baselines: the usual behaviour of an agent, which a candidate is compared with (gate, *Baseline*).

mod acceptance;
mod build;
mod comparison;
mod file;
mod report;
mod usual_path;

pub use acceptance::Acceptance;
pub use build::Demanded;
#[cfg(feature = "testing")]
pub(crate) use usual_path::path_of;
pub use usual_path::{BASELINES_FOLDER, usual_path};

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::Verdict;
use tracer_insight::profile::{Metric, RunProfile, as_float};
use tracer_insight::signature::Signature;

/// The next step for a baseline file that is refused.
const MAKE_AGAIN: &str = "make it again, of one run: tracer baseline --out FILE --force; of several trials: tracer run \
                          --no-fail-fast --json-out report.json -- COMMAND, then tracer baseline --from-report \
                          report.json --out FILE --force";

/// The usual behaviour of an agent: a header, and one entry for each run of the sample.
///
/// ```
/// use tracer_gate::Baseline;
/// use tracer_insight::profile::{Metric, RunProfile};
/// use tracer_sdk::testing::capture;
///
/// let run = capture(|| tracer_sdk::tool_call("search").record());
/// let baseline = Baseline::of_run(&RunProfile::new(&run.meta, run.records), "2026-01-01T00:00:00.000Z");
/// assert_eq!(baseline.sample(&Metric::from_name("tool_call_count").unwrap()), Some(vec![1.0]));
/// assert_eq!(Baseline::parse(baseline.to_json().as_bytes())?, baseline);
/// # Ok::<(), tracer_gate::InputError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Baseline {
    /// Version of the format.
    #[serde(deserialize_with = "file::version")]
    #[schemars(extend("const" = file::VERSION))]
    pub baseline_version: u32,
    /// Time at which it was made.
    pub created_at: String,
    /// Label of the runs without a time stamp; null when they have none, or several.
    pub agent: Option<String>,
    /// Command of the trials, secrets redacted; empty when none was run.
    pub command: Vec<String>,
    /// Environment of the sample; null when it is not known.
    pub environment: Option<EnvironmentFingerprint>,
    /// Verdict of the report that the sample comes from; null for single runs.
    pub report_verdict: Option<Verdict>,
    /// Made although the report did not pass, the run failed, or spans are missing.
    pub forced: bool,
    /// Its acceptance; absent before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acceptance: Option<Acceptance>,
    /// SHA-256 digest of everything but the time: an edited file is refused.
    #[schemars(schema_with = "super::schema::sha256")]
    pub digest: String,
    /// The runs of the sample, in order.
    #[schemars(length(min = 1))]
    pub trials: Vec<BaselineTrial>,
    /// The structural signatures of the runs by their IDs.
    pub signatures: BTreeMap<String, Signature>,
}

/// One run of a baseline.
///
/// ```
/// use tracer_gate::Baseline;
/// use tracer_insight::profile::RunProfile;
/// use tracer_sdk::testing::capture;
///
/// let run = capture(|| tracer_sdk::llm_call("gpt-5").record()); // its tokens are unknown
/// let baseline = Baseline::of_run(&RunProfile::new(&run.meta, run.records), "2026-01-01T00:00:00.000Z");
/// let metrics = &baseline.trials[0].metrics;
/// assert_eq!((metrics.get("llm_call_count"), metrics.get("cost_tokens")), (Some(&1.0), None));
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BaselineTrial {
    /// The run.
    pub run_id: String,
    /// Its label.
    pub run_name: Option<String>,
    /// Its numeric metrics by name, without those that are unknown.
    #[schemars(schema_with = "super::schema::measured")]
    pub metrics: BTreeMap<String, f64>,
    /// The ID of its structural signature.
    pub signature: String,
    /// Number of loops.
    pub repeated_calls: u64,
    /// Number of guardrail stops.
    pub guardrail_stops: u64,
    /// Tools named by spans of another kind.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub possible_tools: BTreeSet<String>,
}

/// Names and digests of the place where trials ran, so that a sample from elsewhere is recognised.
pub type EnvironmentFingerprint = Map<String, Value>;

#[cfg(test)]
mod tests;

impl Baseline {
    /// The agent of a run, when it differs from that of the baseline; `None` where one of them has no name.
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
        let known = self.agent.as_deref()?;
        run.agent().filter(|agent| *agent != known)
    }

    /// The values of a metric, one for each run; `None` when it is unknown for one of them.
    #[must_use]
    pub fn sample(&self, metric: &Metric) -> Option<Vec<f64>> {
        let name = metric.to_string();
        let value = |trial: &BaselineTrial| match metric {
            Metric::ToolCalls(tool) => {
                let called = &self.signatures.get(&trial.signature)?.tools;
                Some(as_float(
                    called.iter().filter(|called| *called == tool).count() as u64
                ))
            }
            Metric::Recorded(_) | Metric::Score(_) => trial.metrics.get(&name).copied(),
        };
        self.trials.iter().map(value).collect()
    }

    /// The ID of the first run.
    pub(crate) fn first_run_id(&self) -> &str {
        self.trials.first().map_or("", |trial| &trial.run_id)
    }

    /// The signature of the first run.
    pub(crate) fn first_signature(&self) -> Signature {
        let first = self.trials.first();
        first
            .and_then(|first| self.signatures.get(&first.signature))
            .cloned()
            .unwrap_or_default()
    }

    /// Every tool that any of the runs called.
    pub(crate) fn tools(&self) -> BTreeSet<&str> {
        let tools = self.signatures.values().flat_map(|signature| &signature.tools);
        tools.map(String::as_str).collect()
    }

    /// Every tool that any of the runs called, in any reading of their spans.
    pub(crate) fn known_tools(&self) -> BTreeSet<&str> {
        let possible = self.trials.iter().flat_map(|trial| &trial.possible_tools);
        let mut tools = self.tools();
        tools.extend(possible.map(String::as_str));
        tools
    }

    /// The tools that every one of the runs called.
    pub(crate) fn tools_of_every_run(&self) -> Vec<&String> {
        let tools = self.signatures.values().map(Signature::tool_names);
        let common = tools.reduce(|common, tools| &common & &tools);
        common.unwrap_or_default().into_iter().collect()
    }
}
