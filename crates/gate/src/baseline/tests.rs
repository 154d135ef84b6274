//! Baselines against the vectors of the contract, and what is refused.

use serde_json::{Value, json};

use super::*;
use tracer_insight::profile::Metric;
use tracer_insight::testing::{Vector, floats, measured};
use tracer_insight::testing::{metrics, metrics_of_vector, recorded, run_of, run_with};
use tracer_sdk::{Usage, llm_call, tool_call};

const NOW: &str = "2026-01-01T00:00:00.000Z";

fn good() -> Baseline {
    Baseline::of_run(&metrics_of_vector("good"), NOW)
}

/// What is wrong with a good baseline after a change to its document.
fn refused(change: impl FnOnce(&mut Value)) -> BaselineErrorCode {
    let mut document = serde_json::to_value(good()).unwrap();
    change(&mut document);
    Baseline::parse(document.to_string().as_bytes()).unwrap_err().code
}

/// The same without the digest, as another tool would write it.
fn refused_without_digest(change: impl FnOnce(&mut Value)) -> BaselineErrorCode {
    refused(|document| {
        document.as_object_mut().unwrap().remove("x_tracer");
        change(document);
    })
}

/// Asserts that a baseline is the vector's, without what only we write.
fn assert_reported_alike(baseline: &Baseline, vector: &Vector) {
    let mut document = serde_json::to_value(baseline).unwrap();
    document.as_object_mut().unwrap().remove("x_tracer").unwrap();
    if let Some(metrics) = document["trial_sample"]["metrics"].as_object_mut() {
        metrics.remove("failed_call_count");
        metrics.remove("not_run_call_count");
    }
    assert_eq!(floats(&document), floats(&vector.expected), "{}", vector.name);
}

#[test]
fn a_run_gives_the_baseline_of_the_vector() {
    for vector in measured("create_baseline") {
        assert_reported_alike(&good(), &vector);
    }
}

#[test]
fn a_report_gives_the_baseline_of_the_vector() {
    for mut vector in measured("create_baseline_from_report") {
        let report = independent(vector.input.clone());
        let ids: Vec<Value> = trace_ids(&report);
        vector.expected["source_run_id"] = ids[0].clone();
        vector.expected["source_run_ids"] = json!(ids);
        let baseline = Baseline::of_report(report.to_string().as_bytes(), NOW, false).unwrap();
        assert_reported_alike(&baseline, &vector);
        assert_eq!(Baseline::parse(baseline.to_json().as_bytes()).unwrap(), baseline);
    }
}

fn report() -> Value {
    independent(measured("create_baseline_from_report")[0].input.clone())
}

/// Difference: the vector's report has the same trace several times, and trials are independent only if their traces are
/// (gate-2, section 1). Here each has its own.
fn independent(mut report: Value) -> Value {
    report["verdict"] = json!("pass");
    for (trial, number) in report["trials"].as_array_mut().unwrap().iter_mut().zip(1..) {
        trial["trace_id"] = json!(format!("{number:032x}"));
    }
    report
}

fn trace_ids(report: &Value) -> Vec<Value> {
    let trials = report["trials"].as_array().unwrap().iter();
    trials.map(|trial| trial["trace_id"].clone()).collect()
}

#[test]
fn reports_of_the_vectors_are_refused() {
    for vector in measured("create_baseline_from_report_errors") {
        let mut changed = report();
        for (key, value) in vector.input.as_object().unwrap() {
            changed[key] = value.clone();
        }
        let code = match vector.expected["code"].as_str().unwrap() {
            "report_version_unsupported" => BaselineErrorCode::UnsupportedVersion,
            "no_trials" => BaselineErrorCode::NoTrials,
            "truncated_sample" => BaselineErrorCode::TruncatedSample,
            other => panic!("unknown code {other}"),
        };
        let error = Baseline::of_report(changed.to_string().as_bytes(), NOW, false).unwrap_err();
        assert_eq!(error.code, code, "{}", vector.name);
    }
}

