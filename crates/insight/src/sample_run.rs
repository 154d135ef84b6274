//! Runs made by hand, for the tests of what is rendered.

#![allow(
    clippy::unwrap_used,
    clippy::return_self_not_must_use,
    clippy::missing_panics_doc,
    reason = "for tests, which fail by panicking"
)]

use serde_json::{Map, Value};
use tracer_sdk::format::{
    ErrorPayload, Payload, Record, RecordedStatus, SpanRecord, Timestamp, TraceId, Usage,
};

use tracer_runs::is_attempt;

use crate::steps::{ATTEMPT_OF, StepSource};

/// 2026-11-21T01:14:27Z.
const START: i64 = 1_795_223_667_000_000;
const ROOT: &str = "00000000000000ff";

/// A run in the making: each step starts 8.1 ms after the one before it.
#[derive(Debug, Default)]
pub struct Sample {
    steps: Vec<(Option<usize>, Payload)>,
    surfaced: Vec<Payload>,
}

impl Sample {
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a step.
    pub fn step(mut self, payload: Payload) -> Self {
        self.steps.push((None, payload));
        self
    }

    /// Adds a step nested in the step with this number.
    pub fn within(mut self, parent: usize, payload: Payload) -> Self {
        self.steps.push((Some(parent), payload));
        self
    }

    /// Adds what is surfaced from the root: the error that ended the run.
    pub fn on_root(mut self, payload: Payload) -> Self {
        self.surfaced.push(payload);
        self
    }

    pub fn records(&self) -> Vec<Record> {
        let record = |index: usize, event_id: String, parent: Option<String>, payload: Payload| Record {
            event_id,
            run_id: TraceId::from_u128(0xbc51_9fdd << 96 | 1).unwrap(),
            parent_id: parent,
            ts: time(index).to_string(),
            duration_ms: None,
            end: None,
            name: match &payload {
                Payload::RunStart { .. } => "support-agent".to_owned(),
                Payload::Unknown { .. } => "plan".to_owned(),
                _ => "span".to_owned(),
            },
            payload,
            meta: Map::new(),
            marks: None,
        };
        let start = Payload::RunStart {
            run_name: Some("support-agent".to_owned()),
            python_version: None,
            platform: None,
            cwd: None,
            argv: Vec::new(),
        };
        let mut records = vec![record(0, ROOT.to_owned(), None, start)];
        for (index, (parent, payload)) in self.steps.iter().enumerate() {
            let parent = parent.map_or_else(|| ROOT.to_owned(), span_id);
            records.push(record(
                index + 1,
                span_id(index + 1),
                Some(parent),
                payload.clone(),
            ));
        }
        for (index, payload) in self.surfaced.iter().enumerate() {
            let event_id = format!("{ROOT}.{index}");
            records.push(record(
                self.steps.len() + 1 + index,
                event_id,
                Some(ROOT.to_owned()),
                payload.clone(),
            ));
        }
        // As the projection of a run does.
        for index in (1..records.len()).rev() {
            let [record, next] = &mut records[index - 1..=index] else {
                continue;
            };
            if is_attempt(record, next) {
                let call = next.meta.get(ATTEMPT_OF).cloned();
                let call = call.unwrap_or_else(|| next.event_id.clone().into());
                record.meta.insert(ATTEMPT_OF.to_owned(), call);
            }
        }
        records
    }

    /// Sources of the steps, each with a duration, from 45 µs up.
    pub fn sources(&self) -> Vec<StepSource> {
        let spans = self.spans();
        let records = self.records().into_iter().skip(1).enumerate();
        records
            .map(|(index, record)| StepSource::read(index + 1, record, spans.get(index)))
            .collect()
    }

    /// When the run started.
    pub fn started() -> Timestamp {
        time(0)
    }

    /// The span of the step with this number.
    pub fn span(&self, number: usize) -> SpanRecord {
        self.spans().swap_remove(number - 1)
    }

    fn spans(&self) -> Vec<SpanRecord> {
        (1..=self.steps.len())
            .map(|index| SpanRecord {
                trace_id: TraceId::from_u128(1).unwrap(),
                span_id: span_id(index).parse().unwrap(),
                parent_span_id: None,
                name: String::new(),
                kind: tracer_sdk::format::SpanKind::Internal,
                start_time: time(index).into(),
                end_time: Some(
                    Timestamp::from_unix_microseconds(
                        time(index).unix_microseconds() + 45 * [1, 7, 49, 343, 2_401, 16_807][index % 6],
                    )
                    .into(),
                ),
                duration_ms: None,
                attributes: Map::new(),
                events: Vec::new(),
                status_code: tracer_sdk::format::StatusCode::Ok,
                status_description: String::new(),
            })
            .collect()
    }
}

fn time(index: usize) -> Timestamp {
    Timestamp::from_unix_microseconds(START + 8_100 * i64::try_from(index).unwrap())
}

/// The ID of the step with this number.
pub fn span_id(number: usize) -> String {
    format!("{number:016x}")
}

pub fn tool(name: &str, args: &Value, result: &Value) -> Payload {
    Payload::ToolCall {
        tool_name: name.to_owned(),
        args: args.clone(),
        result: result.clone(),
        status: RecordedStatus::Ok,
        error: None,
    }
}

pub fn failed_tool(name: &str, args: &Value, error: ErrorPayload) -> Payload {
    Payload::ToolCall {
        tool_name: name.to_owned(),
        args: args.clone(),
        result: Value::Null,
        status: RecordedStatus::Error,
        error: Some(error),
    }
}

pub fn llm(prompt: &str, response: &str, usage: Usage) -> Payload {
    Payload::LlmCall {
        model: "demo-model".to_owned(),
        prompt: prompt.into(),
        response: response.into(),
        usage,
        provider: "local".to_owned(),
        response_model: None,
        temperature: None,
        stop_reason: None,
        status: RecordedStatus::Ok,
        error: None,
    }
}

pub fn state(state: &Value) -> Payload {
    Payload::StateUpdate {
        state: state.clone(),
        diff: None,
    }
}

pub fn structural() -> Payload {
    Payload::Unknown {
        attributes: Map::new(),
        status: RecordedStatus::Ok,
        error: None,
    }
}

pub fn loop_warning(evidence: &[usize]) -> Payload {
    Payload::LoopWarning {
        pattern: "TOOL_CALL:search_kb".to_owned(),
        pattern_type: Some("repeated_call".to_owned()),
        pattern_length: Some(1),
        repetitions: 3,
        window_size: 5,
        evidence_event_ids: evidence.iter().map(|number| span_id(*number)).collect(),
    }
}

pub fn error(error_type: &str, message: &str) -> ErrorPayload {
    ErrorPayload {
        error_type: error_type.to_owned(),
        message: message.to_owned(),
        stack: None,
    }
}
