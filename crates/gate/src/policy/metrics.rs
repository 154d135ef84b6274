//! The metrics of a file: their names, and what each kind can say (gate-contract, sections 3.1 to 3.5).

use super::fields::{PolicyField, PolicyFields};
use super::rules::{Check, Distributional, Invariant, Measured, Rule, Statistical, Tolerance};
use super::yaml::YamlEntry;
use super::{PolicyError, PolicyErrorCode as Code, PolicyVersion};
use crate::statistics::{Aggregate, RateTarget};
use crate::{CheckKind as Kind, CheckMode, Direction};

/// Which names a mapping of metrics can have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MetricNames {
    /// Those of the contract, under `metrics`.
    Contract,
    /// Those that only this gate has, under `x_tracer.metrics`.
    Tracer,
}

const NO_LOOPS: &str = "no_loops";
const INVARIANTS: &[&str] = &[
    "stop_condition_reached",
    "forbidden_tools",
    "required_tools",
    NO_LOOPS,
    "no_guardrails",
];
const NUMBERS: &[&str] = &["step_count", "tool_call_count", "cost_tokens", "latency_ms"];
const MORE_NUMBERS: &[&str] = &[
    "llm_call_count",
    "error_count",
    "failed_call_count",
    "not_run_call_count",
    "loop_warning_count",
    "cost_usd",
];
const RATE: &str = "task_pass_rate";
const CALLS_OF_ONE_TOOL: &str = "tool_calls.";

const INVARIANT_KEYS: &[&str] = &["kind", "require", "none_of", "all_of", "shape"];
const MEASURED_KEYS: &[&str] = &["kind", "direction", "tolerance", "limit", "aggregate"];
const DISTRIBUTIONAL_KEYS: &[&str] = &["kind", "direction", "coverage", "confidence", "mode"];
const STATISTICAL_KEYS: &[&str] = &[
    "kind",
    "direction",
    "threshold",
    "confidence",
    "mode",
    "success_predicate",
];

const DEFAULT_FRACTION: f64 = 0.95;

/// The metrics of a mapping, in its order.
pub(super) fn read(
    mapping: &PolicyField<'_>,
    version: PolicyVersion,
    names: MetricNames,
    otherwise: Code,
) -> Result<Vec<Check>, PolicyError> {
    let fields = PolicyFields::of(mapping.node, &mapping.path, otherwise)?;
    let check_of = |entry: &YamlEntry| {
        let path = fields.path_of(&entry.key);
        check(entry, kinds_of(entry, version, names, &path)?, &path)
    };
    fields.entries().iter().map(check_of).collect()
}

/// The kinds that a metric can have, or why there is no such metric here.
fn kinds_of(
    entry: &YamlEntry,
    version: PolicyVersion,
    names: MetricNames,
    path: &str,
) -> Result<&'static [Kind], PolicyError> {
    const NUMERIC: &[Kind] = &[Kind::Measured, Kind::Distributional];
    let name = entry.key.as_str();
    let ours = MORE_NUMBERS.contains(&name)
        || name
            .strip_prefix(CALLS_OF_ONE_TOOL)
            .is_some_and(|tool| !tool.is_empty());
    let wrong = |code, message: &str| PolicyError::new(code, path, message).at(entry.position);
    match names {
        MetricNames::Contract if INVARIANTS.contains(&name) => Ok(&[Kind::Invariant]),
        MetricNames::Contract if NUMBERS.contains(&name) => Ok(NUMERIC),
        MetricNames::Contract if name == RATE => Ok(&[Kind::Statistical]),
        MetricNames::Tracer if ours => Ok(NUMERIC),
        MetricNames::Contract if name.starts_with("plan_") => Err(if version.minor == 0 {
            wrong(
                Code::MetricNeedsMinorOne,
                "is a plan metric: it needs version 2.1, and this gate has none",
            )
        } else {
            wrong(
                Code::PlanMetricUnsupported,
                "is a plan metric: this gate has none",
            )
        }),
        MetricNames::Contract if ours => Err(wrong(Code::UnknownMetric, "is not a metric of the contract")
            .hint(format!("state it under x_tracer: x_tracer.metrics.{name}"))),
        MetricNames::Contract => Err(wrong(Code::UnknownMetric, "is not a metric").hint(format!(
            "the metrics are {}, {}, {RATE}",
            INVARIANTS.join(", "),
            NUMBERS.join(", ")
        ))),
        MetricNames::Tracer => Err(
            wrong(Code::UnknownMetric, "is not a metric of x_tracer").hint(format!(
                "these are {}, {CALLS_OF_ONE_TOOL}<tool>",
                MORE_NUMBERS.join(", ")
            )),
        ),
    }
}

