//! Plan of the checks: policy and baseline against each other before the first trial is paid for (gate, section 1).

use super::{distributional, invariant, measured};
use crate::policy::{
    Check, Distributional, Invariant, Measured, Policy, PolicyError, PolicyMistake, Rule, Statistical,
};
use crate::statistics::{Noise, min_sample_size, minimum_baseline_trials, minimum_trials};
use crate::{Baseline, CheckMode};
use tracer_insight::profile::Metric;
use tracer_insight::text;

/// A check that gates or is reported only.
#[derive(Debug)]
pub(super) struct Planned<'a> {
    pub(super) check: &'a Check,
    pub(super) mode: CheckMode,
    /// The number that it looks at.
    pub(super) metric: Option<Metric>,
    /// Its values in the runs of the baseline.
    pub(super) sample: Option<Vec<f64>>,
}

impl Planned<'_> {
    pub(super) fn name(&self) -> &str {
        &self.check.name
    }

    pub(super) fn is_gating(&self) -> bool {
        self.mode == CheckMode::Gating
    }
}

/// The checks of a gate, and what its user should know about them.
pub(super) fn plan<'a>(
    policy: &'a Policy,
    baseline: Option<&Baseline>,
) -> Result<(Vec<Planned<'a>>, Vec<String>), PolicyError> {
    let mut planner = Planner {
        policy,
        baseline,
        notices: Vec::new(),
        unknown_noise: Vec::new(),
    };
    let mut checks = Vec::with_capacity(policy.checks.len());
    let mut mistakes = Vec::new();
    for check in &policy.checks {
        match planner.check(check) {
            Ok(check) => checks.extend(check),
            Err(mistake) => mistakes.push(mistake),
        }
    }
    if !mistakes.is_empty() {
        return Err(PolicyError { mistakes });
    }
    planner.report_unknown_noise();
    planner.refuse_an_idle_rate(&checks)?;
    planner.refuse_nothing(&checks)?;
    Ok((checks, planner.notices))
}

struct Planner<'a, 'b> {
    policy: &'a Policy,
    baseline: Option<&'b Baseline>,
    notices: Vec<String>,
    unknown_noise: Vec<UnknownNoise>,
}

/// A tolerance whose baseline is too small to estimate how often it fails an agent that did not change.
struct UnknownNoise {
    check: String,
    runs: usize,
    at_most: f64,
    /// Number of runs that would show it.
    needed: Option<u32>,
}

