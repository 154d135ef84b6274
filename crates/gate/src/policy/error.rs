//! A policy that cannot be used: what is wrong, where in the file, and what to do.

use std::error::Error;
use std::fmt;

use serde::Serialize;

use tracer_sdk::settings::Position;

/// The kinds of mistake in a policy.
///
/// ```
/// use tracer_gate::policy::{Overrides, Policy, PolicyErrorCode};
///
/// let error = Policy::parse("version: 3\n", &Overrides::default()).unwrap_err();
/// assert_eq!(error.code, PolicyErrorCode::VersionMajorUnsupported);
/// assert_eq!(error.code.as_str(), "version_major_unsupported");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum PolicyErrorCode {
    /// The text is not YAML.
    MalformedYaml,
    /// A key is written twice.
    DuplicateKey,
    /// The document is not a mapping.
    RootNotMapping,
    /// `version` is not on a line of its own.
    VersionNotScalar,
    /// `version` is not `major` or `major.minor`.
    VersionForm,
    /// The major version is not known.
    VersionMajorUnsupported,
    /// The minor version is newer than this reader.
    VersionMinorTooNew,
    /// The rules of a version 2 policy are in a file that does not say `version: 2`.
    VersionMissing,
    /// A key that does not exist here.
    UnknownKey,
    /// A key that exists and means nothing for this metric.
    KeyDoesNotApply,
    /// A value that must be a mapping is not.
    NotMapping,
    /// A value that must be `true` or `false` is not.
    NotBool,
    /// A value that must be a number is not, or is not finite.
    NotFiniteNumber,
    /// A value that must be a list of texts that are not empty is not.
    NotStringList,
    /// A value that is not one of those allowed.
    NotAllowed,
    /// A number below what is allowed.
    NegativeValue,
    /// A number that must lie between 0 and 1, ends not included.
    FractionOpen,
    /// A number that must lie between 0 and 1, ends included.
    FractionClosed,
    /// A mapping of `lower` and `upper` is needed.
    RangeRequired,
    /// `lower` is above `upper`.
    RangeReversed,
    /// `trials` is not a whole number, at least 1.
    TrialsInvalid,
    /// `metrics` is missing, or not a mapping.
    MetricsNotMapping,
    /// A metric that does not exist.
    UnknownMetric,
    /// A check to be ignored that does not exist.
    UnknownCheck,
    /// A plan metric under a version below 2.1.
    #[serde(rename = "metric_needs_2_1")]
    MetricNeedsMinorOne,
    /// A plan metric: this gate has none.
    PlanMetricUnsupported,
    /// `kind` is missing, or not one of the four.
    KindInvalid,
    /// A kind that this metric cannot have.
    KindNotAllowedForMetric,
    /// `direction` is missing, or not one of the three.
    DirectionInvalid,
    /// A direction that this kind cannot have.
    DirectionNotAllowed,
    /// Neither `tolerance` nor `limit`.
    MissingCriterion,
    /// A tolerance that says nothing.
    EmptyTolerance,
    /// An aggregate that does not exist.
    AggregateInvalid,
    /// An aggregate that only an upper bound can have.
    AggregateNeedsUpper,
    /// `none_of` is missing.
    MissingNoneOf,
    /// `all_of` is missing.
    MissingAllOf,
    /// `threshold` is missing.
    MissingThreshold,
    /// A success predicate that does not exist.
    PredicateUnknown,
    /// No number of trials can show the demanded rate.
    ThresholdUnreachable,
    /// A metric that is set to gate cannot reach PASS with this many trials.
    PassUnreachable,
    /// A metric needs a baseline, or a larger one.
    BaselineNeeded,
    /// An option of the command line, or a part of the policy, that changes nothing.
    TouchesNothing,
    /// Nothing would be judged.
    NothingToCheck,
}

