//! A trial whose run lost spans is not complete evidence (gate, *Evidence*): every check that what is missing
//! could have changed is undecided, and no other one.

use serde_json::{Value, json};

use super::{baseline_of_steps, policy, trial};
use crate::{Gate, Judgement, Trial, Verdict};
use tracer_insight::profile::{Metric, RunProfile};
use tracer_insight::testing::{metrics, run_of, run_with};

/// A run that called these tools and whose metadata has this under `dropped`.
fn run(tools: &[&str], dropped: &Value) -> RunProfile {
    let children: Vec<_> = tools
        .iter()
        .map(|tool| (*tool, json!({"tracer.tool_name": tool})))
        .collect();
    let (mut meta, spans) = run_with(&children);
    meta["counts"]["tool_calls"] = json!(tools.len());
    if !dropped.is_null() {
        meta["dropped"] = dropped.clone();
    }
    metrics(&run_of(&meta, &spans))
}

fn lost(spans: u64) -> Value {
    json!({"spans": spans, "reason": "No space left on device"})
}

/// What one check decides about one trial.
fn decided(check: &str, run: RunProfile) -> Verdict {
    let policy = policy(1, check);
    let judgement = Gate::new(&policy, Some(&baseline_of_steps([3])))
        .unwrap()
        .judge(&[trial(1, run)]);
    judgement.checks[1].verdict.unwrap()
}

#[test]
fn every_check_that_what_is_missing_could_have_broken_is_undecided() {
    let tools = ["search", "read"];
    // The check, and what it decides when nothing, one span, and many spans are missing.
    let (pass, fail, open) = (Verdict::Pass, Verdict::Fail, Verdict::Inconclusive);
    let cases = [
        ("stop_condition_reached: {kind: invariant}", [pass, pass, pass]),
        ("no_loops: {kind: invariant}", [pass, open, open]),
        ("no_guardrails: {kind: invariant}", [pass, open, open]),
        (
            "forbidden_tools: {kind: invariant, none_of: [admin]}",
            [pass, open, open],
        ),
        (
            "forbidden_tools: {kind: invariant, none_of: [read]}",
            [fail, fail, fail],
        ),
        (
            "required_tools: {kind: invariant, all_of: [read]}",
            [pass, pass, pass],
        ),
        (
            "required_tools: {kind: invariant, all_of: [reply]}",
            [fail, open, open],
        ),
        // One span cannot be two calls.
        (
            "required_tools: {kind: invariant, all_of: [reply, close]}",
            [fail, fail, open],
        ),
        (
            "step_count: {kind: measured, direction: upper, limit: 2}",
            [pass, open, open],
        ),
        (
            "step_count: {kind: measured, direction: upper, limit: 3}",
            [pass, pass, open],
        ),
        (
            "step_count: {kind: measured, direction: upper, limit: 1}",
            [fail, fail, fail],
        ),
        (
            "tool_call_count: {kind: measured, direction: lower, limit: 2}",
            [pass, pass, pass],
        ),
        (
            "tool_call_count: {kind: measured, direction: lower, limit: 3}",
            [fail, open, open],
        ),
        (
            "tool_call_count: {kind: measured, direction: lower, limit: 4}",
            [fail, fail, open],
        ),
        (
            "tool_call_count: {kind: measured, direction: both, limit: {lower: 1, upper: 9}}",
            [pass, pass, open],
        ),
        (
            "cost_tokens: {kind: measured, direction: upper, limit: 9}",
            [pass, open, open],
        ),
        (
            "cost_tokens: {kind: measured, direction: lower, limit: 0}",
            [pass, pass, pass],
        ),
        (
            "latency_ms: {kind: measured, direction: upper, limit: 9}",
            [pass, pass, pass],
        ),
    ];
    for (check, expected) in cases {
        let found = [Value::Null, lost(1), lost(40)].map(|dropped| decided(check, run(&tools, &dropped)));
        assert_eq!(found, expected, "{check}");
    }
}

