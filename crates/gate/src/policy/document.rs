//! Policies of version 2: their keys, the extension `x_tracer`, and rates that no verdict can reach.

use std::time::Duration;

use super::fields::{PolicyField, PolicyFields};
use super::metrics::{self, MetricNames};
use super::yaml::YamlEntry;
use super::{
    Check, Invariant, OnInconclusive, OnReplayMiss, Policy, PolicyError, PolicyErrorCode as Code,
    PolicySource, PolicyVersion, Rule, ToolGlobs,
};
use crate::CheckMode;
use crate::statistics::{IntervalMethod, minimum_trials};

const KEYS: &[&str] = &["version", "trials", "fail_fast", "metrics", "x_tracer"];
/// Trials of a policy that names no number.
pub(super) const DEFAULT_TRIALS: u32 = 3;

/// The policy that a file of version 2 states.
pub(super) fn read(root: &PolicyFields<'_>, version: PolicyVersion) -> Result<Policy, PolicyError> {
    root.only(KEYS)?;
    let trials = match root.get("trials") {
        Some(trials) => trials.count(Code::TrialsInvalid)?,
        None => DEFAULT_TRIALS,
    };
    let fail_fast = match root.get("fail_fast") {
        Some(fail_fast) => fail_fast.boolean()?,
        None => true,
    };
    let metrics = root.get("metrics").ok_or_else(|| {
        PolicyError::new(Code::MetricsNotMapping, "metrics", "is missing").at(root.position)
    })?;
    let checks = metrics::read(&metrics, version, MetricNames::Contract, Code::MetricsNotMapping)?;

    let mut policy = empty(PolicySource::V2, version, trials, fail_fast);
    policy.checks = checks;
    if let Some(ours) = root.get("x_tracer") {
        read_extension(&ours, &mut policy)?;
    }
    Ok(policy)
}

/// A policy that demands nothing, with the default of everything else.
pub(super) fn empty(source: PolicySource, version: PolicyVersion, trials: u32, fail_fast: bool) -> Policy {
    Policy {
        version,
        source,
        trials,
        fail_fast,
        checks: Vec::new(),
        on_inconclusive: super::OnInconclusive::default(),
        decision: super::IntervalMethod::default(),
        jobs: 1,
        timeout: DEFAULT_TIMEOUT,
        on_replay_miss: OnReplayMiss::default(),
        cassette_max_age: None,
        judged_by_rate: Vec::new(),
        warnings: Vec::new(),
    }
}

const DEFAULT_TIMEOUT: Duration = Duration::from_secs(600);

const EXTENSION_KEYS: &[&str] = &[
    "inconclusive",
    "decision",
    "jobs",
    "timeout_s",
    "replay_miss",
    "cassette_max_age",
    "metrics",
    "checks",
    "judged_by_rate",
];

type Make = fn(ToolGlobs) -> Invariant;

/// The checks that only this gate has, and what each demands of the tools but those that `allow` names.
const CHECKS: [(&str, Make); 2] = [
    ("no_new_tools", |allow| Invariant::KnownTools { allow }),
    ("still_called", |allow| Invariant::StillCalled { allow }),
];

/// Takes over what `x_tracer` says.
fn read_extension(ours: &PolicyField<'_>, policy: &mut Policy) -> Result<(), PolicyError> {
    let fields = PolicyFields::of(ours.node, &ours.path, Code::NotMapping)?;
    fields.only(EXTENSION_KEYS)?;
    if let Some(field) = fields.get("inconclusive") {
        let words = [("pass", OnInconclusive::Pass), ("fail", OnInconclusive::Fail)];
        policy.on_inconclusive = field.word(&words, Code::NotAllowed)?;
    }
    if let Some(field) = fields.get("decision") {
        let words = IntervalMethod::ALL.map(|method| (method.as_str(), method));
        policy.decision = field.word(&words, Code::NotAllowed)?;
    }
    if let Some(field) = fields.get("jobs") {
        policy.jobs = field.count(Code::NotAllowed)?;
    }
    if let Some(field) = fields.get("timeout_s") {
        policy.timeout = timeout(&field)?;
    }
    if let Some(field) = fields.get("replay_miss") {
        let words = [
            ("inconclusive", OnReplayMiss::Inconclusive),
            ("fail", OnReplayMiss::Fail),
        ];
        policy.on_replay_miss = field.word(&words, Code::NotAllowed)?;
    }
    if let Some(field) = fields.get("cassette_max_age") {
        policy.cassette_max_age = Some(age(&field)?);
    }
    if let Some(field) = fields.get("metrics") {
        let more = metrics::read(&field, policy.version, MetricNames::Tracer, Code::NotMapping)?;
        policy.checks.extend(more);
    }
    if let Some(field) = fields.get("checks") {
        policy.checks.extend(checks(&field)?);
    }
    if let Some(field) = fields.get("judged_by_rate") {
        policy.judged_by_rate = judged_by_rate(&field, policy)?;
    }
    Ok(())
}

