//! Policies: what a gate demands (gate, section 2; gate-contract, sections 3 to 5).
//!
//! A policy is YAML of version 2, or of the old version 1; the command line may override parts of it:
//!
//! ```
//! use tracer_gate::policy::{Overrides, Policy};
//!
//! let text = "
//! version: 2
//! trials: 5
//! metrics:
//!   required_tools: {kind: invariant, all_of: [send_reply]}
//!   step_count: {kind: measured, direction: upper, tolerance: {relative: 0.5}}
//! x_tracer:
//!   jobs: 2
//! ";
//! let policy = Policy::parse(text, &Overrides { trials: Some(10), ..Overrides::default() }).unwrap();
//! assert_eq!((policy.trials, policy.jobs, policy.checks.len()), (10, 2, 2));
//! ```
//!
//! A mistake is an error with its line and column; nothing in a policy is silently without effect. Whether the policy
//! and the baseline go together is found by [`Gate::new`](crate::Gate::new), before the first trial.

mod document;
mod error;
mod fields;
mod globs;
mod legacy;
mod metrics;
mod overrides;
mod rules;
mod version;
mod yaml;

#[cfg(test)]
mod tests;

use std::fmt;
use std::time::Duration;

use serde::Serialize;

pub use crate::statistics::Aggregate;
use crate::statistics::IntervalMethod;
pub use error::{PolicyError, PolicyErrorCode};
use fields::PolicyFields;
pub use globs::ToolGlobs;
#[cfg(test)]
pub(super) use overrides::OLD_CHECKS;
pub use overrides::{Bound, ExpectedStatus, Overrides};
pub use rules::{Check, Distributional, Invariant, Measured, Rule, Statistical, Tolerance};
pub use version::PolicyVersion;

/// What a gate demands, after the overrides of the command line.
///
/// ```
/// use tracer_gate::policy::{OnInconclusive, Overrides, Policy};
///
/// let text = "version: 2\nmetrics:\n  no_loops: {kind: invariant}\nx_tracer: {inconclusive: fail}\n";
/// let policy = Policy::parse(text, &Overrides::default()).unwrap();
/// assert_eq!(policy.trials, 3);
/// assert!(policy.fail_fast);
/// assert_eq!(policy.on_inconclusive, OnInconclusive::Fail);
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Policy {
    /// The version of the grammar.
    pub version: PolicyVersion,
    /// Where the demands come from.
    pub source: PolicySource,
    /// How many trials are made.
    pub trials: u32,
    /// Whether to stop as soon as the verdict is known.
    pub fail_fast: bool,
    /// The checks, in the order of the policy.
    pub checks: Vec<Check>,
    /// What an INCONCLUSIVE gate means for the exit code.
    pub on_inconclusive: OnInconclusive,
    /// The interval behind statistical and distributional checks.
    pub decision: IntervalMethod,
    /// How many trials run at once.
    pub jobs: u32,
    /// How long one trial may take.
    pub timeout: Duration,
    /// What a request without a recorded answer makes of a replayed trial.
    pub on_replay_miss: OnReplayMiss,
    /// How old a cassette may be before the report warns of it.
    pub cassette_max_age: Option<Duration>,
    /// Invariants that do not fail the gate trial by trial: a trial that violates one counts against `task_pass_rate`.
    pub judged_by_rate: Vec<String>,
    /// What the user should know about the file.
    pub warnings: Vec<PolicyWarning>,
}

/// What a request without a recorded answer makes of a replayed trial.
///
/// ```
/// use tracer_gate::policy::{OnReplayMiss, Overrides, Policy};
///
/// let text = "version: 2\nmetrics:\n  no_loops: {kind: invariant}\nx_tracer: {replay_miss: fail}\n";
/// let policy = Policy::parse(text, &Overrides::default()).unwrap();
/// assert_eq!(policy.on_replay_miss, OnReplayMiss::Fail);
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OnReplayMiss {
    /// The trial decides nothing that it did not violate before: the model was not asked.
    #[default]
    Inconclusive,
    /// The trial has failed.
    Fail,
}

/// Where the demands of a policy come from.
///
/// ```
/// use tracer_gate::policy::{Overrides, Policy, PolicySource};
///
/// let policy = Policy::without_file(&Overrides::default()).unwrap();
/// assert_eq!(policy.source, PolicySource::Defaults);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PolicySource {
    /// A file of version 2.
    V2,
    /// A file of version 1, or without a version.
    V1,
    /// No file: the defaults, and what the command line says.
    #[serde(rename = "legacy")]
    Defaults,
}

