//! `failed_calls_are_retried`: after a failed call, one of the same tool, or of a model, succeeds.

use serde::Deserialize;
use tracer_insight::profile::RunProfile;

use super::tools::AllowedTools;
use super::{Invariant, InvariantSpec};
use crate::{Baseline, Finding};
use tracer_insight::marked_text::MarkedText;

#[derive(Debug, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
struct FailedCallsAreRetried {
    /// Tools and models whose calls may fail; `*` is any text, `?` any one character.
    #[serde(default)]
    #[schemars(with = "Vec<String>", inner(length(min = 1)))]
    allow: AllowedTools,
}

pub(super) const SPEC: InvariantSpec =
    InvariantSpec::new::<FailedCallsAreRetried>("failed_calls_are_retried");

impl Invariant for FailedCallsAreRetried {
    fn finding(&self, run: &RunProfile, _: Option<&Baseline>) -> Finding {
        let failed = run.unrecovered_calls.iter();
        let failed: Vec<&str> = failed
            .filter(|name| !self.allow.matches(name))
            .map(String::as_str)
            .collect();
        // A missing span may be the retry, and a retry whose end was not seen may have failed.
        let mut perhaps = run.perhaps_recovered_calls.iter();
        let is_known = !failed.is_empty() || perhaps.all(|name| self.allow.matches(name));
        if !is_known || run.missing.is_some() {
            return Finding::default();
        }
        if failed.is_empty() {
            return Finding::kept();
        }
        let reason = MarkedText::own("no successful call after the failed one of ");
        Finding::broken(reason.with_value(failed.join(", ")))
    }

    fn description(&self) -> String {
        let but = self.allow.words();
        format!("each failed call is followed by a successful one of the same tool or of a model{but}")
    }

    fn can_fail(&self) -> bool {
        !self.allow.allows_everything()
    }

    fn is_about_the_end(&self) -> bool {
        true
    }
}
