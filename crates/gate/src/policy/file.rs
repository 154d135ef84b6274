//! Grammar of policy files as `serde` types, and the rules that they state.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::time::Duration;

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::metrics::{RATE, keys_of, kinds_of};
use super::rules::{Distributional, Invariant, Measured, Rule, Statistical, Tolerance};
use super::{Aggregate, OnInconclusive, OnReplayMiss, PolicyMistake, ToolGlobs};
use crate::statistics::IntervalMethod;
use crate::{AllowedRange, CheckKind, CheckMode, Direction};

/// A policy of version 2: the checks of a gate.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a mapping")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(super) struct PolicyFile {
    /// Version of the grammar.
    #[serde(rename = "version")]
    #[cfg_attr(feature = "schema", schemars(schema_with = "schema::version"))]
    _version: IgnoredAny,
    /// Number of runs of the agent.
    #[serde(default = "default_trials")]
    pub(super) trials: NonZeroU32,
    /// Stop as soon as the verdict is certain.
    #[serde(default = "yes")]
    pub(super) fail_fast: bool,
    /// Exit code of an INCONCLUSIVE gate: 0 or 1.
    #[serde(default)]
    pub(super) inconclusive: OnInconclusive,
    /// Interval of statistical and distributional checks.
    #[serde(default)]
    pub(super) decision: IntervalMethod,
    /// Trials at a time.
    #[serde(default = "one")]
    pub(super) jobs: NonZeroU32,
    /// Maximum duration of a trial in seconds.
    #[serde(default = "default_timeout")]
    #[cfg_attr(feature = "schema", schemars(extend("exclusiveMinimum" = 0)))]
    timeout_s: f64,
    /// Verdict of a trial against a cassette that asked what is not in it.
    #[serde(default)]
    pub(super) replay_miss: OnReplayMiss,
    /// Age from which the report warns of a cassette: hours, days or weeks, as in 90d.
    #[cfg_attr(feature = "schema", schemars(regex(pattern = "^[0-9]+[hdw]$")))]
    cassette_max_age: Option<String>,
    /// Invariants that only `task_pass_rate` judges: a trial may break them.
    #[serde(default)]
    pub(super) judged_by_rate: Vec<String>,
    /// The checks by the name of their metric.
    #[cfg_attr(feature = "schema", schemars(schema_with = "schema::metrics"))]
    pub(super) metrics: BTreeMap<String, Demand>,
}

/// The keys of a metric, of every kind.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a mapping")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(super) struct Demand {
    /// Kind of the check.
    kind: Option<CheckKind>,
    /// `false` requires the opposite: the run does not end `ok`.
    require: Option<bool>,
    /// Tools that no trial may call.
    #[cfg_attr(feature = "schema", schemars(inner(length(min = 1))))]
    none_of: Option<Vec<String>>,
    /// Tools that every trial must call.
    #[cfg_attr(feature = "schema", schemars(inner(length(min = 1))))]
    all_of: Option<Vec<String>>,
    /// Repeated shapes of calls count too, whatever their arguments: a loop warning is enough.
    shape: Option<bool>,
    /// Tools that the check ignores; `*` is any text, `?` any one character.
    #[cfg_attr(feature = "schema", schemars(inner(length(min = 1))))]
    allow: Option<Vec<String>>,
    /// Which way is worse.
    direction: Option<Direction>,
    /// Allowed distance from the baseline.
    tolerance: Option<Tolerance>,
    /// Bound independent of the baseline; for `both` its ends.
    limit: Option<Bound>,
    /// Number computed from the trials, and from the baseline.
    aggregate: Option<Aggregate>,
    /// Share of trials that must stay within the baseline's most extreme value.
    #[cfg_attr(feature = "schema", schemars(extend("exclusiveMinimum" = 0, "exclusiveMaximum" = 1)))]
    coverage: Option<f64>,
    /// Confidence of the verdict.
    #[cfg_attr(feature = "schema", schemars(extend("exclusiveMinimum" = 0, "exclusiveMaximum" = 1)))]
    confidence: Option<f64>,
    /// `report_only` never decides the verdict; left out, the check gates where it can pass.
    mode: Option<CheckMode>,
    /// Required share of successful trials; for `both` its ends.
    threshold: Option<Bound>,
    /// Condition of a successful trial.
    #[serde(rename = "success_predicate")]
    _success_predicate: Option<SuccessPredicate>,
}

