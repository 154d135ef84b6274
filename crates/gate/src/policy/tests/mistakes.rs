//! Mistakes in a policy file: each is found, and reported with its place.

use std::time::Duration;

use super::{mistake, read, with_metrics};
use crate::policy::{OnInconclusive, OnReplayMiss, Overrides, Policy, Rule};
use crate::statistics::IntervalMethod;

#[test]
fn every_mistake_is_reported_with_its_place() {
    let text = "version: 2
trials: many
metrics:
  no_loops: {kind: invariant, none_of: [a]}
  step_count:
    kind: measured
    direction: up
    limit: many
    percent: 5
  steps: {kind: measured, direction: upper, limit: 1}
  no_guardrails: true
  task_pass_rate: {kind: statistical, direction: lower, threshold: 1.0}
thresholds: 1
timeout_s: 0
";
    assert_eq!(
        read(text).unwrap_err().to_string(),
        "2:9: trials must be a whole number, at least 1
4:31: metrics.no_loops.none_of is not a key here
7:16: metrics.step_count.direction must be one of upper, lower, both
8:12: metrics.step_count.limit must be a number, or a mapping of lower and upper
9:5: metrics.step_count.percent is not a key here
10:3: metrics.steps is not a metric
11:18: metrics.no_guardrails must be a mapping
12:68: metrics.task_pass_rate.threshold cannot be shown with 100,000 trials
13:1: thresholds is not a key here
14:12: timeout_s must be a number of seconds, more than 0"
    );
}

#[test]
fn bounds_that_are_not_finite_are_mistakes() {
    for bound in [
        "limit: .inf",
        "limit: .nan",
        "limit: 1e999",
        "tolerance: {relative: .nan}",
        "tolerance: {relative: 0.5, absolute: .inf}",
    ] {
        let policy = with_metrics(&format!(
            "  step_count: {{kind: measured, direction: upper, {bound}}}"
        ));
        let refused = read(&policy).unwrap_err().to_string();
        assert!(refused.contains(" must be "), "{bound}: {refused}");
    }
}

#[test]
fn text_that_is_not_yaml_is_refused() {
    let message = mistake("version: 2\nmetrics: {no_loops: [}\n");
    assert!(
        message.starts_with("2:") && message.contains("is not YAML"),
        "{message}"
    );
    assert_eq!(mistake("just words\n"), "1:1: the policy must be a mapping");
    let deep = format!("version: 2\nmetrics: {}\n", "[".repeat(70) + &"]".repeat(70));
    for (text, message, hint) in [
        (
            "version: 2\nmetrics: {}\n---\nversion: 2\n",
            "is more than one YAML document",
            "keep one: remove what follows `---`",
        ),
        (
            &deep,
            "is nested too deeply, or too long",
            "let a command judge what needs so deep a schema",
        ),
        (
            "version: 2\nmetrics: &all {a: *all}\n",
            "has an alias of itself, or of too much",
            "write the values instead of `*`",
        ),
    ] {
        let mistake = read(text).unwrap_err().mistakes.remove(0);
        assert_eq!(
            (&*mistake.message, mistake.hint.as_deref()),
            (message, Some(hint))
        );
    }
}

#[test]
fn a_value_of_another_type_is_one_mistake() {
    let list = read(&with_metrics("  forbidden_tools: {none_of: [1, yes]}\n")).unwrap_err();
    assert_eq!(
        list.to_string(),
        "3:30: metrics.forbidden_tools.none_of must be a list of texts"
    );
    assert_eq!(
        list.mistakes[0].hint.as_deref(),
        Some("put names such as 1 and yes in quotes")
    );
    assert_eq!(
        mistake(&with_metrics("  no_loops: []\n")),
        "3:13: metrics.no_loops must be a mapping"
    );
    assert_eq!(
        mistake("version: 2\nmetrics: []\n"),
        "2:10: metrics must be a mapping"
    );
    let several = read("version: 2\ntrials: many\n").unwrap_err();
    assert_eq!(
        several.to_string(),
        "1:1: the policy needs metrics\n2:9: trials must be a whole number, at least 1"
    );
}

#[test]
fn at_most_fifty_mistakes_are_reported() {
    for unknown in [50, 51, 20_000] {
        for value in ["{}", "1"] {
            let metrics: Vec<String> = (0..unknown).map(|at| format!("  m{at}: {value}\n")).collect();
            let error = read(&with_metrics(&metrics.concat())).unwrap_err();
            let last = error.mistakes.last().unwrap().to_string();
            let is_cut = last == "the policy has more mistakes than these";
            let lines = error.mistakes.len() - usize::from(is_cut);
            assert_eq!((lines, is_cut), (50, unknown > 50), "{unknown}, {value}: {last}");
        }
    }
}