#[test]
fn versions_of_the_vectors_are_read_or_refused() {
    for vector in measured("baseline_version") {
        let mut document = serde_json::to_value(good()).unwrap();
        document["schema_version"] = vector.input["schema_version"].clone();
        let read = Baseline::parse(document.to_string().as_bytes());
        match read {
            Ok(_) => assert_eq!(vector.expected["ok"], true, "{}", vector.name),
            Err(error) => {
                assert_eq!(vector.expected["rejected"], true, "{}: {error}", vector.name);
                assert_eq!(
                    error.code,
                    BaselineErrorCode::UnsupportedVersion,
                    "{}",
                    vector.name
                );
            }
        }
    }
}

// gate-contract, section 15.1, P10
#[test]
fn a_failed_report_becomes_a_baseline_only_on_request_and_is_marked() {
    for verdict in [json!("fail"), json!("inconclusive"), Value::Null] {
        let mut failed = report();
        failed["verdict"] = verdict;
        let text = failed.to_string();
        let error = Baseline::of_report(text.as_bytes(), NOW, false).unwrap_err();
        assert_eq!(error.code, BaselineErrorCode::NotPassed);
        assert!(error.hint().contains("--force"));
        let forced = Baseline::of_report(text.as_bytes(), NOW, true).unwrap();
        assert!(forced.x_tracer.unwrap().forced);
    }
}

// gate-contract, section 15.1, P10
#[test]
fn a_baseline_that_was_edited_is_refused() {
    let digest = BaselineErrorCode::WrongDigest;
    let sample = BaselineErrorCode::WrongSample;
    let metric = |document: &mut Value, value| document["trial_sample"]["metrics"]["cost_tokens"] = value;
    assert_eq!(refused(|document| metric(document, json!([1e9]))), digest);
    assert_eq!(
        refused(|document| document["summary"]["tool_calls"] = json!(9)),
        digest
    );
    assert_eq!(
        refused(|document| document["tool_path"] = json!(["lookup"])),
        digest
    );
    // What holds even without a digest.
    assert_eq!(
        refused_without_digest(|document| metric(document, json!([1, 2]))),
        sample
    );
    assert_eq!(
        refused_without_digest(|document| metric(document, json!([-1.0]))),
        sample
    );
    assert_eq!(
        refused_without_digest(|document| document["summary"]["errors"] = json!(-1)),
        sample
    );
    assert_eq!(
        refused_without_digest(|document| document["trial_sample"]["trials"] = json!(0)),
        sample
    );
    assert_eq!(
        refused_without_digest(|document| document["trial_sample"]["trials"] = json!(-4)),
        BaselineErrorCode::WrongShape
    );
    assert_eq!(
        refused_without_digest(|document| document["trial_sample"]["signature_ids"] = json!(["garbage"])),
        sample
    );
    assert_eq!(
        refused_without_digest(|document| {
            let id = document["trial_sample"]["signature_ids"][0]
                .as_str()
                .unwrap()
                .to_owned();
            document["trial_sample"]["signatures"][&id]["final_status"] = json!("error");
        }),
        sample
    );
    assert_eq!(
        refused_without_digest(|document| document["source_run_ids"] = json!([])),
        sample
    );
}

#[test]
fn other_forms_of_the_same_file_are_read() {
    let baseline = good();
    let compact = serde_json::to_string(&baseline).unwrap();
    assert_eq!(Baseline::parse(compact.as_bytes()).unwrap(), baseline);
    // As another tool writes it: whole numbers, keys of its own, no digest.
    let mut other = measured("create_baseline")[0].expected.clone();
    other["plan_sample"] = json!({"anything": 1});
    let read = Baseline::parse(other.to_string().as_bytes()).unwrap();
    assert_eq!(
        (read.x_tracer.as_ref(), read.sample(&Metric::CostTokens)),
        (None, Some(vec![90.0]))
    );
    assert!(read.behaves_like(&baseline));
}

