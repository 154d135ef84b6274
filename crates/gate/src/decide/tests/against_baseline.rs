//! `no_new_tools` and `still_called`: what the baseline's runs called, with names that a policy allows.

use serde_json::json;

use super::trial;
use crate::policy::{Overrides, Policy};
use crate::{Baseline, Evidence, Gate, Judgement, Verdict};
use tracer_insight::profile::RunProfile;
use tracer_insight::testing::{letters, metrics, run_of, run_with};

const CHECKS: &str = "no_new_tools: {allow: [m?, mcp__*]}, still_called: {kind: invariant, allow: [c]}";

fn judged(checks: &str, baseline: &[&str], runs: &[RunProfile]) -> Judgement {
    let text = format!(
        "version: 2\ntrials: {}\nfail_fast: false\nmetrics: {{{checks}}}\n",
        runs.len()
    );
    let policy = Policy::parse(&text, &Overrides::default()).unwrap();
    let usual: Vec<RunProfile> = baseline.iter().map(|names| letters(names)).collect();
    let baseline = Baseline::of_runs(&usual.iter().collect::<Vec<_>>(), "2026-01-01T00:00:00.000Z").unwrap();
    let trials: Vec<_> = (1..)
        .zip(runs)
        .map(|(number, run)| trial(number, run.clone()))
        .collect();
    Gate::new(&policy, Some(&baseline)).unwrap().judge(&trials)
}

fn verdicts(judgement: &Judgement) -> Vec<(&str, Verdict)> {
    let checks = judgement.checks.iter().skip(1);
    checks
        .map(|check| (check.name.as_str(), check.verdict.unwrap()))
        .collect()
}

fn calling(name: &str) -> RunProfile {
    let (meta, spans) = run_with(&[
        ("a", json!({"tracer.tool_name": "a"})),
        (name, json!({"tracer.tool_name": name})),
    ]);
    metrics(&run_of(&meta, &spans))
}

#[test]
fn a_tool_that_no_run_of_the_baseline_called_is_new() {
    let (pass, fail) = (Verdict::Pass, Verdict::Fail);
    for (called, expected) in [
        ("a", pass),
        ("b", pass),
        ("z", fail),
        ("mcp__files__read", pass),
        ("m1", pass),
        ("m12", fail),
    ] {
        let judgement = judged(CHECKS, &["a", "ab"], &[calling(called)]);
        assert_eq!(
            verdicts(&judgement),
            [("no_new_tools", expected), ("still_called", pass)],
            "{called}"
        );
    }
}

#[test]
fn a_tool_that_every_run_of_the_baseline_called_is_still_called() {
    let judgement = judged(CHECKS, &["abc", "acb", "ac"], &[letters("ab"), letters("b")]);
    assert_eq!(verdicts(&judgement)[1], ("still_called", Verdict::Fail));
    let Evidence::Invariant(evidence) = &judgement.checks[2].evidence else {
        panic!()
    };
    // `b` was not called by every run, and `c` may be left out.
    let reasons = judgement.findings.iter();
    let reasons: Vec<String> = reasons.map(|trial| trial["still_called"].reason.text()).collect();
    assert_eq!(reasons, ["", "no call of a"]);
    assert_eq!(
        evidence.description,
        "every tool is called that all runs of the baseline call, but c"
    );
}

#[test]
fn lists_of_the_contract_stay_literal() {
    let text = "version: 2\ntrials: 1\nmetrics:\n  forbidden_tools: {kind: invariant, none_of: [\"a*\"]}\n  \
         required_tools: {kind: invariant, all_of: [\"?\"]}\n";
    let policy = Policy::parse(text, &Overrides::default()).unwrap();
    let judgement = Gate::new(&policy, None).unwrap().judge(&[trial(1, letters("a"))]);
    assert_eq!(
        verdicts(&judgement),
        [
            ("forbidden_tools", Verdict::Pass),
            ("required_tools", Verdict::Fail)
        ]
    );
}

#[test]
fn before_the_first_baseline_they_are_not_checked_and_that_is_said() {
    let text = format!("version: 2\nmetrics: {{no_loops: {{kind: invariant}}, {CHECKS}}}\n");
    let policy = Policy::parse(&text, &Overrides::default()).unwrap();
    let gate = Gate::new(&policy, None).unwrap();
    assert_eq!(
        gate.notices(),
        ["no_new_tools, still_called: not checked, because there is no baseline yet"]
    );
    let text = format!("version: 2\nmetrics: {{{CHECKS}}}\n");
    let nothing_else = Policy::parse(&text, &Overrides::default()).unwrap();
    let error = Gate::new(&nothing_else, None).unwrap_err().to_string();
    assert!(error.starts_with("the policy has no check"), "{error}");
}

#[test]
fn a_check_that_allows_everything_checks_nothing() {
    let text = "version: 2\nmetrics: {no_new_tools: {allow: ['*']}}\n";
    let policy = Policy::parse(text, &Overrides::default()).unwrap();
    let baseline = Baseline::of_run(&letters("a"), "now");
    let error = Gate::new(&policy, Some(&baseline)).unwrap_err().to_string();
    assert!(error.starts_with("the policy has no check"), "{error}");
}

#[test]
fn they_can_be_left_to_the_rate() {
    let text = "version: 2\ntrials: 25\njudged_by_rate: [still_called]\nmetrics:\n  still_called: {}\n  \
         task_pass_rate: {kind: statistical, direction: lower, threshold: 0.9}\n";
    let policy = Policy::parse(text, &Overrides::default()).unwrap();
    assert_eq!(policy.judged_by_rate, ["still_called"]);
}

#[test]
fn mistakes_in_them_are_reported() {
    for metrics in [
        "{no_tools: {}}",
        "{no_new_tools: {none_of: [a]}}",
        "{no_new_tools: [a]}",
        "[no_new_tools]",
        "{still_called: {allow: a}}",
        "{still_called: {allow: [\"\"]}}",
    ] {
        let text = format!("version: 2\nmetrics: {metrics}\n");
        let error = Policy::parse(&text, &Overrides::default()).unwrap_err();
        assert!(error.mistakes[0].position.is_some(), "{metrics}");
    }
}
