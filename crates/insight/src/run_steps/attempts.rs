//! Attempts at a call, found by the index alone (decisions, section 7).

use std::collections::HashMap;

use tracer_runs::{IndexedSpan, LogIndex, RecordSource};
use tracer_sdk::format::EventType;

use super::RunSteps;
use super::timeline::{RowSource, TimelineRow};

/// The part of a row among attempts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Attempts {
    /// An attempt at the call with this step number.
    At(usize),
    /// The call itself, with the number of its attempts.
    Call(usize),
}

impl RunSteps {
    /// The part of the row among attempts; `None` for a call that was made once.
    pub(super) fn attempts(&self, row: &TimelineRow) -> Option<Attempts> {
        let RowSource::Span(position) = row.source else {
            return None;
        };
        let position = position as usize;
        let Some(call) = self.attempts.get(&position) else {
            let failed = self.failed_attempts.get(&position)?;
            return Some(Attempts::Call(failed + 1));
        };
        let row = self.timeline.row_of_span(*call)?;
        Some(Attempts::At(self.timeline.get(row)?.number as usize))
    }
}

/// The call that tries each failed one again, the last that does, both by their position. `order` is that of the projection.
pub(super) fn find(index: &LogIndex, order: &[RecordSource]) -> HashMap<usize, usize> {
    let mut attempts = HashMap::new();
    // The next call, unless a state is between, and the call that it is an attempt at, else itself.
    let mut next: Option<(usize, usize)> = None;
    for source in order.iter().rev() {
        let Some(header) = index.header(*source).filter(|header| !header.is_leftover) else {
            continue;
        };
        let position = match (header.event_type, *source) {
            (EventType::LlmCall | EventType::ToolCall, RecordSource::Span(position)) => position as usize,
            (EventType::StateUpdate, _) => {
                next = None;
                continue;
            }
            _ => continue,
        };
        let again = next.filter(|_| header.outcome.is_failure());
        let again = again.filter(|(next, _)| tries_again(index, position, *next));
        let call = again.map(|(_, call)| call);
        let recorded = index.attempt_of(position).and_then(|call| index.find(call));
        attempts.extend(recorded.or(call).map(|call| (position, call)));
        next = Some((position, call.unwrap_or(position)));
    }
    attempts
}

/// True if the call at `next`, which follows a failed call that had ended, asks the same; what is nested in a call does not.
fn tries_again(index: &LogIndex, failed: usize, next: usize) -> bool {
    let (Some(call), Some(next)) = (index.span(failed), index.span(next)) else {
        return false;
    };
    let took = i64::try_from(call.duration_us.unwrap_or(0)).unwrap_or(i64::MAX);
    let end = call.start.unix_microseconds().saturating_add(took);
    let asked = |call: &IndexedSpan| (call.event_type, call.signature);
    end <= next.start.unix_microseconds()
        && asked(&call) == asked(&next)
        && next.parent_span_id != Some(call.span_id)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use serde_json::{Value, json};
    use tracer_runs::{RunDirectory, spans_to_events};
    use tracer_sdk::prices::Prices;

    use super::*;
    use crate::testing::run_with;

    /// How many attempts the index finds in two calls with these times in seconds, the first of which failed; and the projection.
    fn attempts(times: [(u64, u64); 2]) -> (u64, usize) {
        let (meta, mut spans) = run_with(&[]);
        for (number, (from, to)) in times.into_iter().enumerate() {
            let mut span = spans[0].clone();
            span["span_id"] = json!(format!("{:016x}", number + 2));
            span["parent_span_id"] = spans[0]["span_id"].clone();
            span["name"] = json!("chat m");
            span["start_time"] = json!(format!("2026-01-01T00:00:{from:02}.000000Z"));
            span["end_time"] = json!(format!("2026-01-01T00:00:{to:02}.000000Z"));
            span["duration_ms"] = Value::Null;
            span["status_code"] = json!(if number == 0 { "ERROR" } else { "OK" });
            span["attributes"] = json!({"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "gen_ai.input.messages": "Hi"});
            if number == 0 {
                span["attributes"]["tracer.error_type"] = json!("aborted");
            }
            spans.push(span);
        }
        spans.rotate_left(1);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("000000000000000000000000000000b1");
        fs::create_dir_all(&path).unwrap();
        fs::write(path.join("meta.json"), meta.to_string()).unwrap();
        let lines: Vec<String> = spans.iter().map(|span| format!("{span}\n")).collect();
        fs::write(path.join("spans.jsonl"), lines.concat()).unwrap();
        let trace_id = "000000000000000000000000000000b1".parse().unwrap();
        let steps = RunSteps::open(RunDirectory { trace_id, path }, Prices::default());
        let stored = (0..steps.index.len()).map(|at| steps.index.read_span(at).unwrap().unwrap());
        let spans: Vec<_> = stored.collect();
        let records = spans_to_events(&spans);
        let marked = records
            .iter()
            .filter(|record| record.meta.contains_key("attempt_of"));
        let rows = (1..=steps.timeline.step_count()).filter_map(|number| steps.timeline.row_of_step(number));
        let attempts = rows.filter(|row| {
            let row = steps.timeline.get(*row).unwrap();
            matches!(steps.attempts(row), Some(Attempts::At(_)))
        });
        (attempts.count() as u64, marked.count())
    }

    #[test]
    fn calls_at_once_are_no_attempts() {
        assert_eq!(attempts([(1, 3), (3, 5)]), (1, 1));
        assert_eq!(attempts([(1, 4), (3, 5)]), (0, 0));
    }
}
