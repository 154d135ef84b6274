//! Grammar of policy files as `serde` types, and the rules that they state.

use std::collections::BTreeMap;
use std::mem;
use std::num::NonZeroU32;
use std::time::Duration;

use serde::Deserialize;
use serde::de::{DeserializeOwned, Deserializer, Error as _, IgnoredAny};
use serde_json::Value;
use tracer_insight::profile::{METRICS, Metric};

use super::rules::{Measured, Rule, Statistical, Tolerance, share, usual_share};
use super::yaml::YamlText;
use super::{Aggregate, Check, MAX_MISTAKES, OnInconclusive, OnReplayMiss, PolicyMistake};
use crate::invariants::{self, INVARIANTS, PathError};
use crate::statistics::{IntervalMethod, minimum_trials};
use crate::{AllowedRange, CheckKind, CheckMode, Direction};

/// The rate of successful trials.
pub(super) const RATE: &str = "task_pass_rate";

/// A policy of version 2: the checks of a gate.
///
/// ```
/// use tracer_gate::policy::{OnInconclusive, Overrides, Policy};
///
/// let text = "version: 2\ninconclusive: fail\nmetrics:\n  no_loops: {kind: invariant}\n";
/// let policy = Policy::parse(text, &Overrides::default()).unwrap();
/// assert_eq!(policy.trials, 3);
/// assert!(policy.fail_fast);
/// assert_eq!(policy.on_inconclusive, OnInconclusive::Fail);
/// ```
#[derive(Debug, Clone, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Policy {
    /// Version of the grammar.
    #[serde(rename = "version")]
    #[schemars(schema_with = "schema::version")]
    _version: IgnoredAny,
    /// Number of runs of the agent.
    #[serde(default = "default_trials", deserialize_with = "positive")]
    #[schemars(with = "NonZeroU32")]
    pub trials: u32,
    /// Stop as soon as the verdict is certain.
    #[serde(default = "yes")]
    pub fail_fast: bool,
    /// Exit code of an INCONCLUSIVE gate: 0 or 1.
    #[serde(rename = "inconclusive", default)]
    pub on_inconclusive: OnInconclusive,
    /// Interval of statistical and distributional checks.
    #[serde(default)]
    pub decision: IntervalMethod,
    /// Trials at a time.
    #[serde(default = "one", deserialize_with = "positive")]
    #[schemars(with = "NonZeroU32")]
    pub jobs: u32,
    /// Maximum duration of a trial in seconds.
    #[serde(
        rename = "timeout_s",
        default = "default_timeout",
        deserialize_with = "seconds"
    )]
    #[schemars(with = "f64", default = "schema::timeout", extend("exclusiveMinimum" = 0))]
    pub timeout: Duration,
    /// Verdict of a trial against a cassette that asked what is not in it.
    #[serde(rename = "replay_miss", default)]
    pub on_replay_miss: OnReplayMiss,
    /// Age from which the report warns of a cassette: hours, days or weeks, as in 90d.
    #[serde(default, deserialize_with = "age")]
    #[schemars(with = "Option<String>", regex(pattern = "^[0-9]+[hdw]$"))]
    pub cassette_max_age: Option<Duration>,
    /// Invariants that only `task_pass_rate` judges: a trial may break them.
    #[serde(default)]
    pub judged_by_rate: Vec<String>,
    /// The checks by the name of their metric.
    #[schemars(schema_with = "schema::metrics")]
    metrics: BTreeMap<String, Value>,
    /// The same, read, in the order of the policy.
    #[serde(skip)]
    pub checks: Vec<Check>,
}

/// The keys of a `measured` metric.
#[derive(Debug, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
struct MeasuredKeys {
    /// Which way is worse.
    direction: Direction,
    /// Allowed distance from the baseline.
    tolerance: Option<Tolerance>,
    /// Bound independent of the baseline; for `both` its ends.
    limit: Option<Bound>,
    /// Number computed from the trials, and from the baseline.
    #[serde(default)]
    aggregate: Aggregate,
}

