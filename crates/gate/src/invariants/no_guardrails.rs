//! `no_guardrails`: no guardrail stopped the run.

use serde::Deserialize;
use tracer_insight::profile::RunProfile;

use super::{Invariant, InvariantSpec, only_true, unless_missing, yes};
use crate::Baseline;
use crate::phrase::Phrase;

#[derive(Debug, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
struct NoGuardrails {
    /// Only `true`: leave the metric out to allow guardrail stops.
    #[serde(default = "yes", rename = "require", deserialize_with = "only_true")]
    #[schemars(extend("const" = true))]
    _require: bool,
}

pub(super) const SPEC: InvariantSpec =
    InvariantSpec::new::<NoGuardrails>("no_guardrails", |trial, _| match trial.guardrail_stops.first() {
        Some(stop) => Phrase::value(&stop.error_type),
        None => Phrase::default(),
    });

impl Invariant for NoGuardrails {
    fn outcome(&self, run: &RunProfile, _: Option<&Baseline>) -> Option<bool> {
        unless_missing(run, run.guardrail_stops.is_empty())
    }

    fn description(&self) -> String {
        "no guardrail stops the run".to_owned()
    }
}
