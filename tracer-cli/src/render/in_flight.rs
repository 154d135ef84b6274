//! Calls that have begun and not ended, as records among the others: of them only the name and the start are known.

use serde_json::{Map, Value};
use tracer_sdk::format::{EventType, Payload, Record, RunStatus, Timestamp, TraceId, Usage};
use tracer_sdk::read::StartedSpan;

/// The records with one more for each call that has begun and not ended, of which nothing but its name is known.
pub fn with_in_flight(
    mut records: Vec<Record>,
    run_id: Option<TraceId>,
    in_flight: &[StartedSpan],
) -> Vec<Record> {
    let Some(run_id) = run_id.filter(|_| !in_flight.is_empty()) else {
        return records;
    };
    records.extend(in_flight.iter().map(|started| Record {
        event_id: started.span_id.to_string(),
        run_id,
        parent_id: started.parent_span_id.map(|parent| parent.to_string()),
        ts: started.start_time.text().to_owned(),
        duration_ms: None,
        name: started.name.clone(),
        payload: begun(started),
        meta: Map::new(),
    }));
    // Stable: records of one instant keep their order.
    records.sort_by_cached_key(|record| record.ts.parse::<Timestamp>().ok());
    records
}

fn begun(started: &StartedSpan) -> Payload {
    let status = RunStatus::Running;
    match started.event_type {
        EventType::LlmCall => Payload::LlmCall {
            model: started.name.clone(),
            prompt: Value::Null,
            response: Value::Null,
            usage: Usage::default(),
            provider: String::new(),
            temperature: None,
            stop_reason: None,
            status,
            error: None,
        },
        EventType::ToolCall => Payload::ToolCall {
            tool_name: started.name.clone(),
            args: Value::Null,
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
