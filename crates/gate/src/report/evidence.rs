//! What a check rests on, one shape per rule (gate-contract, section 7).

use serde::Serialize;

/// What a check rests on.
///
/// ```
/// use tracer_gate::{Evidence, InvariantEvidence};
///
/// let evidence = Evidence::Invariant(InvariantEvidence::new(0, "no loops"));
/// assert_eq!(serde_json::to_value(&evidence)?["violations"], 0);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum Evidence {
    /// Of an invariant.
    Invariant(InvariantEvidence),
    /// Of a measured check.
    Measured(MeasuredEvidence),
    /// Of a statistical check.
    Statistical(StatisticalEvidence),
    /// Of a distributional check with one trial.
    SingleTrial(SingleTrialEvidence),
    /// Of a distributional check with several trials.
    Distributional(DistributionalEvidence),
}

/// What an invariant rests on.
///
/// ```
/// use tracer_gate::InvariantEvidence;
///
/// let evidence = InvariantEvidence::new(1, "the run ends with status ok");
/// assert!(evidence.tools.is_empty());
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct InvariantEvidence {
    /// How many trials broke it.
    pub violations: u32,
    /// What it asks for.
    pub description: String,
    /// Where it is about tools, those that broke it, for each trial that broke it by them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<TrialTools>,
}

impl InvariantEvidence {
    /// Evidence that is not about tools.
    ///
    /// ```
    /// use tracer_gate::InvariantEvidence;
    ///
    /// assert_eq!(InvariantEvidence::new(2, "no loops").violations, 2);
    /// ```
    #[must_use]
    pub fn new(violations: u32, description: impl Into<String>) -> Self {
        Self {
            violations,
            description: description.into(),
            tools: Vec::new(),
        }
    }
}

/// The tools by which one trial broke an invariant: called and not allowed, or required and not called.
///
/// ```
/// use tracer_gate::TrialTools;
///
/// let broken = TrialTools { trial: 2, tools: vec!["admin_delete".to_owned()] };
/// assert_eq!(serde_json::to_string(&broken)?, r#"{"trial":2,"tools":["admin_delete"]}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TrialTools {
    /// The trial, by number from 1.
    pub trial: u32,
    /// The tools, by name.
    pub tools: Vec<String>,
}

/// What a measured check rests on.
///
/// ```
/// use tracer_gate::{AllowedRange, MeasuredEvidence, SampleRange};
///
/// let evidence = MeasuredEvidence {
///     aggregate: "median".to_owned(),
///     observed: Some(5.0),
///     baseline: Some(4.0),
///     allowed: AllowedRange { lower: None, upper: Some(6.0) },
///     sample: None::<SampleRange>,
///     delta: Some(1.0),
/// };
/// assert_eq!(serde_json::to_value(&evidence)?["allowed"]["upper"], 6.0);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MeasuredEvidence {
    /// How the trials' values are summed up: `median`, `max`, `p90`.
    pub aggregate: String,
    /// What that gives; null when a value is not known.
    pub observed: Option<f64>,
    /// What it gives for the baseline; null without one.
    pub baseline: Option<f64>,
    /// The bounds.
    pub allowed: AllowedRange,
    /// The trials' values; null when none is known.
    pub sample: Option<SampleRange>,
    /// By how much it is more than the baseline; null without one.
    pub delta: Option<f64>,
}

/// Bounds, each null where there is none.
///
/// ```
/// use tracer_gate::AllowedRange;
///
/// assert_eq!(AllowedRange::default().upper, None);
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AllowedRange {
    /// At least.
    pub lower: Option<f64>,
    /// At most.
    pub upper: Option<f64>,
}

/// The values of the trials, summed up.
///
/// ```
/// use tracer_gate::SampleRange;
///
/// let sample = SampleRange { min: 1.0, median: 2.0, max: 9.0 };
/// assert!(sample.median < sample.max);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SampleRange {
    /// The smallest.
    pub min: f64,
    /// The middle one, or the mean of the two in the middle.
    pub median: f64,
    /// The largest.
    pub max: f64,
}