fn checks(field: &PolicyField<'_>) -> Result<Vec<Check>, PolicyError> {
    let fields = PolicyFields::of(field.node, &field.path, Code::NotMapping)?;
    let check = |entry: &YamlEntry| {
        let path = fields.path_of(&entry.key);
        let Some((_, invariant)) = CHECKS.iter().find(|(name, _)| *name == entry.key) else {
            let names: Vec<_> = CHECKS.iter().map(|(name, _)| *name).collect();
            return Err(
                PolicyError::new(Code::UnknownMetric, path, "is not a check of x_tracer")
                    .at(entry.position)
                    .hint(format!("these are {}", names.join(", "))),
            );
        };
        let fields = PolicyFields::of(&entry.value, path, Code::NotMapping)?;
        fields.only(&["allow"])?;
        let allow = fields.get("allow").map(|field| field.texts()).transpose()?;
        Ok(Check {
            name: entry.key.clone(),
            rule: Rule::Invariant(invariant(ToolGlobs::new(allow.unwrap_or_default()))),
            ignored: false,
            position: entry.position,
        })
    };
    fields.entries().iter().map(check).collect()
}

fn timeout(field: &PolicyField<'_>) -> Result<Duration, PolicyError> {
    Duration::try_from_secs_f64(field.finite()?)
        .ok()
        .filter(|timeout| !timeout.is_zero())
        .ok_or_else(|| field.error(Code::NotAllowed, "must be a number of seconds, more than 0"))
}

/// A whole number of hours, days or weeks: `90d`.
fn age(field: &PolicyField<'_>) -> Result<Duration, PolicyError> {
    let units = [('h', 3600), ('d', 24 * 3600), ('w', 7 * 24 * 3600)];
    let seconds = field.text().and_then(|text| {
        let (_, seconds) = units.iter().find(|(unit, _)| text.ends_with(*unit))?;
        let number = text.get(..text.len() - 1)?;
        let number: u64 = number
            .bytes()
            .all(|byte| byte.is_ascii_digit())
            .then(|| number.parse().ok())??;
        number
            .checked_mul(*seconds)
            .filter(|seconds| (1..=MAX_AGE_SECONDS).contains(seconds))
    });
    seconds.map(Duration::from_secs).ok_or_else(|| {
        field.error(
            Code::NotAllowed,
            "must be a number of hours, days or weeks, as in 36h, 90d or 12w",
        )
    })
}

/// A thousand years: more than any file's age.
const MAX_AGE_SECONDS: u64 = 1000 * 366 * 24 * 3600;

/// The invariants that a rate judges; without the rate they would be judged by nobody.
fn judged_by_rate(field: &PolicyField<'_>, policy: &Policy) -> Result<Vec<String>, PolicyError> {
    let names = field.texts()?;
    for name in &names {
        if !matches!(
            policy.check(name).map(|check| &check.rule),
            Some(Rule::Invariant(_))
        ) {
            return Err(field.error(
                Code::TouchesNothing,
                format!("names `{name}`, which is no invariant of this policy"),
            ));
        }
    }
    if !names.is_empty() && policy.check("task_pass_rate").is_none() {
        return Err(field
            .error(
                Code::TouchesNothing,
                "needs the metric task_pass_rate, which would judge these invariants",
            )
            .hint("add task_pass_rate under metrics"));
    }
    Ok(names)
}

impl Policy {
    /// Refuses a rate that cannot be shown; one that is only reported may be any.
    pub(super) fn refuse_impossible_rates(&self) -> Result<(), PolicyError> {
        for check in &self.checks {
            let Rule::Statistical(rate) = &check.rule else {
                continue;
            };
            let reported = check.ignored || rate.mode == Some(CheckMode::ReportOnly);
            if !reported && minimum_trials(self.decision, rate.target, rate.confidence).is_none() {
                let message = "demands a rate that no number of trials that anybody makes can show";
                let path = format!("metrics.{}.threshold", check.name);
                return Err(PolicyError::new(Code::ThresholdUnreachable, path, message)
                    .at(check.position)
                    .hint("demand less than certainty, or a wider range, or set mode: report_only"));
            }
        }
        Ok(())
    }
}