// gate, *Loops*
#[test]
fn no_loops_can_keep_the_rule_of_shapes() {
    for (metric, is_about_shapes) in [
        ("no_loops: {kind: invariant}", false),
        ("no_loops: {kind: invariant, shape: false}", false),
        ("no_loops: {kind: invariant, shape: true}", true),
        ("no_loops: {shape: true}", true),
    ] {
        let policy = read(&with_metrics(&format!("  {metric}\n"))).unwrap();
        let Rule::Invariant(rule) = &policy.check("no_loops").unwrap().rule else {
            panic!("{metric}");
        };
        assert_eq!(rule.description().contains("shapes"), is_about_shapes, "{metric}");
    }
    assert!(read(&with_metrics("  no_loops: {kind: invariant, shape: often}\n")).is_err());
}

// gate, *Policy*
#[test]
fn a_duplicate_key_is_refused_at_every_level() {
    let text = with_metrics("  step_count: {kind: measured, direction: upper, limit: 1, limit: 1000}\n");
    assert_eq!(mistake(&text), "3:60: limit is written twice");
    assert_eq!(
        mistake("version: 2\nversion: 1\nmetrics: {}\n"),
        "2:1: version is written twice"
    );
}

// gate, *Policy*
#[test]
fn a_key_that_means_nothing_for_its_metric_is_refused() {
    for metric in [
        "no_loops: {kind: invariant, none_of: [a]}",
        "no_guardrails: {kind: invariant, all_of: [a]}",
        "no_guardrails: {kind: invariant, shape: true}",
        "forbidden_tools: {kind: invariant, none_of: [a], require: true}",
        "required_tools: {kind: invariant, all_of: [a], none_of: [b]}",
        "no_new_tools: {kind: invariant, none_of: [a]}",
        "no_loops: {kind: invariant, limit: 1}",
        "step_count: {kind: measured, direction: upper, limit: 1, mode: gating}",
        "step_count: {kind: distributional, direction: upper, limit: 1}",
    ] {
        let message = mistake(&with_metrics(&format!("  {metric}\n")));
        assert!(message.ends_with("is not a key here"), "{metric}: {message}");
    }
}

// gate, *Invariants*: these still required none.
#[test]
fn require_false_is_refused_where_there_is_no_opposite() {
    for name in ["no_loops", "no_guardrails"] {
        let text = with_metrics(&format!("  {name}: {{kind: invariant, require: false}}\n"));
        assert!(mistake(&text).contains("has no opposite"), "{name}");
        let text = with_metrics(&format!("  {name}: {{kind: invariant, require: true}}\n"));
        assert!(read(&text).is_ok(), "{name}");
    }
    let not_ok = with_metrics("  stop_condition_reached: {kind: invariant, require: false}\n");
    assert!(read(&not_ok).is_ok());
}

// gate, *Refusals*: a threshold of 1 was found out only after every trial was paid for.
#[test]
fn a_rate_that_nothing_can_show_is_refused_unless_it_is_report_only() {
    let rate = |rest: &str| with_metrics(&format!("  task_pass_rate: {{kind: statistical, {rest}}}\n"));
    for certain in [
        "direction: lower, threshold: 1.0",
        "direction: upper, threshold: 0",
        "direction: both, threshold: {lower: 0.9, upper: 0.9}",
    ] {
        assert!(mistake(&rate(certain)).ends_with("cannot be shown with 100,000 trials"));
    }
    assert!(read(&rate("direction: lower, threshold: 1.0, mode: report_only")).is_ok());
}

#[test]
fn a_policy_of_version_1_is_refused_with_what_to_do() {
    for (text, line) in [
        ("version: 1\nassert: {max_steps: 9}\n", 1),
        ("metrics:\n  no_loops: {kind: invariant}\n", 1),
        ("assert:\n  max_steps: 9\n", 1),
        ("\nversion: 1.0\n", 2),
        ("", 1),
    ] {
        let error = read(text).unwrap_err();
        assert!(
            error
                .to_string()
                .starts_with(&format!("{line}:1: version must be 2")),
            "{text}: {error}"
        );
        assert_eq!(
            error.mistakes[0].hint.as_deref(),
            Some("rewrite a policy of version 1 as docs/policy.md says, or write a new one: tracer init"),
            "{text}"
        );
    }
}

