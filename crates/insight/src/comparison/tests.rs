//! Comparisons against the vectors of the contract, and the weak points of the existing gate.

use serde_json::{Value, json};

use super::*;
use crate::profile::RunProfile;
use crate::testing::{letters, metrics_of_vector, recorded, run_of_vector, tools};
use tracer_sdk::{Usage, llm_call, tool_call};

fn changes(comparison: &Comparison) -> Vec<(CallChange, String)> {
    let reported = comparison.calls.pairs().map(|pair| {
        let call = pair.after.or(pair.before).unwrap();
        (pair.change, call.name.to_owned())
    });
    reported.collect()
}

fn compared(before: &str, after: &str) -> Vec<(CallChange, String)> {
    changes(&Comparison::of_runs(&letters(before), &letters(after)))
}

fn reported(changes: &[(CallChange, &str)]) -> Vec<(CallChange, String)> {
    changes
        .iter()
        .map(|(change, name)| (*change, (*name).to_owned()))
        .collect()
}

#[test]
fn cached_and_reasoning_tokens_are_compared_where_a_run_has_them() {
    let run = |cached: u64, reasoning: Option<u64>| {
        recorded(|| {
            let mut usage = Usage::new(412, 35).cache_read(cached);
            usage = reasoning.map_or(usage, |tokens| usage.reasoning(tokens));
            llm_call("gpt-5").usage(usage).record()
        })
    };
    let comparison = Comparison::of_runs(&run(300, None), &run(0, Some(12)));
    let shares: Vec<_> = comparison
        .metrics
        .iter()
        .filter(|change| change.metric.ends_with("_tokens") && change.metric != "cost_tokens")
        .map(|change| (change.metric.as_str(), change.before, change.after))
        .collect();
    assert_eq!(
        shares,
        [
            ("cached_tokens", Some(300.0), Some(0.0)),
            ("reasoning_tokens", None, Some(12.0)),
        ]
    );
    assert!(comparison.is_same, "the agent did the same");
    let without = Comparison::of_runs(&run(0, None), &run(0, None));
    assert!(
        !without
            .metrics
            .iter()
            .any(|change| change.metric == "cached_tokens")
    );
}

// gate, *Comparison*
#[test]
fn a_repetition_is_a_repetition_and_not_another_order() {
    use CallChange::{Removed, Repeated, Same};
    assert_eq!(
        compared("ab", "abb"),
        reported(&[(Same, "a"), (Same, "b"), (Repeated, "b")])
    );
    assert_eq!(
        compared("abab", "ab")
            .iter()
            .filter(|(change, _)| *change == Removed)
            .count(),
        2
    );
    for (before, after) in [("ab", "abb"), ("abab", "ab"), ("abc", "abbbc")] {
        assert!(
            !Comparison::of_runs(&letters(before), &letters(after))
                .tools
                .is_reordered,
            "{before} {after}"
        );
    }
    assert!(
        Comparison::of_runs(&letters("abc"), &letters("bac"))
            .tools
            .is_reordered
    );
}

// gate, *Comparison*
#[test]
fn a_swap_in_the_middle_of_many_calls_is_found_where_it_is() {
    let calls = compared("abcdefghijklmnopqrst", "abcdefghikjlmnopqrst");
    let moved: Vec<&(CallChange, String)> = calls
        .iter()
        .filter(|(change, _)| *change != CallChange::Same)
        .collect();
    assert_eq!(moved.len(), 1);
    assert_eq!(moved[0].0, CallChange::Moved);
    assert_eq!(calls.len(), 20);
}

// gate, *Comparison*
#[test]
fn other_arguments_and_other_ends_are_reported() {
    let before = tools(&[("search", json!({"page": 1})), ("reply", json!("hello"))]);
    let other = recorded(|| {
        tool_call("search").args(&json!({"page": 2})).record()?;
        tool_call("reply")
            .args(&json!("hello"))
            .fail("no connection")
            .record()
    });
    let comparison = Comparison::of_runs(&before, &other);
    assert_eq!(
        changes(&comparison),
        reported(&[(CallChange::Changed, "search"), (CallChange::Changed, "reply")])
    );
    assert!(!comparison.is_same);
    let pair = comparison.calls.pairs().nth(1).unwrap();
    assert_eq!(
        (pair.before.unwrap().is_failed, pair.after.unwrap().is_failed),
        (false, true)
    );
    let usual = UsualProfile::new(other.trace_id.to_string(), other.signature.clone());
    let comparison = Comparison::with_usual(&usual, &other);
    assert!(
        comparison
            .calls
            .pairs()
            .all(|pair| pair.change == CallChange::Same),
        "what is usual does not say which calls failed"
    );
}