impl PolicySource {
    /// Whether the demands are those of version 1, turned into metrics.
    #[must_use]
    pub(crate) const fn is_migrated(self) -> bool {
        !matches!(self, Self::V2)
    }
}

/// What an INCONCLUSIVE gate means for the exit code.
///
/// ```
/// use tracer_gate::policy::OnInconclusive;
///
/// assert_eq!(OnInconclusive::default(), OnInconclusive::Pass);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum OnInconclusive {
    /// Exit code 0.
    #[default]
    Pass,
    /// Exit code 1.
    Fail,
}

/// What a user should know about a policy that is read all the same.
///
/// ```
/// use tracer_gate::policy::{Overrides, Policy};
///
/// let policy = Policy::parse("assert:\n  fail_fast: false\n", &Overrides::default()).unwrap();
/// let warnings: Vec<_> = policy.warnings.iter().map(ToString::to_string).collect();
/// assert_eq!(warnings[1], "keys that version 1 does not have are ignored: fail_fast");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum PolicyWarning {
    /// The file is of version 1.
    OldFormat,
    /// These keys of a file of version 1 mean nothing.
    UnknownKeys(Vec<String>),
}

impl fmt::Display for PolicyWarning {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OldFormat => formatter.write_str(
                "the policy is in the old format (version 1); `version: 2` states what is checked by name",
            ),
            Self::UnknownKeys(keys) => {
                write!(
                    formatter,
                    "keys that version 1 does not have are ignored: {}",
                    keys.join(", ")
                )
            }
        }
    }
}

impl Policy {
    /// The length of the largest file that is read as a policy, in bytes.
    pub const MAX_BYTES: u64 = 1024 * 1024;

    /// The policy that a file and the command line state together.
    ///
    /// The overrides come first and the checks after: a file that could not gate with its own `trials` is fine when
    /// the command line asks for enough.
    ///
    /// ```
    /// use tracer_gate::policy::{Bound, Overrides, Policy};
    ///
    /// let text = "version: 2\nmetrics:\n  no_loops: {kind: invariant}\n";
    /// let limit = Overrides { steps: Bound { max: Some(12), tolerance: None }, ..Overrides::default() };
    /// let error = Policy::parse(text, &limit).unwrap_err();
    /// assert_eq!(error.to_string(), "--max-steps changes nothing: the policy has no metric step_count");
    /// ```
    pub fn parse(text: &str, overrides: &Overrides) -> Result<Self, PolicyError> {
        overrides.check()?;
        let mut root = yaml::parse(text)?;
        if matches!(root.value, yaml::YamlValue::Null) {
            root.value = yaml::YamlValue::Mapping(Vec::new());
        }
        let root =
            PolicyFields::of(&root, "", PolicyErrorCode::RootNotMapping).map_err(|error| PolicyError {
                path: "the policy".to_owned(),
                ..error
            })?;
        let version = version::declared_version(text, &root)?;
        let policy = if version.major == 1 {
            let (file, warnings) = legacy::read(&root)?;
            legacy::migrate(PolicySource::V1, version, &file, overrides, warnings)?
        } else {
            let mut policy = document::read(&root, version)?;
            overrides.apply(&mut policy)?;
            policy
        };
        policy.refuse_impossible_rates()?;
        Ok(policy)
    }

    /// The policy of a gate without a file: the defaults of the old format, and what the command line says.
    ///
    /// ```
    /// use tracer_gate::policy::{Overrides, Policy};
    ///
    /// let policy = Policy::without_file(&Overrides { no_loops: true, ..Overrides::default() }).unwrap();
    /// let names: Vec<_> = policy.checks.iter().map(|check| check.name.as_str()).collect();
    /// assert_eq!(
    ///     names,
    ///     ["step_count", "tool_call_count", "cost_tokens", "latency_ms", "no_loops", "task_pass_rate"]
    /// );
    /// ```
    pub fn without_file(overrides: &Overrides) -> Result<Self, PolicyError> {
        overrides.check()?;
        let nothing = Overrides::default();
        let policy = legacy::migrate(
            PolicySource::Defaults,
            PolicyVersion::OLD,
            &nothing,
            overrides,
            Vec::new(),
        )?;
        policy.refuse_impossible_rates()?;
        Ok(policy)
    }

    /// The same demands for one run that is there already: `assert` (gate, section 5).
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
}