#[test]
fn a_policy_with_x_tracer_is_refused_with_what_to_do() {
    let error = read("version: 2\nmetrics: {}\nx_tracer:\n  jobs: 2\n").unwrap_err();
    assert_eq!(error.to_string(), "3:1: x_tracer is not a key any more");
    assert!(
        error.mistakes[0]
            .hint
            .as_ref()
            .unwrap()
            .contains("at the top level")
    );
}

#[test]
fn the_version_is_read_from_the_text_and_not_from_a_number() {
    assert_eq!(
        mistake("version: 2.10\nmetrics: {}\n"),
        "1:1: version must be 2 or 2.1"
    );
    assert!(read("version: '2.1' # new\nmetrics: {}\n").is_ok());
    assert!(read("\"version\": 2\nmetrics: {}\n").is_ok());
    assert_eq!(
        mistake("version:\nmetrics: {}\n"),
        "1:1: version must be 2, on a line of its own"
    );
}

#[test]
fn keys_of_the_gate_stand_at_the_top_level() {
    let policy = read(
        "version: 2
inconclusive: fail
decision: exact
jobs: 4
timeout_s: 2.5
replay_miss: fail
cassette_max_age: 90d
judged_by_rate: [no_loops]
metrics:
  no_loops: {kind: invariant}
  task_pass_rate: {kind: statistical, direction: lower, threshold: 0.8}
  tool_calls.search: {kind: measured, direction: upper, limit: 3}
  llm_call_count: {kind: distributional, direction: upper}
  cost_usd: {kind: measured, direction: upper, limit: 0.5}
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
            "llm_call_count",
            "cost_usd"
        ]
    );
    assert_eq!(policy.judged_by_rate, ["no_loops"]);
}

#[test]
fn values_at_the_top_level_are_checked() {
    let top = |text: &str| {
        read(&format!(
            "version: 2\n{text}\nmetrics: {{no_loops: {{kind: invariant}}}}\n"
        ))
    };
    for wrong in [
        "retries: 3",
        "inconclusive: maybe",
        "decision: bayes",
        "jobs: 0",
        "timeout_s: 0",
        "timeout_s: -1",
        "timeout_s: 1e300",
        "timeout_s: .inf",
        "replay_miss: pass",
        "cassette_max_age: 90",
        "judged_by_rate: [step_count]",
        "judged_by_rate: [no_loops]",
    ] {
        let error = top(wrong).unwrap_err();
        assert!(error.to_string().starts_with("2:"), "{wrong}: {error}");
    }
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
        assert!(top(&format!("cassette_max_age: \"{age}\"")).is_err(), "{age}");
    }
    for metric in [
        "tool_calls.: {kind: measured, direction: upper, limit: 1}",
        "error_count: {kind: invariant}",
        "plan_depth: {kind: measured}",
    ] {
        assert!(read(&with_metrics(&format!("  {metric}\n"))).is_err(), "{metric}");
    }
}

#[test]
fn ranges_must_be_in_order() {
    let limit = "  step_count: {kind: measured, direction: both, limit: {lower: 9, upper: 1}}\n";
    assert!(mistake(&with_metrics(limit)).ends_with("has a lower end above its upper one"));
    let threshold =
        "  task_pass_rate: {kind: statistical, direction: both, threshold: {lower: 0.9, upper: 0.1}}\n";
    assert!(mistake(&with_metrics(threshold)).ends_with("has a lower end above its upper one"));
}

#[test]
fn options_override_what_belongs_to_no_check() {
    let overrides = Overrides {
        trials: Some(9),
        fail_fast: Some(false),
        on_inconclusive: Some(OnInconclusive::Fail),
        jobs: Some(3),
        timeout: Some(Duration::from_secs(5)),
    };
    let text = with_metrics("  no_loops: {kind: invariant}\n");
    for policy in [Policy::parse(&text, &overrides), Policy::usual(&overrides)] {
        let policy = policy.unwrap();
        assert_eq!((policy.trials, policy.fail_fast, policy.jobs), (9, false, 3));
        assert_eq!(
            (policy.on_inconclusive, policy.timeout.as_secs()),
            (OnInconclusive::Fail, 5)
        );
    }
}

proptest::proptest! {
    /// No text makes the reader panic, and every mistake that has a place is in the text.
    #[test]
    fn any_text_is_read_or_refused(text in "(version: (1|2|2\\.1|9)\n)?([a-z_]{0,8}: ?[\\[{a-z0-9.}\\]]{0,6}\n){0,5}") {
        if let Err(error) = read(&text) {
            let lines = text.lines().count() + 1;
            for mistake in error.mistakes {
                proptest::prop_assert!(mistake.position.is_none_or(|position| position.line <= lines), "{mistake}");
            }
        }
    }
}
