//! Mistakes in a policy file: each is found, and reported with its place.

use std::time::Duration;

use super::{mistake, read, with_metrics};
use crate::policy::{OnInconclusive, OnReplayMiss, PolicySource};
use crate::statistics::IntervalMethod;

#[test]
fn every_mistake_is_reported_with_line_and_column() {
    let text = with_metrics("  step_count:\n    kind: measured\n    direction: upper\n    limit: many\n");
    assert_eq!(
        mistake(&text),
        (
            "not_finite_number",
            (6, 12),
            "6:12: metrics.step_count.limit must be a finite number".to_owned()
        )
    );
    let text = with_metrics("  no_loops: {kind: invariant}\nthresholds: 1\n");
    assert_eq!(
        mistake(&text),
        (
            "unknown_key",
            (4, 1),
            "4:1: the policy has an unknown key `thresholds`".to_owned()
        )
    );
    assert_eq!(
        mistake("version: 7\n"),
        (
            "version_major_unsupported",
            (1, 1),
            "1:1: version must be 1 or 2".to_owned()
        )
    );
}

#[test]
fn text_that_is_not_yaml_is_reported_with_its_place() {
    let (code, (line, _), message) = mistake("version: 2\nmetrics: {no_loops: [}\n");
    assert_eq!((code, line), ("malformed_yaml", 2));
    assert!(message.contains("is not YAML"), "{message}");
    assert_eq!(mistake("just words\n").0, "root_not_mapping");
    assert_eq!(
        mistake("version: 2\nmetrics: {}\n---\nversion: 2\n").0,
        "malformed_yaml"
    );
}

// gate-2, section 1
#[test]
fn no_loops_can_keep_the_rule_of_shapes() {
    use crate::policy::{Invariant, Rule};
    for (metric, expected) in [
        ("no_loops: {kind: invariant}", false),
        ("no_loops: {kind: invariant, shape: false}", false),
        ("no_loops: {kind: invariant, shape: true}", true),
        ("no_loops: {shape: true}", true),
    ] {
        let policy = read(&with_metrics(&format!("  {metric}\n"))).unwrap();
        let rule = &policy.check("no_loops").unwrap().rule;
        assert_eq!(
            *rule,
            Rule::Invariant(Invariant::NoLoops { shape: expected }),
            "{metric}"
        );
    }
    assert!(read(&with_metrics("  no_loops: {kind: invariant, shape: often}\n")).is_err());
}

// gate-contract, section 15.1, P14
#[test]
fn a_key_that_is_written_twice_is_refused_wherever_it_stands() {
    let text = with_metrics("  step_count: {kind: measured, direction: upper, limit: 1, limit: 1000}\n");
    let (code, (line, column), message) = mistake(&text);
    assert_eq!((code, line, column), ("duplicate_key", 3, 60));
    assert_eq!(message, "3:60: limit is written twice");
    assert_eq!(
        mistake("version: 2\nversion: 1\nmetrics: {}\n").0,
        "duplicate_key"
    );
}

// gate-contract, section 15.1, P14
#[test]
fn a_key_that_means_nothing_for_its_metric_is_refused() {
    for metric in [
        "no_loops: {kind: invariant, none_of: [a]}",
        "no_guardrails: {kind: invariant, all_of: [a]}",
        "no_guardrails: {kind: invariant, shape: true}",
        "forbidden_tools: {kind: invariant, none_of: [a], require: true}",
        "required_tools: {kind: invariant, all_of: [a], none_of: [b]}",
    ] {
        assert_eq!(
            mistake(&with_metrics(&format!("  {metric}\n"))).0,
            "key_does_not_apply",
            "{metric}"
        );
    }
}

// gate-contract, section 15.2, F5: these still required none.
#[test]
fn require_false_is_refused_where_there_is_no_opposite() {
    for name in ["no_loops", "no_guardrails"] {
        let text = with_metrics(&format!("  {name}: {{kind: invariant, require: false}}\n"));
        assert_eq!(mistake(&text).0, "key_does_not_apply", "{name}");
        let text = with_metrics(&format!("  {name}: {{kind: invariant, require: true}}\n"));
        assert!(read(&text).is_ok(), "{name}");
    }
    assert!(
        read(&with_metrics(
            "  stop_condition_reached: {kind: invariant, require: false}\n"
        ))
        .is_ok()
    );
}

// gate-contract, section 15.2, F9: a threshold of 1 was found out only after every trial was paid for.
#[test]
fn a_rate_that_nothing_can_show_is_refused_unless_it_is_report_only() {
    let rate = |rest: &str| with_metrics(&format!("  task_pass_rate: {{kind: statistical, {rest}}}\n"));
    assert_eq!(
        mistake(&rate("direction: lower, threshold: 1.0")).0,
        "threshold_unreachable"
    );
    assert_eq!(
        mistake(&rate("direction: upper, threshold: 0")).0,
        "threshold_unreachable"
    );
    let range = "direction: both, threshold: {lower: 0.9, upper: 0.9}";
    assert_eq!(mistake(&rate(range)).0, "threshold_unreachable");
    assert!(read(&rate("direction: lower, threshold: 1.0, mode: report_only")).is_ok());
    assert_eq!(
        mistake("assert: {pass_rate_threshold: 1.0}\n").0,
        "threshold_unreachable"
    );
}

#[test]
fn rules_of_version_2_without_a_version_are_not_taken_for_an_empty_old_policy() {
    let (code, at, message) = mistake("metrics:\n  no_loops: {kind: invariant}\n");
    assert_eq!((code, at), ("version_missing", (2, 3)));
    assert_eq!(
        message,
        "2:3: metrics would be ignored: the file does not say `version: 2`"
    );
}

