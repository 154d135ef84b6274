//! Policies: the checks of a gate (gate, *Policy*).
//!
//! A policy is YAML of version 2; the command line may override what does not belong to a check:
//!
//! ```
//! use tracer_gate::policy::{Overrides, Policy};
//!
//! let text = "
//! version: 2
//! trials: 5
//! jobs: 2
//! metrics:
//!   required_tools: {kind: invariant, all_of: [send_reply]}
//!   step_count: {kind: measured, direction: upper, tolerance: {relative: 0.5}}
//! ";
//! let policy = Policy::parse(text, &Overrides { trials: Some(10), ..Overrides::default() }).unwrap();
//! assert_eq!((policy.trials, policy.jobs, policy.checks.len()), (10, 2, 2));
//! ```
//!
//! Every mistake is reported with its line and column; nothing in a policy is silently without effect.
//! [`Gate::new`](crate::Gate::new) checks policy and baseline against each other, before the first trial.

mod error;
mod file;
mod rules;
mod yaml;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::content::{Finding, RunContent};
use crate::invariants::Invariant;
pub use crate::statistics::Aggregate;
pub use error::{PolicyError, PolicyMistake};
pub use file::Policy;
pub use rules::{Check, Distributional, Measured, Rule, Statistical, Tolerance};
use serde_json::Value;
use yaml::YamlText;

/// Verdict on a cassette miss: a request without a recorded answer.
///
/// ```
/// use tracer_gate::policy::{OnReplayMiss, Overrides, Policy};
///
/// let text = "version: 2\nreplay_miss: fail\nmetrics:\n  no_loops: {kind: invariant}\n";
/// let policy = Policy::parse(text, &Overrides::default()).unwrap();
/// assert_eq!(policy.on_replay_miss, OnReplayMiss::Fail);
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnReplayMiss {
    /// The trial decides nothing that it did not violate before: the model was not asked.
    #[default]
    Inconclusive,
    /// The trial has failed.
    Fail,
}

/// Exit code of an INCONCLUSIVE gate.
///
/// ```
/// use tracer_gate::policy::OnInconclusive;
///
/// assert_eq!(OnInconclusive::default(), OnInconclusive::Pass);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnInconclusive {
    /// Exit code 0.
    #[default]
    Pass,
    /// Exit code 1.
    Fail,
}

/// The options of the command line that override a policy; `None` changes nothing.
///
/// ```
/// use tracer_gate::policy::{Overrides, Policy};
///
/// let overrides = Overrides { jobs: Some(4), ..Overrides::default() };
/// assert_eq!(Policy::usual(&overrides).unwrap().jobs, 4);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Overrides {
    /// `--trials`.
    pub trials: Option<u32>,
    /// `--no-fail-fast`.
    pub fail_fast: Option<bool>,
    /// `--inconclusive`.
    pub on_inconclusive: Option<OnInconclusive>,
    /// `--jobs`.
    pub jobs: Option<u32>,
    /// `--timeout`.
    pub timeout: Option<Duration>,
}

/// Mistakes that are reported together.
const MAX_MISTAKES: usize = 50;

/// The policy of a gate without a file: numbers stay within half as much again of the baseline.
const USUAL: &str = "
version: 2
metrics:
  step_count: {kind: measured, direction: upper, tolerance: {relative: 0.5}}
  tool_call_count: {kind: measured, direction: upper, tolerance: {relative: 0.5}}
  cost_tokens: {kind: measured, direction: upper, tolerance: {relative: 0.5}}
  latency_ms: {kind: measured, direction: upper, tolerance: {relative: 0.5}}
  task_pass_rate: {kind: statistical, direction: lower, threshold: 0.9}
";

impl Policy {
    /// The length of the largest file that is read as a policy, in bytes.
    pub const MAX_BYTES: u64 = 1024 * 1024;