/// The keys of a `statistical` metric.
#[derive(Debug, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
struct StatisticalKeys {
    /// Which way is worse.
    direction: Direction,
    /// Required share of successful trials; for `both` its ends.
    threshold: Bound,
    /// Confidence of the verdict.
    #[serde(default = "usual_share", deserialize_with = "share")]
    #[schemars(extend("exclusiveMinimum" = 0, "exclusiveMaximum" = 1))]
    confidence: f64,
    /// `report_only` never decides the verdict; left out, the check gates where it can pass.
    mode: Option<CheckMode>,
    /// Condition of a successful trial.
    #[serde(rename = "success_predicate")]
    _success_predicate: Option<SuccessPredicate>,
}

/// One bound, or both.
#[derive(Debug, Clone, Copy, Deserialize, schemars::JsonSchema)]
#[serde(untagged, expecting = "must be a number, or a mapping of lower and upper")]
enum Bound {
    One(f64),
    Both(Ends),
}

#[derive(Debug, Clone, Copy, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
struct Ends {
    lower: f64,
    upper: f64,
}

#[derive(Debug, Clone, Copy, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
enum SuccessPredicate {
    AllInvariantsPassed,
}

const fn default_trials() -> u32 {
    3
}

const fn one() -> u32 {
    1
}

const fn yes() -> bool {
    true
}

const fn default_timeout() -> Duration {
    Duration::from_secs(600)
}

fn positive<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    NonZeroU32::deserialize(deserializer).map(NonZeroU32::get)
}

fn seconds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    match Duration::try_from_secs_f64(f64::deserialize(deserializer)?) {
        Ok(time) if !time.is_zero() => Ok(time),
        _ => Err(D::Error::custom("must be a number of seconds, more than 0")),
    }
}

/// Reads a whole number of hours, days or weeks, at most a thousand years: `90d`.
fn age<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
    const MAX_SECONDS: u64 = 1000 * 366 * 24 * 3600;
    let parsed = |text: &str| {
        let (number, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
        let unit = match unit {
            "h" => 3600,
            "d" => 24 * 3600,
            "w" => 7 * 24 * 3600,
            _ => return None,
        };
        let is_number = number.bytes().all(|byte| byte.is_ascii_digit());
        let seconds = number.parse::<u64>().ok().filter(|_| is_number)?;
        let seconds = seconds.checked_mul(unit)?;
        (1..=MAX_SECONDS)
            .contains(&seconds)
            .then(|| Duration::from_secs(seconds))
    };
    let Some(text) = Option::<String>::deserialize(deserializer)? else {
        return Ok(None);
    };
    parsed(&text)
        .map(Some)
        .ok_or_else(|| D::Error::custom("must be a number of hours, days or weeks, as in 36h, 90d or 12w"))
}

/// The policy of a text as far as it can be read; with a mistake it is none.
pub(super) fn read(yaml: &YamlText, mistakes: &mut Vec<PolicyMistake>) -> Option<Policy> {
    let mut policy: Policy = lenient(&yaml.value, &[], mistakes, from_value)?;
    for (name, keys) in mem::take(&mut policy.metrics) {
        if mistakes.len() > MAX_MISTAKES {
            break;
        }
        if let Some(rule) = rule(&name, keys.clone(), policy.decision, mistakes) {
            let path = ["metrics".to_owned(), name];
            let position = yaml.position_of(&path, true);
            let [_, name] = path;
            policy.checks.push(Check {
                name,
                keys,
                rule,
                ignored: false,
                position,
            });
        }
    }
    let checks = &mut policy.checks;
    checks.sort_by_key(|check| check.position.map(|at| (at.line, at.column)));
    if mistakes.is_empty() {
        mistakes.extend(misplaced_judged_by_rate(&policy.judged_by_rate, checks));
        mistakes.extend(checks.iter().filter_map(|check| unscored(check, checks)));
    }
    Some(policy)
}

fn from_value<T: DeserializeOwned>(value: &Value) -> Result<T, PathError> {
    serde_path_to_error::deserialize(value)
}

