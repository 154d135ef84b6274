//! `required_tools`: every tool in `all_of` is called.

use serde::Deserialize;
use tracer_insight::profile::RunProfile;

use super::{Invariant, InvariantSpec, tools};
use crate::Baseline;

#[derive(Debug, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
struct RequiredTools {
    /// Tools that every trial must call.
    #[serde(deserialize_with = "tools::names")]
    #[schemars(inner(length(min = 1)))]
    all_of: Vec<String>,
}

pub(super) const SPEC: InvariantSpec =
    InvariantSpec::new::<RequiredTools>("required_tools", tools::not_called);

impl Invariant for RequiredTools {
    fn outcome(&self, run: &RunProfile, baseline: Option<&Baseline>) -> Option<bool> {
        tools::required(run, &self.tools_against(run, baseline))
    }

    fn description(&self) -> String {
        format!("all of these tools are called: {}", self.all_of.join(", "))
    }

    fn tools_against(&self, run: &RunProfile, _: Option<&Baseline>) -> Vec<String> {
        let called = run.signature.tool_names();
        let required = self.all_of.iter();
        required.filter(|tool| !called.contains(tool)).cloned().collect()
    }

    fn can_fail(&self) -> bool {
        !self.all_of.is_empty()
    }
}
