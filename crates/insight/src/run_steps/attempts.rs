//! Attempts at a call, found by the index alone (decisions, section 7).

use tracer_runs::IndexedSpan;
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
        let number = row.number as usize;
        let call = self.call_at(row)?;
        match self.index.attempts(&call) {
            (Some(call), _) => {
                let row = self.timeline.row_of_span(self.index.find(call)?)?;
                return Some(Attempts::At(self.timeline.get(row)?.number as usize));
            }
            (None, 0) => {}
            (None, failed) => return Some(Attempts::Call(failed + 1)),
        }
        let mut last = (number, call);
        while let Some(next) = self
            .neighbour(last.0 + 1..=self.timeline.step_count())
            .filter(|(_, next)| tries_again(&last.1, next))
        {
            last = next;
        }
        if last.0 > number {
            return Some(Attempts::At(last.0));
        }
        let mut first = (number, call);
        let mut attempts = 1;
        while let Some(before) = self
            .neighbour((1..first.0).rev())
            .filter(|(_, before)| tries_again(before, &first.1))
        {
            first = before;
            attempts += 1;
        }
        (attempts > 1).then_some(Attempts::Call(attempts))
    }

    /// The first call or state among the steps with these numbers, if it is a call.
    fn neighbour(&self, numbers: impl Iterator<Item = usize>) -> Option<(usize, IndexedSpan)> {
        for number in numbers {
            let row = self.timeline.get(self.timeline.row_of_step(number)?)?;
            match self.header(row)?.0 {
                EventType::LlmCall | EventType::ToolCall => return Some((number, self.call_at(row)?)),
                EventType::StateUpdate => return None,
                _ => {}
            }
        }
        None
    }

    fn call_at(&self, row: &TimelineRow) -> Option<IndexedSpan> {
        let RowSource::Span(position) = row.source else {
            return None;
        };
        let span = self.index.span(position as usize)?;
        matches!(span.event_type, EventType::LlmCall | EventType::ToolCall).then_some(span)
    }
}

/// True if `next`, which follows a failed call that had ended, asks the same; what is nested in a call does not.
fn tries_again(call: &IndexedSpan, next: &IndexedSpan) -> bool {
    let took = i64::try_from(call.duration_us.unwrap_or(0)).unwrap_or(i64::MAX);
    let end = call.start.unix_microseconds().saturating_add(took);
    call.outcome.is_failure()
        && end <= next.start.unix_microseconds()
        && call.event_type == next.event_type
        && call.signature == next.signature
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
