//! Baselines: how they are made, and what is refused.

use serde_json::{Value, json};

use super::*;
use crate::Demanded;
use tracer_insight::profile::MissingSpans;
use tracer_insight::testing::{letters, metrics, metrics_of_vector, recorded, run_of, run_with};
use tracer_sdk::{Usage, llm_call, tool_call};

const NOW: &str = "2026-01-01T00:00:00.000Z";

fn good() -> Baseline {
    Baseline::of_run(&metrics_of_vector("good"), NOW)
}

/// The reason why a good baseline is refused after a change to its document.
fn refused(change: impl FnOnce(&mut Value)) -> String {
    let mut document = serde_json::to_value(good()).unwrap();
    change(&mut document);
    let error = Baseline::parse(document.to_string().as_bytes()).unwrap_err();
    error.to_string()
}

#[test]
fn a_baseline_has_a_header_and_its_runs() {
    let baseline = good();
    let document = serde_json::to_value(&baseline).unwrap();
    assert_eq!(document["baseline_version"], 1);
    assert_eq!(document["trials"].as_array().unwrap().len(), 1);
    let trial = &document["trials"][0];
    assert_eq!(trial["metrics"]["cost_tokens"], 90.0);
    assert!(document["signatures"][trial["signature"].as_str().unwrap()].is_object());
    assert_eq!(Baseline::parse(baseline.to_json().as_bytes()).unwrap(), baseline);
    let compact = serde_json::to_string(&baseline).unwrap();
    assert_eq!(Baseline::parse(compact.as_bytes()).unwrap(), baseline);
}

#[test]
fn baselines_of_other_formats_are_refused_with_what_to_do() {
    for (text, reason) in [
        (
            r#"{"schema_version": "0.2"}"#,
            "it is of an old format, version 0.2",
        ),
        (
            r#"{"schema_version": "0.3.1"}"#,
            "it is of an old format, version 0.3.1",
        ),
        (
            r#"{"baseline_version": 9}"#,
            "baseline_version: 9 is not understood; 1 is",
        ),
        ("{}", "baseline_version is missing"),
        ("[]", "the file is not a JSON object"),
        ("", "the file is not a JSON object"),
    ] {
        let error = Baseline::parse(text.as_bytes()).unwrap_err();
        assert_eq!(
            (error.message(), error.hints()[0].as_str()),
            (
                reason,
                "make it again, of one run: tracer baseline --out FILE --force; of several trials: tracer run \
                 --no-fail-fast --json-out report.json -- COMMAND, then tracer baseline --from-report report.json \
                 --out FILE --force"
            )
        );
    }
}

#[test]
fn a_version_is_a_number_however_written() {
    let text = good()
        .to_json()
        .replace("\"baseline_version\": 1,", "\"baseline_version\": 1.0,");
    assert_eq!(Baseline::parse(text.as_bytes()), Ok(good()));
    let report = own_report().to_string();
    let report = report.replace("\"report_version\":3", "\"report_version\":3.0");
    assert!(report.contains("3.0"), "{report}");
    assert!(Baseline::of_report(report.as_bytes(), NOW, Demanded::Pass).is_ok());
}

#[test]
fn an_edited_acceptance_is_refused() {
    let accepted = good().accepted(Acceptance {
        reason: "it looks up the policy".to_owned(),
        ..Acceptance::default()
    });
    let text = accepted.to_json();
    assert_eq!(Baseline::parse(text.as_bytes()), Ok(accepted));
    let error = Baseline::parse(text.replace("looks up", "skips").as_bytes()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "digest: the file was edited after it was written"
    );
    assert_eq!(error.hints()[0], "restore it from version control");
    assert!(error.hints()[1].starts_with("or make it again, "));
}