// gate, *Comparison*
#[test]
fn every_pair_says_which_is_before_and_which_is_after() {
    let document = serde_json::to_value(Comparison::of_runs(&letters("ab"), &letters("abb"))).unwrap();
    assert_eq!(
        document["tools"]["repeated"],
        json!([{"tool": "b", "before": 1, "after": 2}])
    );
    let steps = document["metrics"]
        .as_array()
        .unwrap()
        .iter()
        .find(|row| row["metric"] == "step_count")
        .unwrap();
    assert_eq!((&steps["before"], &steps["after"]), (&json!(2.0), &json!(3.0)));
    let call = &document["calls"][2];
    assert_eq!(
        (&call["change"], &call["before"]),
        (&json!("repeated"), &Value::Null)
    );
    assert_eq!(
        (&call["after"]["step"], &call["after"]["name"]),
        (&json!(3), &json!("b"))
    );
}

#[test]
fn another_model_is_the_same_call_changed() {
    let ask = |model: &'static str| {
        recorded(move || {
            llm_call(model).prompt("Where is my order?").record()?;
            tool_call("search").record()
        })
    };
    let comparison = Comparison::of_runs(&ask("large"), &ask("mini"));
    assert_eq!(
        comparison.models,
        NameChanges {
            added: vec!["mini".to_owned()],
            removed: vec!["large".to_owned()]
        }
    );
    assert_eq!(
        changes(&comparison),
        reported(&[(CallChange::Changed, "mini"), (CallChange::Same, "search")])
    );
}

#[test]
fn a_run_is_the_same_as_itself_however_long_it_took() {
    for name in ["good", "regressed", "guardrail", "unknown_spans"] {
        let run = metrics_of_vector(name);
        let mut slower = run_of_vector(name);
        slower.meta.duration_ms = Some(9_999);
        for span in slower.spans.iter_mut().filter(|span| span.is_root()) {
            span.duration_ms = Some(9_999);
        }
        let slower = RunProfile::new(&slower.meta, slower.records());
        assert!(Comparison::of_runs(&run, &slower).is_same, "{name}");
    }
    assert!(!Comparison::of_runs(&metrics_of_vector("good"), &metrics_of_vector("reordered")).is_same);
}

#[test]
fn differences_are_found_field_by_field_and_are_bounded() {
    let found = ArgumentDifference::between(
        &json!({"a": {"b": [1, {"c": 2}]}}),
        &json!({"a": {"b": [1, {"c": 3}, 4]}, "d": null}),
    );
    let reported: Vec<(&str, Option<&Value>, Option<&Value>)> = found
        .iter()
        .map(|difference| {
            (
                difference.path.as_str(),
                difference.before.as_ref(),
                difference.after.as_ref(),
            )
        })
        .collect();
    assert_eq!(
        reported,
        [
            ("a.b[1].c", Some(&json!(2)), Some(&json!(3))),
            ("a.b[2]", None, Some(&json!(4))),
            ("d", None, Some(&Value::Null)),
        ]
    );
    assert_eq!(ArgumentDifference::between(&json!("x"), &json!(1))[0].path, "");
    assert!(ArgumentDifference::between(&json!("x"), &json!("x")).is_empty());
    let many: Vec<u32> = (0..10_000).collect();
    assert!(ArgumentDifference::between(&json!(many), &json!([])).len() <= 200);
    let deep = |leaf: u32| (0..100).fold(json!(leaf), |value, _| json!([value]));
    assert_eq!(ArgumentDifference::between(&deep(1), &deep(2)).len(), 1);
}
