//! Demands that no number of trials could meet are refused when the policy is read.

use super::{Policy, PolicyError, PolicyErrorCode as Code, Rule};
use crate::CheckMode;
use crate::statistics::minimum_trials;

impl Policy {
    /// Refuses a rate that cannot be shown; one that is only reported may be any.
    pub(super) fn refuse_impossible_rates(&self) -> Result<(), PolicyError> {
        for check in &self.checks {
            let Rule::Statistical(rate) = &check.rule else {
                continue;
            };
            let told = check.ignored || rate.mode == Some(CheckMode::ReportOnly);
            if !told && minimum_trials(self.decision, rate.target, rate.confidence).is_none() {
                let message = "demands a rate that no number of trials that anybody makes can show";
                let path = format!("metrics.{}.threshold", check.name);
                return Err(PolicyError::new(Code::ThresholdUnreachable, path, message)
                    .at(check.position)
                    .hint("demand less than certainty, or a wider range, or set mode: report_only"));
            }
        }
        Ok(())
    }
}