// gate, *Baseline*
#[test]
fn a_baseline_that_was_edited_is_refused() {
    const EDITED: &str = "digest: the file was edited after it was written";
    let metric = |document: &mut Value, value| document["trials"][0]["metrics"]["cost_tokens"] = value;
    assert_eq!(refused(|document| metric(document, json!(1e9))), EDITED);
    assert_eq!(
        refused(|document| document["trials"][0]["run_id"] = json!("another")),
        EDITED
    );
    assert_eq!(refused(|document| document["forced"] = json!(true)), EDITED);
    assert_eq!(refused(|document| document["agent"] = json!("other")), EDITED);
    assert_eq!(
        refused(|document| metric(document, json!(-1.0))),
        "trials: cost_tokens of trial 1 is negative"
    );
    assert_eq!(
        refused(|document| document["trials"] = json!([])),
        "trials: the baseline holds no run"
    );
    assert_eq!(
        refused(|document| {
            let id = document["trials"][0]["signature"].as_str().unwrap().to_owned();
            document["signatures"][&id]["status"] = json!("error");
        }),
        "signatures: that of trial 1 is missing or edited"
    );
    assert!(refused(|document| document["more"] = json!(1)).starts_with("line 1, column "));
}

#[test]
fn a_problem_is_reported_by_its_place_and_never_quoted() {
    let error = Baseline::parse(b"{\"baseline_version\": 1,\n \"trials\": \"a secret\"}").unwrap_err();
    assert!(error.to_string().starts_with("line 2, column "), "{error}");
    assert!(!error.to_string().contains("secret"), "{error}");
    let error = Baseline::parse(br#"{"baseline_version": 1}"#).unwrap_err();
    assert!(
        error.to_string().contains("missing field `created_at`"),
        "{error}"
    );
}

#[test]
fn a_metric_that_one_run_does_not_know_has_no_sample() {
    let tells = recorded(|| llm_call("m").usage(Usage::new(1, 2)).record());
    let silent = recorded(|| llm_call("m").record());
    let baseline = Baseline::of_runs(&[&tells, &silent], NOW).unwrap();
    assert_eq!(
        baseline.sample(&Metric::from_name("llm_call_count").unwrap()),
        Some(vec![1.0, 1.0])
    );
    assert_eq!(baseline.sample(&Metric::from_name("cost_tokens").unwrap()), None);
    assert_eq!(Baseline::of_runs(&[], NOW), None);
}

// gate, *Evidence*
#[test]
fn a_run_without_a_duration_gives_a_baseline_without_one() {
    let (mut meta, spans) = run_with(&[]);
    meta["duration_ms"] = json!(99);
    let baseline = Baseline::of_run(&metrics(&run_of(&meta, &spans)), NOW);
    assert_eq!(baseline.sample(&Metric::from_name("latency_ms").unwrap()), None);
    assert!(Baseline::parse(baseline.to_json().as_bytes()).is_ok());
}

#[test]
fn calls_of_one_tool_are_known_of_every_run() {
    let baseline = Baseline::of_runs(&[&letters("a"), &letters("aab")], NOW).unwrap();
    let calls = |tool: &str| baseline.sample(&Metric::ToolCalls(tool.to_owned()));
    assert_eq!(calls("a"), Some(vec![1.0, 2.0]));
    assert_eq!(calls("z"), Some(vec![0.0, 0.0]));
}

#[test]
fn how_long_it_took_is_no_behaviour_and_everything_else_is() {
    let (mut meta, mut spans) = run_with(&[("search", json!({"maida.tool_name": "search"}))]);
    let first = Baseline::of_run(&metrics(&run_of(&meta, &spans)), NOW);
    meta["duration_ms"] = json!(9);
    spans[1]["duration_ms"] = json!(9);
    let slower = Baseline::of_run(&metrics(&run_of(&meta, &spans)), "2027-01-01T00:00:00.000Z");
    assert!(first.behaves_like(&slower));
    spans.remove(0);
    let less = Baseline::of_run(&metrics(&run_of(&meta, &spans)), NOW);
    assert!(!first.behaves_like(&less));
}

/// A report of two trials.
fn own_report() -> Value {
    use crate::policy::{Overrides, Policy};
    use crate::{Gate, GateDetails, Report, Trial};

    let text = "version: 2\ntrials: 2\nmetrics: {no_loops: {kind: invariant}, step_count: {kind: measured, \
         direction: upper, limit: 9}}\n";
    let policy = Policy::parse(text, &Overrides::default()).unwrap();
    let runs = [
        recorded(|| tool_call("search").record()),
        recorded(|| tool_call("search").record()),
    ];
    let trials: Vec<Trial> = (1_u32..)
        .zip(runs)
        .map(|(number, mut run)| {
            // Captured runs all have the same.
            run.trace_id = tracer_sdk::format::TraceId::from_u128(number.into()).unwrap();
            Trial::of_run(number, run)
        })
        .collect();
    let judgement = Gate::new(&policy, None).unwrap().judge(&trials);
    let gate = GateDetails {
        command: vec!["agent".to_owned(), "--fast".to_owned()],
        ..GateDetails::default()
    };
    serde_json::to_value(Report::new(judgement, &trials, None, Map::new(), gate)).unwrap()
}

/// The same with the digest of what it says after an edit.
fn resealed(edit: impl FnOnce(&mut Value)) -> Value {
    let mut report = own_report();
    edit(&mut report);
    report["gate"]["digest"] = json!(crate::digest::report_digest(&report));
    report
}

/// The reason why a report gives no baseline, even with `force`.
fn reason(report: &Value) -> Option<String> {
    let baseline = Baseline::of_report(report.to_string().as_bytes(), NOW, Demanded::Nothing);
    baseline.err().map(|error| error.to_string())
}

#[test]
fn a_report_gives_the_baseline_of_its_trials() {
    let baseline = Baseline::of_report(own_report().to_string().as_bytes(), NOW, Demanded::Pass).unwrap();
    assert_eq!(baseline.trials.len(), 2);
    assert_eq!(
        baseline.sample(&Metric::from_name("tool_call_count").unwrap()),
        Some(vec![1.0, 1.0])
    );
    assert_eq!(baseline.report_verdict, Some(Verdict::Pass));
    assert_eq!(
        (baseline.agent.as_deref(), baseline.command.as_slice()),
        (Some("captured"), &["agent".to_owned(), "--fast".to_owned()][..])
    );
    assert_eq!(Baseline::parse(baseline.to_json().as_bytes()).unwrap(), baseline);
}

// gate, *Baseline*
#[test]
fn a_failed_report_becomes_a_baseline_only_on_request_and_is_marked() {
    for verdict in ["fail", "inconclusive"] {
        let failed = resealed(|report| {
            report["verdict"] = json!(verdict);
            report["checks"][1]["verdict"] = json!(verdict);
        });
        let text = failed.to_string();
        let error = Baseline::of_report(text.as_bytes(), NOW, Demanded::Pass).unwrap_err();
        assert!(error.hints()[0].contains("--force"), "{error}");
        assert!(
            Baseline::of_report(text.as_bytes(), NOW, Demanded::Nothing)
                .unwrap()
                .forced
        );
    }
}

#[test]
fn a_report_that_was_edited_is_no_source_of_a_baseline() {
    type Edit = fn(&mut Value);
    let report = own_report();
    assert_eq!(reason(&report), None);
    let edits: [(&str, Edit); 8] = [
        ("a trial removed", |report| {
            report["trials"].as_array_mut().unwrap().pop();
            report["trials_planned"] = json!(1);
        }),
        ("the verdict", |report| report["verdict"] = json!("fail")),
        ("a number", |report| {
            report["trials"][0]["metrics"]["step_count"] = json!(2.0);
        }),
        ("a tool", |report| {
            report["trials"][1]["signature"]["tools"] = json!([]);
        }),
        ("the command", |report| {
            report["gate"]["command"] = json!(["another"]);
        }),
        ("a notice", |report| report["gate"]["notices"] = json!(["x"])),
        ("another digest", |report| {
            report["gate"]["digest"] = json!("0".repeat(64));
        }),
        ("no digest", |report| {
            report["gate"].as_object_mut().unwrap().remove("digest");
        }),
    ];
    for (what, edit) in edits {
        let mut edited = report.clone();
        edit(&mut edited);
        assert_eq!(
            reason(&edited).as_deref(),
            Some("gate.digest: the report was edited after it was written"),
            "{what}"
        );
    }
    // The layout of the text, and the form of a whole number, is no edit.
    let pretty = serde_json::to_string_pretty(&report).unwrap().replace("1.0", "1");
    assert!(Baseline::of_report(pretty.as_bytes(), NOW, Demanded::Pass).is_ok());
}

#[test]
fn only_a_whole_report_makes_a_baseline() {
    type Edit = fn(&mut Value);
    let edits: [(&str, Edit); 2] = [
        ("trials: the report holds 2 of 3 trials", |report| {
            report["trials_planned"] = json!(3);
        }),
        ("trials: trial 2 left no run that counts", |report| {
            report["trials"][1]["failure"] = json!({"reason": "timeout", "detail": ""});
        }),
    ];
    for (expected, edit) in edits {
        assert_eq!(reason(&resealed(edit)).as_deref(), Some(expected));
    }
}

#[test]
fn a_report_of_another_format_is_not_called_edited() {
    for (report, reason) in [
        (
            r#"{"report_version": "2.0.1"}"#,
            "it is of an old format, version 2.0.1",
        ),
        (
            r#"{"schema_version": "2.0.1"}"#,
            "it is of an old format, version 2.0.1",
        ),
        (
            r#"{"report_version": 4}"#,
            "report_version: 4 is not understood; 3 is",
        ),
    ] {
        let error = Baseline::of_report(report.as_bytes(), NOW, Demanded::Nothing).unwrap_err();
        assert_eq!(
            (error.message(), error.hints()[0].as_str()),
            (
                reason,
                "run the gate again, all its trials: tracer run --no-fail-fast --json-out FILE -- COMMAND"
            )
        );
    }
}

#[test]
fn a_trial_that_lost_spans_does_not_show_what_is_usual() {
    let lossy = resealed(|report| {
        report["trials"][1]["missing_spans"] = json!({"spans": 3, "reason": "disk full"});
    });
    for demanded in [Demanded::Pass, Demanded::Whole] {
        let error = Baseline::of_report(lossy.to_string().as_bytes(), NOW, demanded).unwrap_err();
        assert!(
            error.to_string().contains("3 spans of trial 2 are missing"),
            "{error}"
        );
    }
    let baseline = Baseline::of_report(lossy.to_string().as_bytes(), NOW, Demanded::Nothing).unwrap();
    assert!(baseline.forced && baseline.report_verdict == Some(Verdict::Pass));
    let mut run = metrics_of_vector("good");
    let forced = |run: &RunProfile| Baseline::of_run(run, NOW).forced;
    assert!(!forced(&run));
    run.missing = Some(MissingSpans {
        spans: Some(3),
        reason: "disk full".to_owned(),
    });
    assert!(forced(&run));
}

#[test]
fn runs_with_different_names_have_no_common_agent() {
    let named = |name: &str| {
        let mut run = recorded(|| Ok(()));
        run.run_name = Some(name.to_owned());
        run
    };
    let agent = |first: &str, second: &str| {
        let (first, second) = (named(first), named(second));
        Baseline::of_runs(&[&first, &second], NOW).unwrap().agent
    };
    assert_eq!(
        agent("a.rs:answer - 2026-01-01 07:05", "a.rs:answer - 2026-01-02 08:06").as_deref(),
        Some("a.rs:answer")
    );
    assert_eq!(agent("a", "b"), None);
    assert_eq!(agent(" - 2026-01-01 07:05", " - 2026-01-01 07:05"), None);
    assert_eq!(agent("ü - 2026-01-01 07:05", "ü").as_deref(), Some("ü"));
}
