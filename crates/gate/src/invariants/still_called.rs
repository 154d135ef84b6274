//! `still_called`: every tool is called that all runs of the baseline called.

use serde::Deserialize;
use tracer_insight::profile::RunProfile;

use super::tools::AllowedTools;
use super::{Invariant, InvariantSpec, tools};
use crate::Baseline;

#[derive(Debug, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
struct StillCalled {
    /// Tools that the check ignores; `*` is any text, `?` any one character.
    #[serde(default)]
    #[schemars(with = "Vec<String>", inner(length(min = 1)))]
    allow: AllowedTools,
}

pub(super) const SPEC: InvariantSpec = InvariantSpec::new::<StillCalled>("still_called", tools::not_called);

impl Invariant for StillCalled {
    fn outcome(&self, run: &RunProfile, baseline: Option<&Baseline>) -> Option<bool> {
        tools::required(run, &self.tools_against(run, baseline))
    }

    fn description(&self) -> String {
        let but = self.allow.words();
        format!("every tool is called that all runs of the baseline call{but}")
    }

    fn tools_against(&self, run: &RunProfile, baseline: Option<&Baseline>) -> Vec<String> {
        let called = run.signature.tool_names();
        let usual = baseline.map(Baseline::tools_of_every_run).unwrap_or_default();
        let is_left_out = |tool: &&String| !called.contains(tool) && !self.allow.matches(tool);
        usual.into_iter().filter(is_left_out).cloned().collect()
    }

    fn needs_baseline(&self) -> bool {
        true
    }

    fn can_fail(&self) -> bool {
        !self.allow.allows_everything()
    }
}
