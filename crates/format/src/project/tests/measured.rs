//! Spans that Rust agent libraries recorded against a local stand-in for the model, which gives every answer one ID:
//! rig 0.44 (both APIs, unary and streamed, with a tool that fails, with a call that does) and genai 0.7 (feature `otel`).

use serde_json::Value;

use super::super::count_records;
use super::{attributes, root, time};
use crate::project::spans_to_events;
use crate::{EventType, Outcome, Record, SpanRecord, StatusCode};

/// The records of a case, in a run whose root is around all spans.
fn records(case: &str) -> (Vec<SpanRecord>, Vec<Record>) {
    let cases: Value = serde_json::from_str(include_str!("measured_spans.json")).unwrap();
    let case = cases
        .as_array()
        .unwrap()
        .iter()
        .find(|known| known["case"] == case)
        .unwrap();
    let id = |number: u64| format!("{number:016x}").parse().unwrap();
    let instant = |micros: &Value| time(&format!("{:09.6}Z", micros.as_f64().unwrap() / 1_000_000.0));
    let mut spans: Vec<SpanRecord> = case["spans"]
        .as_array()
        .unwrap()
        .iter()
        .map(|span| SpanRecord {
            span_id: id(span["id"].as_u64().unwrap()),
            parent_span_id: Some(id(span["parent"].as_u64().unwrap_or(99))),
            name: span["name"].as_str().unwrap().to_owned(),
            start_time: instant(&span["start_us"]),
            end_time: Some(instant(&span["end_us"])),
            attributes: attributes(span["attributes"].clone()),
            status_code: StatusCode::Unset,
            ..root(serde_json::json!({}))
        })
        .collect();
    let around = SpanRecord {
        span_id: id(99),
        ..root(serde_json::json!({}))
    };
    spans.push(around);
    let records = spans_to_events(&spans);
    (spans, records)
}

#[test]
fn every_call_of_a_measured_run_counts_once() {
    for (case, llm_calls, tool_calls) in [
        ("rig-content", 2, 1),
        ("rig-ambient-content-both", 2, 2),
        ("rig-stream-ambient-content-both", 2, 2),
        ("rig-fail500-content", 1, 0),
        ("genai-content-ambient", 1, 0),
        ("genai-stream", 1, 0),
        ("genai-fail500", 1, 0),
    ] {
        let (spans, records) = records(case);
        let counts = count_records(&records);
        assert_eq!(
            (counts.llm_calls, counts.tool_calls),
            (llm_calls, tool_calls),
            "{case}"
        );
        // Every span is a record, and the root two.
        assert_eq!(records.len(), spans.len() + 1, "{case}");
        for record in records
            .iter()
            .filter(|record| record.event_type() == EventType::LlmCall)
        {
            let call = serde_json::to_value(&record.payload).unwrap();
            assert_eq!(
                (&call["model"], &call["provider"]),
                (&"gpt-5.2".into(), &"openai".into()),
                "{case}"
            );
            let is_failed = case.contains("fail");
            assert_eq!(
                call["usage"]["total_tokens"].as_u64(),
                (!is_failed).then_some(18),
                "{case}"
            );
            // rig marks no failure.
            let outcome = match case {
                "genai-fail500" => Outcome::Failed,
                "rig-fail500-content" => Outcome::Unknown,
                _ => Outcome::Ok,
            };
            assert_eq!(record.outcome(), outcome, "{case}");
        }
    }
}

#[test]
fn failures_of_measured_runs_have_a_class() {
    let failure = |case: &str| {
        let (_, records) = records(case);
        let errors = records.iter().filter_map(|record| {
            let payload = serde_json::to_value(&record.payload).unwrap();
            let error = payload.get("error")?.as_object()?.clone();
            Some((
                record.event_type(),
                error["error_type"].as_str()?.to_owned(),
                error["message"].as_str()?.to_owned(),
            ))
        });
        errors.collect::<Vec<_>>()
    };
    // rig marks no failure: of its call nothing is known.
    assert_eq!(failure("rig-fail500-content"), []);
    let (_, records) = records("rig-fail500-content");
    let calls = records
        .iter()
        .filter(|record| record.event_type() == EventType::LlmCall);
    assert!(calls.clone().count() > 0 && calls.clone().all(|call| call.outcome() == Outcome::Unknown));
    let (event_type, class, _) = failure("genai-fail500").remove(0);
    assert_eq!((event_type, class.as_str()), (EventType::LlmCall, "500"));
    let tools = failure("rig-ambient-content-both");
    assert_eq!(tools.len(), 1);
    assert_eq!((tools[0].0, tools[0].1.as_str()), (EventType::ToolCall, "other"));
    assert!(!tools[0].2.is_empty(), "what the tool said");
}