/// Reads the value at `path`. Each mistake is removed from it, until the rest can be read.
fn lenient<T>(
    value: &Value,
    path: &[&str],
    mistakes: &mut Vec<PolicyMistake>,
    read: impl Fn(&Value) -> Result<T, PathError>,
) -> Option<T> {
    let (mut rest, first) = (value.clone(), mistakes.len());
    loop {
        let mistake = match read(&rest) {
            Ok(read) => return Some(read),
            Err(error) => PolicyMistake::of_value(path, &error),
        };
        // A required key of the wrong type is missing once it is removed.
        let is_missing = |removed: &PolicyMistake| match removed.path.strip_prefix(&*mistake.path) {
            Some([key]) => mistake.message == format!("needs {key}"),
            _ => false,
        };
        if mistakes.iter().skip(first).any(is_missing) {
            return None;
        }
        let below: Vec<String> = mistake.path.iter().skip(path.len()).cloned().collect();
        mistakes.push(mistake);
        if !remove(&mut rest, &below) || mistakes.len() > MAX_MISTAKES {
            return None;
        }
    }
}

/// Removes the entry at `path`; `false` where there is none.
fn remove(value: &mut Value, path: &[String]) -> bool {
    match (value.as_object_mut(), path) {
        (Some(entries), [key]) => entries.remove(key).is_some(),
        (Some(entries), [key, rest @ ..]) => entries.get_mut(key).is_some_and(|value| remove(value, rest)),
        _ => false,
    }
}

/// The kinds that a metric can have; none where there is no such metric.
fn kinds_of(metric: &str) -> &'static [CheckKind] {
    if invariants::find(metric).is_some() {
        &[CheckKind::Invariant]
    } else if metric == RATE {
        &[CheckKind::Statistical]
    } else if Metric::from_name(metric).is_some() {
        &[CheckKind::Measured, CheckKind::Distributional]
    } else {
        &[]
    }
}

/// The names of all metrics, for a hint.
fn names() -> Vec<&'static str> {
    let invariants = INVARIANTS.iter().map(|spec| spec.name);
    let numbers = METRICS.iter().map(|metric| metric.name);
    invariants
        .chain(numbers)
        .chain([RATE, "tool_calls.<tool>", "score"])
        .collect()
}

/// The rule that a metric states.
fn rule(
    name: &str,
    mut keys: Value,
    method: IntervalMethod,
    mistakes: &mut Vec<PolicyMistake>,
) -> Option<Rule> {
    let path = ["metrics", name];
    let kind = match keys.as_object_mut() {
        Some(keys) => kind(name, keys.remove("kind")),
        None => Err(PolicyMistake::new(&[], "must be a mapping")),
    };
    let kind = kind.map_err(|mistake| mistakes.push(mistake.below(&path))).ok()?;
    let rule = match kind {
        CheckKind::Invariant => {
            let spec = invariants::find(name)?;
            let rule = lenient(&keys, &path, mistakes, spec.read)?;
            match rule.mistake() {
                Some(mistake) => Err(PolicyMistake::new(&[], mistake)),
                None => Ok(Rule::Invariant(rule)),
            }
        }
        CheckKind::Measured => {
            let keys: MeasuredKeys = lenient(&keys, &path, mistakes, from_value)?;
            keys.rule().map(Rule::Measured)
        }
        CheckKind::Distributional => Ok(Rule::Distributional(lenient(&keys, &path, mistakes, from_value)?)),
        CheckKind::Statistical => {
            let keys: StatisticalKeys = lenient(&keys, &path, mistakes, from_value)?;
            keys.rule(method).map(Rule::Statistical)
        }
    };
    rule.map_err(|mistake| mistakes.push(mistake.below(&path))).ok()
}

