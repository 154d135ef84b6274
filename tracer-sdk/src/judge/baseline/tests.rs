//! Baselines against the vectors of the contract, and what is refused.

use serde_json::{Value, json};

use super::super::samples::{metrics, metrics_of_vector, recorded, run_of, run_with};
use super::*;
use crate::vectors::{Vector, floats, measured};
use crate::{Usage, llm_call, tool_call};

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
fn assert_told_alike(baseline: &Baseline, vector: &Vector) {
    let mut document = serde_json::to_value(baseline).unwrap();
    document.as_object_mut().unwrap().remove("x_tracer").unwrap();
    assert_eq!(floats(&document), floats(&vector.expected), "{}", vector.name);
}

#[test]
fn a_run_gives_the_baseline_of_the_vector() {
    for vector in measured("create_baseline") {
        assert_told_alike(&good(), &vector);
    }
}

#[test]
fn a_report_gives_the_baseline_of_the_vector() {
    for vector in measured("create_baseline_from_report") {
        let mut report = vector.input.clone();
        report["verdict"] = json!("pass");
        let baseline = Baseline::of_report(report.to_string().as_bytes(), NOW, false).unwrap();
        assert_told_alike(&baseline, &vector);
        assert_eq!(Baseline::parse(baseline.to_json().as_bytes()).unwrap(), baseline);
    }
}

fn report() -> Value {
    let mut report = measured("create_baseline_from_report")[0].input.clone();
    report["verdict"] = json!("pass");
    report
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

// gate-contract 15.1 P10
#[test]
fn a_report_that_did_not_pass_becomes_a_baseline_only_when_that_is_meant_and_it_tells_so() {
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

// gate-contract 15.1 P10
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
fn what_is_wrong_is_told_by_its_place_and_never_quoted() {
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

// gate-contract 15.4 R9
#[test]
fn a_run_without_a_duration_gives_a_baseline_without_one() {
    let (mut meta, mut spans) = run_with(&[]);
    meta["duration_ms"] = Value::Null;
    spans[0]["duration_ms"] = Value::Null;
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