impl<'a> Planner<'a, '_> {
    /// The check as it will be judged; nothing where it has nothing to look at and need not.
    fn check(&mut self, check: &'a Check) -> Result<Option<Planned<'a>>, PolicyMistake> {
        let metric = Metric::from_name(&check.name);
        let sample = metric
            .as_ref()
            .zip(self.baseline)
            .and_then(|(metric, baseline)| baseline.sample(metric));
        let sample = sample.filter(|sample| !sample.is_empty());
        let mode = match &check.rule {
            Rule::Invariant(invariant) => self.invariant(check, invariant),
            Rule::Measured(rule) => self.measured(check, rule, sample.as_deref())?,
            Rule::Distributional(rule) => self.distributional(check, rule, sample.as_deref())?,
            Rule::Statistical(rule) => Some(self.statistical(check, rule)?),
        };
        let Some(mode) = mode else { return Ok(None) };
        Ok(Some(Planned {
            check,
            mode: if check.ignored {
                CheckMode::ReportOnly
            } else {
                mode
            },
            metric,
            sample,
        }))
    }

    fn invariant(&mut self, check: &Check, invariant: &Invariant) -> Option<CheckMode> {
        let asks_baseline = matches!(
            invariant,
            Invariant::KnownTools { .. } | Invariant::StillCalled { .. }
        );
        if asks_baseline && self.baseline.is_none() && !check.ignored {
            // A policy that `init` wrote has it from the first gate on, which makes the baseline.
            let name = &check.name;
            self.notices
                .push(format!("{name}: not checked, because there is no baseline yet"));
            return None;
        }
        let by_rate = self.policy.judged_by_rate.contains(&check.name);
        Some(if by_rate {
            CheckMode::ReportOnly
        } else {
            CheckMode::Gating
        })
    }

    fn measured(
        &mut self,
        check: &Check,
        rule: &Measured,
        sample: Option<&[f64]>,
    ) -> Result<Option<CheckMode>, PolicyMistake> {
        let Some(sample) = sample else {
            let has_limit = rule.lower_limit.is_some() || rule.upper_limit.is_some();
            if rule.tolerance.is_some() && self.baseline.is_some() {
                let skipped = if has_limit {
                    "its tolerance is not applied"
                } else {
                    "it is not checked"
                };
                self.notices.push(format!(
                    "{}: the baseline has no values of it, so {skipped}",
                    check.name
                ));
            }
            if has_limit {
                return Ok(Some(CheckMode::Gating));
            }
            // A built-in policy has a tolerance for every number, known or not.
            if check.position.is_none() || check.ignored {
                return Ok(None);
            }
            return Err(self.needs_sample(check, "has a tolerance and no limit"));
        };
        if rule.tolerance.is_some() && !check.ignored {
            let Noise { estimate, at_most } = measured::false_alarms(rule, sample, self.policy.trials);
            if estimate > NOTICE_THRESHOLD {
                self.notices.push(format!(
                    "{}: an agent that did not change fails this check in about {:.0} of 100 gates, as far as the \
                     baseline's {} tell, and in at most {:.0}; more trials or a wider tolerance make that rarer",
                    check.name,
                    estimate * 100.0,
                    text::counted(sample.len() as u64, "run"),
                    at_most * 100.0,
                ));
            } else if at_most > NOTICE_THRESHOLD {
                self.unknown_noise.push(UnknownNoise {
                    check: check.name.clone(),
                    runs: sample.len(),
                    at_most,
                    needed: min_sample_size(NOTICE_THRESHOLD, self.policy.trials, rule.aggregate),
                });
            }
        }
        Ok(Some(CheckMode::Gating))
    }

    fn distributional(
        &mut self,
        check: &Check,
        rule: &Distributional,
        sample: Option<&[f64]>,
    ) -> Result<Option<CheckMode>, PolicyMistake> {
        let Some(sample) = sample else {
            if check.ignored {
                return Ok(None);
            }
            return Err(self.needs_sample(check, "is distributional"));
        };
        let needed = minimum_baseline_trials(rule.coverage);
        let large_enough = usize::try_from(needed).is_ok_and(|needed| sample.len() >= needed);
        let mode = rule.mode.unwrap_or(if large_enough {
            CheckMode::Gating
        } else {
            CheckMode::ReportOnly
        });
        if check.ignored || mode == CheckMode::ReportOnly {
            if rule.mode.is_none() && !large_enough {
                let name = &check.name;
                let has = text::counted(sample.len() as u64, "run");
                self.notices.push(format!(
                    "{name}: reported only, because the baseline has {has} and {needed} are needed"
                ));
            }
            return Ok(Some(CheckMode::ReportOnly));
        }
        if !large_enough {
            let message = format!(
                "needs a baseline of {needed} runs, and this one has {}",
                sample.len()
            );
            return Err(refused(check, message)
                .hint("make a larger baseline, demand less coverage, or set mode: report_only"));
        }
        // One trial is judged by the bound itself; several by how many of them lie beyond.
        if self.policy.trials > 1 {
            let target = distributional::target(rule);
            let least = minimum_trials(self.policy.decision, target, rule.confidence);
            self.refuse_unreachable(check, least, "or a single trial, ")?;
        }
        Ok(Some(CheckMode::Gating))
    }

    fn statistical(&mut self, check: &Check, rule: &Statistical) -> Result<CheckMode, PolicyMistake> {
        let least = minimum_trials(self.policy.decision, rule.target, rule.confidence);
        let reachable = least.is_some_and(|least| self.policy.trials >= least);
        match rule.mode {
            _ if check.ignored => Ok(CheckMode::ReportOnly),
            Some(CheckMode::ReportOnly) => Ok(CheckMode::ReportOnly),
            Some(CheckMode::Gating) => self
                .refuse_unreachable(check, least, "")
                .map(|()| CheckMode::Gating),
            None if reachable => Ok(CheckMode::Gating),
            None => {
                let least =
                    least.map_or_else(|| "more than anybody makes".to_owned(), |least| least.to_string());
                self.notices.push(format!(
                    "{}: reported only, because {} trials cannot reach PASS; {least} are needed",
                    check.name, self.policy.trials
                ));
                Ok(CheckMode::ReportOnly)
            }
        }
    }

    /// Refuses a check that is set to gate and could only fail or stay undecided.
    fn refuse_unreachable(
        &self,
        check: &Check,
        least: Option<u32>,
        instead: &str,
    ) -> Result<(), PolicyMistake> {
        let trials = self.policy.trials;
        let Some(least) = least else {
            return Err(
                refused(check, "is set to gate, and no number of trials can reach PASS")
                    .hint("demand less, or set mode: report_only"),
            );
        };
        if trials >= least {
            return Ok(());
        }
        let message = format!("is set to gate, and {trials} trials cannot reach PASS: {least} can");
        Err(refused(check, message).hint(format!("use --trials {least}, {instead}or set mode: report_only")))
    }

    fn needs_sample(&self, check: &Check, why: &str) -> PolicyMistake {
        let (lacks, hint) = match self.baseline {
            None => (
                "there is no baseline",
                "make one of a good run (`tracer baseline --out FILE`), and give it with --baseline FILE",
            ),
            Some(_) => (
                "the baseline has no values of it",
                "give a baseline that knows this metric with --baseline, or state a limit",
            ),
        };
        refused(check, format!("{why}, and {lacks}")).hint(hint)
    }

    /// Silence would mean that a tolerance seldom fails an agent that did not change; where nobody knows, that is said,
    /// once for all checks.
    fn report_unknown_noise(&mut self) {
        let Some(worst) = self
            .unknown_noise
            .iter()
            .max_by(|left, right| left.at_most.total_cmp(&right.at_most))
        else {
            return;
        };
        let checks: Vec<&str> = self
            .unknown_noise
            .iter()
            .map(|noise| noise.check.as_str())
            .collect();
        let needed = self
            .unknown_noise
            .iter()
            .map(|noise| noise.needed)
            .max()
            .flatten();
        let advice = needed
            .map(|needed| format!("; a baseline of {needed} runs would show it"))
            .unwrap_or_default();
        self.notices.push(format!(
            "{}: how often the tolerance fails an agent that did not change is not known: the baseline's {} only show \
             that it is at most {:.0} of 100 gates{advice}",
            checks.join(", "),
            text::counted(worst.runs as u64, "run"),
            worst.at_most * 100.0,
        ));
    }

    /// Invariants that are left to a rate must be judged by it.
    fn refuse_an_idle_rate(&self, checks: &[Planned<'_>]) -> Result<(), PolicyMistake> {
        let rate = checks
            .iter()
            .find(|planned| matches!(planned.check.rule, Rule::Statistical(_)));
        match rate {
            Some(rate) if !self.policy.judged_by_rate.is_empty() && !rate.is_gating() => {
                let message = "is what judged_by_rate relies on, and does not gate with this many trials";
                Err(refused(rate.check, message).hint("use more trials, or remove judged_by_rate"))
            }
            _ => Ok(()),
        }
    }

    fn refuse_nothing(&self, checks: &[Planned<'_>]) -> Result<(), PolicyMistake> {
        let checks_something = |planned: &Planned<'_>| match &planned.check.rule {
            Rule::Invariant(invariant) => invariant::can_fail(invariant),
            _ => true,
        };
        if checks
            .iter()
            .any(|planned| planned.is_gating() && checks_something(planned))
        {
            return Ok(());
        }
        let message = if self.policy.checks.is_empty() {
            "has no check"
        } else {
            "has no check that would decide anything here"
        };
        let hint = match self.baseline {
            None => "state an invariant or a limit in the policy, or give a baseline with --baseline",
            Some(_) => "state an invariant, a limit or a tolerance in the policy",
        };
        Err(PolicyMistake::new(&[], message).hint(hint))
    }
}

/// A rule that fails an unchanged agent more often than this is worth a word.
const NOTICE_THRESHOLD: f64 = 0.05;

fn refused(check: &Check, message: impl Into<String>) -> PolicyMistake {
    PolicyMistake::new(&[&check.name], message).at(check.position)
}
