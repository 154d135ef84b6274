//! What the command line says over the policy file (gate-contract, section 5).

use std::mem::discriminant;
use std::time::Duration;

use super::rules::{Check, Invariant, Rule};
use super::{OnInconclusive, Policy, PolicyError, PolicyErrorCode as Code, ToolGlobs};
use crate::Direction;
use crate::statistics::RateTarget;

/// The options of the command line that change a policy; what is left out changes nothing.
///
/// A file of version 1 says the same things, so it is read into the same type.
///
/// ```
/// use tracer_gate::policy::{Bound, Overrides, Policy};
///
/// let overrides = Overrides {
///     steps: Bound { max: Some(20), tolerance: None },
///     no_loops: true,
///     ..Overrides::default()
/// };
/// let policy = Policy::without_file(&overrides).unwrap();
/// assert!(policy.check("no_loops").is_some());
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a switch of the command line"
)]
pub struct Overrides {
    /// `--trials`: at least 1.
    pub trials: Option<u32>,
    /// `--fail-fast`, `--no-fail-fast`.
    pub fail_fast: Option<bool>,
    /// `--confidence-level` of `task_pass_rate`, between 0 and 1.
    pub confidence_level: Option<f64>,
    /// `--pass-rate-threshold` of `task_pass_rate`, from 0 to 1.
    pub pass_rate_threshold: Option<f64>,
    /// `--max-steps` and `--step-tolerance`.
    pub steps: Bound,
    /// `--max-tool-calls` and `--tool-call-tolerance`.
    pub tool_calls: Bound,
    /// `--max-cost-tokens` and `--cost-tolerance`.
    pub cost_tokens: Bound,
    /// `--max-duration-ms` and `--duration-tolerance`.
    pub duration_ms: Bound,
    /// `--no-new-tools`.
    pub no_new_tools: bool,
    /// `--still-called`.
    pub still_called: bool,
    /// `--no-loops`.
    pub no_loops: bool,
    /// `--no-guardrails`.
    pub no_guardrails: bool,
    /// `--expect-status`.
    pub expect_status: Option<ExpectedStatus>,
    /// `--ignore-check`: checks that are reported without gating, by their old names or by the metrics'.
    pub ignored_checks: Vec<String>,
    /// `--inconclusive`.
    pub on_inconclusive: Option<OnInconclusive>,
    /// `--jobs`: at least 1.
    pub jobs: Option<u32>,
    /// `--timeout`: more than 0.
    pub timeout: Option<Duration>,
}

/// The most that a number may be, and how far above the baseline.
///
/// ```
/// use tracer_gate::policy::Bound;
///
/// assert_eq!(Bound { max: Some(20), ..Bound::default() }.tolerance, None);
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Bound {
    /// The most, in the unit of the metric.
    pub max: Option<u64>,
    /// A share of the baseline's number.
    pub tolerance: Option<f64>,
}

/// How a run is expected to end.
///
/// ```
/// use tracer_gate::policy::{ExpectedStatus, Overrides, Policy};
///
/// let overrides = Overrides { expect_status: Some(ExpectedStatus::Ok), ..Overrides::default() };
/// assert!(Policy::without_file(&overrides).unwrap().check("stop_condition_reached").is_some());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExpectedStatus {
    /// With status `ok`.
    Ok,
    /// With any other.
    Error,
}

/// A number that the old format bounds: its metric, and the two options.
pub(super) struct BoundedNumber {
    pub(super) metric: &'static str,
    max: &'static str,
    tolerance: &'static str,
    pub(super) of: fn(&Overrides) -> Bound,
}

pub(super) const BOUNDED_NUMBERS: &[BoundedNumber] = &[
    BoundedNumber {
        metric: "step_count",
        max: "--max-steps",
        tolerance: "--step-tolerance",
        of: |overrides| overrides.steps,
    },
    BoundedNumber {
        metric: "tool_call_count",
        max: "--max-tool-calls",
        tolerance: "--tool-call-tolerance",
        of: |overrides| overrides.tool_calls,
    },
    BoundedNumber {
        metric: "cost_tokens",
        max: "--max-cost-tokens",
        tolerance: "--cost-tolerance",
        of: |overrides| overrides.cost_tokens,
    },
    BoundedNumber {
        metric: "latency_ms",
        max: "--max-duration-ms",
        tolerance: "--duration-tolerance",
        of: |overrides| overrides.duration_ms,
    },
];

