//! How single checks are reported.

use super::*;
use crate::words::samples::{crashed, good, metrics, report, trial, worse};
use crate::{Baseline, Trial};
use tracer_sdk::format::Usage;

use tracer_insight::sample_run::{Sample, llm};

/// How the check of the first rule is reported.
fn only(rule: &str, baseline: Option<&Baseline>, trials: &[Trial]) -> [String; 4] {
    let policy = format!(
        "version: 2\ntrials: {}\nfail_fast: false\nmetrics:\n  {rule}\n",
        trials.len()
    );
    let report = report(&policy, baseline, trials);
    let check = check_rows(&report)
        .into_iter()
        .find(|check| rule.starts_with(&format!("{}:", check.name)))
        .unwrap();
    [
        check.outcome.word().to_owned(),
        check.allowed.text(),
        check.seen.text(),
        check.trials_in_words(),
    ]
}

/// A run that used this many tokens.
fn with_tokens(tokens: u64) -> Sample {
    Sample::new().step(llm("ask", "answer", Usage::new(tokens, 0)))
}

fn baseline_of(tokens: std::ops::RangeInclusive<u64>) -> Baseline {
    let runs: Vec<_> = tokens
        .map(|tokens| metrics(tokens.into(), &with_tokens(tokens)))
        .collect();
    Baseline::of_runs(&runs.iter().collect::<Vec<_>>(), "2026-11-20T10:00:00.000Z").unwrap()
}

#[test]
fn a_broken_invariant_says_how_it_was_broken() {
    let [outcome, allowed, seen, trials] = only(
        "no_loops: {kind: invariant}",
        None,
        &[trial(1, &good()), trial(2, &worse())],
    );
    assert_eq!((outcome.as_str(), trials.as_str()), ("failed", "2"));
    assert_eq!(allowed, "no calls are repeated in a loop");
    assert_eq!(seen, "broken in 1 of 2 trials: search_kb ×5, steps 3 to 7");
}

#[test]
fn a_list_of_tools_says_which_of_them_is_meant() {
    let worse = [trial(1, &worse())];
    let required = only(
        "required_tools: {kind: invariant, all_of: [search_kb, send_reply]}",
        None,
        &worse,
    );
    assert_eq!(required[2], "broken: no call of send_reply");
    let rule = "forbidden_tools: {kind: invariant, none_of: [admin_delete, escalate_to_human]}";
    assert_eq!(only(rule, None, &worse)[2], "broken: called escalate_to_human");
    // A comma in a name does not make two of it.
    let rule = "forbidden_tools: {kind: invariant, none_of: ['a, search_kb', escalate_to_human]}";
    assert_eq!(only(rule, None, &worse)[2], "broken: called escalate_to_human");
}

#[test]
fn a_distributional_check_shows_the_bound_and_no_pass_rate() {
    // gate, *Report*
    let rule = "cost_tokens: {kind: distributional, direction: upper}";
    let usual = baseline_of(1..=19);
    let one = |tokens| only(rule, Some(&usual), &[trial(1, &with_tokens(tokens))]);
    assert_eq!(
        one(20),
        ["failed", "at most 19 (of 19 trials in the baseline)", "20", "1"]
    );
    assert_eq!(one(19)[0], "passed");
    let several = [20, 5, 5].map(with_tokens);
    let trials: Vec<Trial> = (1..)
        .zip(&several)
        .map(|(number, sample)| trial(number, sample))
        .collect();
    let rule = "cost_tokens: {kind: distributional, direction: upper, mode: report_only}\n  \
        no_guardrails: {kind: invariant}";
    let [_, allowed, seen, trials] = only(rule, Some(&usual), &trials);
    assert_eq!(allowed, "at most 19 in at least 95 % of trials (baseline of 19)");
    assert!(seen.starts_with("1 of 3 beyond: between "), "{seen}");
    assert_eq!(trials, "1");
}

#[test]
fn unknown_values_are_shown_with_their_trials() {
    let silent = Sample::new().step(llm("ask", "answer", Usage::default()));
    let trials = [trial(1, &with_tokens(5)), trial(2, &silent), crashed(3)];
    let described = only(
        "cost_tokens: {kind: measured, direction: upper, limit: 9}",
        None,
        &trials,
    );
    assert_eq!(
        described,
        [
            "undecided",
            "at most 9",
            "unknown (as far as known 5 to 5)",
            "unknown in 2, 3"
        ]
    );
}

#[test]
fn a_rate_is_shown_with_its_confidence() {
    let trials = [1, 2, 3].map(|number| trial(number, &good()));
    let rule = "task_pass_rate: {kind: statistical, direction: lower, threshold: 0.9}\n  \
        no_guardrails: {kind: invariant}";
    let [outcome, allowed, seen, _] = only(rule, None, &trials);
    assert_eq!(outcome, "reported only");
    assert_eq!(allowed, "at least 90 % of trials, shown with 95 % confidence");
    assert_eq!(seen, "3 of 3 succeeded: between 52.6 % and 100 %");
}

#[test]
fn many_trials_are_shown_as_ranges_with_a_limit() {
    assert_eq!(ranges(&[1, 2, 3, 5, 8, 9]), "1–3, 5, 8, 9");
    let even: Vec<u32> = (1..=50).map(|number| number * 2).collect();
    assert!(ranges(&even).ends_with("24, …"));
}
