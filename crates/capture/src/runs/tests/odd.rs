//! Spans as they should not be, and what is kept and said of them.

use serde_json::Value;
use tracer_insight::run_head::recording_remarks;
use tracer_sdk::format::EventType;

use super::*;

fn payload(run: &LoadedRun, wanted: EventType) -> Value {
    let record = run
        .records()
        .into_iter()
        .find(|record| record.event_type() == wanted);
    serde_json::to_value(record.unwrap().payload).unwrap()
}

#[test]
fn a_second_span_of_one_id_is_named() {
    let bench = Bench::new();
    let accepted = bench.send(vec![agent(1, 1, 0), chat(1, 2, 1), tool(1, 2, 1)]);
    assert_eq!(accepted.rejected, 1);
    assert_eq!(
        accepted.message.as_deref(),
        Some(
            "1 span left out: 0000000000000002 is a duplicate ID, of a span that differs from the one that came first"
        )
    );
    let repeated = bench.send(vec![chat(1, 2, 1)]);
    assert_eq!((repeated.rejected, repeated.message), (0, None));
    let summary = bench.collector.close();
    assert_eq!((summary.differing, summary.duplicates), (1, 1));
    assert_eq!(
        summary.notes(),
        ["1 received span left out: duplicate IDs of spans that differ from them"]
    );
}

#[test]
fn the_duration_covers_what_began_before_the_root() {
    let bench = Bench::new();
    let mut early = chat(1, 2, 1);
    (early.start_time_unix_nano, early.end_time_unix_nano) = (START - 60_000 * MS, START - 59_000 * MS);
    bench.send(vec![agent(1, 1, 0), early]);
    bench.collector.close();
    let run = bench.run(1);
    assert_eq!(run.meta.duration_ms, Some(60_100));
    assert_eq!(run.meta.began_before_root_ms(), 60_000);
    assert_eq!(
        recording_remarks(&run.meta),
        ["clocks differ: a span began 1 min 00 s before the run did, and the run's duration covers it"]
    );
    let root = named(&run, "invoke_agent weather");
    assert_eq!(
        root.attributes["tracer.source_start"],
        "2026-01-01T00:00:00.000000Z"
    );
    assert!(
        tracer_runs::validate(&bench.directory().join("runs").join(run.meta.trace_id.to_string())).is_valid()
    );
}

#[test]
fn clocks_that_are_read_apart_do_not_differ() {
    let bench = Bench::new();
    let mut early = chat(1, 2, 1);
    early.start_time_unix_nano = START - 900 * MS;
    bench.send(vec![agent(1, 1, 0), early]);
    bench.collector.close();
    assert_eq!(bench.run(1).meta.duration_ms, Some(100));
    assert_eq!(recording_remarks(&bench.run(1).meta), Vec::<String>::new());
}

#[test]
fn bytes_are_redacted_like_text() {
    let bytes = |bytes: &[u8]| AnyValue {
        value: Some(Any::BytesValue(bytes.to_vec())),
    };
    let bench = Bench::new();
    let mut call = chat(1, 2, 1);
    call.attributes = vec![
        attribute("gen_ai.operation.name", text("chat")),
        attribute(
            "note",
            bytes(b"key sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD end"),
        ),
        attribute("plain", bytes("Grüße".as_bytes())),
        attribute("binary", bytes(&[0, 1, 255])),
    ];
    bench.send(vec![agent(1, 1, 0), call]);
    bench.collector.close();
    let run = bench.run(1);
    let attributes = &named(&run, "chat gpt-5").attributes;
    assert_eq!(attributes["note"], "key __REDACTED__ end");
    assert_eq!(
        (&attributes["plain"], &attributes["binary"]),
        (&"Grüße".into(), &"AAH/".into())
    );
}

#[test]
fn arguments_within_json_text_are_an_object() {
    let arguments = r#"{"city":"Oslo"}"#;
    let quoted = serde_json::to_string(arguments).unwrap();
    for (trace, sent) in [(1, arguments), (2, &quoted)] {
        let bench = Bench::new();
        let call = with(tool(trace, 2, 1), &[("gen_ai.tool.call.arguments", sent)]);
        bench.send(vec![agent(trace, 1, 0), call]);
        bench.collector.close();
        let args = payload(&bench.run(trace), EventType::ToolCall)["args"].take();
        assert_eq!(args, serde_json::json!({"city": "Oslo"}), "{sent}");
    }
}

#[test]
fn data_that_is_too_long_leaves_its_size() {
    let data = "QUJD".repeat(1_000_000);
    let messages = format!(
        r#"[{{"role":"user","parts":[{{"type":"text","content":"see"}},{{"type":"blob","mime_type":"image/png","modality":"image","content":"{data}"}}]}}]"#
    );
    let bench = Bench::new();
    let call = with(chat(1, 2, 1), &[("gen_ai.input.messages", &messages)]);
    bench.send(vec![agent(1, 1, 0), call]);
    bench.collector.close();
    let run = bench.run(1);
    let stored = named(&run, "chat gpt-5").attributes["gen_ai.input.messages"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(
        stored.contains(r#""content":"__OMITTED__ (4000000 bytes)""#),
        "{stored}"
    );
    assert!(stored.contains(r#""content":"see""#), "{stored}");
}
