//! `failed_calls_are_retried`: after a failed call, one of the same tool, or of a model, succeeds.

use serde::Deserialize;
use tracer_insight::profile::RunProfile;

use super::tools::AllowedTools;
use super::{Invariant, InvariantSpec};
use crate::Baseline;
use crate::phrase::Phrase;

#[derive(Debug, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
struct FailedCallsAreRetried {
    /// Tools and models whose calls may fail; `*` is any text, `?` any one character.
    #[serde(default)]
    #[schemars(with = "Vec<String>", inner(length(min = 1)))]
    allow: AllowedTools,
}

pub(super) const SPEC: InvariantSpec =
    InvariantSpec::new::<FailedCallsAreRetried>("failed_calls_are_retried", |_, tools| {
        Phrase::words("no successful call after the failed one of ").and_value(tools.join(", "))
    });

impl Invariant for FailedCallsAreRetried {
    fn outcome(&self, run: &RunProfile, baseline: Option<&Baseline>) -> Option<bool> {
        let is_kept = self.tools_against(run, baseline).is_empty();
        // A missing span may be the retry, and a retry whose end was not seen may have failed.
        let mut perhaps = run.perhaps_recovered_calls.iter();
        let is_known = !is_kept || perhaps.all(|name| self.allow.matches(name));
        (is_known && run.missing.is_none()).then_some(is_kept)
    }

    fn description(&self) -> String {
        let but = self.allow.words();
        format!("each failed call is followed by a successful one of the same tool or of a model{but}")
    }

    fn tools_against(&self, run: &RunProfile, _: Option<&Baseline>) -> Vec<String> {
        let failed = run.unrecovered_calls.iter();
        failed.filter(|name| !self.allow.matches(name)).cloned().collect()
    }

    fn can_fail(&self) -> bool {
        !self.allow.allows_everything()
    }

    fn is_about_the_end(&self) -> bool {
        true
    }
}