/// The kind of a metric: the given one, or its only one.
fn kind(name: &str, given: Option<Value>) -> Result<CheckKind, PolicyMistake> {
    let kinds = kinds_of(name);
    let given: Option<CheckKind> = match given {
        Some(given) => Some(from_value(&given).map_err(|error| PolicyMistake::of_value(&["kind"], &error))?),
        None => None,
    };
    match (kinds, given) {
        ([], _) => {
            let hint = format!("the metrics are {}", names().join(", "));
            Err(PolicyMistake::new(&[], "is not a metric").of_key().hint(hint))
        }
        (_, Some(kind)) if kinds.contains(&kind) => Ok(kind),
        (_, Some(_)) => {
            let names: Vec<&str> = kinds.iter().map(|kind| kind.as_str()).collect();
            let message = format!("must be {} for this metric", names.join(" or "));
            Err(PolicyMistake::new(&["kind"], message))
        }
        ([kind], None) => Ok(*kind),
        (_, None) => Err(PolicyMistake::new(&[], "needs kind: measured or distributional")),
    }
}

impl MeasuredKeys {
    fn rule(self) -> Result<Measured, PolicyMistake> {
        let Self {
            direction,
            tolerance,
            limit,
            aggregate,
        } = self;
        if tolerance.is_none() && limit.is_none() {
            return Err(PolicyMistake::new(&[], "needs a tolerance or a limit"));
        }
        if tolerance.is_some_and(|tolerance| (tolerance.relative, tolerance.absolute) == (None, None)) {
            return Err(PolicyMistake::new(
                &["tolerance"],
                "needs relative, absolute, or both",
            ));
        }
        if aggregate != Aggregate::Median && direction != Direction::Upper {
            let message = "must be median unless the direction is upper";
            return Err(PolicyMistake::new(&["aggregate"], message));
        }
        let limit = limit.map(|limit| {
            limit
                .range(direction)
                .map_err(|mistake| mistake.below(&["limit"]))
        });
        Ok(Measured {
            direction,
            tolerance,
            limit: limit.transpose()?.unwrap_or_default(),
            aggregate,
        })
    }
}

impl StatisticalKeys {
    /// The rule; one that cannot be shown is refused, unless it is only reported.
    fn rule(self, method: IntervalMethod) -> Result<Statistical, PolicyMistake> {
        let wrong = |mistake: PolicyMistake| mistake.below(&["threshold"]);
        let allowed = self.threshold.range(self.direction).map_err(wrong)?;
        let is_share = |number| (0.0..=1.0).contains(&number);
        if ![allowed.lower, allowed.upper].into_iter().flatten().all(is_share) {
            return Err(wrong(PolicyMistake::new(&[], "must be between 0 and 1")));
        }
        if self.mode != Some(CheckMode::ReportOnly)
            && minimum_trials(method, allowed, self.confidence).is_none()
        {
            let hint = "demand less than certainty, or a wider range, or set mode: report_only";
            return Err(wrong(
                PolicyMistake::new(&[], "cannot be shown with 100,000 trials").hint(hint),
            ));
        }
        Ok(Statistical {
            allowed,
            confidence: self.confidence,
            mode: self.mode,
        })
    }
}

impl Bound {
    /// The range of a direction.
    fn range(self, direction: Direction) -> Result<AllowedRange, PolicyMistake> {
        let message = match (self, direction) {
            (Self::One(number), Direction::Upper) => return Ok(AllowedRange::at_most(number)),
            (Self::One(number), Direction::Lower) => return Ok(AllowedRange::at_least(number)),
            (Self::Both(Ends { lower, upper }), Direction::Both) if lower <= upper => {
                return Ok(AllowedRange::within(lower, upper));
            }
            (Self::Both(_), Direction::Both) => "has a lower end above its upper one",
            (Self::One(_), Direction::Both) => "must be a mapping of lower and upper for this direction",
            (Self::Both(_), _) => "must be a number for this direction",
        };
        Err(PolicyMistake::new(&[], message))
    }
}

