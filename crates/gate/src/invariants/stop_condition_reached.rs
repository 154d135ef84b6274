//! `stop_condition_reached`: the run ended `ok`, or, with `require: false`, did not.

use serde::Deserialize;
use tracer_insight::profile::RunProfile;
use tracer_sdk::format::RecordedStatus;

use super::{Invariant, InvariantSpec, yes};
use crate::{Baseline, Finding};
use tracer_insight::marked_text::MarkedText;

#[derive(Debug, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
struct StopConditionReached {
    /// `false` requires the opposite: the run does not end `ok`.
    #[serde(default = "yes")]
    require: bool,
}

pub(super) const SPEC: InvariantSpec = InvariantSpec::new::<StopConditionReached>("stop_condition_reached");

impl Invariant for StopConditionReached {
    fn finding(&self, run: &RunProfile, _: Option<&Baseline>) -> Finding {
        // The root holds the status, and the root is there.
        if (run.status == RecordedStatus::Ok) == self.require {
            return Finding::kept();
        }
        Finding::broken(MarkedText::own("ended ").with_value(&run.signature.status))
    }

    fn description(&self) -> String {
        let ends = if self.require { "ends" } else { "does not end" };
        format!("the run {ends} with status ok")
    }

    fn is_about_the_end(&self) -> bool {
        true
    }
}
