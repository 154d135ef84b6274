//! `no_guardrails`: no guardrail stopped the run.

use serde::Deserialize;
use tracer_insight::profile::RunProfile;

use super::{Invariant, InvariantSpec, only_true, yes};
use crate::{Baseline, Finding};
use tracer_insight::marked_text::MarkedText;

#[derive(Debug, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
struct NoGuardrails {
    /// Only `true`: leave the metric out to allow guardrail stops.
    #[serde(default = "yes", rename = "require", deserialize_with = "only_true")]
    #[schemars(extend("const" = true))]
    _require: bool,
}

pub(super) const SPEC: InvariantSpec = InvariantSpec::new::<NoGuardrails>("no_guardrails");

impl Invariant for NoGuardrails {
    fn finding(&self, run: &RunProfile, _: Option<&Baseline>) -> Finding {
        let stop = run.guardrail_stops.first();
        let reason = stop
            .map(|stop| MarkedText::value(&stop.error_type))
            .unwrap_or_default();
        Finding::unless_missing(run, stop.is_none(), reason)
    }

    fn description(&self) -> String {
        "no guardrail stops the run".to_owned()
    }
}
