//! Calls that have begun and not ended, as records like the others: as it was known when they began.

use serde_json::{Map, Value};
use tracer_runs::StartedSpan;
use tracer_sdk::format::{EventType, Payload, Record, RecordedStatus, TraceId, Usage};

/// The record of a call that has begun and not ended, as it was known when it began.
pub(crate) fn record(run_id: TraceId, started: &StartedSpan) -> Record {
    Record {
        event_id: started.span_id.to_string(),
        run_id,
        parent_id: started.parent_span_id.map(|parent| parent.to_string()),
        ts: started.start_time.text().to_owned(),
        duration_ms: None,
        end: None,
        name: started.name.clone(),
        payload: begun(started),
        meta: Map::new(),
        marks: None,
    }
}

fn begun(started: &StartedSpan) -> Payload {
    let status = RecordedStatus::Running;
    match started.event_type {
        EventType::LlmCall => Payload::LlmCall {
            model: started.name.clone(),
            prompt: Value::Null,
            response: Value::Null,
            usage: Usage::default(),
            provider: String::new(),
            response_model: None,
            temperature: None,
            stop_reason: None,
            status,
            error: None,
        },
        EventType::ToolCall => Payload::ToolCall {
            tool_name: started.name.clone(),
            args: started.arguments.clone().unwrap_or_default(),
            result: Value::Null,
            status,
            error: None,
        },
        _ => Payload::Unknown {
            attributes: Map::new(),
            status,
            error: None,
        },
    }
}
