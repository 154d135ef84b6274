//! Changes of a trial against the baseline.

use serde::{Deserialize, Serialize};
use tracer_insight::comparison::{Comparison, MetricChange, NameChanges, ToolChanges};

/// Changes of a trial against the baseline: those of a [`Comparison`], without its calls.
///
/// ```
/// use tracer_gate::BaselineChanges;
/// use tracer_insight::comparison::Comparison;
/// use tracer_insight::profile::RunProfile;
/// use tracer_sdk::testing::capture;
///
/// let [before, after] = [capture(|| Ok(())), capture(|| tracer_sdk::tool_call("search").record())]
///     .map(|run| RunProfile::new(&run.meta, run.records));
/// let changes = BaselineChanges::from(&Comparison::of_runs(&before, &after));
/// assert_eq!(changes.metric("tool_call_count").unwrap().after, Some(1.0));
/// assert_eq!(changes.tools.added, ["search"]);
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct BaselineChanges {
    /// The metrics that differ.
    pub metrics: Vec<MetricChange>,
    /// The tools.
    pub tools: ToolChanges,
    /// The models.
    pub models: NameChanges,
    /// The ending before and after; null when it is the same.
    pub status: Option<[String; 2]>,
}

impl BaselineChanges {
    /// The change of a metric; `None` when it is the same.
    #[must_use]
    pub fn metric(&self, name: &str) -> Option<&MetricChange> {
        self.metrics.iter().find(|change| change.metric == name)
    }
}

impl From<&Comparison> for BaselineChanges {
    fn from(comparison: &Comparison) -> Self {
        let changed = comparison.metrics.iter().filter(|change| change.is_changed());
        let (before, after) = (&comparison.before.status, &comparison.after.status);
        Self {
            metrics: changed.cloned().collect(),
            tools: comparison.tools.clone(),
            models: comparison.models.clone(),
            status: (before != after).then(|| [before.clone(), after.clone()]),
        }
    }
}
