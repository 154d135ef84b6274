//! A policy that cannot be used: what is wrong, where in the file, and what to do.

use std::error::Error;
use std::fmt;

use serde::Serialize;

use tracer_sdk::settings::Position;

tracer_sdk::words! {
    growing
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
    pub enum PolicyErrorCode in tracer_gate::policy {
        /// The text is not YAML.
        MalformedYaml = "malformed_yaml",
        /// A key is written twice.
        DuplicateKey = "duplicate_key",
        /// The document is not a mapping.
        RootNotMapping = "root_not_mapping",
        /// `version` is not on a line of its own.
        VersionNotScalar = "version_not_scalar",
        /// `version` is not `major` or `major.minor`.
        VersionForm = "version_form",
        /// The major version is not known.
        VersionMajorUnsupported = "version_major_unsupported",
        /// The minor version is newer than this reader.
        VersionMinorTooNew = "version_minor_too_new",
        /// The rules of a version 2 policy are in a file that does not say `version: 2`.
        VersionMissing = "version_missing",
        /// A key that does not exist here.
        UnknownKey = "unknown_key",
        /// A key that exists and means nothing for this metric.
        KeyDoesNotApply = "key_does_not_apply",
        /// A value that must be a mapping is not.
        NotMapping = "not_mapping",
        /// A value that must be `true` or `false` is not.
        NotBool = "not_bool",
        /// A value that must be a number is not, or is not finite.
        NotFiniteNumber = "not_finite_number",
        /// A value that must be a list of texts that are not empty is not.
        NotStringList = "not_string_list",
        /// A value that is not one of those allowed.
        NotAllowed = "not_allowed",
        /// A number below what is allowed.
        NegativeValue = "negative_value",
        /// A number that must lie between 0 and 1, ends not included.
        FractionOpen = "fraction_open",
        /// A number that must lie between 0 and 1, ends included.
        FractionClosed = "fraction_closed",
        /// A mapping of `lower` and `upper` is needed.
        RangeRequired = "range_required",
        /// `lower` is above `upper`.
        RangeReversed = "range_reversed",
        /// `trials` is not a whole number, at least 1.
        TrialsInvalid = "trials_invalid",
        /// `metrics` is missing, or not a mapping.
        MetricsNotMapping = "metrics_not_mapping",
        /// A metric that does not exist.
        UnknownMetric = "unknown_metric",
        /// A check to be ignored that does not exist.
        UnknownCheck = "unknown_check",
        /// A plan metric under a version below 2.1.
        #[serde(rename = "metric_needs_2_1")]
        MetricNeedsMinorOne = "metric_needs_2_1",
        /// A plan metric: this gate has none.
        PlanMetricUnsupported = "plan_metric_unsupported",
        /// `kind` is missing, or not one of the four.
        KindInvalid = "kind_invalid",
        /// A kind that this metric cannot have.
        KindNotAllowedForMetric = "kind_not_allowed_for_metric",
        /// `direction` is missing, or not one of the three.
        DirectionInvalid = "direction_invalid",
        /// A direction that this kind cannot have.
        DirectionNotAllowed = "direction_not_allowed",
        /// Neither `tolerance` nor `limit`.
        MissingCriterion = "missing_criterion",
        /// A tolerance that says nothing.
        EmptyTolerance = "empty_tolerance",
        /// An aggregate that does not exist.
        AggregateInvalid = "aggregate_invalid",
        /// An aggregate that only an upper bound can have.
        AggregateNeedsUpper = "aggregate_needs_upper",
        /// `none_of` is missing.
        MissingNoneOf = "missing_none_of",
        /// `all_of` is missing.
        MissingAllOf = "missing_all_of",
        /// `threshold` is missing.
        MissingThreshold = "missing_threshold",
        /// A success predicate that does not exist.
        PredicateUnknown = "predicate_unknown",
        /// No number of trials can show the demanded rate.
        ThresholdUnreachable = "threshold_unreachable",
        /// A metric that is set to gate cannot reach PASS with this many trials.
        PassUnreachable = "pass_unreachable",
        /// A metric needs a baseline, or a larger one.
        BaselineNeeded = "baseline_needed",
        /// An option of the command line, or a part of the policy, that changes nothing.
        TouchesNothing = "touches_nothing",
        /// Nothing would be judged.
        NothingToCheck = "nothing_to_check",
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
