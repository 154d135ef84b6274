//! How an index follows a log that grows, is damaged, or is written over.

use super::*;
use crate::tests::{directory, meta, span};

fn text(lines: &[serde_json::Value]) -> String {
    lines
        .iter()
        .fold(String::new(), |text, line| text + &line.to_string() + "\n")
}

fn ids(index: &LogIndex) -> Vec<String> {
    (0..index.len())
        .map(|position| index.span(position).unwrap().span_id.to_string())
        .collect()
}

#[test]
fn a_growing_log_is_extended_by_whole_lines_only() {
    let (first, second) = (span(2, Some(1)), span(3, Some(1)));
    let whole = text(&[first.clone(), second.clone()]);
    let directory = directory(&meta("running"), &whole[..whole.len() - 9]);
    let mut index = LogIndex::open(directory.path(), None, true).unwrap();
    assert_eq!((index.len(), index.line_problems()), (1, (vec![], 0)));

    std::fs::write(directory.path().join(SPANS_FILE), &whole).unwrap();
    assert!(index.extend(true).unwrap());
    let again = LogIndex::open(directory.path(), None, true).unwrap();
    assert_eq!(ids(&index), ids(&again));
    assert_eq!(
        (index.bytes_read(), index.span(1).unwrap().line),
        (whole.len() as u64, 2)
    );
    assert_eq!(index.span(1), again.span(1));
}

#[test]
fn broken_lines_and_duplicate_spans_are_left_out_and_listed() {
    let log = text(&[span(2, Some(1))]) + "{no json\n\n" + &text(&[span(2, Some(1)), span(1, None)]);
    let directory = directory(&meta("ok"), log);
    let index = LogIndex::open(directory.path(), None, false).unwrap();
    let lines: Vec<u64> = (0..index.len())
        .map(|position| index.span(position).unwrap().line)
        .collect();
    assert_eq!(
        (lines, &*index.line_problems().0[0].location),
        (vec![1, 5], "spans.jsonl:2")
    );
    for position in 0..2 {
        let span = index.span(position).unwrap();
        assert_eq!(index.find(span.span_id), Some(position));
        assert_eq!(index.read_span(position).unwrap().unwrap().span_id, span.span_id);
    }
}

#[test]
fn calls_that_ask_the_same_have_one_signature() {
    let call = |id: u64, arguments: &str| {
        let mut span = span(id, Some(1));
        span["attributes"] = serde_json::json!({"tracer.tool_name": "search"});
        span["events"] = serde_json::json!([{
            "name": "tracer.tool.args", "timestamp": "2026-01-01T00:00:01Z", "attributes": {"args": arguments},
        }]);
        span
    };
    let log = text(&[
        call(2, "{\"q\":1}"),
        call(3, "{\"q\":1}"),
        call(4, "{\"q\":\"__REDACTED__\"}"),
    ]);
    let directory = directory(&meta("running"), log);
    let index = LogIndex::open(directory.path(), None, true).unwrap();
    let spans: Vec<IndexedSpan> = (0..3).map(|position| index.span(position).unwrap()).collect();
    assert_eq!(spans[0].signature, spans[1].signature);
    assert_ne!(spans[0].signature, spans[2].signature);
    assert_eq!((spans[0].is_redacted, spans[2].is_redacted), (false, true));
    assert_eq!(index.names().collect::<Vec<_>>(), ["search"]);
}

#[test]
fn a_log_that_was_written_over_is_another_one() {
    let log = text(&[span(2, Some(1)), span(1, None)]);
    let directory = directory(&meta("ok"), &log);
    let mut index = LogIndex::open(directory.path(), None, false).unwrap();
    assert!(index.extend(false).unwrap());
    std::fs::write(
        directory.path().join(SPANS_FILE),
        log.replace("\"OK\"", "\"UNSET\""),
    )
    .unwrap();
    assert!(!index.extend(false).unwrap());
}

