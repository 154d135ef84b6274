//! Files of version 1, and gates without a file, as metrics (gate-contract, section 4).

use super::fields::{PolicyField, PolicyFields};
use super::overrides::{BOUNDED_NUMBERS, Bound, OLD_CHECKS, added, as_number};
use super::rules::{Check, Invariant, Measured, Rule, Statistical, Tolerance};
use super::yaml::YamlValue;
use super::{
    ExpectedStatus, Overrides, Policy, PolicyError, PolicyErrorCode as Code, PolicySource, PolicyVersion,
    PolicyWarning, document,
};
use crate::Direction;
use crate::statistics::{Aggregate, RateTarget};

const KEYS: &[&str] = &[
    "trials",
    "confidence_level",
    "pass_rate_threshold",
    "max_steps",
    "step_tolerance",
    "max_tool_calls",
    "tool_call_tolerance",
    "max_cost_tokens",
    "cost_tolerance",
    "max_duration_ms",
    "duration_tolerance",
    "no_new_tools",
    "no_loops",
    "no_guardrails",
    "expect_status",
    "ignored_checks",
];

const DEFAULT_TOLERANCE: f64 = 0.5;
const DEFAULT_CONFIDENCE: f64 = 0.95;
const DEFAULT_PASS_RATE: f64 = 0.9;

/// What a file of version 1 says, and what its user should know.
pub(super) fn read(root: &PolicyFields<'_>) -> Result<(Overrides, Vec<PolicyWarning>), PolicyError> {
    if let Some(metrics) = root.get("metrics")
        && !matches!(&metrics.node.value, YamlValue::Mapping(entries) if entries.is_empty())
    {
        return Err(metrics
            .error(
                Code::VersionMissing,
                "would be ignored: the file does not say `version: 2`",
            )
            .hint("write `version: 2` on the first line"));
    }
    let mut unknown: Vec<String> = root
        .entries()
        .iter()
        .map(|entry| entry.key.clone())
        .filter(|key| !["version", "assert", "metrics"].contains(&key.as_str()))
        .collect();
    let file = match root.get("assert") {
        // Anything else in its place was taken for an empty mapping.
        Some(field) if matches!(field.node.value, YamlValue::Mapping(_)) => {
            let fields = PolicyFields::of(field.node, &field.path, Code::NotMapping)?;
            let keys = fields.entries().iter().map(|entry| entry.key.clone());
            unknown.extend(keys.filter(|key| !KEYS.contains(&key.as_str())));
            stated(&fields)?
        }
        _ => Overrides::default(),
    };
    let mut warnings = vec![PolicyWarning::OldFormat];
    if !unknown.is_empty() {
        warnings.push(PolicyWarning::UnknownKeys(unknown));
    }
    Ok((file, warnings))
}

fn stated(fields: &PolicyFields<'_>) -> Result<Overrides, PolicyError> {
    let bound = |max, tolerance| -> Result<Bound, PolicyError> {
        Ok(Bound {
            max: fields.some(max).map(|field| maximum(&field)).transpose()?,
            tolerance: fields
                .some(tolerance)
                .map(|field| field.not_negative())
                .transpose()?,
        })
    };
    let switch = |key| fields.some(key).map_or(Ok(false), |field| field.boolean());
    Ok(Overrides {
        trials: fields
            .some("trials")
            .map(|field| field.count(Code::TrialsInvalid))
            .transpose()?,
        confidence_level: fields
            .some("confidence_level")
            .map(|field| field.open_fraction())
            .transpose()?,
        pass_rate_threshold: fields
            .some("pass_rate_threshold")
            .map(|field| field.closed_fraction())
            .transpose()?,
        steps: bound("max_steps", "step_tolerance")?,
        tool_calls: bound("max_tool_calls", "tool_call_tolerance")?,
        cost_tokens: bound("max_cost_tokens", "cost_tolerance")?,
        duration_ms: bound("max_duration_ms", "duration_tolerance")?,
        no_new_tools: switch("no_new_tools")?,
        no_loops: switch("no_loops")?,
        no_guardrails: switch("no_guardrails")?,
        expect_status: fields
            .some("expect_status")
            .map(|field| expected_status(&field))
            .transpose()?,
        ignored_checks: fields
            .some("ignored_checks")
            .map_or(Ok(Vec::new()), |field| ignored_checks(&field))?,
        ..Overrides::default()
    })
}

