//! `forbidden_tools`: none of the tools in `none_of` is called.

use serde::Deserialize;
use tracer_insight::profile::RunProfile;

use super::{Invariant, InvariantSpec, tools};
use crate::{Baseline, Finding};

#[derive(Debug, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
struct ForbiddenTools {
    /// Tools that no trial may call.
    #[serde(deserialize_with = "tools::names")]
    #[schemars(inner(length(min = 1)))]
    none_of: Vec<String>,
}

pub(super) const SPEC: InvariantSpec = InvariantSpec::new::<ForbiddenTools>("forbidden_tools");

impl Invariant for ForbiddenTools {
    fn description(&self) -> String {
        format!("none of these tools is called: {}", self.none_of.join(", "))
    }

    fn finding(&self, run: &RunProfile, _: Option<&Baseline>) -> Finding {
        let is_forbidden = |tool: &&String| self.none_of.contains(tool);
        tools::called(run, run.tools_in_any_reading().filter(is_forbidden))
    }

    fn can_fail(&self) -> bool {
        !self.none_of.is_empty()
    }
}