    /// Reads a policy and applies the overrides, before the checks that depend on both.
    ///
    /// ```
    /// use tracer_gate::policy::{Overrides, Policy};
    ///
    /// let old = Policy::parse("version: 1\nassert: {max_steps: 9}\n", &Overrides::default()).unwrap_err();
    /// assert_eq!(old.to_string(), "1:1: version must be 2 or 2.1");
    /// ```
    ///
    /// # Errors
    ///
    /// [`PolicyError`] with the mistakes of the file: of each metric the first of its meaning, at most 50.
    pub fn parse(text: &str, overrides: &Overrides) -> Result<Self, PolicyError> {
        let yaml = YamlText::parse(text)?;
        check_version(text, &yaml)?;
        let mut mistakes = Vec::new();
        let policy = file::read(&yaml, &mut mistakes);
        if let Some(mut policy) = policy.filter(|_| mistakes.is_empty()) {
            policy.apply(overrides);
            return Ok(policy);
        }
        for mistake in &mut mistakes {
            mistake.position = yaml.position_of(&mistake.path, mistake.is_key);
        }
        mistakes.sort_by_key(|mistake| mistake.position.map(|at| (at.line, at.column)));
        if mistakes.len() > MAX_MISTAKES {
            mistakes.truncate(MAX_MISTAKES);
            mistakes.push(PolicyMistake::new(&[], "has more mistakes than these"));
        }
        Err(PolicyError { mistakes })
    }

    /// The policy of a gate without a file.
    ///
    /// ```
    /// use tracer_gate::policy::{Overrides, Policy};
    ///
    /// let policy = Policy::usual(&Overrides::default())?;
    /// assert_eq!(policy.checks[0].name, "step_count");
    /// # Ok::<(), tracer_gate::policy::PolicyError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// None: it is a text of this program.
    pub fn usual(overrides: &Overrides) -> Result<Self, PolicyError> {
        Self::built_in(USUAL, overrides)
    }

    /// A policy of this program: a tolerance whose metric the baseline does not know is left out instead of refused.
    pub(crate) fn built_in(text: &str, overrides: &Overrides) -> Result<Self, PolicyError> {
        let mut policy = Self::parse(text, overrides)?;
        for check in &mut policy.checks {
            check.position = None;
        }
        Ok(policy)
    }

    fn apply(&mut self, overrides: &Overrides) {
        self.trials = overrides.trials.unwrap_or(self.trials);
        self.fail_fast = overrides.fail_fast.unwrap_or(self.fail_fast);
        self.on_inconclusive = overrides.on_inconclusive.unwrap_or(self.on_inconclusive);
        self.jobs = overrides.jobs.unwrap_or(self.jobs);
        self.timeout = overrides.timeout.unwrap_or(self.timeout);
    }

    /// The same demands for one run that is there already: `assert` (gate, *Commands*).
    ///
    /// One run says nothing about a rate, so `task_pass_rate`, and what is judged by it, is reported without gating.
    ///
    /// ```
    /// use tracer_gate::policy::{Overrides, Policy};
    ///
    /// let text = "
    /// version: 2
    /// trials: 25
    /// metrics:
    ///   no_loops: {kind: invariant}
    ///   task_pass_rate: {kind: statistical, direction: lower, threshold: 0.9, mode: gating}
    /// ";
    /// let policy = Policy::parse(text, &Overrides::default()).unwrap().for_one_run();
    /// assert_eq!(policy.trials, 1);
    /// assert!(policy.checks[1].ignored);
    /// ```
    #[must_use]
    pub fn for_one_run(mut self) -> Self {
        self.trials = 1;
        for check in &mut self.checks {
            let is_rate = matches!(check.rule, Rule::Statistical(_));
            check.ignored |= is_rate || self.judged_by_rate.contains(&check.name);
        }
        self.judged_by_rate.clear();
        self
    }