fn maximum(field: &PolicyField<'_>) -> Result<u64, PolicyError> {
    match field.node.value {
        YamlValue::Integer(value) => {
            u64::try_from(value).map_err(|_| field.error(Code::NegativeValue, "must not be negative"))
        }
        _ => Err(field.error(Code::NotAllowed, "must be a whole number, zero or more")),
    }
}

fn expected_status(field: &PolicyField<'_>) -> Result<ExpectedStatus, PolicyError> {
    field.word(
        &[("ok", ExpectedStatus::Ok), ("error", ExpectedStatus::Error)],
        Code::NotAllowed,
    )
}

fn ignored_checks(field: &PolicyField<'_>) -> Result<Vec<String>, PolicyError> {
    let checks = field.texts()?;
    match checks
        .iter()
        .find(|check| !OLD_CHECKS.iter().any(|(old, _)| old == check))
    {
        None => Ok(checks),
        Some(unknown) => {
            let names: Vec<_> = OLD_CHECKS.iter().map(|(old, _)| *old).collect();
            Err(field
                .error(
                    Code::UnknownCheck,
                    format!("names `{unknown}`, which is no check"),
                )
                .hint(format!("the checks are {}", names.join(", "))))
        }
    }
}

/// The metrics that the file and the command line state together.
pub(super) fn migrate(
    source: PolicySource,
    version: PolicyVersion,
    file: &Overrides,
    overrides: &Overrides,
    warnings: Vec<PolicyWarning>,
) -> Result<Policy, PolicyError> {
    let mut policy = document::empty(
        source,
        version,
        file.trials.unwrap_or(document::DEFAULT_TRIALS),
        true,
    );
    overrides.apply_to_trials(&mut policy);
    policy.warnings = warnings;

    for number in BOUNDED_NUMBERS {
        let (stated, over) = ((number.of)(file), (number.of)(overrides));
        policy.checks.push(Check {
            name: number.metric.to_owned(),
            rule: Rule::Measured(Measured {
                direction: Direction::Upper,
                tolerance: Some(Tolerance {
                    relative: Some(over.tolerance.or(stated.tolerance).unwrap_or(DEFAULT_TOLERANCE)),
                    absolute: None,
                }),
                lower_limit: None,
                upper_limit: over.max.or(stated.max).map(as_number),
                aggregate: Aggregate::Median,
            }),
            ignored: false,
            position: None,
        });
    }
    // A switch of the command line cannot turn the file's off.
    let switches = Overrides {
        no_loops: file.no_loops || overrides.no_loops,
        no_guardrails: file.no_guardrails || overrides.no_guardrails,
        no_new_tools: file.no_new_tools || overrides.no_new_tools,
        still_called: overrides.still_called,
        ..Overrides::default()
    };
    policy
        .checks
        .extend(switches.switched_on().into_iter().map(added));
    if let Some(status) = overrides.expect_status.or(file.expect_status) {
        policy.checks.push(added(Invariant::StopConditionReached(
            status == ExpectedStatus::Ok,
        )));
    }
    let threshold = overrides
        .pass_rate_threshold
        .or(file.pass_rate_threshold)
        .unwrap_or(DEFAULT_PASS_RATE);
    policy.checks.push(Check {
        name: "task_pass_rate".to_owned(),
        rule: Rule::Statistical(Statistical {
            target: RateTarget::AtLeast(threshold),
            confidence: overrides
                .confidence_level
                .or(file.confidence_level)
                .unwrap_or(DEFAULT_CONFIDENCE),
            mode: None,
        }),
        ignored: false,
        position: None,
    });

    // A file may name checks that it does not enable; an option that changes nothing is refused.
    let in_file = file.ignored_checks.iter().filter(|check| {
        OLD_CHECKS
            .iter()
            .any(|(old, metric)| old == check && policy.check(metric).is_some())
    });
    let in_file = Overrides {
        ignored_checks: in_file.cloned().collect(),
        ..Overrides::default()
    };
    in_file.ignore_checks(&mut policy)?;
    overrides.ignore_checks(&mut policy)?;
    Ok(policy)
}
