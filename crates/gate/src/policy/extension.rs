//! The key `x_tracer`: what this gate has beyond the contract (gate, section 2).

use std::time::Duration;

use super::fields::{Field, Fields};
use super::metrics::{self, Names};
use super::yaml::Entry;
use super::{
    Check, IntervalMethod, Invariant, OnInconclusive, Policy, PolicyError, PolicyErrorCode as Code, Rule,
    ToolGlobs,
};

pub(super) const DEFAULT_TIMEOUT: Duration = Duration::from_secs(600);

const KEYS: &[&str] = &[
    "inconclusive",
    "decision",
    "jobs",
    "timeout_s",
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
pub(super) fn read(ours: &Field<'_>, policy: &mut Policy) -> Result<(), PolicyError> {
    let fields = Fields::of(ours.node, &ours.path, Code::NotMapping)?;
    fields.only(KEYS)?;
    if let Some(field) = fields.get("inconclusive") {
        let words = [("pass", OnInconclusive::Pass), ("fail", OnInconclusive::Fail)];
        policy.on_inconclusive = field.word(&words, Code::NotAllowed)?;
    }
    if let Some(field) = fields.get("decision") {
        let words = [
            ("wilson", IntervalMethod::Wilson),
            ("exact", IntervalMethod::Exact),
        ];
        policy.decision = field.word(&words, Code::NotAllowed)?;
    }
    if let Some(field) = fields.get("jobs") {
        policy.jobs = field.count(Code::NotAllowed)?;
    }
    if let Some(field) = fields.get("timeout_s") {
        policy.timeout = timeout(&field)?;
    }
    if let Some(field) = fields.get("metrics") {
        let more = metrics::read(&field, policy.version, Names::Tracer, Code::NotMapping)?;
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

fn checks(field: &Field<'_>) -> Result<Vec<Check>, PolicyError> {
    let fields = Fields::of(field.node, &field.path, Code::NotMapping)?;
    let check = |entry: &Entry| {
        let path = fields.path_of(&entry.key);
        let Some((_, invariant)) = CHECKS.iter().find(|(name, _)| *name == entry.key) else {
            let names: Vec<_> = CHECKS.iter().map(|(name, _)| *name).collect();
            return Err(
                PolicyError::new(Code::UnknownMetric, path, "is not a check of x_tracer")
                    .at(entry.position)
                    .hint(format!("these are {}", names.join(", "))),
            );
        };
        let fields = Fields::of(&entry.value, path, Code::NotMapping)?;
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

fn timeout(field: &Field<'_>) -> Result<Duration, PolicyError> {
    Duration::try_from_secs_f64(field.finite()?)
        .ok()
        .filter(|timeout| !timeout.is_zero())
        .ok_or_else(|| field.error(Code::NotAllowed, "must be a number of seconds, more than 0"))
}

/// The invariants that a rate judges; without the rate they would be judged by nobody.
fn judged_by_rate(field: &Field<'_>, policy: &Policy) -> Result<Vec<String>, PolicyError> {
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
