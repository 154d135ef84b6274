//! A verdict is never better than its evidence (gate, *Evidence*).

use super::{baseline_of_steps, calling, crashed, of_steps, policy, run, trial, trials, verdict, with_keys};
use crate::policy::{Aggregate, Distributional, Measured, OnInconclusive, Overrides, Policy};
use crate::statistics::{IntervalMethod, chance_of_exceeding};
use crate::{AllowedRange, Baseline, CheckResult, Direction, Evidence, Gate, Judgement, Trial, Verdict};
use tracer_sdk::format::{RecordedStatus, Usd};

use serde_json::{Value, json};
use tracer_insight::testing::{metrics, run_of, run_with};

const TOKENS: &str = "cost_tokens: {kind: measured, direction: upper, limit: 200}";

fn judged(policy: &Policy, trials: &[Trial]) -> Judgement {
    Gate::new(policy, None).unwrap().judge(trials)
}

fn row<'a>(judgement: &'a Judgement, name: &str) -> &'a CheckResult {
    judgement.checks.iter().find(|check| check.name == name).unwrap()
}

// gate, *Evidence*: what is missing counted as zero.
#[test]
fn a_value_that_is_not_known_leaves_the_check_undecided_and_names_the_trial() {
    let runs = [run(3, Some(50)), run(3, None), run(3, Some(60))];
    let judgement = judged(&policy(3, TOKENS), &trials(runs));
    let tokens = row(&judgement, "cost_tokens");
    assert_eq!(tokens.verdict, Some(Verdict::Inconclusive));
    assert_eq!(tokens.unknown_trials, [2]);
    assert_eq!(judgement.verdict, Verdict::Inconclusive);
    let Evidence::Measured(evidence) = &tokens.evidence else {
        panic!()
    };
    assert_eq!((evidence.observed, evidence.sample.unwrap().max), (None, 60.0));
}

#[test]
fn a_check_fails_when_no_value_that_is_not_known_could_save_it() {
    let runs = [run(3, Some(900)), run(3, None), run(3, Some(800))];
    let judgement = judged(&policy(3, TOKENS), &trials(runs));
    assert_eq!(row(&judgement, "cost_tokens").verdict, Some(Verdict::Fail));
    // One trial of three over the limit does not decide the median.
    let runs = [run(3, Some(900)), run(3, None), run(3, Some(10))];
    assert_eq!(
        judged(&policy(3, TOKENS), &trials(runs)).verdict,
        Verdict::Inconclusive
    );
}

#[test]
fn what_is_known_of_a_cost_can_fail_a_check_and_never_pass_it() {
    let policy = policy(
        3,
        "no_loops: {kind: invariant}, cost_usd: {kind: measured, direction: upper, limit: 0.5}",
    );
    let verdict = |costs: [(u64, u64); 3]| {
        let runs = costs.map(|(cents, unpriced)| {
            let mut run = run(3, Some(50));
            run.cost.known = Usd::from_cents(cents);
            run.cost.unpriced = unpriced;
            run
        });
        let judgement = judged(&policy, &trials(runs));
        let cost = row(&judgement, "cost_usd");
        (cost.verdict.unwrap(), cost.unknown_trials.clone())
    };
    assert_eq!(verdict([(10, 0), (50, 0), (90, 0)]), (Verdict::Pass, vec![]));
    // The median is known, the cost of a trial is not.
    assert_eq!(
        verdict([(10, 0), (10, 1), (10, 0)]),
        (Verdict::Inconclusive, vec![2])
    );
    assert_eq!(verdict([(60, 1), (60, 0), (0, 5)]), (Verdict::Fail, vec![1, 3]));
}

// gate, *Evidence*: an unfinished trace passed, with zeros for its numbers.
#[test]
fn a_run_without_an_end_fails_the_gate_and_has_no_numbers() {
    let mut unfinished = run(0, Some(0));
    unfinished.status = RecordedStatus::Running;
    let policy = policy(
        1,
        "step_count: {kind: measured, direction: upper, limit: 9}, no_loops: {kind: invariant}",
    );
    let judgement = judged(&policy, &[trial(1, unfinished)]);
    assert_eq!(judgement.verdict, Verdict::Fail);
    assert_eq!(row(&judgement, "agent_process").verdict, Some(Verdict::Fail));
    assert_eq!(row(&judgement, "step_count").verdict, Some(Verdict::Inconclusive));
    assert_eq!(row(&judgement, "step_count").unknown_trials, [1]);
    assert_eq!(row(&judgement, "no_loops").verdict, Some(Verdict::Fail));
}