/// The names of checks in the old format, and the metrics that they became.
pub(crate) const OLD_CHECKS: &[(&str, &str)] = &[
    ("step_count", "step_count"),
    ("tool_calls", "tool_call_count"),
    ("new_tools", "forbidden_tools"),
    ("no_loops", "no_loops"),
    ("no_guardrails", "no_guardrails"),
    ("cost_tokens", "cost_tokens"),
    ("duration", "latency_ms"),
    ("expect_status", "stop_condition_reached"),
];

impl Overrides {
    /// Refuses values that no policy could take.
    pub(super) fn check(&self) -> Result<(), PolicyError> {
        let whole = |value: Option<u32>, option, code| match value {
            Some(0) => Err(PolicyError::new(
                code,
                option,
                "must be a whole number, at least 1",
            )),
            _ => Ok(()),
        };
        whole(self.trials, "--trials", Code::TrialsInvalid)?;
        whole(self.jobs, "--jobs", Code::NotAllowed)?;
        if self.timeout.is_some_and(|timeout| timeout.is_zero()) {
            return Err(PolicyError::new(
                Code::NotAllowed,
                "--timeout",
                "must be more than 0",
            ));
        }
        if self
            .confidence_level
            .is_some_and(|level| !(level > 0.0 && level < 1.0))
        {
            let message = "must be more than 0 and less than 1";
            return Err(PolicyError::new(
                Code::FractionOpen,
                "--confidence-level",
                message,
            ));
        }
        if self
            .pass_rate_threshold
            .is_some_and(|rate| !(0.0..=1.0).contains(&rate))
        {
            return Err(PolicyError::new(
                Code::FractionClosed,
                "--pass-rate-threshold",
                "must be between 0 and 1",
            ));
        }
        for number in BOUNDED_NUMBERS {
            match (number.of)(self).tolerance {
                Some(value) if !value.is_finite() => {
                    return Err(PolicyError::new(
                        Code::NotFiniteNumber,
                        number.tolerance,
                        "must be a finite number",
                    ));
                }
                Some(value) if value < 0.0 => {
                    return Err(PolicyError::new(
                        Code::NegativeValue,
                        number.tolerance,
                        "must not be negative",
                    ));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Changes a policy of version 2; an option that changes nothing is refused.
    pub(super) fn apply(&self, policy: &mut Policy) -> Result<(), PolicyError> {
        self.apply_to_trials(policy);
        self.apply_to_rate(policy)?;
        for number in BOUNDED_NUMBERS {
            number.apply(self, policy)?;
        }
        self.add_invariants(policy);
        self.ignore_checks(policy)
    }

    /// What does not depend on the metrics.
    pub(super) fn apply_to_trials(&self, policy: &mut Policy) {
        policy.trials = self.trials.unwrap_or(policy.trials);
        policy.fail_fast = self.fail_fast.unwrap_or(policy.fail_fast);
        policy.on_inconclusive = self.on_inconclusive.unwrap_or(policy.on_inconclusive);
        policy.jobs = self.jobs.unwrap_or(policy.jobs);
        policy.timeout = self.timeout.unwrap_or(policy.timeout);
    }

    fn apply_to_rate(&self, policy: &mut Policy) -> Result<(), PolicyError> {
        let rate = policy.checks.iter_mut().find_map(|check| match &mut check.rule {
            Rule::Statistical(rate) => Some((rate, check.position)),
            _ => None,
        });
        let Some((rate, position)) = rate else {
            let untouched = [
                ("--confidence-level", self.confidence_level.is_some()),
                ("--pass-rate-threshold", self.pass_rate_threshold.is_some()),
            ];
            return match untouched.iter().find(|(_, given)| *given) {
                Some((option, _)) => Err(changes_nothing(option, "task_pass_rate")),
                None => Ok(()),
            };
        };
        rate.confidence = self.confidence_level.unwrap_or(rate.confidence);
        if let Some(threshold) = self.pass_rate_threshold {
            rate.target = match rate.target {
                RateTarget::AtLeast(_) => RateTarget::AtLeast(threshold),
                RateTarget::AtMost(_) => RateTarget::AtMost(threshold),
                RateTarget::Within { .. } => {
                    let message = "is one number, and the threshold of task_pass_rate is a range";
                    let hint = "change the range in the policy file";
                    return Err(
                        PolicyError::new(Code::KeyDoesNotApply, "--pass-rate-threshold", message)
                            .at(position)
                            .hint(hint),
                    );
                }
            };
        }
        Ok(())
    }

    /// The switches state a whole check each, so they can add one.
    fn add_invariants(&self, policy: &mut Policy) {
        let expected = self.expect_status.map(|status| status == ExpectedStatus::Ok);
        match (
            expected,
            policy
                .checks
                .iter_mut()
                .find(|check| check.name == "stop_condition_reached"),
        ) {
            (Some(ok), Some(check)) => check.rule = Rule::Invariant(Invariant::StopConditionReached(ok)),
            (Some(ok), None) => policy.checks.push(added(Invariant::StopConditionReached(ok))),
            (None, _) => {}
        }
        for invariant in self.switched_on() {
            // A file that states the check says what it allows.
            let states_it = |check: &Check| match &check.rule {
                Rule::Invariant(known) => discriminant(known) == discriminant(&invariant),
                _ => false,
            };
            if policy.checks.iter().any(states_it) {
                continue;
            }
            let mut check = added(invariant);
            if policy.check(&check.name).is_some() {
                // A list of forbidden tools is there already: both hold, under names of their own.
                "no_new_tools".clone_into(&mut check.name);
            }
            policy.checks.push(check);
        }
    }

    /// The checks that a switch states each.
    pub(super) fn switched_on(&self) -> Vec<Invariant> {
        let allow = ToolGlobs::default;
        let switches = [
            (self.no_loops, Invariant::NoLoops { shape: false }),
            (self.no_guardrails, Invariant::NoGuardrails),
            (self.no_new_tools, Invariant::KnownTools { allow: allow() }),
            (self.still_called, Invariant::StillCalled { allow: allow() }),
        ];
        let given = switches.into_iter().filter(|(given, _)| *given);
        given.map(|(_, invariant)| invariant).collect()
    }

    /// Marks the checks that are reported without gating.
    pub(super) fn ignore_checks(&self, policy: &mut Policy) -> Result<(), PolicyError> {
        const OPTION: &str = "--ignore-check";
        for ignored in &self.ignored_checks {
            let old = OLD_CHECKS
                .iter()
                .find(|(old, _)| old == ignored)
                .map(|(_, metric)| *metric);
            let name = old.unwrap_or(ignored);
            match policy.checks.iter_mut().find(|check| check.name == name) {
                Some(check) => check.ignored = true,
                None if old.is_some() => return Err(changes_nothing(OPTION, name)),
                None => {
                    let names: Vec<_> = OLD_CHECKS.iter().map(|(old, _)| *old).collect();
                    let message = format!("names `{ignored}`, which is no check of this policy");
                    return Err(
                        PolicyError::new(Code::UnknownCheck, OPTION, message).hint(format!(
                            "a check is a metric of the policy, or one of {}",
                            names.join(", ")
                        )),
                    );
                }
            }
        }
        Ok(())
    }
}

impl BoundedNumber {
    fn apply(&self, overrides: &Overrides, policy: &mut Policy) -> Result<(), PolicyError> {
        let bound = (self.of)(overrides);
        let Some(option) = bound
            .max
            .map(|_| self.max)
            .or(bound.tolerance.map(|_| self.tolerance))
        else {
            return Ok(());
        };
        let Some(check) = policy.checks.iter_mut().find(|check| check.name == self.metric) else {
            return Err(changes_nothing(option, self.metric));
        };
        let Rule::Measured(measured) = &mut check.rule else {
            let message = format!("does not apply: {} is not measured", self.metric);
            return Err(PolicyError::new(Code::KeyDoesNotApply, option, message).at(check.position));
        };
        if let Some(max) = bound.max {
            if measured.direction != Direction::Upper {
                let message = format!(
                    "is an upper limit, and the direction of {} is another",
                    self.metric
                );
                return Err(PolicyError::new(Code::KeyDoesNotApply, self.max, message)
                    .at(check.position)
                    .hint("change the limit in the policy file"));
            }
            measured.upper_limit = Some(as_number(max));
        }
        if let Some(relative) = bound.tolerance {
            let absolute = measured.tolerance.and_then(|tolerance| tolerance.absolute);
            measured.tolerance = Some(super::Tolerance {
                relative: Some(relative),
                absolute,
            });
        }
        Ok(())
    }
}

/// A maximum of the old format as a limit.
#[expect(
    clippy::cast_precision_loss,
    reason = "a limit past 2^53 is no less right when rounded"
)]
pub(super) fn as_number(max: u64) -> f64 {
    max as f64
}

/// A metric that no file states.
pub(super) fn added(invariant: Invariant) -> Check {
    Check {
        name: invariant.metric().to_owned(),
        rule: Rule::Invariant(invariant),
        ignored: false,
        position: None,
    }
}

fn changes_nothing(option: &str, metric: &str) -> PolicyError {
    let message = format!("changes nothing: the policy has no metric {metric}");
    PolicyError::new(Code::TouchesNothing, option, message).hint(format!(
        "state {metric} in the policy file, or leave {option} out"
    ))
}
