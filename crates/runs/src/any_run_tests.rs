//! For any run, valid or not: reading it from the file bit by bit gives what reading it into memory gives.

use std::collections::HashSet;
use std::fs;
use std::io::Write;
use std::path::Path;

use proptest::prelude::*;
use serde_json::json;
use tempfile::TempDir;

use super::*;
use crate::tests::meta;
use tracer_format::parse::parse_span;
use tracer_format::{EventType, Payload, Record, RecordedStatus, Usage};

/// One line of a log, out of small ranges, so that spans meet: their IDs, their parents and their times.
#[derive(Debug, Clone)]
struct AnyLine {
    id: u64,
    parent: u64,
    start: u64,
    end: Option<u64>,
    kind: usize,
    failed: bool,
    foreign: bool,
    flaw: usize,
}

prop_compose! {
    fn any_line()(
        (id, parent, start, end) in (1u64..40, 0u64..12, 0u64..9, prop::option::of(0u64..9)),
        (kind, flaw) in (0usize..12, 0usize..40),
        (failed, foreign) in (prop::bool::weighted(0.2), prop::bool::weighted(0.05)),
    ) -> AnyLine {
        AnyLine { id, parent, start, end, kind, failed, foreign, flaw }
    }
}

impl AnyLine {
    fn text(&self) -> String {
        let time = |tenth: u64| format!("2026-01-01T00:00:00.{tenth}Z");
        let event =
            |name: &str| json!({"name": name, "timestamp": time(self.start), "attributes": {"state": "1"}});
        let attributes = match self.kind {
            0 => {
                json!({"gen_ai.system": "openai", "gen_ai.usage.input_tokens": 3, "gen_ai.usage.output_tokens": 4.0})
            }
            1 => json!({"tracer.tool_name": "", "maida.tool_name": "search", "tracer.status": "ok"}),
            2 => {
                json!({"gen_ai.operation.name": "execute_tool", "tracer.status": null, "maida.status": "error"})
            }
            3 => json!({"tracer.event_type": "LOOP_WARNING"}),
            4 => json!({"exception.type": "E", "long": "x".repeat(3_000)}),
            7 => json!({
                "openinference.span.kind": "LLM", "llm.model_name": "m", "llm.token_count.prompt": "5",
                "llm.token_count.prompt_details.cache_read": 2, "llm.input_messages.0.message.content": "a",
                "llm.output_messages.0.message.content": if self.start > 4 { "b" } else { "" },
            }),
            8 => json!({
                "gcp.vertex.agent.llm_request": if self.start > 4 { json!({"model": "m"}) } else { json!("{}") },
                "gcp.vertex.agent.llm_response": r#"{"usage_metadata": {"prompt_token_count": 3}}"#,
                "gen_ai.system": "gcp.vertex.agent", "gen_ai.usage.thinking_tokens": "4",
            }),
            9 => json!({
                "gen_ai.operation.name": "chat", "gen_ai.request.model": "openai::m", "gen_ai.response.id": "r",
                "otel.scope.name": (self.id % 3).to_string(), "gen_ai.usage.output_tokens": self.id % 2,
            }),
            10 => json!({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.call.outcome": "error",
                         "gen_ai.tool.call.id": "c", "otel.scope.name": (self.id % 3).to_string()}),
            11 => json!({"span.type": "llm_request", "model": "m", "input_tokens": 3, "cache_read_tokens": 9,
                         "success": false}),
            _ => json!({"gen_ai.provider.name": null, "user": {"a": [1, {"b": null}]}}),
        };
        let mut span = json!({
            "trace_id": if self.foreign { "2".repeat(32) } else { "10000000000000000000000000000001".to_owned() },
            "span_id": format!("{:016x}", self.id),
            "parent_span_id": (self.parent > 0).then(|| format!("{:016x}", self.parent)),
            "name": if self.kind == 5 { "state" } else { "step" },
            "kind": "INTERNAL", "start_time": time(self.start), "end_time": self.end.map(time), "duration_ms": 7,
            "attributes": attributes, "events": [event("exception"), event("note"), event("state")],
            "status_code": if self.failed { "ERROR" } else { "OK" }, "status_description": "",
        });
        match self.flaw {
            0 => return "{\"torn\": ".to_owned(),
            1 => span["kind"] = json!("?"),
            2 => drop(span.as_object_mut().map(|span| span.remove("span_id"))),
            3 => span["events"][1] = json!(4),
            _ => {}
        }
        span.to_string()
    }
}

fn run_of(lines: &[AnyLine], status: &str) -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    let log: Vec<String> = lines.iter().map(AnyLine::text).collect();
    fs::write(directory.path().join("meta.json"), meta(status)).unwrap();
    fs::write(directory.path().join("spans.jsonl"), log.join("\n")).unwrap();
    directory
}

/// The tokens of all model calls, summed over their records.
fn tokens(records: &[Record]) -> Usage {
    let mut sum = Usage::default();
    for record in records {
        if let Payload::LlmCall { usage, .. } = &record.payload {
            sum.add(usage);
        }
    }
    sum
}

