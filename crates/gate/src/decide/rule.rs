//! [`Judge`]: a rule of a policy from its plan to its decision.

use tracer_insight::profile::Bounds;

use super::plan::Planner;
use crate::policy::{Check, PolicyMistake, Rule};
use crate::statistics::IntervalMethod;
use crate::{CheckMode, CheckResult, Evidence, Report, Verdict};
use tracer_insight::marked_text::MarkedText;

/// A rule of a policy; one implementation per kind.
pub(super) trait Judge {
    /// Mode of the check, before the first trial; `None` leaves the check out. `sample` has the values of the baseline's runs.
    fn plan(
        &self,
        check: &Check,
        sample: Option<&[f64]>,
        planner: &mut Planner<'_>,
    ) -> Result<Option<CheckMode>, PolicyMistake>;

    /// Checks if any run can break it.
    fn can_fail(&self) -> bool {
        true
    }

    /// The decision on all trials; `None` without a sample that it needs.
    fn decide(&self, trials: &JudgedTrials<'_>) -> Option<Decision>;

    /// Checks if it fails whatever `left` more trials show.
    fn must_fail(&self, trials: &JudgedTrials<'_>, left: u32) -> bool;
}

impl Rule {
    pub(super) fn judge(&self) -> &dyn Judge {
        match self {
            Self::Invariant(rule) => rule,
            Self::Measured(rule) => rule,
            Self::Distributional(rule) => rule,
            Self::Statistical(rule) => rule,
        }
    }
}

/// The allowed and the observed value, and the failing trials by number.
pub(crate) type Words = (MarkedText, MarkedText, Vec<u32>);

/// Evidence of a rule in words.
pub(super) trait Describe {
    fn describe(&self, check: &CheckResult, report: &Report) -> Words;
}

impl Evidence {
    pub(crate) fn words(&self, check: &CheckResult, report: &Report) -> Words {
        let evidence: &dyn Describe = match self {
            Self::Invariant(evidence) => evidence,
            Self::Measured(evidence) => evidence,
            Self::Statistical(evidence) => evidence,
            Self::Distributional(evidence) => evidence,
        };
        evidence.describe(check, report)
    }
}

/// The words of a check that has an outcome for each trial.
pub(super) fn words(check: &CheckResult, allowed: String, seen: String) -> Words {
    let against = check.violating_trials().collect();
    (MarkedText::own(allowed), MarkedText::own(seen), against)
}

/// The trials as one rule sees them.
#[derive(Debug, Default)]
pub(super) struct JudgedTrials<'a> {
    /// Their numbers.
    pub(super) numbers: Vec<u32>,
    pub(super) method: IntervalMethod,
    /// Bounds of the metric in each trial; `None` where nothing is known.
    pub(super) values: Vec<Option<Bounds>>,
    /// The metric's values in the runs of the baseline.
    pub(super) sample: Option<&'a [f64]>,
    /// Each trial keeps the invariant, or all of them; `None` where it does not hold enough evidence.
    pub(super) outcomes: Vec<Option<bool>>,
    /// A trial can fail without failing the gate.
    pub(super) is_rate_free: bool,
}

impl JudgedTrials<'_> {
    /// Number of trials with this outcome.
    pub(super) fn count(&self, outcome: Option<bool>) -> u32 {
        count(self.outcomes.iter().filter(|found| **found == outcome).count())
    }

    /// For each trial, if it kept the invariant for certain.
    pub(super) fn kept(&self) -> Vec<bool> {
        self.outcomes
            .iter()
            .map(|outcome| *outcome == Some(true))
            .collect()
    }

    /// The trials without an outcome, by number.
    pub(super) fn undecided(&self) -> Vec<u32> {
        self.numbers_of(self.outcomes.iter().map(Option::is_none))
    }

    /// The trials without an exact value, by number.
    pub(super) fn inexact(&self) -> Vec<u32> {
        self.numbers_of(self.exact().map(|value| value.is_none()))
    }

    /// The exact value of each trial.
    pub(super) fn exact(&self) -> impl Iterator<Item = Option<f64>> {
        self.values.iter().map(|value| value.and_then(Bounds::exact))
    }

    /// Bounds of each trial, those of `left` more included.
    pub(super) fn possible(&self, left: u32) -> Vec<Bounds> {
        let known = self.values.iter().copied();
        known
            .chain((0..left).map(|_| None))
            .map(|value| value.unwrap_or(Bounds::ANYTHING))
            .collect()
    }

    fn numbers_of(&self, are: impl Iterator<Item = bool>) -> Vec<u32> {
        let numbers = self.numbers.iter().zip(are);
        numbers.filter(|(_, is)| *is).map(|(number, _)| *number).collect()
    }
}

/// Decision of a rule about the trials.
pub(super) struct Decision {
    pub(super) verdict: Verdict,
    /// For each trial, if it was good; empty for a number of the whole sample.
    pub(super) outcomes: Vec<bool>,
    pub(super) evidence: Evidence,
    /// The trials that could decide otherwise if more were known, by number.
    pub(super) unknown: Vec<u32>,
}

/// A number as reports count.
pub(super) fn count(many: usize) -> u32 {
    u32::try_from(many).unwrap_or(u32::MAX)
}