#[test]
fn a_trial_without_a_trace_fails_the_gate_and_the_others_are_reported() {
    let mut all = of_steps(&[4, 5]);
    all.push(crashed(3));
    let policy = Policy::parse(
        "version: 2\nfail_fast: false\nmetrics:\n  step_count: {kind: measured, direction: upper, limit: 9}\n",
        &Overrides::default(),
    )
    .unwrap();
    let judgement = judged(&policy, &all);
    assert_eq!(judgement.verdict, Verdict::Fail);
    assert_eq!(row(&judgement, "agent_process").outcomes, [true, true, false]);
    assert_eq!(row(&judgement, "step_count").unknown_trials, [3]);
    assert_eq!(judgement.stop_reason, None);
}

#[test]
fn a_gate_that_was_interrupted_does_not_pass() {
    let judgement = judged(&policy(3, "no_loops: {kind: invariant}"), &of_steps(&[4]));
    assert_eq!(judgement.verdict, Verdict::Inconclusive);
    assert_eq!(judgement.stop_reason, Some(crate::StopReason::Interrupted));
}

// gate, *Verdict*
#[test]
fn what_an_undecided_gate_means_can_be_set() {
    let policy = with_keys(3, TOKENS, "inconclusive: fail");
    let judgement = judged(&policy, &trials([run(3, None), run(3, None), run(3, None)]));
    assert_eq!(judgement.verdict, Verdict::Inconclusive);
    assert_eq!(policy.on_inconclusive, OnInconclusive::Fail);
}

// gate, *Statistical*
#[test]
fn a_rate_can_be_the_cause_of_a_verdict() {
    let policy = with_keys(
        25,
        "required_tools: {kind: invariant, all_of: [reply]}, \
         task_pass_rate: {kind: statistical, direction: lower, threshold: 0.7}",
        "judged_by_rate: [required_tools]",
    );
    let of = |good: usize| {
        let runs = (0..25).map(|trial| {
            if trial < good {
                calling("reply")
            } else {
                calling("other")
            }
        });
        judged(&policy, &trials(runs))
    };
    let most = of(23);
    assert_eq!(most.verdict, Verdict::Pass);
    assert_eq!(row(&most, "required_tools").verdict, None);
    assert_eq!(row(&most, "required_tools").violating_trials().count(), 2);
    let too_few = of(10);
    assert_eq!(too_few.verdict, Verdict::Fail);
    assert_eq!(row(&too_few, "task_pass_rate").verdict, Some(Verdict::Fail));
}

// gate, *Measured*: 115 ms against 100 ms and 15 % failed.
#[test]
fn a_value_on_the_bound_passes_whatever_doubles_make_of_it() {
    for percent in 1..100_u32 {
        for baseline in 1..=200_u32 {
            if baseline * percent % 100 != 0 {
                continue;
            }
            let rule = Measured {
                direction: Direction::Upper,
                tolerance: Some(crate::policy::Tolerance {
                    relative: Some(f64::from(percent) / 100.0),
                    absolute: None,
                }),
                limit: AllowedRange::default(),
                aggregate: Aggregate::Median,
            };
            let on_the_bound = f64::from(baseline + baseline * percent / 100);
            let decide = |value: f64| verdict(&rule, IntervalMethod::Wilson, [value], &[f64::from(baseline)]);
            assert_eq!(decide(on_the_bound), Verdict::Pass, "{baseline} and {percent} %");
            assert_eq!(
                decide(on_the_bound + 1.0),
                Verdict::Fail,
                "{baseline} and {percent} %"
            );
        }
    }
}

// gate, *Distributional*: by the exact rule an unchanged agent fails in no more than 5 of 100 gates, whatever its values.
#[test]
fn the_exact_rule_takes_into_account_that_the_baselines_bound_is_a_draw() {
    let rule = Distributional {
        direction: Direction::Upper,
        coverage: 0.95,
        confidence: 0.95,
        mode: None,
    };
    let false_alarms = |method, trials: u32| {
        let fails = |beyond: &u32| {
            let sample: Vec<f64> = (1..=19).map(f64::from).collect();
            let value = |trial| if trial < *beyond { 99.0 } else { 1.0 };
            verdict(&rule, method, (0..trials).map(value), &sample) == Verdict::Fail
        };
        (1..=trials)
            .find(fails)
            .map_or(0.0, |least| chance_of_exceeding(least, trials, 19))
    };
    for trials in [1, 2, 3, 10, 25, 52, 59, 100, 200] {
        assert!(
            false_alarms(IntervalMethod::Exact, trials) <= 0.05 + 1e-12,
            "{trials}"
        );
    }
    // Wilson's rule does not, and with this many trials it may gate: see `docs/policy.md`.
    assert!(false_alarms(IntervalMethod::Wilson, 52) > 0.1);
}

