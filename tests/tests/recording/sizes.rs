//! Values of any size: no line is longer than 1 MiB, and what is written is valid (decisions, sections 5 and 6).

use std::collections::BTreeMap;

use serde_json::json;
use tracer_sdk::format::EventType;
use tracer_sdk::{Run, llm_call, record_error, span, state, tool_call};
use tracer_tests::{DataDir, Finished};

const MAX_LINE: usize = 1024 * 1024;

/// Reads the only run back and looks at the length of its lines.
fn within_limits(data: &DataDir) -> Finished {
    let finished = data.finished();
    let log = std::fs::read(finished.run.directory.join("spans.jsonl")).unwrap();
    for line in log.split_inclusive(|byte| *byte == b'\n') {
        assert!(line.len() <= MAX_LINE, "a line of {} bytes", line.len());
    }
    finished
}

/// Ordinary text, text that grows when it is escaped, and text of wide characters; 3 MB each.
fn huge_texts() -> [String; 4] {
    [
        "text ".repeat(600_000),
        "\u{1}".repeat(3_000_000),
        "\"\\".repeat(1_500_000),
        "\u{10ffff}".repeat(750_000),
    ]
}

#[test]
fn huge_texts_are_cut_wherever_they_are() {
    for text in huge_texts() {
        let data = DataDir::new();
        let outcome = Run::new(text.clone()).config(&data.config()).try_in_scope(|| {
            llm_call(&text)
                .provider(&text)
                .prompt(&text)
                .response(&text)
                .stop_reason(&text)
                .record()
                .unwrap();
            tool_call(&text)
                .args(&text)
                .result(&json!({text.clone(): text}))
                .fail(&text)
                .record()
                .unwrap();
            state(&text)
                .diff(&text)
                .meta(&json!({"m": text}))
                .record()
                .unwrap();
            record_error(&std::io::Error::other(text.clone())).unwrap();
            span(&text).attribute(&text, &text).start().end();
            Err::<(), _>(text.clone())
        });
        assert!(outcome.is_err());
        let finished = within_limits(&data);
        assert_eq!(finished.all(EventType::Error).len(), 2);
    }
}

#[test]
fn many_large_values_on_one_span_are_cut_until_they_fit() {
    let data = DataDir::new();
    data.run("large").in_scope(|| {
        let mut builder = span("attributes");
        for number in 0..500 {
            builder = builder.attribute(&format!("key {number}"), &"\u{1}\"é".repeat(10_000));
        }
        builder.start().end();
        let list: Vec<String> = vec!["x".repeat(19_000); 5_000];
        let mut call = tool_call("lists")
            .args(&list)
            .result(&list)
            .meta(&json!({"list": list}));
        for number in 0..100 {
            call = call.attribute(&format!("list {number}"), &list);
        }
        call.record().unwrap();
    });
    let finished = within_limits(&data);
    assert_eq!(finished.all(EventType::Unknown).len(), 1);
    assert_eq!(finished.payload(EventType::ToolCall)["tool_name"], "lists");
}

#[test]
fn a_value_with_endless_entries_ends() {
    let data = DataDir::new();
    data.run("wide").in_scope(|| {
        let wide: BTreeMap<String, usize> = (0..100_000).map(|number| (number.to_string(), number)).collect();
        tool_call("wide")
            .args(&wide)
            .result(&vec![0_u8; 10_000_000])
            .record()
            .unwrap();
    });
    let payload = within_limits(&data).payload(EventType::ToolCall);
    assert!(payload["args"].as_object().unwrap().contains_key("__TRUNCATED__"));
    assert_eq!(
        payload["result"]["value"].as_array().unwrap().last().unwrap(),
        "__TRUNCATED__"
    );
}

#[test]
fn a_streamed_answer_of_any_length_keeps_its_beginning() {
    let data = DataDir::new();
    data.run("stream").in_scope(|| {
        let mut call = llm_call("m").start().unwrap();
        for _ in 0..200_000 {
            call.chunk("on and on and on ");
        }
    });
    let finished = within_limits(&data);
    let answer = finished.payload(EventType::LlmCall)["response"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(answer.starts_with("on and on") && answer.ends_with("__TRUNCATED__") && answer.len() <= 20_000);
    let span = finished.span(finished.only(EventType::LlmCall));
    assert_eq!(span.attributes["tracer.chunks"], 200_000);
}