/// Whether the record of a span says that it failed; what has no outcome is as its header says.
fn has_error(record: &Record, indexed: &IndexedSpan) -> bool {
    match &record.payload {
        Payload::LlmCall { status, .. }
        | Payload::ToolCall { status, .. }
        | Payload::Unknown { status, .. } => *status == RecordedStatus::Error,
        _ => indexed.outcome.is_failure(),
    }
}

fn compare(lines: &[AnyLine], status: &str) {
    compare_files(run_of(lines, status).path());
}

fn compare_files(path: &Path) {
    let report = validate(path);
    match (LoadedRun::read(path), RunReader::open(path, Strictness::Strict)) {
        (Ok(opened), Ok(streamed)) => {
            assert!(report.is_valid());
            assert_eq!(opened.cut_tail, streamed.cut_tail);
            assert_eq!(
                streamed.records.map(Result::unwrap).collect::<Vec<_>>(),
                opened.records()
            );
        }
        (Err(opened), Err(streamed)) => {
            assert_eq!(opened, streamed);
            assert_eq!(opened.problems, report.problems);
        }
        (opened, streamed) => panic!("{opened:?} {streamed:?}"),
    }

    let mut lenient = RunReader::open(path, Strictness::Lenient).unwrap();
    assert_eq!(lenient.problems, report.problems);
    // Line by line, without the index.
    let log = fs::read(path.join("spans.jsonl")).unwrap();
    let mut spans: Vec<_> = log.split(|byte| *byte == b'\n').filter_map(parse_span).collect();
    let mut ids = HashSet::new();
    spans.retain(|span| Some(span.trace_id) == lenient.trace_id && ids.insert(span.span_id));
    assert_eq!(lenient.span_count, spans.len());
    let records = spans_to_events(&spans);
    assert_eq!(lenient.records.record_count(), records.len());
    assert_eq!(lenient.counts(), count_records(&records));
    assert_eq!(
        lenient.records_by_type.values().sum::<u64>(),
        records.len() as u64
    );
    assert_eq!(lenient.tokens, tokens(&records));
    let index = LogIndex::open(path, lenient.trace_id, false).unwrap();
    assert_eq!(index.len(), spans.len());
    for position in 0..index.len() {
        let (record, span) = index.read_record(position).unwrap().unwrap();
        let indexed = index.span(position).unwrap();
        let projected = records
            .iter()
            .find(|record| record.event_id == span.span_id.to_string());
        assert_eq!(Some(&record.payload), projected.map(|record| &record.payload));
        assert_eq!(Some(&record.parent_id), projected.map(|record| &record.parent_id));
        assert_eq!(
            (indexed.event_type, indexed.outcome.is_failure()),
            (record.event_type(), has_error(&record, &indexed))
        );
        if let Payload::LlmCall { usage, .. } = &record.payload {
            assert_eq!(indexed.tokens_total.map(u64::from), usage.total_tokens);
        }
    }
    // From the end to the beginning, so that every record is looked for.
    for (number, record) in records.iter().enumerate().rev() {
        assert_eq!(
            lenient.records.read_record(number).unwrap().as_ref(),
            Some(record),
            "{number}"
        );
    }
    assert!(lenient.records.read_record(records.len()).unwrap().is_none());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn a_run_is_the_same_from_the_file_and_in_memory(
        lines in prop::collection::vec(any_line(), 0..30),
        is_running: bool,
    ) {
        compare(&lines, if is_running { "running" } else { "ok" });
    }
}

