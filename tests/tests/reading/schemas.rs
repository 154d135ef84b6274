//! What the SDK records keeps to the JSON Schemas in `docs/schemas`, and what is wrong does not.

use std::fs;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use tracer_sdk::format::{Dropped, EventType, META_FILE, SPANS_FILE};
use tracer_sdk::{Guardrails, Usage, llm_call, record_error, span, spans_to_events, state, tool_call};
use tracer_tests::{DataDir, Schema};

/// The files of a run: its metadata, and its spans.
fn files(directory: &Path) -> (Value, Vec<Value>) {
    let meta = fs::read(directory.join(META_FILE)).unwrap();
    let log = fs::read_to_string(directory.join(SPANS_FILE)).unwrap();
    (
        serde_json::from_slice(&meta).unwrap(),
        log.lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect(),
    )
}

/// Checks the files of the only run of a data directory and its records; what types of record it has.
fn check(data: &DataDir) -> Vec<EventType> {
    let directory = data.run_dirs().remove(0);
    let (meta, spans) = files(&directory);
    Schema::of("meta").takes(&meta);
    let schema = Schema::of("span");
    for span in &spans {
        schema.takes(span);
    }
    let schema = Schema::of("record");
    let records = spans_to_events(&tracer_runs::LoadedRun::read(&directory).unwrap().spans);
    for record in &records {
        schema.takes(&serde_json::to_value(record).unwrap());
    }
    let mut types: Vec<EventType> = records
        .iter()
        .map(tracer_sdk::format::Record::event_type)
        .collect();
    types.sort_unstable();
    types.dedup();
    types
}

/// Records with every recorder and every option.
fn record_everything() {
    llm_call("gpt-5")
        .provider("openai")
        .prompt(&json!({"messages": [{"role": "user", "content": "Why?"}]}))
        .response("Because.")
        .usage(Usage::new(14, 6))
        .temperature(0.25)
        .stop_reason("stop")
        .meta(&json!({"attempt": 2}))
        .attribute("region", "eu")
        .record()
        .unwrap();
    llm_call("local-7b").fail("no memory").record().unwrap();
    let mut call = llm_call("gpt-5").start().unwrap();
    call.response(&json!(["a", "list"]));
    call.end().unwrap();
    tool_call("search")
        .args(&["refunds"])
        .result(&3)
        .record()
        .unwrap();
    tool_call("search")
        .fail("no index")
        .duration(Duration::from_millis(3))
        .record()
        .unwrap();
    state(&json!({"phase": "triage"}))
        .diff(&json!({"phase": ["new", "triage"]}))
        .record()
        .unwrap();
    state(&Value::Null).record().unwrap();
    record_error(&"x".parse::<u8>().unwrap_err()).unwrap();
    {
        let _research = span("research").start();
        for _ in 0..3 {
            tool_call("read")
                .args(&json!({"page": 1, "ratio": f64::NAN}))
                .record()
                .unwrap();
        }
    }
}

#[test]
fn a_run_with_every_recorder_keeps_to_the_schemas() {
    let data = DataDir::new();
    data.run("everything").in_scope(record_everything);
    assert_eq!(
        check(&data),
        [
            EventType::RunStart,
            EventType::RunEnd,
            EventType::LlmCall,
            EventType::ToolCall,
            EventType::StateUpdate,
            EventType::Error,
            EventType::LoopWarning,
            EventType::Unknown
        ]
    );
}

#[test]
fn failed_and_stopped_runs_keep_to_schemas() {
    let data = DataDir::new();
    let failed: Result<(), &str> = data.run("fails").try_in_scope(|| Err("no network"));
    assert!(failed.is_err());
    assert!(check(&data).contains(&EventType::Error));

    let data = DataDir::new();
    let limits = Guardrails::new().max_tool_calls(1);
    let stopped = data.run("stopped").guardrails(limits).try_in_scope(|| {
        tool_call("search").record()?;
        tool_call("search").record()
    });
    assert!(stopped.is_err());
    assert!(check(&data).contains(&EventType::Error));
}

#[test]
fn a_run_that_goes_on_keeps_to_the_schemas() {
    let data = DataDir::new();
    let run = data.run("goes on").start();
    tool_call("search").record().unwrap();
    assert_eq!(check(&data), [EventType::ToolCall]);
    let (meta, _) = files(&run.dir().unwrap());
    assert_eq!(
        (&meta["status"], &meta["ended_at"]),
        (&json!("running"), &Value::Null)
    );
}

