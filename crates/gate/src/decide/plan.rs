//! Plan of the checks: policy and baseline against each other before the first trial is paid for (gate, *Refusals*).

use crate::policy::{Check, Policy, PolicyError, PolicyMistake};
use crate::{Baseline, CheckKind, CheckMode};
use tracer_insight::profile::Metric;
use tracer_insight::text;

/// A check that gates or is reported only.
#[derive(Debug)]
pub(super) struct Planned<'a> {
    pub(super) check: &'a Check,
    pub(super) mode: CheckMode,
    /// The metric that it judges.
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

/// The checks of a gate, and the notices for its user.
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
    let notices = planner.notices.into_iter();
    Ok((
        checks,
        notices
            .map(|(checks, notice)| format!("{checks}: {notice}"))
            .collect(),
    ))
}

/// Policy and baseline, and what was found of them.
pub(super) struct Planner<'a> {
    pub(super) policy: &'a Policy,
    pub(super) baseline: Option<&'a Baseline>,
    /// Names of the checks, and what is said about them.
    notices: Vec<(String, String)>,
    pub(super) unknown_noise: Vec<UnknownNoise>,
}

/// A tolerance whose baseline is too small to estimate how often it fails an agent that did not change.
pub(super) struct UnknownNoise {
    pub(super) check: String,
    pub(super) runs: usize,
    pub(super) at_most: f64,
    /// Number of runs that would show it.
    pub(super) needed: Option<u32>,
}

impl Planner<'_> {
    /// The check as it will be judged; `None` where it has nothing to judge and need not.
    fn check<'c>(&mut self, check: &'c Check) -> Result<Option<Planned<'c>>, PolicyMistake> {
        let metric = Metric::from_name(&check.name);
        let sample = metric
            .as_ref()
            .zip(self.baseline)
            .and_then(|(metric, baseline)| baseline.sample(metric))
            .filter(|sample| !sample.is_empty());
        let mode = check.rule.judge().plan(check, sample.as_deref(), self)?;
        Ok(mode.map(|mode| Planned {
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

    /// Adds a notice about a check; what holds for several is said once.
    pub(super) fn notice(&mut self, check: &Check, notice: impl Into<String>) {
        let notice = notice.into();
        match self.notices.iter_mut().find(|(_, said)| *said == notice) {
            Some((checks, _)) => *checks = format!("{checks}, {}", check.name),
            None => self.notices.push((check.name.clone(), notice)),
        }
    }

    /// Refuses a check that is set to gate and could only fail or stay undecided.
    pub(super) fn refuse_unreachable(
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
        Err(refused(check, message).hint(format!("use {least} trials, {instead}or set mode: report_only")))
    }

    pub(super) fn needs_sample(&self, check: &Check, why: &str) -> PolicyMistake {
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

    /// Adds one notice for all checks of unknown noise: silence would mean that a tolerance seldom fails an unchanged agent.
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
        let notice = format!(
            "how often the tolerance fails an agent that did not change is not known: the baseline of {} only shows that \
             it is at most {:.0} of 100 gates{advice}",
            text::counted(worst.runs as u64, "run"),
            worst.at_most * 100.0,
        );
        self.notices.push((checks.join(", "), notice));
    }

    /// Invariants that are left to a rate must be judged by it.
    fn refuse_an_idle_rate(&self, checks: &[Planned<'_>]) -> Result<(), PolicyMistake> {
        let rate = checks
            .iter()
            .find(|planned| planned.check.rule.kind() == CheckKind::Statistical);
        match rate {
            Some(rate) if !self.policy.judged_by_rate.is_empty() && !rate.is_gating() => {
                let message = "is what judged_by_rate relies on, and does not gate with this many trials";
                Err(refused(rate.check, message).hint("use more trials, or remove judged_by_rate"))
            }
            _ => Ok(()),
        }
    }

    fn refuse_nothing(&self, checks: &[Planned<'_>]) -> Result<(), PolicyMistake> {
        if checks
            .iter()
            .any(|planned| planned.is_gating() && planned.check.rule.judge().can_fail())
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

/// False alarms per gate above which a check gets a notice.
pub(super) const NOTICE_THRESHOLD: f64 = 0.05;

pub(super) fn refused(check: &Check, message: impl Into<String>) -> PolicyMistake {
    PolicyMistake::new(&[&check.name], message).at(check.position)
}