#[test]
fn the_tools_of_every_run_of_the_baseline_are_known() {
    let (first, second) = (calling("search"), calling("reply"));
    let baseline = crate::Baseline::of_runs(&[&first, &second], "2026-01-01T00:00:00.000Z").unwrap();
    let policy = policy(1, "no_new_tools: {}");
    let gate = Gate::new(&policy, Some(&baseline)).unwrap();
    let kept = |tool: &str| row(&gate.judge(&[trial(1, calling(tool))]), "no_new_tools").outcomes[0];
    assert!(kept("search") && kept("reply") && !kept("delete"));
}

#[test]
fn a_distributional_check_with_a_value_that_is_not_known_never_passes() {
    let policy = policy(1, "step_count: {kind: distributional, direction: upper}");
    let baseline = baseline_of_steps(1..=19);
    let gate = Gate::new(&policy, Some(&baseline)).unwrap();
    let judgement = gate.judge(&[crashed(1)]);
    assert_eq!(row(&judgement, "step_count").verdict, Some(Verdict::Inconclusive));
    assert_eq!(judgement.verdict, Verdict::Fail);
}

#[test]
fn the_tools_that_broke_an_invariant_are_named_trial_by_trial() {
    let policy = policy(
        3,
        "forbidden_tools: {kind: invariant, none_of: ['delete, all', other]}, \
         required_tools: {kind: invariant, all_of: [reply, search]}",
    );
    let judgement = judged(
        &policy,
        &[
            trial(1, calling("delete, all")),
            trial(2, calling("search")),
            crashed(3),
        ],
    );
    let reasons = |name: &str| -> Vec<String> {
        let findings = judgement.findings.iter();
        findings.map(|trial| trial[name].reason.text()).collect()
    };
    assert_eq!(reasons("forbidden_tools"), ["called delete, all", "", ""]);
    assert_eq!(
        reasons("required_tools"),
        ["no call of reply, search", "no call of reply", ""]
    );

    let known = Baseline::of_run(&calling("search"), "2026-01-01T00:00:00.000Z");
    let policy = super::policy(1, "no_new_tools: {kind: invariant}");
    let gate = Gate::new(&policy, Some(&known)).unwrap();
    let judgement = gate.judge(&[trial(1, calling("delete"))]);
    let found = serde_json::to_value(&judgement.findings[0]["no_new_tools"]).unwrap();
    assert_eq!(found, json!({"outcome": false, "reason": "called delete"}));
}

#[test]
fn a_forbidden_tool_is_found_in_every_spelling_and_a_demanded_one_in_none_that_is_doubtful() {
    let decided = |check: &str, name: &str, attributes: &Value| {
        let text = format!("version: 2\ntrials: 1\nmetrics: {{{check}}}\n");
        let policy = Policy::parse(&text, &Overrides::default()).unwrap();
        let (meta, spans) = run_with(&[(name, attributes.clone())]);
        let trial = Trial::of_run(1, metrics(&run_of(&meta, &spans)));
        Gate::new(&policy, None).unwrap().judge(&[trial]).checks[1]
            .verdict
            .unwrap()
    };
    let (forbidden, required) = (
        "forbidden_tools: {kind: invariant, none_of: [delete]}",
        "required_tools: {kind: invariant, all_of: [delete]}",
    );
    let chat = json!({"gen_ai.operation.name": "chat", "gen_ai.system": "x", "tracer.tool_name": "delete"});
    for (name, attributes, is_certain) in [
        ("execute_tool delete", json!({}), true),
        ("delete", json!({"gen_ai.operation.name": "execute_tool"}), true),
        ("gpt-5", chat, false),
        (
            "x",
            json!({"tracer.tool_name": "search", "gen_ai.tool.name": "delete"}),
            false,
        ),
        (
            "execute_tool delete",
            json!({"tracer.error_type": "Timeout"}),
            false,
        ),
    ] {
        assert_eq!(
            decided(forbidden, name, &attributes),
            Verdict::Fail,
            "{name} {attributes}"
        );
        let expected = if is_certain { Verdict::Pass } else { Verdict::Fail };
        assert_eq!(
            decided(required, name, &attributes),
            expected,
            "{name} {attributes}"
        );
    }
}

#[test]
fn a_replay_miss_fails_only_where_the_policy_says_so() {
    let mut missed = Trial::of_run(1, run(3, Some(50)));
    missed.cut_short("call 4 is not in the cassette");
    let invariant = "no_loops: {kind: invariant}";
    for (ours, expected) in [
        ("", Verdict::Inconclusive),
        ("replay_miss: inconclusive", Verdict::Inconclusive),
        ("replay_miss: fail", Verdict::Fail),
    ] {
        let policy = with_keys(1, invariant, ours);
        let trials = [missed.clone()];
        assert_eq!(judged(&policy, &trials).verdict, expected, "{ours}");
        let stops = Gate::new(&policy, None).unwrap().stop_reason(&trials).is_some();
        assert_eq!(stops, expected == Verdict::Fail, "{ours}");
    }
}
