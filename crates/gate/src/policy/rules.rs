//! Demands of a policy on one metric (gate, *Policy*).

use std::sync::Arc;

use serde::Deserialize;
use serde::de::{Deserializer, Error as _};
use serde_json::Value;

use crate::invariants::Invariant;
use crate::statistics::Aggregate;
use crate::{AllowedRange, CheckKind, CheckMode, Direction};
use tracer_sdk::settings::Position;

/// One check of a policy: a metric and what is demanded of it.
///
/// ```
/// use tracer_gate::policy::{Overrides, Policy, Rule};
///
/// let text = "version: 2\nmetrics:\n  step_count: {kind: measured, direction: upper, limit: 12}\n";
/// let policy = Policy::parse(text, &Overrides::default()).unwrap();
/// let check = &policy.checks[0];
/// assert_eq!(check.name, "step_count");
/// assert!(matches!(check.rule, Rule::Measured(_)));
/// assert_eq!(check.position.unwrap().line, 3);
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Check {
    /// The metric as the policy names it, `step_count` or `tool_calls.search`; the name of the check in the report.
    pub name: String,
    /// The keys of the metric as the policy states them.
    pub keys: Value,
    /// The demand.
    pub rule: Rule,
    /// Reported and not judged: what a single run cannot show.
    pub ignored: bool,
    /// Its place in the policy file; `None` without a file.
    pub position: Option<Position>,
}

/// The four kinds of demand (gate, *Policy*).
///
/// ```
/// use tracer_gate::CheckKind;
/// use tracer_gate::policy::{Distributional, Rule};
///
/// let nine_of_ten = Distributional { coverage: 0.9, ..Distributional::default() };
/// assert_eq!(Rule::Distributional(nine_of_ten).kind(), CheckKind::Distributional);
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Rule {
    /// Must hold in every trial.
    Invariant(Arc<dyn Invariant>),
    /// One number of the whole sample stays within a tolerance of the baseline, or within a limit.
    Measured(Measured),
    /// The trials' values stay within what the baseline's sample shows.
    Distributional(Distributional),
    /// The share of successful trials is shown to be as demanded.
    Statistical(Statistical),
}

impl Rule {
    /// The kind as a report writes it.
    ///
    /// ```
    /// use tracer_gate::policy::{Overrides, Policy};
    ///
    /// let policy = Policy::usual(&Overrides::default()).unwrap();
    /// assert_eq!(policy.check("task_pass_rate").unwrap().rule.kind().as_str(), "statistical");
    /// ```
    #[must_use]
    pub const fn kind(&self) -> CheckKind {
        match self {
            Self::Invariant(_) => CheckKind::Invariant,
            Self::Measured(_) => CheckKind::Measured,
            Self::Distributional(_) => CheckKind::Distributional,
            Self::Statistical(_) => CheckKind::Statistical,
        }
    }

    /// Checks if one run cannot break it: it compares with a baseline, or is about a rate.
    pub(super) fn needs_other_runs(&self) -> bool {
        match self {
            Self::Invariant(invariant) => invariant.needs_baseline(),
            Self::Measured(measured) => measured.limit == AllowedRange::default(),
            Self::Distributional(_) | Self::Statistical(_) => true,
        }
    }

    /// Which way is worse, where there is one.
    ///
    /// ```
    /// use tracer_gate::Direction;
    /// use tracer_gate::policy::{Distributional, Rule};
    ///
    /// assert_eq!(Rule::Distributional(Distributional::default()).direction(), Some(Direction::Upper));
    /// ```
    #[must_use]
    pub const fn direction(&self) -> Option<Direction> {
        match self {
            Self::Invariant(_) => None,
            Self::Measured(measured) => Some(measured.direction),
            Self::Distributional(distributional) => Some(distributional.direction),
            Self::Statistical(statistical) => Some(statistical.allowed.direction()),
        }
    }
}

/// The demand of a `measured` metric (gate, *Measured*).
///
/// ```
/// use tracer_gate::policy::{Aggregate, Measured, Tolerance};
/// use tracer_gate::{AllowedRange, Direction};
///
/// let half_more = Measured {
///     direction: Direction::Upper,
///     tolerance: Some(Tolerance { relative: Some(0.5), absolute: None }),
///     limit: AllowedRange::at_most(20.0),
///     aggregate: Aggregate::Median,
/// };
/// assert_eq!(half_more.direction, Direction::Upper);
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    /// Which way is worse.
    pub direction: Direction,
    /// Allowed distance from the baseline.
    pub tolerance: Option<Tolerance>,
    /// Bounds independent of the baseline.
    pub limit: AllowedRange,
    /// The statistic of the sample that is compared.
    pub aggregate: Aggregate,
}

