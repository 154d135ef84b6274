//! The command line over the policy file.

use std::time::Duration;

use super::{read, with_metrics};
use crate::Direction;
use crate::policy::{
    Bound, ExpectedStatus, Invariant, OnInconclusive, Overrides, Policy, PolicyError, Rule, ToolGlobs,
};
use crate::statistics::RateTarget;

const STEPS: &str =
    "  step_count: {kind: measured, direction: upper, tolerance: {relative: 0.5, absolute: 1}}\n";

fn over(metrics: &str, overrides: &Overrides) -> Result<Policy, PolicyError> {
    Policy::parse(&with_metrics(metrics), overrides)
}

fn code(metrics: &str, overrides: &Overrides) -> &'static str {
    over(metrics, overrides).unwrap_err().code.as_str()
}

fn max_steps(max: u64) -> Overrides {
    Overrides {
        steps: Bound {
            max: Some(max),
            tolerance: None,
        },
        ..Overrides::default()
    }
}

// gate-contract, section 15.1, P6: these limits were dropped without a word.
#[test]
fn an_option_that_changes_nothing_is_refused() {
    let loops = "  no_loops: {kind: invariant}\n";
    assert_eq!(code(loops, &max_steps(1)), "touches_nothing");
    let threshold = Overrides {
        pass_rate_threshold: Some(1.0),
        ..Overrides::default()
    };
    assert_eq!(code(loops, &threshold), "touches_nothing");
    let confidence = Overrides {
        confidence_level: Some(0.9),
        ..Overrides::default()
    };
    assert_eq!(code(loops, &confidence), "touches_nothing");
    let ignored = Overrides {
        ignored_checks: vec!["duration".to_owned()],
        ..Overrides::default()
    };
    assert_eq!(code(loops, &ignored), "touches_nothing");
}

// gate-contract, section 15.2, F7: an upper limit became a lower one, or crashed the gate.
#[test]
fn an_upper_limit_does_not_change_a_metric_of_another_direction() {
    for metric in [
        "  step_count: {kind: measured, direction: lower, limit: 2}\n",
        "  step_count: {kind: measured, direction: both, limit: {lower: 1, upper: 9}}\n",
        "  step_count: {kind: distributional, direction: upper}\n",
    ] {
        assert_eq!(code(metric, &max_steps(100)), "key_does_not_apply", "{metric}");
    }
    let range =
        "  task_pass_rate: {kind: statistical, direction: both, threshold: {lower: 0.2, upper: 0.8}}\n";
    let threshold = Overrides {
        pass_rate_threshold: Some(0.5),
        ..Overrides::default()
    };
    assert_eq!(code(range, &threshold), "key_does_not_apply");
}

#[test]
fn limits_and_tolerances_replace_those_of_the_file() {
    let overrides = Overrides {
        steps: Bound {
            max: Some(7),
            tolerance: Some(0.1),
        },
        ..Overrides::default()
    };
    let policy = over(STEPS, &overrides).unwrap();
    let Rule::Measured(steps) = &policy.checks[0].rule else {
        panic!()
    };
    assert_eq!(
        (steps.direction, steps.upper_limit),
        (Direction::Upper, Some(7.0))
    );
    let tolerance = steps.tolerance.unwrap();
    assert_eq!((tolerance.relative, tolerance.absolute), (Some(0.1), Some(1.0)));
}

#[test]
fn options_of_the_trials_always_count() {
    let overrides = Overrides {
        trials: Some(9),
        fail_fast: Some(false),
        on_inconclusive: Some(OnInconclusive::Fail),
        jobs: Some(3),
        timeout: Some(Duration::from_secs(5)),
        ..Overrides::default()
    };
    for policy in [
        over(STEPS, &overrides).unwrap(),
        Policy::without_file(&overrides).unwrap(),
    ] {
        assert_eq!((policy.trials, policy.fail_fast, policy.jobs), (9, false, 3));
        assert_eq!(
            (policy.on_inconclusive, policy.timeout.as_secs()),
            (OnInconclusive::Fail, 5)
        );
    }
}

#[test]
fn a_switch_adds_the_check_that_it_names() {
    let overrides = Overrides {
        no_loops: true,
        no_new_tools: true,
        expect_status: Some(ExpectedStatus::Error),
        ..Overrides::default()
    };
    let policy = over(
        "  forbidden_tools: {kind: invariant, none_of: [rm]}\n",
        &overrides,
    )
    .unwrap();
    let stated: Vec<_> = policy
        .checks
        .iter()
        .map(|check| (check.name.as_str(), &check.rule))
        .collect();
    assert_eq!(
        stated[1..],
        [
            (
                "stop_condition_reached",
                &Rule::Invariant(Invariant::StopConditionReached(false))
            ),
            ("no_loops", &Rule::Invariant(Invariant::NoLoops { shape: false })),
            (
                "no_new_tools",
                &Rule::Invariant(Invariant::KnownTools {
                    allow: ToolGlobs::default()
                })
            ),
        ]
    );
}