/// A run with calls of these outcomes.
fn run_of_outcomes(outcomes: &[&str]) -> RunProfile {
    let call = |outcome: &str| match outcome {
        "panicked" => {
            json!({"tracer.tool_name": "read", "tracer.status": "error", "tracer.error_type": "panic"})
        }
        "unknown" => {
            json!({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "read", "tracer.derived": true})
        }
        "waiting" => {
            json!({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "read", "error.type": "GraphInterrupt"})
        }
        _ => json!({"tracer.tool_name": "read", "tracer.status": "ok"}),
    };
    let children: Vec<_> = outcomes.iter().map(|outcome| ("read", call(outcome))).collect();
    let (mut meta, mut spans) = run_with(&children);
    meta["counts"]["tool_calls"] = json!(outcomes.len());
    for span in spans.iter_mut().filter(|span| !span["parent_span_id"].is_null()) {
        span["status_code"] = json!("UNSET");
    }
    metrics(&run_of(&meta, &spans))
}

#[test]
fn only_calls_that_failed_are_failed_calls() {
    let policy = super::policy(
        1,
        "no_loops: {kind: invariant}, failed_call_count: {kind: measured, direction: upper, limit: 0}",
    );
    let decided = |run: RunProfile| {
        let judgement = Gate::new(&policy, None).unwrap().judge(&[trial(1, run)]);
        let check = judgement
            .checks
            .iter()
            .find(|check| check.name == "failed_call_count");
        check.unwrap().verdict.unwrap()
    };
    for (outcomes, counted, verdict) in [
        (&["ok"][..], 0, Verdict::Pass),
        (&["ok", "panicked"], 1, Verdict::Fail),
        (&["ok", "unknown"], 0, Verdict::Pass),
        (&["waiting"], 0, Verdict::Pass),
        (&["unknown", "panicked", "waiting"], 1, Verdict::Fail),
    ] {
        let run = run_of_outcomes(outcomes);
        assert_eq!(run.failed_calls, counted, "{outcomes:?}");
        assert_eq!(decided(run), verdict, "{outcomes:?}");
    }
    assert_eq!(decided(run(&["read"], &lost(1))), Verdict::Inconclusive);
}

#[test]
fn more_metrics_and_a_rate_are_undecided_likewise() {
    let metrics = "no_loops: {kind: invariant}, tool_calls.read: {kind: measured, direction: upper, limit: 1}, \
         llm_call_count: {kind: measured, direction: upper, limit: 0}, \
         error_count: {kind: measured, direction: upper, limit: 0}, \
         loop_warning_count: {kind: measured, direction: upper, limit: 0}";
    let policy = super::policy(1, metrics);
    let judgement = Gate::new(&policy, None)
        .unwrap()
        .judge(&[trial(1, run(&["read"], &lost(1)))]);
    let verdicts: Vec<_> = judgement
        .checks
        .iter()
        .skip(1)
        .map(|check| check.verdict.unwrap())
        .collect();
    assert_eq!(verdicts, [Verdict::Inconclusive; 5]);

    // 24 whole trials and one of which nobody knows whether it looped: it may be the success that is needed.
    let rate = "no_loops: {kind: invariant}, \
         task_pass_rate: {kind: statistical, direction: lower, threshold: 0.9, mode: gating}";
    let policy = super::with_keys(25, rate, "judged_by_rate: [no_loops]");
    let judged = |last: RunProfile| -> Judgement {
        let whole = (1..25).map(|number| trial(number, run(&["read"], &Value::Null)));
        let trials: Vec<Trial> = whole.chain([trial(25, last)]).collect();
        Gate::new(&policy, None).unwrap().judge(&trials)
    };
    assert_eq!(judged(run(&["read"], &Value::Null)).verdict, Verdict::Pass);
    let judgement = judged(run(&["read"], &lost(1)));
    assert_eq!(judgement.verdict, Verdict::Inconclusive);
    assert_eq!(judgement.checks[2].unknown_trials, [25]);
    assert_eq!(judgement.findings[24]["no_loops"].outcome, None);
}

#[test]
fn a_distributional_check_is_undecided_only_where_the_value_could_lie_on_either_side() {
    let baseline = baseline_of_steps(1..=19);
    let policy = policy(1, "step_count: {kind: distributional, direction: upper}");
    let gate = Gate::new(&policy, Some(&baseline)).unwrap();
    let decided = |steps: u64, spans: u64| {
        let mut run = run(&["read"], &lost(spans));
        run.step_count = steps;
        gate.judge(&[trial(1, run)]).checks[1].verdict.unwrap()
    };
    assert_eq!(decided(10, 5), Verdict::Pass);
    assert_eq!(decided(17, 5), Verdict::Inconclusive);
    assert_eq!(decided(20, 5), Verdict::Fail);
}