#[test]
fn an_empty_file_is_an_old_policy_with_every_default() {
    for text in ["", "# nothing\n", "assert:\n", "assert: []\n"] {
        let policy = read(text).unwrap();
        assert_eq!(
            (policy.source, policy.checks.len()),
            (PolicySource::V1, 5),
            "{text:?}"
        );
    }
}

#[test]
fn the_version_is_read_from_the_text_and_not_from_a_number() {
    assert_eq!(mistake("version: 2.10\nmetrics: {}\n").0, "version_minor_too_new");
    assert_eq!(
        read("version: '2.1' # new\nmetrics: {}\n").unwrap().version.minor,
        1
    );
    assert_eq!(mistake("version:\nmetrics: {}\n").0, "version_not_scalar");
}

#[test]
fn x_tracer_states_what_only_this_gate_has() {
    let policy = read(
        "version: 2
metrics:
  no_loops: {kind: invariant}
  task_pass_rate: {kind: statistical, direction: lower, threshold: 0.8}
x_tracer:
  inconclusive: fail
  decision: exact
  jobs: 4
  timeout_s: 2.5
  replay_miss: fail
  cassette_max_age: 90d
  metrics:
    tool_calls.search: {kind: measured, direction: upper, limit: 3}
    llm_call_count: {kind: distributional, direction: upper}
  judged_by_rate: [no_loops]
",
    )
    .unwrap();
    assert_eq!(policy.on_inconclusive, OnInconclusive::Fail);
    assert_eq!(policy.decision, IntervalMethod::Exact);
    assert_eq!((policy.jobs, policy.timeout.as_millis()), (4, 2_500));
    assert_eq!(policy.on_replay_miss, OnReplayMiss::Fail);
    assert_eq!(policy.cassette_max_age, Some(Duration::from_secs(90 * 24 * 3600)));
    let names: Vec<_> = policy.checks.iter().map(|check| check.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "no_loops",
            "task_pass_rate",
            "tool_calls.search",
            "llm_call_count"
        ]
    );
    assert_eq!(policy.judged_by_rate, ["no_loops"]);
}

#[test]
fn x_tracer_is_as_strict_as_the_rest() {
    let ours = |text: &str| {
        mistake(&with_metrics(&format!(
            "  no_loops: {{kind: invariant}}\nx_tracer: {{{text}}}\n"
        )))
        .0
    };
    assert_eq!(ours("retries: 3"), "unknown_key");
    assert_eq!(ours("inconclusive: maybe"), "not_allowed");
    assert_eq!(ours("decision: bayes"), "not_allowed");
    assert_eq!(ours("jobs: 0"), "not_allowed");
    assert_eq!(ours("timeout_s: 0"), "not_allowed");
    assert_eq!(ours("timeout_s: -1"), "not_allowed");
    assert_eq!(ours("timeout_s: 1e300"), "not_allowed");
    assert_eq!(ours("timeout_s: .inf"), "not_finite_number");
    assert_eq!(ours("replay_miss: pass"), "not_allowed");
    for age in [
        "90",
        "d",
        "0d",
        "1.5d",
        "-1d",
        "+1d",
        "90 d",
        "1y",
        "é",
        "99999999999999999999w",
    ] {
        assert_eq!(
            ours(&format!("cassette_max_age: \"{age}\"")),
            "not_allowed",
            "{age}"
        );
    }
    assert_eq!(ours("cassette_max_age: 90"), "not_allowed");
    assert_eq!(
        ours("metrics: {step_count: {kind: measured, direction: upper, limit: 1}}"),
        "unknown_metric"
    );
    assert_eq!(
        ours("metrics: {tool_calls.: {kind: measured, direction: upper, limit: 1}}"),
        "unknown_metric"
    );
    assert_eq!(
        ours("metrics: {error_count: {kind: invariant}}"),
        "kind_not_allowed_for_metric"
    );
    assert_eq!(ours("judged_by_rate: [step_count]"), "touches_nothing");
    assert_eq!(ours("judged_by_rate: [no_loops]"), "touches_nothing");
}

#[test]
fn a_metric_of_x_tracer_is_refused_elsewhere() {
    let text = with_metrics("  error_count: {kind: measured, direction: upper, limit: 0}\n");
    let error = read(&text).unwrap_err();
    assert_eq!(
        error.hint.as_deref(),
        Some("state it under x_tracer: x_tracer.metrics.error_count")
    );
    assert_eq!(
        mistake("version: 2.1\nmetrics: {plan_depth: {kind: measured}}\n").0,
        "plan_metric_unsupported"
    );
}

#[test]
fn ranges_must_be_in_order() {
    let limit = "  step_count: {kind: measured, direction: both, limit: {lower: 9, upper: 1}}\n";
    assert_eq!(mistake(&with_metrics(limit)).0, "range_reversed");
    let threshold =
        "  task_pass_rate: {kind: statistical, direction: both, threshold: {lower: 0.9, upper: 0.1}}\n";
    assert_eq!(mistake(&with_metrics(threshold)).0, "range_reversed");
}

proptest::proptest! {
    /// No text makes the reader panic, and every mistake that has a place is in the text.
    #[test]
    fn any_text_is_read_or_refused(text in "(version: (1|2|2\\.1|9)\n)?([a-z_]{0,8}: ?[\\[{a-z0-9.}\\]]{0,6}\n){0,5}") {
        if let Err(error) = read(&text) {
            let lines = text.lines().count() + 1;
            proptest::prop_assert!(error.position.is_none_or(|position| position.line <= lines), "{error}");
        }
    }
}