#[test]
fn a_switch_of_the_command_line_does_not_turn_the_files_off() {
    let policy = Policy::parse("assert: {no_loops: true}\n", &Overrides::default()).unwrap();
    assert!(policy.check("no_loops").is_some());
}

#[test]
fn an_ignored_check_is_reported_by_either_name_and_not_judged() {
    for name in ["duration", "latency_ms"] {
        let overrides = Overrides {
            ignored_checks: vec![name.to_owned()],
            ..Overrides::default()
        };
        let policy = Policy::without_file(&overrides).unwrap();
        assert!(policy.check("latency_ms").unwrap().ignored, "{name}");
    }
    let unknown = Overrides {
        ignored_checks: vec!["zzz".to_owned()],
        ..Overrides::default()
    };
    assert_eq!(
        Policy::without_file(&unknown).unwrap_err().code.as_str(),
        "unknown_check"
    );
    // A file may name a check that it does not enable.
    let policy = read("assert: {ignored_checks: [new_tools, step_count]}\n").unwrap();
    assert!(policy.check("step_count").unwrap().ignored);
    assert_eq!(
        read("assert: {ignored_checks: [zzz]}\n")
            .unwrap_err()
            .code
            .as_str(),
        "unknown_check"
    );
}

// gate-contract, section 15.2, F9: the command line was looked at after every trial was paid for.
#[test]
fn impossible_values_of_the_command_line_are_refused_at_once() {
    let certain = Overrides {
        pass_rate_threshold: Some(1.0),
        ..Overrides::default()
    };
    assert_eq!(
        Policy::without_file(&certain).unwrap_err().code.as_str(),
        "threshold_unreachable"
    );
    let refused = |overrides: Overrides| Policy::without_file(&overrides).unwrap_err().code.as_str();
    let mut bound = Overrides::default();
    bound.steps.tolerance = Some(-0.5);
    assert_eq!(refused(bound.clone()), "negative_value");
    bound.steps.tolerance = Some(f64::NAN);
    assert_eq!(refused(bound), "not_finite_number");
    assert_eq!(
        refused(Overrides {
            trials: Some(0),
            ..Overrides::default()
        }),
        "trials_invalid"
    );
    assert_eq!(
        refused(Overrides {
            confidence_level: Some(f64::NAN),
            ..Overrides::default()
        }),
        "fraction_open"
    );
    assert_eq!(
        refused(Overrides {
            pass_rate_threshold: Some(1.5),
            ..Overrides::default()
        }),
        "fraction_closed"
    );
    assert_eq!(
        refused(Overrides {
            timeout: Some(Duration::ZERO),
            ..Overrides::default()
        }),
        "not_allowed"
    );
}

#[test]
fn an_old_policy_becomes_metrics() {
    let text = "version: 1
assert:
  trials: 7
  confidence_level: 0.9
  pass_rate_threshold: 0.7
  max_tool_calls: 4
  duration_tolerance: 2
  no_new_tools: true
  no_guardrails: true
  expect_status: ok
";
    let policy = read(text).unwrap();
    assert_eq!(policy.trials, 7);
    let names: Vec<_> = policy.checks.iter().map(|check| check.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "step_count",
            "tool_call_count",
            "cost_tokens",
            "latency_ms",
            "no_guardrails",
            "forbidden_tools",
            "stop_condition_reached",
            "task_pass_rate"
        ]
    );
    let Rule::Measured(calls) = &policy.checks[1].rule else {
        panic!()
    };
    assert_eq!(
        (calls.upper_limit, calls.tolerance.unwrap().relative),
        (Some(4.0), Some(0.5))
    );
    let Rule::Measured(latency) = &policy.checks[3].rule else {
        panic!()
    };
    assert_eq!(
        (latency.upper_limit, latency.tolerance.unwrap().relative),
        (None, Some(2.0))
    );
    let Rule::Statistical(rate) = &policy.checks[7].rule else {
        panic!()
    };
    assert_eq!((rate.target, rate.confidence), (RateTarget::AtLeast(0.7), 0.9));
    assert_eq!(
        read("assert: {max_steps: -1}\n").unwrap_err().code.as_str(),
        "negative_value"
    );
    assert_eq!(
        read("assert: {expect_status: maybe}\n")
            .unwrap_err()
            .code
            .as_str(),
        "not_allowed"
    );
}