#[test]
fn what_is_left_out_leaves_names_and_tokens_with_their_spans() {
    let named = |id: u64, name: &str| {
        let mut span = span(id, Some(1));
        span["attributes"] = serde_json::json!({"tracer.tool_name": name});
        span
    };
    let mut foreign = named(7, "foreign");
    foreign["trace_id"] = "90000000000000000000000000000009".into();
    let first = text(&[named(2, "a"), foreign, named(2, "again"), named(3, "b")]);
    let directory = directory(&meta("running"), &first);
    let mut index = LogIndex::open(directory.path(), None, true).unwrap();
    let whole = first + &text(&[named(3, "again"), named(4, "a"), named(5, "c")]);
    std::fs::write(directory.path().join(SPANS_FILE), whole).unwrap();
    assert!(index.extend(true).unwrap());
    let again = LogIndex::open(directory.path(), None, true).unwrap();
    for index in [&index, &again] {
        let found: Vec<&str> = (0..index.len())
            .map(|position| index.name(&index.span(position).unwrap()))
            .collect();
        assert_eq!(found, ["a", "b", "a", "c"]);
        let third = index.span(2).unwrap();
        assert_eq!((third.line, index.find(third.span_id)), (6, Some(2)));
    }
}

#[test]
fn a_run_of_one_reporter_may_get_another_one() {
    let call = |id: u64, parent: u64, more: serde_json::Value| {
        let mut span = span(id, Some(parent));
        let attributes = serde_json::json!({"gen_ai.operation.name": "chat", "gen_ai.request.model": "gpt-4o", "gen_ai.response.id": "r1"});
        span["attributes"] = attributes;
        for (key, value) in more.as_object().unwrap() {
            span["attributes"][key] = value.clone();
        }
        span
    };
    let of_proxy = serde_json::json!({"tracer.source": "proxy", "gen_ai.usage.input_tokens": 7, "gen_ai.usage.output_tokens": 2});
    let first = text(&[call(2, 1, of_proxy)]);
    let directory = directory(&meta("running"), &first);
    let mut index = LogIndex::open(directory.path(), None, true).unwrap();
    let types = |index: &LogIndex| -> Vec<EventType> {
        let spans = (0..index.len()).map(|position| index.span(position).unwrap());
        spans.map(|span| span.event_type).collect()
    };
    assert_eq!(types(&index), [EventType::LlmCall]);
    let whole = first + &text(&[call(3, 1, serde_json::json!({"otel.scope.name": "library"}))]);
    std::fs::write(directory.path().join(SPANS_FILE), whole).unwrap();
    assert!(index.extend(true).unwrap());
    let again = LogIndex::open(directory.path(), None, true).unwrap();
    for index in [&index, &again] {
        assert_eq!(types(index), [EventType::LlmCall, EventType::Unknown]);
        let call = index.span(0).unwrap();
        assert_eq!((call.is_joined, call.tokens_total), (true, Some(9)));
        assert!(index.span(1).unwrap().is_leftover);
    }
}

#[test]
fn a_call_that_a_guardrail_refused_cost_nothing() {
    use crate::{RunReader, Strictness};
    use tracer_sdk::prices::{CallGroups, Prices};
    use tracer_sdk::{Config, Guardrails, Run, Usage, llm_call};

    let folder = tempfile::tempdir().unwrap();
    let config = Config::new().data_dir(folder.path());
    let limits = Guardrails::new().max_llm_calls(1);
    let run = Run::new("careful").config(&config).guardrails(limits).start();
    let mut call = llm_call("gpt-4o").provider("openai").start().unwrap();
    call.usage(Usage::new(12_000, 800));
    call.response("Because.");
    call.end().unwrap();
    assert!(llm_call("gpt-4o").provider("openai").start().is_err());
    let directory = run.dir().unwrap();
    run.finish();

    let prices = Prices::default();
    let mut run = RunReader::open(&directory, Strictness::Strict).unwrap();
    assert_eq!(run.counts().llm_calls, 1, "the other was never made");
    assert_eq!(run.records.record_count(), 5, "what was asked for is recorded");
    let records: Vec<_> = (0..run.records.record_count())
        .map(|number| run.records.read_record(number).unwrap().unwrap())
        .collect();
    let index = LogIndex::open(&directory, run.trace_id, false).unwrap();
    for (sum, from) in [
        (run.model_calls.cost(&prices), "the scan"),
        (CallGroups::of(&records).cost(&prices), "the records"),
    ] {
        assert_eq!((sum.priced, sum.unpriced), (1, 0), "from {from}");
    }
    assert_eq!(records.iter().filter_map(|record| prices.cost(record)).count(), 1);
    assert_eq!(index.costs(&prices).count(), 1);
}
