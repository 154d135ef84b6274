//! `no_new_tools`: no tool is called that no run of the baseline called.

use serde::Deserialize;
use tracer_insight::profile::RunProfile;

use super::tools::AllowedTools;
use super::{Invariant, InvariantSpec, tools};
use crate::{Baseline, Finding};

#[derive(Debug, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
struct NoNewTools {
    /// Tools that the check ignores; `*` is any text, `?` any one character.
    #[serde(default)]
    #[schemars(with = "Vec<String>", inner(length(min = 1)))]
    allow: AllowedTools,
}

pub(super) const SPEC: InvariantSpec = InvariantSpec::new::<NoNewTools>("no_new_tools");

impl Invariant for NoNewTools {
    fn description(&self) -> String {
        let but = self.allow.words();
        format!("no tool is called that the baseline does not know{but}")
    }

    fn finding(&self, run: &RunProfile, baseline: Option<&Baseline>) -> Finding {
        let known = baseline.map(Baseline::known_tools).unwrap_or_default();
        let is_new = |tool: &&String| !known.contains(tool.as_str()) && !self.allow.matches(tool);
        tools::called(run, run.tools_in_any_reading().filter(is_new))
    }

    fn needs_baseline(&self) -> bool {
        true
    }

    fn can_fail(&self) -> bool {
        !self.allow.allows_everything()
    }
}
