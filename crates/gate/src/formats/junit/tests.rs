//! JUnit documents.

use super::*;
use crate::words::samples::{POLICY, crashed, good, report, trial, usual, worse};

#[test]
fn checks_and_trials_are_test_cases() {
    let trials = [trial(1, &good()), trial(2, &worse()), crashed(3)];
    let report = report(POLICY, Some(&usual()), &trials);
    insta::assert_snapshot!(document(&report, false).unwrap());
}

#[test]
fn an_undecided_check_fails_only_where_the_user_says_so() {
    let silent = tracer_insight::sample_run::Sample::new().step(tracer_insight::sample_run::llm(
        "ask",
        "answer",
        tracer_sdk::format::Usage::default(),
    ));
    let policy =
        "version: 2\ntrials: 1\nmetrics:\n  cost_tokens: {kind: measured, direction: upper, limit: 9}\n";
    let report = report(policy, None, &[trial(1, &silent)]);
    let [passes, fails] = [false, true].map(|fails| document(&report, fails).unwrap());
    assert!(
        passes.contains("failures=\"0\"") && passes.contains("<skipped "),
        "{passes}"
    );
    assert!(
        fails.contains("failures=\"1\"") && fails.contains("type=\"inconclusive\""),
        "{fails}"
    );
}

#[test]
fn no_text_breaks_out_of_the_document() {
    let mut trial = crashed(1);
    trial.stderr_tail = "]]></system-err><x/>\u{0}\u{1b}[31m\u{ffff} & < > \"".to_owned();
    let xml = document(&report(POLICY, None, &[trial]), false).unwrap();
    assert!(
        !xml.contains("<x/>") && !xml.contains(['\u{0}', '\u{1b}', '\u{ffff}']),
        "{xml}"
    );
}
