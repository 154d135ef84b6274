//! Reports: what trials give, and what is reported of the baseline.

use serde_json::{Map, Value, json};

use super::*;
use crate::{Baseline, Demanded, FailureReason, Finding, ProcessExit, Trial, TrialFailure, Verdict};
use tracer_insight::testing::{letters, metrics_of_vector, recorded};
use tracer_sdk::llm_call;

const NOW: &str = "2026-01-01T00:00:00.000Z";

fn judgement(verdict: Verdict, invariants: &[(&str, bool)]) -> Judgement {
    let finding = |kept: bool| {
        if kept {
            Finding::kept()
        } else {
            Finding::broken("")
        }
    };
    let findings = invariants
        .iter()
        .map(|(name, kept)| ((*name).to_owned(), finding(*kept)))
        .collect();
    Judgement {
        verdict,
        checks: Vec::new(),
        findings: vec![findings],
        trials_planned: 1,
        stop_reason: None,
    }
}

fn report_of(trial: Trial, baseline: Option<&Baseline>, environment: Map<String, Value>) -> Report {
    Report::new(
        judgement(Verdict::Pass, &[]),
        &[trial],
        baseline,
        environment,
        GateDetails::default(),
    )
}

fn environment(python: &str) -> Map<String, Value> {
    json!({"algorithm": "sha256", "workspace": python, "python": python})
        .as_object()
        .unwrap()
        .clone()
}

#[test]
fn a_report_gives_the_baseline_that_its_trials_are() {
    let trial = || Trial::of_run(1, metrics_of_vector("good"));
    let report = report_of(trial(), None, Map::new());
    let text = serde_json::to_string(&report).unwrap();
    let baseline = Baseline::of_report(text.as_bytes(), NOW, Demanded::Pass).unwrap();
    assert!(baseline.behaves_like(&Baseline::of_run(&metrics_of_vector("good"), NOW)));
    assert_eq!(baseline.trials[0].repeated_calls, 0);
    let again = report_of(trial(), Some(&baseline), Map::new());
    assert!(again.trials[0].changes.as_ref().unwrap().metrics.is_empty());
    assert_eq!(again.gate.notices, [] as [&str; 0]);
}

#[test]
fn a_trial_that_left_nothing_has_a_reason_and_unknown_numbers() {
    let mut trial = Trial::failed(1, TrialFailure::new(FailureReason::Timeout).with("after 600 s"));
    trial.exit = Some(ProcessExit::Signal(9));
    trial.stderr_tail = "thread 'main' panicked".to_owned();
    let report = serde_json::to_value(report_of(trial, None, Map::new())).unwrap();
    let reported = &report["trials"][0];
    assert_eq!(reported["passed"], false);
    assert_eq!(reported["exit"], json!({"signal": 9}));
    assert_eq!(
        reported["failure"],
        json!({"reason": "timeout", "detail": "after 600 s"})
    );
    assert_eq!(reported["stderr_tail"], "thread 'main' panicked");
    assert_eq!(reported["metrics"]["cost_tokens"], Value::Null);
    assert_eq!(reported["signature"], Value::Null);
}

#[test]
fn a_trial_passes_when_it_counts_and_keeps_every_invariant() {
    let run = || letters("ab");
    let passed = |trial: Trial, invariants: &[(&str, bool)]| {
        let judged = judgement(Verdict::Pass, invariants);
        Report::new(judged, &[trial], None, Map::new(), GateDetails::default()).trials[0].passed
    };
    assert!(passed(Trial::of_run(1, run()), &[("no_loops", true)]));
    assert!(!passed(
        Trial::of_run(1, run()),
        &[("no_loops", true), ("forbidden_tools", false)]
    ));
    let mut failed = Trial::of_run(1, run());
    failed.exit = Some(ProcessExit::Code(4));
    assert!(!passed(failed, &[]));
    assert!(!passed(
        Trial::failed(1, TrialFailure::new(FailureReason::NoTrace)),
        &[]
    ));
}

#[test]
fn what_is_found_in_a_trial_is_in_its_details() {
    let run = recorded(|| (0..3).try_for_each(|_| llm_call("m").prompt("and now?").record()));
    let report = report_of(Trial::of_run(1, run), None, Map::new());
    let details = &report.trials[0];
    assert_eq!((details.calls_without_tokens, details.repeats.len()), (3, 1));
}

// gate, *Baseline*
#[test]
fn an_environment_unlike_the_baseline_s_is_reported() {
    let text = serde_json::to_string(&report_of(
        Trial::of_run(1, letters("ab")),
        None,
        environment("3.12"),
    ))
    .unwrap();
    let baseline = Baseline::of_report(text.as_bytes(), NOW, Demanded::Pass).unwrap();
    let notices = |python| {
        report_of(
            Trial::of_run(1, letters("ab")),
            Some(&baseline),
            environment(python),
        )
        .gate
        .notices
    };
    assert_eq!(notices("3.12"), [] as [&str; 0]);
    assert_eq!(
        notices("2.7"),
        ["the baseline was taken in another environment: python differs"]
    );
}

// gate, *Baseline*
#[test]
fn a_baseline_that_nobody_accepted_is_reported() {
    let mut baseline = Baseline::of_run(&letters("ab"), NOW);
    baseline.forced = true;
    let notices = |baseline: &Baseline| {
        report_of(Trial::of_run(1, letters("ab")), Some(baseline), Map::new())
            .gate
            .notices
    };
    assert_eq!(
        notices(&baseline),
        ["the baseline was made from a report that did not pass"]
    );
}
