//! `required_tools`: every tool in `all_of` is called.

use serde::Deserialize;
use tracer_insight::profile::RunProfile;

use super::{Invariant, InvariantSpec, tools};
use crate::{Baseline, Finding};

#[derive(Debug, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
struct RequiredTools {
    /// Tools that every trial must call.
    #[serde(deserialize_with = "tools::names")]
    #[schemars(inner(length(min = 1)))]
    all_of: Vec<String>,
}

pub(super) const SPEC: InvariantSpec = InvariantSpec::new::<RequiredTools>("required_tools");

impl Invariant for RequiredTools {
    fn finding(&self, run: &RunProfile, _: Option<&Baseline>) -> Finding {
        tools::not_called(run, self.all_of.iter())
    }

    fn description(&self) -> String {
        format!("all of these tools are called: {}", self.all_of.join(", "))
    }

    fn can_fail(&self) -> bool {
        !self.all_of.is_empty()
    }
}