/// All that two indexes say, and what their spans are read as.
fn assert_same(one: &LogIndex, other: &LogIndex) {
    assert_eq!(one.len(), other.len());
    for position in 0..one.len() {
        let span = one.span(position).unwrap();
        assert_eq!(Some(span), other.span(position));
        assert_eq!(one.name(&span), other.name(&span));
        assert_eq!(other.find(span.span_id), Some(position));
        assert_eq!(one.counted_in(span.span_id), other.counted_in(span.span_id));
        assert_eq!(
            one.read_record(position).unwrap(),
            other.read_record(position).unwrap()
        );
    }
    assert!(one.names().eq(other.names()));
    assert!(one.promoted().eq(other.promoted()));
    assert_eq!(one.bytes_read(), other.bytes_read());
    assert_eq!(
        one.problems(Some(RecordedStatus::Ok), true),
        other.problems(Some(RecordedStatus::Ok), true)
    );
    {
        let prices = tracer_sdk::prices::Prices::default();
        assert!(one.costs(&prices).eq(other.costs(&prices)));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn an_index_that_was_extended_is_that_of_the_log(
        lines in prop::collection::vec(any_line(), 1..30),
        more in prop::collection::vec(any_line(), 0..9),
    ) {
        let directory = run_of(&lines, "running");
        let path = directory.path();
        let append = |text: &str| {
            let log = fs::OpenOptions::new().append(true).open(path.join("spans.jsonl"));
            log.unwrap().write_all(text.as_bytes()).unwrap();
        };
        append("\n");
        let mut index = LogIndex::open(path, None, false).unwrap();
        let added: Vec<String> = more.iter().map(|line| line.text() + "\n").collect();
        append(&added.concat());
        prop_assert!(index.extend(false).unwrap());
        assert_same(&index, &LogIndex::open(path, None, false).unwrap());
    }
}

#[test]
fn a_fetched_answer_is_one_call_beside_others_tools() {
    let spans = [
        json!({"gen_ai.operation.name": "chat", "gen_ai.response.id": "r", "gen_ai.usage.input_tokens": 9}),
        json!({"gen_ai.operation.name": "fetch_response", "gen_ai.response.id": "r", "gen_ai.usage.input_tokens": 9}),
        json!({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "search"}),
    ];
    let lines = (1..).zip(spans).map(|(number, attributes)| {
        let span = json!({
            "trace_id": "10000000000000000000000000000001", "span_id": format!("{number:016x}"),
            "parent_span_id": "000000000000000f", "name": "span", "kind": "INTERNAL",
            "start_time": format!("2026-01-01T00:00:0{number}.000000Z"),
            "end_time": format!("2026-01-01T00:00:0{number}.500000Z"), "duration_ms": 500,
            "attributes": attributes, "events": [], "status_code": "OK", "status_description": "",
        });
        format!("{span}\n")
    });
    let directory = run_of(&[], "ok");
    fs::write(directory.path().join("spans.jsonl"), lines.collect::<String>()).unwrap();
    let index = LogIndex::open(directory.path(), None, false).unwrap();
    let types: Vec<EventType> = (0..3).map(|at| index.span(at).unwrap().event_type).collect();
    assert_eq!(
        types,
        [EventType::LlmCall, EventType::Unknown, EventType::ToolCall]
    );
    compare_files(directory.path());
}

#[test]
fn a_call_has_its_own_price_again_when_it_parts() {
    let line = |id, parent, start, end, kind| AnyLine {
        id,
        parent,
        start,
        end,
        kind,
        failed: kind == 0,
        foreign: false,
        flaw: 4,
    };
    let directory = run_of(&[line(3, 11, 3, None, 0), line(11, 1, 0, Some(3), 7)], "running");
    let log = directory.path().join("spans.jsonl");
    let append = |text: &str| fs::write(&log, fs::read_to_string(&log).unwrap() + text).unwrap();
    append("\n");
    let mut index = LogIndex::open(directory.path(), None, false).unwrap();
    let mut file = fs::OpenOptions::new().append(true).open(&log).unwrap();
    writeln!(file, "{}", line(1, 11, 4, None, 7).text()).unwrap();
    assert!(index.extend(false).unwrap());
    assert_same(&index, &LogIndex::open(directory.path(), None, false).unwrap());
}

#[test]
fn a_run_of_many_blocks_is_the_same_from_the_file_and_in_memory() {
    let line = |number: u64| AnyLine {
        id: number,
        parent: number / 2,
        // Later spans mostly start later, and some long before.
        start: if number.is_multiple_of(97) {
            0
        } else {
            number * 9 / 3_001
        },
        end: None,
        kind: 4,
        failed: false,
        foreign: false,
        flaw: 9,
    };
    let lines: Vec<AnyLine> = (1..3_000).rev().map(line).collect();
    compare(&lines, "ok");
    let mut broken = lines;
    for number in [100, 1_500, 2_900] {
        broken[number].flaw = 0;
        broken[number + 1].id = 7;
    }
    compare(&broken, "ok");
}

#[test]
fn a_log_that_has_changed_since_its_run_was_opened_is_an_error() {
    let line = AnyLine {
        id: 1,
        parent: 0,
        start: 0,
        end: Some(1),
        kind: 6,
        failed: false,
        foreign: false,
        flaw: 9,
    };
    let directory = run_of(std::slice::from_ref(&line), "ok");
    let log = directory.path().join("spans.jsonl");
    let text = fs::read_to_string(&log).unwrap();
    for (changed, is_error) in [
        (text.replace("0000000000000001", "0000000000000002"), true),
        (text.replace("\"name\"", "\"nome\""), true),
        (text[..40].to_owned(), true),
        (text.clone(), false),
    ] {
        fs::write(&log, &text).unwrap();
        let mut run = RunReader::open(directory.path(), Strictness::Strict).unwrap();
        fs::write(&log, changed).unwrap();
        let first = run.records.next().unwrap();
        assert_eq!(first.is_err(), is_error);
        if let Err(error) = first {
            assert_eq!(error.line(), 1);
            assert_eq!(
                error.to_string(),
                "spans.jsonl:1 has changed while it was read; try again"
            );
        }
    }
}

#[test]
fn past_ten_thousand_problems_only_their_number_grows() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("meta.json"), meta("ok")).unwrap();
    fs::write(directory.path().join("spans.jsonl"), "{\n".repeat(10_003)).unwrap();
    let report = validate(directory.path());
    assert_eq!(
        (
            report.problems.len(),
            report.more_problems,
            report.problem_count()
        ),
        (10_000, 3, 10_003)
    );
    let invalid = LoadedRun::read(directory.path()).unwrap_err();
    assert!(
        invalid.to_string().ends_with("and 10002 more problems"),
        "{invalid}"
    );
}