/// Allowed distance from the baseline; both parts are added.
///
/// ```
/// use tracer_gate::policy::Tolerance;
///
/// let tolerance = Tolerance { relative: Some(0.1), absolute: Some(2.0) };
/// assert_eq!(tolerance.allowance(11.0), 3.1);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a mapping")]
pub struct Tolerance {
    /// A share of the baseline's number.
    #[serde(default, deserialize_with = "not_negative")]
    #[schemars(range(min = 0))]
    pub relative: Option<f64>,
    /// In the unit of the metric.
    #[serde(default, deserialize_with = "not_negative")]
    #[schemars(range(min = 0))]
    pub absolute: Option<f64>,
}

impl Tolerance {
    /// The allowed distance from `baseline`.
    ///
    /// ```
    /// use tracer_gate::policy::Tolerance;
    ///
    /// let tolerance = Tolerance { relative: Some(0.5), absolute: None };
    /// assert_eq!(tolerance.allowance(10.0), 5.0);
    /// assert_eq!(tolerance.allowance(0.0), 0.0);
    /// ```
    #[must_use]
    pub fn allowance(&self, baseline: f64) -> f64 {
        baseline.abs() * self.relative.unwrap_or(0.0) + self.absolute.unwrap_or(0.0)
    }
}

/// The demand of a `distributional` metric (gate, *Distributional*).
///
/// ```
/// use tracer_gate::policy::Distributional;
///
/// let nineteen_of_twenty = Distributional::default();
/// assert_eq!((nineteen_of_twenty.coverage, nineteen_of_twenty.mode), (0.95, None));
/// ```
#[derive(Debug, Clone, PartialEq, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Distributional {
    /// Which way is worse; never both.
    #[serde(deserialize_with = "one_sided")]
    pub direction: Direction,
    /// Share of trials that must stay within the baseline's most extreme value.
    #[serde(default = "usual_share", deserialize_with = "share")]
    #[schemars(extend("exclusiveMinimum" = 0, "exclusiveMaximum" = 1))]
    pub coverage: f64,
    /// Confidence of the verdict.
    #[serde(default = "usual_share", deserialize_with = "share")]
    #[schemars(extend("exclusiveMinimum" = 0, "exclusiveMaximum" = 1))]
    pub confidence: f64,
    /// `report_only` never decides the verdict; left out, the check gates where the baseline's sample is large enough.
    pub mode: Option<CheckMode>,
}

impl Default for Distributional {
    fn default() -> Self {
        Self {
            direction: Direction::Upper,
            coverage: usual_share(),
            confidence: usual_share(),
            mode: None,
        }
    }
}

/// The demand of a `statistical` metric (gate, *Statistical*).
///
/// ```
/// use tracer_gate::policy::Statistical;
/// use tracer_gate::{AllowedRange, Direction};
///
/// let nine_of_ten = Statistical { allowed: AllowedRange::at_least(0.9), confidence: 0.95, mode: None };
/// assert_eq!(nine_of_ten.allowed.direction(), Direction::Lower);
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Statistical {
    /// The share of successful trials that is demanded.
    pub allowed: AllowedRange,
    /// Confidence of a verdict, between 0 and 1.
    pub confidence: f64,
    /// Its mode; `None` gates when this many trials can reach PASS.
    pub mode: Option<CheckMode>,
}

pub(super) const fn usual_share() -> f64 {
    0.95
}

/// Reads a share between 0 and 1, ends not included.
pub(super) fn share<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    match f64::deserialize(deserializer)? {
        share if share > 0.0 && share < 1.0 => Ok(share),
        _ => Err(D::Error::custom("must be more than 0 and less than 1")),
    }
}

fn one_sided<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Direction, D::Error> {
    match Direction::deserialize(deserializer)? {
        Direction::Both => Err(D::Error::custom("must be upper or lower for this kind")),
        direction => Ok(direction),
    }
}

fn not_negative<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
    match Option::deserialize(deserializer)? {
        Some(number) if number < 0.0 => Err(D::Error::custom("must not be negative")),
        number => Ok(number),
    }
}