#[test]
fn any_form_of_lost_spans_in_the_metadata_is_understood() {
    let spans = |dropped: Value| run(&["read"], &dropped).missing.map(|missing| missing.spans);
    assert_eq!(spans(lost(3)), Some(Some(3)));
    assert_eq!(
        spans(json!({"spans": 3, "reason": "x", "since": "later"})),
        Some(Some(3))
    );
    assert_eq!(spans(json!(4)), Some(Some(4)));
    // How many is not reported: any number.
    for unknown in [
        json!({}),
        json!({"spans": "many"}),
        json!({"spans": -1}),
        json!(true),
        json!("some"),
    ] {
        assert_eq!(spans(unknown.clone()), Some(None), "{unknown}");
        assert_eq!(
            decided("no_loops: {kind: invariant}", run(&["read"], &unknown)),
            Verdict::Inconclusive
        );
    }
    for nothing in [
        Value::Null,
        json!(false),
        json!(0),
        json!({"spans": 0, "reason": ""}),
    ] {
        assert_eq!(spans(nothing.clone()), None, "{nothing}");
    }
}

#[test]
fn spans_that_other_processes_lost_or_that_others_name_are_missing() {
    let missing = |attributes: Value| {
        let (meta, spans) = run_with(&[("dropped spans", attributes)]);
        metrics(&run_of(&meta, &spans)).missing
    };
    let of_child = missing(json!({"tracer.dropped_spans": 2, "tracer.dropped_reason": "disk full"})).unwrap();
    assert_eq!(
        of_child.to_string(),
        "2 spans are missing from its trace: disk full"
    );
    assert_eq!(missing(json!({"tracer.lost": true})).unwrap().spans, Some(1));
    assert_eq!(missing(json!({"phase": "plan"})), None);
}

#[test]
fn a_log_that_holds_less_than_was_counted_is_not_whole() {
    let counted = |tools: u64, errors: u64| {
        let (mut meta, spans) = run_with(&[("read", json!({"tracer.tool_name": "read"}))]);
        meta["counts"]["tool_calls"] = json!(tools);
        meta["counts"]["errors"] = json!(errors);
        metrics(&run_of(&meta, &spans))
            .missing
            .and_then(|missing| missing.spans)
    };
    assert_eq!(counted(1, 0), None);
    assert_eq!(counted(4, 0), Some(3));
    assert_eq!(counted(3, 1), Some(3));
    // Less than there is hides nothing.
    assert_eq!(counted(0, 0), None);
    // Other emitters count the calls of agents as those of models: the spans are there.
    let agent = json!({"gen_ai.operation.name": "invoke_agent", "gen_ai.system": "x"});
    let (mut meta, spans) = run_with(&[("invoke_agent helper", agent)]);
    meta["counts"]["llm_calls"] = json!(1);
    assert_eq!(metrics(&run_of(&meta, &spans)).missing, None);
}

#[test]
fn the_larger_of_two_accounts_of_a_loss_counts() {
    let (mut meta, spans) = run_with(&[("read", json!({"tracer.tool_name": "read"}))]);
    meta["counts"]["tool_calls"] = json!(8);
    meta["dropped"] = lost(2);
    assert_eq!(metrics(&run_of(&meta, &spans)).missing.unwrap().spans, Some(7));
    meta["dropped"] = lost(20);
    assert_eq!(metrics(&run_of(&meta, &spans)).missing.unwrap().spans, Some(20));
}

#[test]
fn what_is_not_known_is_in_no_number_of_a_trial() {
    let run = run(&["read"], &lost(1));
    for metric in Metric::recorded() {
        let expected = if metric.to_string() == "latency_ms" {
            Some(1.0)
        } else {
            None
        };
        assert_eq!(run.value(&metric), expected, "{metric}");
    }
    let gate = super::policy(1, "no_loops: {kind: invariant}");
    let judgement = Gate::new(&gate, None).unwrap().judge(&[trial(1, run)]);
    assert_eq!(judgement.verdict, Verdict::Inconclusive);
}
