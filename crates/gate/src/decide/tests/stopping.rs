//! Stopping early: never a trial too few, and none that could change nothing.

use proptest::prelude::*;
use serde_json::Value;

use super::{calling, crashed, of_steps, policy, run, trials, with_keys};
use crate::decide::statistical;
use crate::policy::{Policy, Statistical};
use crate::statistics::IntervalMethod;
use crate::{AllowedRange, Gate, StopReason, Trial, Verdict};
use tracer_insight::testing::{Vector, computed};

fn reason(policy: &Policy, trials: &[Trial]) -> Option<StopReason> {
    Gate::new(policy, None).unwrap().stop_reason(trials)
}

#[test]
fn a_failed_process_stops_a_gate_before_anything_else() {
    let policy = policy(9, "required_tools: {kind: invariant, all_of: [reply]}");
    assert_eq!(reason(&policy, &of_steps(&[])), None);
    assert_eq!(
        reason(&policy, &of_steps(&[1])),
        Some(StopReason::InvariantViolation)
    );
    let mut both = of_steps(&[1]);
    both.push(crashed(2));
    assert_eq!(reason(&policy, &both), Some(StopReason::AgentProcessFailure));
    assert_eq!(reason(&policy, &trials([calling("reply")])), None);
}

#[test]
fn without_fail_fast_every_trial_is_made() {
    let text =
        "version: 2\nfail_fast: false\nmetrics: {step_count: {kind: measured, direction: upper, limit: 1}}\n";
    let policy = Policy::parse(text, &crate::policy::Overrides::default()).unwrap();
    assert_eq!(reason(&policy, &[crashed(1)]), None);
    assert_eq!(reason(&policy, &of_steps(&[9, 9])), None);
}

#[test]
fn a_median_over_its_limit_in_more_than_half_of_the_trials_stops_the_gate() {
    let policy = policy(5, "step_count: {kind: measured, direction: upper, limit: 10}");
    assert_eq!(reason(&policy, &of_steps(&[11, 11])), None);
    assert_eq!(reason(&policy, &of_steps(&[11, 9, 11])), None);
    assert_eq!(
        reason(&policy, &of_steps(&[11, 9, 11, 11])),
        Some(StopReason::VerdictDecided)
    );
    let judgement = Gate::new(&policy, None)
        .unwrap()
        .judge(&of_steps(&[11, 9, 11, 11]));
    assert_eq!(judgement.stop_reason, Some(StopReason::VerdictDecided));
    assert_eq!(judgement.verdict, Verdict::Fail);
}

#[test]
fn one_value_over_the_limit_of_a_maximum_stops_the_gate() {
    let policy = policy(
        5,
        "step_count: {kind: measured, direction: upper, limit: 10, aggregate: max}",
    );
    assert_eq!(reason(&policy, &of_steps(&[10])), None);
    assert_eq!(
        reason(&policy, &of_steps(&[11])),
        Some(StopReason::VerdictDecided)
    );
}

#[test]
fn a_report_only_check_stops_nothing() {
    let policy = policy(
        9,
        "task_pass_rate: {kind: statistical, direction: lower, threshold: 0.9}, no_loops: {kind: invariant}",
    );
    assert_eq!(reason(&policy, &of_steps(&[1, 2])), None);
}

#[test]
fn a_rate_that_can_no_longer_be_reached_stops_the_gate() {
    let policy = with_keys(
        25,
        "required_tools: {kind: invariant, all_of: [reply]}, \
         task_pass_rate: {kind: statistical, direction: lower, threshold: 0.9}",
        "judged_by_rate: [required_tools]",
    );
    let bad = |many: usize| trials((0..many).map(|_| run(1, None)));
    assert_eq!(reason(&policy, &bad(4)), None);
    assert_eq!(reason(&policy, &bad(5)), Some(StopReason::VerdictDecided));
}

/// The verdict that no further outcome can change, if there is one.
fn settled(failures: u32, made: u32, budget: u32) -> Option<Verdict> {
    let rule = Statistical {
        allowed: AllowedRange::at_least(0.9),
        confidence: 0.95,
        mode: None,
    };
    let successes = made - failures;
    let verdict = |more| {
        let successes = successes + more;
        statistical::verdict_between(&rule, IntervalMethod::Wilson, successes..=successes, budget)
    };
    (0..=budget - made)
        .all(|more| verdict(more) == verdict(0))
        .then(|| verdict(0))
}

#[test]
fn a_rates_verdict_is_settled_at_the_trial_that_the_exact_computation_names() {
    let vectors: Vec<Vector> = computed("curtailed_wilson_25_first_stop");
    for case in vectors[0].expected.as_array().unwrap() {
        let small = |value: &Value| u32::try_from(value.as_u64().unwrap()).unwrap();
        let (failures, earliest) = (small(&case["failures"]), small(&case["earliest_trial"]));
        let found = (failures..=25)
            .find(|made| settled(failures, *made, 25).is_some())
            .unwrap();
        assert_eq!(found, earliest, "{case}");
        assert_eq!(
            case["verdict"],
            settled(failures, found, 25).unwrap().as_str(),
            "{case}"
        );
    }
}

#[test]
fn stopping_early_saves_the_trials_that_the_exact_computation_names() {
    for vector in computed("operating_characteristic_exact") {
        if vector.input["rule"] != "curtailed_wilson_25" {
            continue;
        }
        let rate = vector.input["true_pass_rate"].as_f64().unwrap();
        let expected = vector.expected["expected_trials"].as_f64().unwrap();
        // The chance of having made this many trials with this many failures, without having stopped.
        let mut open = vec![1.0];
        let mut made_on_average = 0.0;
        for made in 1..=25_u32 {
            let mut next = vec![0.0; open.len() + 1];
            for (failures, chance) in open.iter().enumerate() {
                next[failures] += chance * rate;
                next[failures + 1] += chance * (1.0 - rate);
            }
            for (failures, chance) in (0..).zip(&mut next) {
                if settled(failures, made, 25).is_some() {
                    made_on_average += f64::from(made) * *chance;
                    *chance = 0.0;
                }
            }
            open = next;
        }
        assert!(
            (made_on_average - expected).abs() < 1e-9,
            "{}: {made_on_average}",
            vector.name
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// A gate that stopped because its verdict was known has the verdict that it would have had.
    #[test]
    fn a_verdict_that_was_known_early_is_the_one_of_all_trials(
        steps in proptest::collection::vec(0_u64..20, 6),
        limit in 0_u32..20,
        is_lower in any::<bool>(),
        is_max in any::<bool>(),
    ) {
        let (direction, aggregate) = match (is_lower, is_max) {
            (true, _) => ("lower", "median"),
            (false, true) => ("upper", "max"),
            (false, false) => ("upper", "median"),
        };
        let metric = format!("step_count: {{kind: measured, direction: {direction}, limit: {limit}, aggregate: {aggregate}}}");
        let policy = policy(6, &metric);
        let gate = Gate::new(&policy, None).unwrap();
        let all = of_steps(&steps);
        let of_all = gate.judge(&all).verdict;
        for made in 1..6 {
            if gate.stop_reason(&all[..made]).is_some() {
                prop_assert_eq!(of_all, Verdict::Fail);
                prop_assert_eq!(gate.judge(&all[..made]).verdict, Verdict::Fail);
            }
        }
    }
}
