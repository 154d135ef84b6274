//! A run with one of everything, for the tests of the formats.

use serde_json::{Map, Value, json};
use tracer_sdk::format::{
    Counts, RecordedStatus, RunMeta, SpanEvent, SpanKind, SpanRecord, StatusCode, StoredTime,
};

const TRACE: &str = "10000000000000000000000000000001";
const ROOT: u64 = 1;

fn time(millisecond: u32) -> StoredTime {
    format!(
        "2026-01-01T00:00:{:02}.{:03}000Z",
        millisecond / 1000,
        millisecond % 1000
    )
    .parse()
    .unwrap()
}

fn map(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        other => panic!("{other} is no object"),
    }
}

/// The metadata of [`run`].
pub(super) fn meta() -> RunMeta {
    RunMeta {
        spec_version: Some("0.2.0".to_owned()),
        trace_id: TRACE.parse().unwrap(),
        run_name: Some("support-agent".to_owned()),
        started_at: time(0),
        ended_at: Some(time(400)),
        duration_ms: Some(400),
        status: RecordedStatus::Error,
        counts: Counts {
            llm_calls: 1,
            tool_calls: 2,
            errors: 1,
            loop_warnings: 0,
        },
        additional: Map::new(),
    }
}

fn span(id: u64, parent: u64, name: &str, from: u32, to: u32, attributes: Value) -> SpanRecord {
    SpanRecord {
        trace_id: TRACE.parse().unwrap(),
        span_id: format!("{id:016x}").parse().unwrap(),
        parent_span_id: format!("{parent:016x}").parse().ok(),
        name: name.to_owned(),
        kind: SpanKind::Internal,
        start_time: time(from),
        end_time: Some(time(to)),
        duration_ms: Some(u64::from(to - from)),
        attributes: map(attributes),
        events: Vec::new(),
        status_code: StatusCode::Ok,
        status_description: String::new(),
    }
}

fn with_event(mut span: SpanRecord, name: &str, at: u32, attributes: Value) -> SpanRecord {
    span.events.push(SpanEvent {
        name: name.to_owned(),
        timestamp: time(at),
        attributes: map(attributes),
    });
    span
}

fn failed(mut span: SpanRecord, description: &str) -> SpanRecord {
    span.status_code = StatusCode::Error;
    span.status_description = description.to_owned();
    span
}

/// A failed run: a structural span with a model call and, at the same time, a tool call that failed; a state.
pub(super) fn run() -> Vec<SpanRecord> {
    let root = span(
        ROOT,
        0,
        "support-agent",
        0,
        400,
        json!({"tracer.run_name": "support-agent"}),
    );
    let exception = json!({"tracer.error_type": "Timeout", "tracer.error_message": "gave up"});
    let root = failed(with_event(root, "exception", 390, exception), "gave up");
    let plan = span(2, ROOT, "plan;all", 0, 300, json!({"team": "support"}));
    let mut call = span(
        3,
        2,
        "gpt-5",
        0,
        200,
        json!({
            "gen_ai.system": "openai", "gen_ai.operation.name": "chat", "gen_ai.request.model": "gpt-5",
            "gen_ai.usage.input_tokens": 12, "gen_ai.usage.output_tokens": 30,
            "gen_ai.response.finish_reasons": "stop", "tracer.status": "ok",
        }),
    );
    call.kind = SpanKind::Client;
    let call = with_event(
        call,
        "gen_ai.user.message",
        0,
        json!({"content": "Where is my order?"}),
    );
    let call = with_event(
        call,
        "gen_ai.assistant.message",
        200,
        json!({"content": "On its way"}),
    );
    let tool = json!({
        "maida.tool_name": "search", "maida.status": "error",
        "maida.error_type": "NotFound", "maida.error_message": "no such order",
    });
    let tool = with_event(
        failed(span(4, 2, "search", 100, 250, tool), "no such order"),
        "maida.tool.args",
        100,
        json!({"args": "{\"order\":7}"}),
    );
    let reply = span(
        5,
        ROOT,
        "reply",
        310,
        320,
        json!({"tracer.tool_name": "reply", "tracer.status": "ok"}),
    );
    let state = with_event(
        span(6, ROOT, "state", 330, 330, json!({})),
        "state",
        330,
        json!({"state": "{\"step\":2}"}),
    );
    vec![root, plan, call, tool, reply, state]
}