#[test]
fn an_old_file_knows_the_numbers_of_its_run_and_not_the_order_of_its_tools() {
    let old = json!({
        "schema_version": "0.2", "created_at": NOW, "source_run_id": "a1", "source_run_name": null,
        "summary": {"status": "ok", "total_events": 5, "tool_calls": 3, "llm_calls": 1, "errors": 0,
            "loop_warnings": 0, "duration_ms": null, "total_tokens": 90},
        "tool_path": ["lookup", "reply"],
    });
    let baseline = Baseline::parse(old.to_string().as_bytes()).unwrap();
    assert_eq!(baseline.sample(&Metric::StepCount), Some(vec![5.0]));
    assert_eq!(baseline.sample(&Metric::LatencyMs), None);
    assert_eq!(baseline.sample(&Metric::ToolCalls("lookup".to_owned())), None);
    assert_eq!(
        (baseline.trials(), baseline.tool_call_sequence.as_ref()),
        (1, None)
    );
    assert_eq!(baseline.first_signature().final_status, "ok");
}

#[test]
fn a_problem_is_reported_by_its_place_and_never_quoted() {
    let error = Baseline::parse(b"{\"schema_version\": \"0.3.1\",\n \"summary\": \"a secret\"}").unwrap_err();
    assert_eq!(error.code, BaselineErrorCode::WrongShape);
    assert!(error.to_string().starts_with("line 2, column "), "{error}");
    assert!(!error.to_string().contains("secret"), "{error}");
    let error = Baseline::parse(br#"{"schema_version": "0.3.1"}"#).unwrap_err();
    assert!(
        error.to_string().ends_with("missing field `created_at`"),
        "{error}"
    );
    for text in ["", "[]", "7", "null"] {
        assert_eq!(
            Baseline::parse(text.as_bytes()).unwrap_err().code,
            BaselineErrorCode::NotJson
        );
    }
    let long = format!(r#"{{"schema_version": "{}"}}"#, "secret ".repeat(1000));
    let error = Baseline::parse(long.as_bytes()).unwrap_err();
    assert!(
        error.to_string().len() < 200 && !error.to_string().contains("secret"),
        "{error}"
    );
}

#[test]
fn what_is_not_known_of_every_run_is_not_in_the_sample() {
    let tells = recorded(|| llm_call("m").usage(Usage::new(1, 2)).record());
    let silent = recorded(|| llm_call("m").record());
    let baseline = Baseline::of_runs(&[&tells, &silent], NOW).unwrap();
    assert_eq!(baseline.sample(&Metric::LlmCallCount), Some(vec![1.0, 1.0]));
    assert_eq!(
        baseline.trial_sample.as_ref().unwrap().metrics.get("cost_tokens"),
        None
    );
    assert_eq!(Baseline::of_runs(&[], NOW), None);
}

// gate-contract, section 15.4, R9
#[test]
fn a_run_without_a_duration_gives_a_baseline_without_one() {
    let (mut meta, spans) = run_with(&[]);
    meta["duration_ms"] = json!(99);
    let baseline = Baseline::of_run(&metrics(&run_of(&meta, &spans)), NOW);
    assert_eq!(baseline.sample(&Metric::LatencyMs), None);
    assert!(Baseline::parse(baseline.to_json().as_bytes()).is_ok());
}

#[test]
fn calls_of_one_tool_are_known_of_every_run() {
    let once = recorded(|| tool_call("search").record());
    let twice = recorded(|| {
        tool_call("search")
            .record()
            .and_then(|()| tool_call("search").record())
    });
    let baseline = Baseline::of_runs(&[&once, &twice], NOW).unwrap();
    assert_eq!(
        baseline.sample(&Metric::ToolCalls("search".to_owned())),
        Some(vec![1.0, 2.0])
    );
    assert_eq!(
        baseline.sample(&Metric::ToolCalls("reply".to_owned())),
        Some(vec![0.0, 0.0])
    );
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

#[test]
fn trials_that_do_not_count_make_no_baseline() {
    let broken = [
        (
            "/trials/1/structural_signature",
            Value::Null,
            BaselineErrorCode::FailedTrial,
        ),
        ("/trials/1/trace_id", Value::Null, BaselineErrorCode::FailedTrial),
        (
            "/trials/1/metric_values/step_count",
            json!(true),
            BaselineErrorCode::WrongShape,
        ),
        (
            "/trials/1/invariant_outcomes/no_loops",
            json!(1),
            BaselineErrorCode::WrongShape,
        ),
        (
            "/metadata/trials_used",
            json!(2),
            BaselineErrorCode::TruncatedSample,
        ),
    ];
    for (place, value, code) in broken {
        let mut changed = report();
        *changed.pointer_mut(place).unwrap() = value;
        let error = Baseline::of_report(changed.to_string().as_bytes(), NOW, true).unwrap_err();
        assert_eq!(error.code, code, "{place}: {error}");
    }
    let mut failed = report();
    failed["trials"][2]["details"] = json!({"failure": {"reason": "timeout", "detail": ""}});
    let error = Baseline::of_report(failed.to_string().as_bytes(), NOW, true).unwrap_err();
    assert_eq!(error.code, BaselineErrorCode::FailedTrial);
}

/// A report as this program writes it, of two trials.
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

/// What somebody may do to a report.
type Edit = fn(&mut Value);

fn code_of(report: &Value) -> Option<BaselineErrorCode> {
    // With `force`, which is for a verdict that is meant: nothing makes a report right that does not add up.
    Baseline::of_report(report.to_string().as_bytes(), NOW, true)
        .err()
        .map(|error| error.code)
}

#[test]
fn a_report_that_was_edited_is_no_source_of_a_baseline() {
    let report = own_report();
    assert_eq!(code_of(&report), None);
    let edits: [(&str, Edit); 9] = [
        ("a trial removed, and every number of trials with it", |report| {
            report["trials"].as_array_mut().unwrap().pop();
            for place in [
                "/metadata/trials_used",
                "/metadata/trials_budgeted",
                "/trials_requested",
            ] {
                *report.pointer_mut(place).unwrap() = json!(1);
            }
            for check in report["aggregate_results"].as_array_mut().unwrap() {
                check["trials_used"] = json!(1);
                check["trials_budgeted"] = json!(1);
                check["trial_outcomes"].as_array_mut().unwrap().pop();
            }
        }),
        ("the verdict", |report| report["verdict"] = json!("fail")),
        ("a number", |report| {
            report["trials"][0]["metric_values"]["step_count"] = json!(2.0);
        }),
        ("a tool", |report| {
            report["trials"][1]["structural_signature"]["tool_path"] = json!([]);
        }),
        ("the command", |report| {
            report["gate"]["command"] = json!(["another"]);
        }),
        ("a notice", |report| report["gate"]["notices"] = json!(["x"])),
        ("a detail", |report| {
            report["trials"][0]["details"]["wall_time_ms"] = json!(5);
        }),
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
        assert_eq!(code_of(&edited), Some(BaselineErrorCode::WrongReport), "{what}");
    }
    // How the text is laid out, and how a whole number is written, is no edit.
    let pretty = serde_json::to_string_pretty(&report).unwrap().replace("1.0", "1");
    assert!(Baseline::of_report(pretty.as_bytes(), NOW, false).is_ok());
}

#[test]
fn a_report_of_another_tool_must_add_up() {
    let report = || {
        let mut report = own_report();
        report.as_object_mut().unwrap().remove("gate");
        report
    };
    assert_eq!(code_of(&report()), None);
    let edits: [(&str, Edit); 9] = [
        ("a verdict that its checks do not give", |report| {
            report["verdict"] = json!("fail");
            report["passed"] = json!(false);
        }),
        ("passed and not", |report| report["passed"] = json!(false)),
        ("a check that its trials do not give", |report| {
            report["aggregate_results"][1]["trial_outcomes"] = json!([true, false]);
        }),
        ("a check that tells otherwise of a trial", |report| {
            report["trials"][0]["invariant_outcomes"]["no_loops"] = json!(false);
            report["trials"][0]["passed"] = json!(false);
        }),
        ("a trial that passed with another exit code", |report| {
            report["trials"][0]["process_exit_code"] = json!(3);
        }),
        ("the same trace twice", |report| {
            report["trials"][1]["trace_id"] = report["trials"][0]["trace_id"].clone();
        }),
        ("a number of a trial", |report| {
            report["trials"][1]["trial"] = json!(5);
        }),
        ("checks of another number of trials", |report| {
            report["aggregate_results"][0]["trials_used"] = json!(9);
        }),
        ("tools that nobody called", |report| {
            report["trials"][1]["structural_signature"]["tool_path"] = json!(["delete", "search"]);
        }),
    ];
    for (what, edit) in edits {
        let mut edited = report();
        edit(&mut edited);
        assert_eq!(code_of(&edited), Some(BaselineErrorCode::WrongReport), "{what}");
    }
}

#[test]
fn a_trial_that_lost_spans_does_not_show_what_is_usual() {
    let mut lossy = own_report();
    lossy.as_object_mut().unwrap().remove("gate");
    lossy["trials"][1]["details"]["missing_spans"] = json!({"spans": 3, "reason": "disk full"});
    let error = Baseline::of_report(lossy.to_string().as_bytes(), NOW, false).unwrap_err();
    assert_eq!(error.code, BaselineErrorCode::NotPassed);
    assert!(
        error.to_string().contains("of trial 2 3 spans are missing"),
        "{error}"
    );
    assert_eq!(code_of(&lossy), None, "when it is meant");
}

#[test]
fn a_baseline_says_of_which_agent_and_command_it_is() {
    let baseline = Baseline::of_report(own_report().to_string().as_bytes(), NOW, false).unwrap();
    assert_eq!(baseline.agent(), Some("captured"));
    let ours = baseline.x_tracer.as_ref().unwrap();
    assert_eq!(ours.command, ["agent", "--fast"]);
    assert_eq!(Baseline::parse(baseline.to_json().as_bytes()).unwrap(), baseline);
    // Both are under the digest.
    for edited in [
        baseline.to_json().replace("\"--fast\"", "\"--slow\""),
        baseline
            .to_json()
            .replace("\"agent\": \"captured\"", "\"agent\": \"other\""),
    ] {
        assert_ne!(edited, baseline.to_json());
        assert_eq!(
            Baseline::parse(edited.as_bytes()).unwrap_err().code,
            BaselineErrorCode::WrongDigest
        );
    }
}

#[test]
fn runs_with_different_names_are_of_no_agent_that_is_known() {
    let named = |name: &str| {
        let mut run = recorded(|| Ok(()));
        run.run_name = Some(name.to_owned());
        run
    };
    let agent = |first: &str, second: &str| {
        let (first, second) = (named(first), named(second));
        Baseline::of_runs(&[&first, &second], NOW)
            .unwrap()
            .agent()
            .map(str::to_owned)
    };
    assert_eq!(
        agent("a.rs:answer - 2026-01-01 07:05", "a.rs:answer - 2026-01-02 08:06").as_deref(),
        Some("a.rs:answer")
    );
    assert_eq!(agent("a", "b"), None);
    assert_eq!(agent(" - 2026-01-01 07:05", " - 2026-01-01 07:05"), None);
    assert_eq!(agent("ü - 2026-01-01 07:05", "ü").as_deref(), Some("ü"));
}
