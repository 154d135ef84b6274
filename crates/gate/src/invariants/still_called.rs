//! `still_called`: every tool is called that all runs of the baseline called.

use serde::Deserialize;
use tracer_insight::profile::RunProfile;

use super::tools::AllowedTools;
use super::{Invariant, InvariantSpec, tools};
use crate::{Baseline, Finding};

#[derive(Debug, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
struct StillCalled {
    /// Tools that the check ignores; `*` is any text, `?` any one character.
    #[serde(default)]
    #[schemars(with = "Vec<String>", inner(length(min = 1)))]
    allow: AllowedTools,
}

pub(super) const SPEC: InvariantSpec = InvariantSpec::new::<StillCalled>("still_called");

impl Invariant for StillCalled {
    fn finding(&self, run: &RunProfile, baseline: Option<&Baseline>) -> Finding {
        let usual = baseline.map(Baseline::tools_of_every_run).unwrap_or_default();
        let demanded = usual.into_iter().filter(|tool| !self.allow.matches(tool));
        tools::not_called(run, demanded)
    }

    fn description(&self) -> String {
        let but = self.allow.words();
        format!("every tool is called that all runs of the baseline call{but}")
    }

    fn needs_baseline(&self) -> bool {
        true
    }

    fn can_fail(&self) -> bool {
        !self.allow.allows_everything()
    }
}