impl PolicyErrorCode {
    /// The code as it is printed.
    ///
    /// ```
    /// use tracer_gate::policy::PolicyErrorCode;
    ///
    /// assert_eq!(PolicyErrorCode::DuplicateKey.as_str(), "duplicate_key");
    /// ```
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::MalformedYaml => "malformed_yaml",
            Self::DuplicateKey => "duplicate_key",
            Self::RootNotMapping => "root_not_mapping",
            Self::VersionNotScalar => "version_not_scalar",
            Self::VersionForm => "version_form",
            Self::VersionMajorUnsupported => "version_major_unsupported",
            Self::VersionMinorTooNew => "version_minor_too_new",
            Self::VersionMissing => "version_missing",
            Self::UnknownKey => "unknown_key",
            Self::KeyDoesNotApply => "key_does_not_apply",
            Self::NotMapping => "not_mapping",
            Self::NotBool => "not_bool",
            Self::NotFiniteNumber => "not_finite_number",
            Self::NotStringList => "not_string_list",
            Self::NotAllowed => "not_allowed",
            Self::NegativeValue => "negative_value",
            Self::FractionOpen => "fraction_open",
            Self::FractionClosed => "fraction_closed",
            Self::RangeRequired => "range_required",
            Self::RangeReversed => "range_reversed",
            Self::TrialsInvalid => "trials_invalid",
            Self::MetricsNotMapping => "metrics_not_mapping",
            Self::UnknownMetric => "unknown_metric",
            Self::UnknownCheck => "unknown_check",
            Self::MetricNeedsMinorOne => "metric_needs_2_1",
            Self::PlanMetricUnsupported => "plan_metric_unsupported",
            Self::KindInvalid => "kind_invalid",
            Self::KindNotAllowedForMetric => "kind_not_allowed_for_metric",
            Self::DirectionInvalid => "direction_invalid",
            Self::DirectionNotAllowed => "direction_not_allowed",
            Self::MissingCriterion => "missing_criterion",
            Self::EmptyTolerance => "empty_tolerance",
            Self::AggregateInvalid => "aggregate_invalid",
            Self::AggregateNeedsUpper => "aggregate_needs_upper",
            Self::MissingNoneOf => "missing_none_of",
            Self::MissingAllOf => "missing_all_of",
            Self::MissingThreshold => "missing_threshold",
            Self::PredicateUnknown => "predicate_unknown",
            Self::ThresholdUnreachable => "threshold_unreachable",
            Self::PassUnreachable => "pass_unreachable",
            Self::BaselineNeeded => "baseline_needed",
            Self::TouchesNothing => "touches_nothing",
            Self::NothingToCheck => "nothing_to_check",
        }
    }
}

impl fmt::Display for PolicyErrorCode {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// Why a policy cannot be used: always bad input, exit code 2 of the command line (gate, section 5).
///
/// ```
/// use tracer_gate::policy::{Overrides, Policy};
///
/// let text = "version: 2\nmetrics:\n  step_count: {kind: measured, direction: up, limit: 12}\n";
/// let error = Policy::parse(text, &Overrides::default()).unwrap_err();
/// assert_eq!(error.to_string(), "3:43: metrics.step_count.direction must be one of upper, lower, both");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PolicyError {
    /// What kind of mistake it is.
    pub code: PolicyErrorCode,
    /// Where in the policy file; nothing when the mistake is not in a file.
    pub position: Option<Position>,
    /// The key, `metrics.step_count.limit`, or the option, `--max-steps`; empty when the file as a whole is meant.
    pub path: String,
    /// What is wrong, as the rest of a sentence: `must be a finite number`.
    pub message: String,
    /// What to do about it, when there is more to say.
    pub hint: Option<String>,
}

impl PolicyError {
    pub(crate) fn new(code: PolicyErrorCode, path: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            code,
            position: None,
            path: path.into(),
            message: message.into(),
            hint: None,
        }
    }

    pub(crate) fn at(mut self, position: Option<Position>) -> Self {
        self.position = position;
        self
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl fmt::Display for PolicyError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(Position { line, column }) = self.position {
            write!(formatter, "{line}:{column}: ")?;
        }
        if !self.path.is_empty() {
            write!(formatter, "{} ", self.path)?;
        }
        formatter.write_str(&self.message)
    }
}

impl Error for PolicyError {}