    /// The policy of one run without a baseline: each check by itself, without those that take other runs to judge.
    ///
    /// ```
    /// use tracer_gate::policy::{Overrides, Policy};
    ///
    /// let text = "
    /// version: 2
    /// metrics:
    ///   no_loops: {kind: invariant}
    ///   no_new_tools: {kind: invariant}
    ///   step_count: {kind: measured, direction: upper, tolerance: {relative: 0.5}}
    ///   llm_call_count: {kind: measured, direction: upper, limit: 9}
    /// ";
    /// let policy = Policy::parse(text, &Overrides::default()).unwrap().for_a_run_alone();
    /// let checks: Vec<&str> = policy.checks.iter().map(|check| check.name.as_str()).collect();
    /// assert_eq!(checks, ["no_loops", "llm_call_count"]);
    /// ```
    #[must_use]
    pub fn for_a_run_alone(mut self) -> Self {
        self.judged_by_rate.clear();
        self.checks.retain(|check| !check.rule.needs_other_runs());
        self
    }

    /// The check of a metric.
    ///
    /// ```
    /// use tracer_gate::policy::{Overrides, Policy};
    ///
    /// let policy = Policy::parse("version: 2\nmetrics:\n  no_loops: {kind: invariant}\n", &Overrides::default()).unwrap();
    /// assert!(policy.check("no_loops").is_some());
    /// assert!(policy.check("step_count").is_none());
    /// ```
    #[must_use]
    pub fn check(&self, name: &str) -> Option<&Check> {
        self.checks.iter().find(|check| check.name == name)
    }

    /// Returns whether a check judges the content of runs.
    #[must_use]
    pub fn needs_content(&self) -> bool {
        self.content_checks().next().is_some()
    }

    /// The findings of the checks of content in a run, by the names of the checks.
    #[must_use]
    pub fn findings(&self, run: &RunContent<'_>) -> BTreeMap<String, Finding> {
        self.content_checks()
            .map(|(name, rule)| (name.to_owned(), rule.content_finding(run)))
            .collect()
    }

    fn content_checks(&self) -> impl Iterator<Item = (&str, &dyn Invariant)> {
        self.checks.iter().filter_map(|check| match &check.rule {
            Rule::Invariant(rule) if rule.needs_content() => Some((&*check.name, &**rule)),
            _ => None,
        })
    }
}

/// Refuses files of other versions. The version is read from the text: `2.10` is not the number 2.1.
fn check_version(text: &str, yaml: &YamlText) -> Result<(), PolicyMistake> {
    if yaml.value.get("x_tracer").is_some() {
        return Err(PolicyMistake::new(&["x_tracer"], "is not a key any more")
            .at(yaml.position_of(&["x_tracer".to_owned()], true))
            .hint("write its keys at the top level, and its metrics and checks under metrics"));
    }
    if !matches!(yaml.value, Value::Object(_) | Value::Null) {
        return Err(PolicyMistake::new(&[], "must be a mapping").at(yaml.position_of(&[], false)));
    }
    let value = |line: &str| {
        let keys = ["version", "\"version\"", "'version'"];
        let rest = keys.iter().find_map(|key| line.strip_prefix(key))?;
        let value = rest.trim_start().strip_prefix(':')?;
        let value = value.split('#').next()?.trim();
        Some(value.trim_matches(['"', '\'']).to_owned())
    };
    let mut lines = (1..).zip(text.trim_start_matches('\u{feff}').lines());
    let found = lines.find_map(|(line, text)| Some((line, value(text)?)));
    let (line, version) = found.unwrap_or((1, String::new()));
    if ["2", "2.0", "2.1"].contains(&&*version) {
        return Ok(());
    }
    let message = if version.is_empty() {
        "must be 2, on a line of its own"
    } else {
        "must be 2 or 2.1"
    };
    Err(PolicyMistake::new(&["version"], message)
        .at(Some(tracer_sdk::settings::Position { line, column: 1 }))
        .hint("rewrite a policy of version 1 as docs/policy.md says, or write a new one: tracer init"))
}
