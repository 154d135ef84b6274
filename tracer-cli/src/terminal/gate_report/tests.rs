//! Reports at three widths, with and without colour.

use super::*;
use crate::terminal::tests::at_widths;
use tracer_gate::words::samples::{POLICY, crashed, failed, good, report, trial, usual};

#[test]
fn a_gate_that_fails_names_every_check_with_what_was_allowed_and_seen() {
    // gate, *Report*
    let report = failed();
    insta::assert_snapshot!(at_widths(|width| lines(&report, width)));
}

#[test]
fn a_passing_gate_is_a_few_lines() {
    let trials = [1, 2, 3].map(|number| trial(number, &good()));
    let report = report(POLICY, Some(&usual()), &trials);
    insta::assert_snapshot!(at_widths(|width| lines(&report, width)));
}

#[test]
fn a_trial_without_a_trace_shows_its_last_output() {
    // gate, *Trials*
    let report = report(POLICY, None, &[trial(1, &good()), crashed(2)]);
    let shown = at_widths(|width| lines(&report, width));
    assert!(!shown.lines().any(|line| line.trim_start().starts_with("::")));
    insta::assert_snapshot!(shown);
}

#[test]
fn a_trial_and_the_verdict_never_contradict_each_other() {
    // gate, *Report*: a trial counts as failed for what the verdict counts, and the checks say the rest.
    let policy =
        "version: 2\ntrials: 1\nmetrics:\n  step_count: {kind: measured, direction: upper, limit: 2}\n";
    let report = report(policy, None, &[trial(1, &good())]);
    let reported: Vec<String> = lines(&report, 80).iter().map(Line::text).collect();
    assert_eq!(reported[0], "✗ FAIL  1 check failed, 1 passed");
    assert!(
        reported.contains(&"    allowed  at most 2".to_owned()),
        "{reported:#?}"
    );
    assert!(reported.contains(&"    seen     5".to_owned()), "{reported:#?}");
}
