//! `allowed_models`: no model is asked but those in `any_of`.

use serde::Deserialize;
use tracer_insight::profile::RunProfile;

use super::tools::AllowedTools;
use super::{Invariant, InvariantSpec, tools};
use crate::{Baseline, Finding};

#[derive(Debug, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
struct AllowedModels {
    /// Models that a trial may ask; `*` is any text, `?` any one character.
    #[schemars(with = "Vec<String>", inner(length(min = 1)))]
    any_of: AllowedTools,
}

pub(super) const SPEC: InvariantSpec = InvariantSpec::new::<AllowedModels>("allowed_models");

impl Invariant for AllowedModels {
    fn finding(&self, run: &RunProfile, _: Option<&Baseline>) -> Finding {
        let models = run.signature.models.iter();
        tools::called(run, models.filter(|model| !self.any_of.matches(model)))
    }

    fn description(&self) -> String {
        format!("no model is asked{}", self.any_of.words())
    }

    fn can_fail(&self) -> bool {
        !self.any_of.allows_everything()
    }
}

#[cfg(test)]
mod tests {
    use tracer_insight::testing::recorded;
    use tracer_sdk::llm_call;

    use crate::policy::{Overrides, Policy};
    use crate::{Gate, Trial, Verdict};

    #[test]
    fn a_model_that_is_not_named_breaks_it() {
        let text = "version: 2\ntrials: 1\nmetrics:\n  allowed_models: {any_of: [\"gpt-5*\"]}\n";
        let policy = Policy::parse(text, &Overrides::default()).unwrap();
        let gate = Gate::new(&policy, None).unwrap();
        for (model, verdict) in [("gpt-5-mini", Verdict::Pass), ("gpt-4o", Verdict::Fail)] {
            let run = recorded(|| llm_call(model).record());
            assert_eq!(gate.judge(&[Trial::of_run(1, run)]).verdict, verdict, "{model}");
        }
    }
}