#[test]
fn a_wrong_meta_json_is_refused_and_an_unknown_key_is_not() {
    let data = DataDir::new();
    data.run("test").in_scope(|| ());
    let schema = Schema::of("meta");
    let (mut meta, _) = files(&data.run_dirs()[0]);
    let wrong = [
        ("/status", Some(json!("done"))),
        ("/status", None),
        ("/ended_at", None),
        ("/spec_version", Some(json!("0.3.0"))),
        ("/spec_version", Some(json!("0.2.01"))),
        ("/trace_id", Some(json!("ABC"))),
        ("/trace_id", Some(json!("0".repeat(32)))),
        ("/started_at", Some(json!("2026-01-01T00:00:00"))),
        ("/started_at", Some(json!("2026-13-01T00:00:00Z"))),
        ("/duration_ms", Some(json!(-1))),
        ("/duration_ms", Some(json!(true))),
        ("/counts/errors", Some(json!(0.5))),
        ("/counts/errors", None),
        ("/dropped", Some(json!(3))),
    ];
    for (place, value) in wrong {
        schema.refuses(&meta, place, value);
    }
    let dropped = Dropped {
        spans: 3,
        reason: "No space left on device".to_owned(),
    };
    meta["dropped"] = serde_json::to_value(dropped).unwrap();
    meta["gate"] = json!({"id": "nightly", "trial": 2});
    meta["labels"] = json!(["kept"]);
    schema.takes(&meta);
    for version in [json!("0.2"), json!("0.2.7")] {
        meta["spec_version"] = version;
        schema.takes(&meta);
    }
    meta.as_object_mut().unwrap().remove("spec_version");
    schema.takes(&meta);
}

#[test]
fn a_wrong_span_is_refused_and_an_unknown_key_is_not() {
    let data = DataDir::new();
    data.run("test")
        .in_scope(|| tool_call("search").args(&1).record().unwrap());
    let schema = Schema::of("span");
    let (_, mut spans) = files(&data.run_dirs()[0]);
    let mut span = spans.remove(0);
    let wrong = [
        ("/parent_span_id", None),
        ("/span_id", Some(json!("00f067aa0ba902b"))),
        ("/kind", Some(json!("internal"))),
        ("/status_code", Some(json!("DONE"))),
        ("/status_description", Some(Value::Null)),
        ("/attributes", Some(json!([]))),
        ("/attributes/nested", Some(json!({}))),
        ("/events/0/timestamp", Some(json!("yesterday"))),
        ("/end_time", Some(json!(""))),
    ];
    for (place, value) in wrong {
        schema.refuses(&span, place, value);
    }
    span["links"] = json!([]);
    schema.takes(&span);
}

#[test]
fn a_record_with_the_payload_of_another_type_is_refused() {
    let data = DataDir::new();
    data.run("test").in_scope(record_everything);
    let schema = Schema::of("record");
    let finished = data.finished();
    for (index, event_type) in [EventType::LlmCall, EventType::ToolCall, EventType::Error]
        .iter()
        .enumerate()
    {
        let record = serde_json::to_value(finished.all(*event_type)[0]).unwrap();
        let others = ["TOOL_CALL", "ERROR", "LLM_CALL"];
        schema.refuses(&record, "/event_type", Some(json!(others[index])));
        schema.refuses(&record, "/payload", Some(json!({})));
        schema.refuses(&record, "/span_id", Some(json!("a key that no record has")));
    }
    let tool = serde_json::to_value(finished.all(EventType::ToolCall)[0]).unwrap();
    schema.refuses(&tool, "/payload/args", Some(json!(["an array"])));
    schema.refuses(&tool, "/payload/status", Some(json!("running")));
}

#[test]
fn the_page_about_the_format_names_every_schema() {
    let docs = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs"));
    let page = fs::read_to_string(docs.join("trace-format.md")).unwrap();
    for schema in fs::read_dir(docs.join("schemas")).unwrap() {
        let name = schema.unwrap().file_name().into_string().unwrap();
        assert!(
            page.contains(&format!("[{name}](schemas/{name})")),
            "{name} is not linked"
        );
    }
}