fn check(entry: &YamlEntry, allowed: &[Kind], path: &str) -> Result<Check, PolicyError> {
    let fields = PolicyFields::of(&entry.value, path, Code::NotMapping)?;
    // What only this gate has says of itself that it is one.
    let is_shape = fields.get("shape").is_some() && fields.get("kind").is_none();
    if is_shape && entry.key == NO_LOOPS {
        return Ok(Check {
            name: entry.key.clone(),
            rule: Rule::Invariant(invariant(&entry.key, &fields)?),
            ignored: false,
            position: entry.position,
        });
    }
    let kind = fields
        .get("kind")
        .ok_or_else(|| fields.error(Code::KindInvalid, "needs a kind"))?;
    let path_of_kind = kind.path.clone();
    let position = kind.node.position;
    let kind = kind.word(&Kind::ALL.map(|kind| (kind.as_str(), kind)), Code::KindInvalid)?;
    if !allowed.contains(&kind) {
        let names: Vec<_> = allowed.iter().map(|kind| kind.as_str()).collect();
        let message = format!("must be {} for this metric", names.join(" or "));
        return Err(PolicyError::new(Code::KindNotAllowedForMetric, path_of_kind, message).at(position));
    }
    let rule = match kind {
        Kind::Invariant => Rule::Invariant(invariant(&entry.key, &fields)?),
        Kind::Measured => Rule::Measured(measured(&fields)?),
        Kind::Distributional => Rule::Distributional(distributional(&fields)?),
        Kind::Statistical => Rule::Statistical(statistical(&fields)?),
    };
    Ok(Check {
        name: entry.key.clone(),
        rule,
        ignored: false,
        position: entry.position,
    })
}

fn invariant(name: &str, fields: &PolicyFields<'_>) -> Result<Invariant, PolicyError> {
    fields.only(INVARIANT_KEYS)?;
    let own: &[&str] = match name {
        "forbidden_tools" => &["none_of"],
        "required_tools" => &["all_of"],
        NO_LOOPS => &["require", "shape"],
        _ => &["require"],
    };
    for key in ["require", "none_of", "all_of", "shape"]
        .into_iter()
        .filter(|key| !own.contains(key))
    {
        if let Some(field) = fields.get(key) {
            return Err(field
                .error(Code::KeyDoesNotApply, format!("means nothing for {name}"))
                .hint("remove it"));
        }
    }
    let tools = |key, missing| match fields.get(key) {
        Some(field) => field.texts(),
        None => Err(fields.error(missing, format!("needs {key}: a list of tool names"))),
    };
    let require = fields.get("require");
    let required = require.as_ref().map_or(Ok(true), PolicyField::boolean)?;
    if let Some(field) = require.filter(|_| !required && name != "stop_condition_reached") {
        return Err(field
            .error(
                Code::KeyDoesNotApply,
                format!("cannot be false: {name} has no opposite"),
            )
            .hint(format!("leave {name} out to allow it")));
    }
    Ok(match name {
        "forbidden_tools" => Invariant::ForbiddenTools(tools("none_of", Code::MissingNoneOf)?),
        "required_tools" => Invariant::RequiredTools(tools("all_of", Code::MissingAllOf)?),
        NO_LOOPS => Invariant::NoLoops {
            shape: fields
                .get("shape")
                .as_ref()
                .map_or(Ok(false), PolicyField::boolean)?,
        },
        "no_guardrails" => Invariant::NoGuardrails,
        _ => Invariant::StopConditionReached(required),
    })
}

fn direction(fields: &PolicyFields<'_>) -> Result<Direction, PolicyError> {
    let missing = || {
        let path = fields.path_of("direction");
        PolicyError::new(Code::DirectionInvalid, path, "is missing").at(fields.position)
    };
    let directions = Direction::ALL.map(|direction| (direction.as_str(), direction));
    fields
        .get("direction")
        .ok_or_else(missing)?
        .word(&directions, Code::DirectionInvalid)
}