/// The mistake of a score that no command gives.
fn unscored(check: &Check, checks: &[Check]) -> Option<PolicyMistake> {
    let Some(Metric::Score(name)) = Metric::from_name(&check.name) else {
        return None;
    };
    let source = name.replacen("score", "output", 1);
    let gives_it = |other: &Check| {
        other.name == source && matches!(&other.rule, Rule::Invariant(rule) if rule.has_score())
    };
    let message = format!("needs the check {source} with a command, which gives the score");
    (!checks.iter().any(gives_it)).then(|| PolicyMistake::new(&["metrics", &check.name], message))
}

/// The mistake of invariants under `judged_by_rate` that no rate would judge.
fn misplaced_judged_by_rate(names: &[String], checks: &[Check]) -> Option<PolicyMistake> {
    const KEY: &[&str] = &["judged_by_rate"];
    let has = |name: &str, kind| {
        let mut checks = checks.iter();
        checks.any(|check| check.name == name && check.rule.kind() == kind)
    };
    if let Some(name) = names.iter().find(|name| !has(name, CheckKind::Invariant)) {
        let message = format!("names `{name}`, which is no invariant of this policy");
        return Some(PolicyMistake::new(KEY, message));
    }
    (!names.is_empty() && !has(RATE, CheckKind::Statistical)).then(|| {
        let message = "needs the metric task_pass_rate, which would judge these invariants";
        PolicyMistake::new(KEY, message).hint("add task_pass_rate under metrics")
    })
}

#[test]
fn the_page_of_the_policy_names_every_metric() {
    let page = include_str!("../../../../docs/policy.md");
    for name in names() {
        assert!(page.contains(&format!("\n| `{name}` | ")), "{name}");
    }
}

/// For editors: what depends on several keys at once is left to the reader.
mod schema {
    use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
    use serde_json::{Map, Value, json};

    use super::{MeasuredKeys, RATE, StatisticalKeys};
    use crate::CheckKind;
    use crate::invariants::INVARIANTS;
    use crate::policy::Distributional;
    use tracer_insight::profile::METRICS;

    pub(super) fn version(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"enum": [2, 2.1, "2", "2.0", "2.1"]})
    }

    pub(super) fn timeout() -> f64 {
        super::default_timeout().as_secs_f64()
    }

    /// The mapping of metrics, by their tables.
    pub(super) fn metrics(generator: &mut SchemaGenerator) -> Schema {
        let kinds = [
            of_kind(CheckKind::Measured, true, MeasuredKeys::json_schema(generator)),
            of_kind(
                CheckKind::Distributional,
                true,
                Distributional::json_schema(generator),
            ),
        ];
        let number = json!({"oneOf": kinds});
        generator.definitions_mut().insert("Number".to_owned(), number);
        let number = json!({"$ref": "#/$defs/Number"});
        let mut properties: Map<String, Value> = METRICS
            .iter()
            .map(|metric| (metric.name.to_owned(), number.clone()))
            .collect();
        for spec in INVARIANTS {
            let schema = of_kind(CheckKind::Invariant, false, (spec.schema)(generator));
            properties.insert(spec.name.to_owned(), schema);
        }
        let rate = of_kind(
            CheckKind::Statistical,
            false,
            StatisticalKeys::json_schema(generator),
        );
        properties.insert(RATE.to_owned(), rate);
        let mut patterns = Map::from_iter([(r"^tool_calls\..|^score(\..+)?$".to_owned(), number)]);
        for spec in INVARIANTS.iter().filter(|spec| spec.is_labelled) {
            let same = json!({"$ref": format!("#/properties/metrics/properties/{}", spec.name)});
            patterns.insert(format!(r"^{}\..", spec.name), same);
        }
        json_schema!({
            "type": "object",
            "properties": properties,
            "patternProperties": patterns,
            "additionalProperties": false,
        })
    }

    /// The schema of the keys of a kind, and the key `kind`.
    fn of_kind(kind: CheckKind, is_required: bool, keys: Schema) -> Value {
        let mut keys = keys.to_value();
        keys["properties"]["kind"] = json!({"const": kind});
        let required = keys.get_mut("required").and_then(Value::as_array_mut);
        if let Some(required) = required.filter(|_| is_required) {
            required.push("kind".into());
        }
        keys
    }
}