/// One bound, or both.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(untagged, expecting = "must be a number, or a mapping of lower and upper")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
enum Bound {
    One(f64),
    Both(Ends),
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct Ends {
    lower: f64,
    upper: f64,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
enum SuccessPredicate {
    AllInvariantsPassed,
}

const fn default_trials() -> NonZeroU32 {
    NonZeroU32::MIN.saturating_add(2)
}

const fn one() -> NonZeroU32 {
    NonZeroU32::MIN
}

const fn yes() -> bool {
    true
}

const fn default_timeout() -> f64 {
    600.0
}

type Read<T> = Result<T, PolicyMistake>;

fn wrong<T>(key: &str, message: &str) -> Read<T> {
    Err(PolicyMistake::new(&[key], message))
}

impl PolicyFile {
    pub(super) fn timeout(&self) -> Read<Duration> {
        match Duration::try_from_secs_f64(self.timeout_s) {
            Ok(timeout) if !timeout.is_zero() => Ok(timeout),
            _ => wrong("timeout_s", "must be a number of seconds, more than 0"),
        }
    }

    pub(super) fn cassette_max_age(&self) -> Read<Option<Duration>> {
        let Some(text) = &self.cassette_max_age else {
            return Ok(None);
        };
        match age(text) {
            Some(age) => Ok(Some(age)),
            None => wrong(
                "cassette_max_age",
                "must be a number of hours, days or weeks, as in 36h, 90d or 12w",
            ),
        }
    }
}

/// A whole number of hours, days or weeks, at most a thousand years: `90d`.
fn age(text: &str) -> Option<Duration> {
    const LONGEST: u64 = 1000 * 366 * 24 * 3600;
    let unit = match text.bytes().last()? {
        b'h' => 3600,
        b'd' => 24 * 3600,
        b'w' => 7 * 24 * 3600,
        _ => return None,
    };
    let number = text.get(..text.len() - 1)?;
    if !number.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let seconds = number.parse::<u64>().ok()?.checked_mul(unit)?;
    (1..=LONGEST)
        .contains(&seconds)
        .then(|| Duration::from_secs(seconds))
}

impl Demand {
    /// The rule that the metric `name` states with the keys `given`.
    pub(super) fn rule(self, name: &str, given: &[&str]) -> Read<Rule> {
        let kinds = kinds_of(name);
        let kind = match (self.kind, kinds) {
            (Some(kind), _) if !kinds.contains(&kind) => {
                let names: Vec<&str> = kinds.iter().map(|kind| kind.as_str()).collect();
                return wrong("kind", &format!("must be {} for this metric", names.join(" or ")));
            }
            (Some(kind), _) | (None, &[kind]) => kind,
            (None, _) => return Err(PolicyMistake::new(&[], "needs kind: measured or distributional")),
        };
        let (required, optional) = keys_of(name, kind);
        let is_own = |key: &&str| *key == "kind" || required.contains(key) || optional.contains(key);
        if let Some(key) = given.iter().find(|key| !is_own(key)) {
            let hint = format!("its keys are {}", [required, optional].concat().join(", "));
            return wrong(key, &format!("means nothing for {name}")).map_err(|mistake| mistake.hint(hint));
        }
        if let Some(key) = required.iter().find(|key| !given.contains(key)) {
            return Err(PolicyMistake::new(&[], format!("needs {key}")));
        }
        Ok(match kind {
            CheckKind::Invariant => Rule::Invariant(self.invariant(name)?),
            CheckKind::Measured => Rule::Measured(self.measured()?),
            CheckKind::Distributional => Rule::Distributional(Distributional {
                direction: match self.direction()? {
                    Direction::Both => return wrong("direction", "must be upper or lower for this kind"),
                    direction => direction,
                },
                coverage: share("coverage", self.coverage)?,
                confidence: share("confidence", self.confidence)?,
                mode: self.mode,
            }),
            CheckKind::Statistical => Rule::Statistical(self.statistical()?),
        })
    }

    fn invariant(self, name: &str) -> Read<Invariant> {
        if self.require == Some(false) && name != "stop_condition_reached" {
            let mistake = wrong("require", &format!("cannot be false: {name} has no opposite"));
            return mistake.map_err(|mistake| mistake.hint(format!("leave {name} out to allow it")));
        }
        let allow = ToolGlobs::new(tools("allow", self.allow)?);
        Ok(match name {
            "forbidden_tools" => Invariant::ForbiddenTools(tools("none_of", self.none_of)?),
            "required_tools" => Invariant::RequiredTools(tools("all_of", self.all_of)?),
            "no_new_tools" => Invariant::KnownTools { allow },
            "still_called" => Invariant::StillCalled { allow },
            "no_loops" => Invariant::NoLoops {
                shape: self.shape.unwrap_or(false),
            },
            "no_guardrails" => Invariant::NoGuardrails,
            _ => Invariant::StopConditionReached(self.require.unwrap_or(true)),
        })
    }

    fn direction(&self) -> Read<Direction> {
        self.direction
            .ok_or_else(|| PolicyMistake::new(&["direction"], "must be one of upper, lower, both"))
    }

    fn measured(self) -> Read<Measured> {
        let direction = self.direction()?;
        if self.tolerance.is_none() && self.limit.is_none() {
            return Err(PolicyMistake::new(&[], "needs a tolerance or a limit"));
        }
        if let Some(tolerance) = &self.tolerance {
            let parts = [tolerance.relative, tolerance.absolute];
            if parts == [None, None] {
                return wrong("tolerance", "needs relative, absolute, or both");
            }
            if !parts
                .iter()
                .flatten()
                .all(|part| part.is_finite() && *part >= 0.0)
            {
                return wrong("tolerance", "must hold numbers that are not negative");
            }
        }
        let aggregate = self.aggregate.unwrap_or(Aggregate::Median);
        if aggregate != Aggregate::Median && direction != Direction::Upper {
            return wrong("aggregate", "must be median unless the direction is upper");
        }
        let limit = self
            .limit
            .map(|limit| ends("limit", limit, direction, f64::is_finite, "must be finite"));
        Ok(Measured {
            direction,
            tolerance: self.tolerance,
            limit: limit.transpose()?.unwrap_or_default(),
            aggregate,
        })
    }

    fn statistical(self) -> Read<Statistical> {
        let direction = self.direction()?;
        let Some(threshold) = self.threshold else {
            return Err(PolicyMistake::new(&[], "needs threshold"));
        };
        let is_share = |number| (0.0..=1.0).contains(&number);
        Ok(Statistical {
            allowed: ends(
                "threshold",
                threshold,
                direction,
                is_share,
                "must be between 0 and 1",
            )?,
            confidence: share("confidence", self.confidence)?,
            mode: self.mode,
        })
    }
}

/// The lower and the upper bound of a direction.
fn ends(
    key: &str,
    bound: Bound,
    direction: Direction,
    is_allowed: fn(f64) -> bool,
    message: &str,
) -> Read<AllowedRange> {
    let range = match (bound, direction) {
        (Bound::One(number), Direction::Upper) => AllowedRange::at_most(number),
        (Bound::One(number), Direction::Lower) => AllowedRange::at_least(number),
        (Bound::Both(Ends { lower, upper }), Direction::Both) => AllowedRange::within(lower, upper),
        (_, Direction::Both) => return wrong(key, "must be a mapping of lower and upper for this direction"),
        _ => return wrong(key, "must be a number for this direction"),
    };
    if ![range.lower, range.upper].into_iter().flatten().all(is_allowed) {
        return wrong(key, message);
    }
    if range
        .lower
        .zip(range.upper)
        .is_some_and(|(lower, upper)| lower > upper)
    {
        return wrong(key, "has a lower end above its upper one");
    }
    Ok(range)
}

/// A share between 0 and 1, ends not included; 0.95 by default.
fn share(key: &str, number: Option<f64>) -> Read<f64> {
    match number.unwrap_or(0.95) {
        share if share > 0.0 && share < 1.0 => Ok(share),
        _ => wrong(key, "must be more than 0 and less than 1"),
    }
}

fn tools(key: &str, names: Option<Vec<String>>) -> Read<Vec<String>> {
    let names = names.unwrap_or_default();
    if names.iter().any(String::is_empty) {
        return wrong(key, "must be a list of texts that are not empty");
    }
    Ok(names)
}

/// Refuses invariants under `judged_by_rate` that no rate would judge.
pub(super) fn check_judged_by_rate(names: &[String], checks: &[super::Check]) -> Read<()> {
    const KEY: &str = "judged_by_rate";
    let is_invariant = |name: &String| {
        let mut checks = checks.iter().filter(|check| check.name == *name);
        checks.any(|check| matches!(check.rule, Rule::Invariant(_)))
    };
    if let Some(name) = names.iter().find(|name| !is_invariant(name)) {
        return wrong(
            KEY,
            &format!("names `{name}`, which is no invariant of this policy"),
        );
    }
    if !names.is_empty() && !checks.iter().any(|check| check.name == RATE) {
        let mistake = wrong(
            KEY,
            "needs the metric task_pass_rate, which would judge these invariants",
        );
        return mistake.map_err(|mistake| mistake.hint("add task_pass_rate under metrics"));
    }
    Ok(())
}

#[cfg(feature = "schema")]
mod schema {
    use std::borrow::Cow;

    use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
    use serde_json::{Map, Value, json};

    use super::{Demand, PolicyFile};
    use crate::CheckKind as Kind;
    use crate::policy::Policy;
    use crate::policy::metrics::{INVARIANTS, RATE, keys_of, kinds_of};
    use tracer_insight::profile::METRICS;

    /// The schema is for editors: it leaves to the reader what depends on several keys at once.
    impl JsonSchema for Policy {
        fn schema_name() -> Cow<'static, str> {
            "Policy".into()
        }

        fn json_schema(generator: &mut SchemaGenerator) -> Schema {
            PolicyFile::json_schema(generator)
        }
    }

    pub(super) fn version(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"enum": [2, 2.1, "2", "2.0", "2.1"]})
    }

    /// The mapping of metrics, by the tables above.
    pub(super) fn metrics(generator: &mut SchemaGenerator) -> Schema {
        let keys = Demand::json_schema(generator);
        let keys = keys.get("properties").and_then(Value::as_object);
        let keys = keys.cloned().unwrap_or_default();
        let number = metric("tool_calls.x", &keys);
        generator.definitions_mut().insert("Number".to_owned(), number);
        let number = json!({"$ref": "#/$defs/Number"});
        let numbers = METRICS
            .iter()
            .map(|metric| (metric.name.to_owned(), number.clone()));
        let others = INVARIANTS.iter().copied().chain([RATE]);
        let others = others.map(|name| (name.to_owned(), metric(name, &keys)));
        let properties: Map<String, Value> = others.chain(numbers).collect();
        json_schema!({
            "type": "object",
            "properties": properties,
            "patternProperties": {"^tool_calls\\..": number},
            "additionalProperties": false,
        })
    }

    fn metric(name: &str, keys: &Map<String, Value>) -> Value {
        let kinds = kinds_of(name);
        let of_kind = |kind: &Kind| {
            let (required, optional) = keys_of(name, *kind);
            let own = required.iter().chain(optional);
            let mut properties: Map<String, Value> = own
                .filter_map(|key| Some(((*key).to_owned(), keys.get(*key)?.clone())))
                .collect();
            properties.insert("kind".to_owned(), json!({"const": kind}));
            let mut required = required.to_vec();
            if kinds.len() > 1 {
                required.push("kind");
            }
            json!({
                "type": "object", "properties": properties, "required": required, "additionalProperties": false,
            })
        };
        match kinds {
            [kind] => of_kind(kind),
            _ => json!({"oneOf": kinds.iter().map(of_kind).collect::<Vec<_>>()}),
        }
    }
}