fn measured(fields: &PolicyFields<'_>) -> Result<Measured, PolicyError> {
    fields.only(MEASURED_KEYS)?;
    let direction = direction(fields)?;
    let tolerance = fields
        .some("tolerance")
        .map(|field| tolerance(&field))
        .transpose()?;
    let limit = fields.some("limit");
    if tolerance.is_none() && limit.is_none() {
        return Err(fields.error(Code::MissingCriterion, "needs a tolerance or a limit"));
    }
    let (lower_limit, upper_limit) = match (&limit, direction) {
        (None, _) => (None, None),
        (Some(limit), Direction::Upper) => (None, Some(limit.finite()?)),
        (Some(limit), Direction::Lower) => (Some(limit.finite()?), None),
        (Some(limit), Direction::Both) => {
            let (lower, upper) = limit.range()?;
            let (lower, upper) = (lower.finite()?, upper.finite()?);
            if lower > upper {
                return Err(limit.error(Code::RangeReversed, "has a lower end above its upper one"));
            }
            (Some(lower), Some(upper))
        }
    };
    let aggregate = match fields.get("aggregate") {
        None => Aggregate::Median,
        Some(field) => {
            let words = Aggregate::ALL.map(|aggregate| (aggregate.as_str(), aggregate));
            let aggregate = field.word(&words, Code::AggregateInvalid)?;
            if aggregate != Aggregate::Median && direction != Direction::Upper {
                return Err(field.error(
                    Code::AggregateNeedsUpper,
                    "must be median unless the direction is upper",
                ));
            }
            aggregate
        }
    };
    Ok(Measured {
        direction,
        tolerance,
        lower_limit,
        upper_limit,
        aggregate,
    })
}

fn tolerance(field: &PolicyField<'_>) -> Result<Tolerance, PolicyError> {
    let fields = PolicyFields::of(field.node, &field.path, Code::NotMapping)?;
    fields.only(&["relative", "absolute"])?;
    let part = |key| fields.get(key).map(|part| part.not_negative()).transpose();
    let tolerance = Tolerance {
        relative: part("relative")?,
        absolute: part("absolute")?,
    };
    if tolerance.relative.is_none() && tolerance.absolute.is_none() {
        return Err(fields.error(Code::EmptyTolerance, "needs relative, absolute, or both"));
    }
    Ok(tolerance)
}

fn distributional(fields: &PolicyFields<'_>) -> Result<Distributional, PolicyError> {
    fields.only(DISTRIBUTIONAL_KEYS)?;
    let direction = direction(fields)?;
    if direction == Direction::Both {
        let message = "cannot have the direction both: it asks for one bound";
        return Err(fields.error(Code::DirectionNotAllowed, message));
    }
    Ok(Distributional {
        direction,
        coverage: fraction(fields, "coverage")?,
        confidence: fraction(fields, "confidence")?,
        mode: mode(fields)?,
    })
}

fn statistical(fields: &PolicyFields<'_>) -> Result<Statistical, PolicyError> {
    fields.only(STATISTICAL_KEYS)?;
    let direction = direction(fields)?;
    let threshold = fields
        .some("threshold")
        .ok_or_else(|| fields.error(Code::MissingThreshold, "needs a threshold"))?;
    let target = match direction {
        Direction::Lower => RateTarget::AtLeast(threshold.closed_fraction()?),
        Direction::Upper => RateTarget::AtMost(threshold.closed_fraction()?),
        Direction::Both => {
            let (lower, upper) = threshold.range()?;
            let (lower, upper) = (lower.closed_fraction()?, upper.closed_fraction()?);
            if lower > upper {
                return Err(threshold.error(Code::RangeReversed, "has a lower end above its upper one"));
            }
            RateTarget::Within { lower, upper }
        }
    };
    if let Some(field) = fields.get("success_predicate") {
        field.word(&[("all_invariants_passed", ())], Code::PredicateUnknown)?;
    }
    Ok(Statistical {
        target,
        confidence: fraction(fields, "confidence")?,
        mode: mode(fields)?,
    })
}

fn fraction(fields: &PolicyFields<'_>, key: &str) -> Result<f64, PolicyError> {
    fields
        .get(key)
        .map_or(Ok(DEFAULT_FRACTION), |field| field.open_fraction())
}

fn mode(fields: &PolicyFields<'_>) -> Result<Option<CheckMode>, PolicyError> {
    let modes = CheckMode::ALL.map(|mode| (mode.as_str(), mode));
    fields
        .some("mode")
        .map(|field| field.word(&modes, Code::NotAllowed))
        .transpose()
}
