//! Evidence of checks, one type per kind of rule.

use serde::Serialize;

use crate::AllowedRange;
use crate::statistics::RateInterval;

/// Evidence of a check.
///
/// ```
/// use tracer_gate::{Evidence, InvariantEvidence};
///
/// let evidence = Evidence::Invariant(InvariantEvidence { violations: 0, description: "no loops".to_owned() });
/// assert_eq!(serde_json::to_value(&evidence)?["violations"], 0);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(untagged)]
pub enum Evidence {
    /// Of an invariant.
    Invariant(InvariantEvidence),
    /// Of a measured check.
    Measured(MeasuredEvidence),
    /// Of a statistical check.
    Statistical(StatisticalEvidence),
    /// Of a distributional check.
    Distributional(DistributionalEvidence),
}

/// Evidence of an invariant.
///
/// ```
/// use tracer_gate::InvariantEvidence;
///
/// let evidence = InvariantEvidence { violations: 1, description: "the run ends with status ok".to_owned() };
/// assert_eq!(serde_json::to_value(&evidence)?["violations"], 1);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct InvariantEvidence {
    /// Number of trials that broke it.
    pub violations: u32,
    /// Its demand in words.
    pub description: String,
}

/// Evidence of a measured check.
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
/// };
/// assert_eq!(serde_json::to_value(&evidence)?["allowed"]["upper"], 6.0);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, schemars::JsonSchema)]
pub struct MeasuredEvidence {
    /// Aggregate of the trials' values: `median`, `max`, `p90`.
    pub aggregate: String,
    /// Aggregate of the trials; null when a value is unknown.
    pub observed: Option<f64>,
    /// Aggregate of the baseline; null without one.
    pub baseline: Option<f64>,
    /// The bounds.
    pub allowed: AllowedRange,
    /// The trials' values; null when none is known.
    pub sample: Option<SampleRange>,
}

/// The values of the trials, summed up.
///
/// ```
/// use tracer_gate::SampleRange;
///
/// let sample = SampleRange { min: 1.0, max: 9.0 };
/// assert!(sample.min < sample.max);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, schemars::JsonSchema)]
pub struct SampleRange {
    /// The smallest.
    pub min: f64,
    /// The largest.
    pub max: f64,
}

/// Evidence of a statistical check.
///
/// ```
/// use tracer_gate::statistics::RateInterval;
/// use tracer_gate::{AllowedRange, StatisticalEvidence};
///
/// let evidence = StatisticalEvidence {
///     successes: 25,
///     failures: 0,
///     allowed: AllowedRange { lower: Some(0.9), upper: None },
///     confidence: 0.95,
///     confidence_bounds: RateInterval { lower: 0.902, upper: 1.0 },
/// };
/// assert_eq!(serde_json::to_value(&evidence)?["allowed"]["lower"], 0.9);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, schemars::JsonSchema)]
pub struct StatisticalEvidence {
    /// Number of trials that succeeded.
    pub successes: u32,
    /// Number of trials that did not.
    pub failures: u32,
    /// The demanded share.
    pub allowed: AllowedRange,
    /// Confidence of the bounds.
    pub confidence: f64,
    /// Bounds of the true share.
    pub confidence_bounds: RateInterval,
}

/// Evidence of a distributional check.
///
/// ```
/// use tracer_gate::DistributionalEvidence;
///
/// let evidence = DistributionalEvidence {
///     coverage: 0.95,
///     baseline_trials: 19,
///     min_baseline_trials: 19,
///     bound: 19.0,
///     values: vec![Some(20.0)],
///     rate: None,
/// };
/// assert!(evidence.values[0] > Some(evidence.bound));
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, schemars::JsonSchema)]
pub struct DistributionalEvidence {
    /// Share of usual runs within the bound.
    pub coverage: f64,
    /// Number of runs of the baseline.
    pub baseline_trials: u32,
    /// Number of runs that it needs.
    pub min_baseline_trials: u32,
    /// Most extreme value of the baseline.
    pub bound: f64,
    /// Values of the trials; null where unknown.
    pub values: Vec<Option<f64>>,
    /// Share of several trials beyond the bound, which are its successes; absent for one trial, which the bound decides.
    #[serde(flatten)]
    pub rate: Option<StatisticalEvidence>,
}