/// What a statistical check rests on.
///
/// ```
/// use tracer_gate::{ConfidenceBounds, StatisticalEvidence, Threshold};
///
/// let evidence = StatisticalEvidence {
///     successes: 25,
///     failures: 0,
///     observed_rate: 1.0,
///     threshold: Threshold::One(0.9),
///     confidence: 0.95,
///     confidence_bounds: ConfidenceBounds { lower: 0.902, upper: 1.0 },
/// };
/// assert_eq!(serde_json::to_value(&evidence)?["threshold"], 0.9);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StatisticalEvidence {
    /// How many trials succeeded.
    pub successes: u32,
    /// How many did not.
    pub failures: u32,
    /// The share that succeeded.
    pub observed_rate: f64,
    /// What is asked for.
    pub threshold: Threshold,
    /// How sure the bounds are.
    pub confidence: f64,
    /// Between which rates the true one lies.
    pub confidence_bounds: ConfidenceBounds,
}

/// One threshold, or a range.
///
/// ```
/// use tracer_gate::Threshold;
///
/// let range = Threshold::Range { lower: 0.2, upper: 0.8 };
/// assert_eq!(serde_json::to_string(&range)?, r#"{"lower":0.2,"upper":0.8}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum Threshold {
    /// One.
    One(f64),
    /// At least and at most.
    Range {
        /// At least.
        lower: f64,
        /// At most.
        upper: f64,
    },
}

/// Between which rates the true one lies; each bound holds with the stated confidence by itself.
///
/// ```
/// use tracer_gate::ConfidenceBounds;
///
/// let bounds = ConfidenceBounds { lower: 0.7, upper: 1.0 };
/// assert!(bounds.lower < bounds.upper);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ConfidenceBounds {
    /// At least.
    pub lower: f64,
    /// At most.
    pub upper: f64,
}

/// What a distributional check with one trial rests on.
///
/// ```
/// use tracer_gate::SingleTrialEvidence;
///
/// let evidence = SingleTrialEvidence {
///     coverage: 0.95,
///     baseline_trials: 19,
///     baseline_n_min: 19,
///     prediction_bound: 19.0,
///     observed: Some(20.0),
///     delta: Some(1.0),
/// };
/// assert!(evidence.observed > Some(evidence.prediction_bound));
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SingleTrialEvidence {
    /// The share of usual runs that lie within the bound.
    pub coverage: f64,
    /// How many runs the baseline has.
    pub baseline_trials: u32,
    /// How many it needs.
    pub baseline_n_min: u32,
    /// The most extreme value of the baseline.
    pub prediction_bound: f64,
    /// The trial's value; null when it is not known.
    pub observed: Option<f64>,
    /// By how much it is more than the bound.
    pub delta: Option<f64>,
}

/// What a distributional check with several trials rests on.
///
/// ```
/// use tracer_gate::{ConfidenceBounds, DistributionalEvidence, Threshold};
///
/// let evidence = DistributionalEvidence {
///     successes: 0,
///     failures: 3,
///     observed_rate: 0.0,
///     threshold: Threshold::One(0.05),
///     confidence: 0.95,
///     confidence_bounds: ConfidenceBounds { lower: 0.0, upper: 0.47 },
///     coverage: 0.95,
///     baseline_trials: 19,
///     baseline_n_min: 19,
///     prediction_bound: 19.0,
///     values: vec![Some(5.0), Some(5.0), Some(6.0)],
///     harmful_exceedances: 0,
/// };
/// assert_eq!(evidence.values.len(), 3);
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DistributionalEvidence {
    /// How many trials lie beyond the bound.
    pub successes: u32,
    /// How many do not.
    pub failures: u32,
    /// The share that lies beyond.
    pub observed_rate: f64,
    /// The share that may.
    pub threshold: Threshold,
    /// How sure the bounds are.
    pub confidence: f64,
    /// Between which rates the true one lies.
    pub confidence_bounds: ConfidenceBounds,
    /// The share of usual runs that lie within the bound.
    pub coverage: f64,
    /// How many runs the baseline has.
    pub baseline_trials: u32,
    /// How many it needs.
    pub baseline_n_min: u32,
    /// The most extreme value of the baseline.
    pub prediction_bound: f64,
    /// The trials' values; null what is not known.
    pub values: Vec<Option<f64>>,
    /// How many trials lie beyond the bound.
    pub harmful_exceedances: u32,
}
