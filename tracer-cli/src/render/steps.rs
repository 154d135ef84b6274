//! The steps of a run: its records without start and end, numbered as they happened and ordered as they are nested.

use std::collections::{HashMap, HashSet};

use tracer_sdk::format::{Payload, Record, SpanRecord, Timestamp};
use tracer_sdk::read::StartedSpan;

use super::gist;
use super::line::Tone;

/// One record of a run, placed in time and in the tree.
#[derive(Debug, Clone)]
pub struct Step<'a> {
    /// Its number in the order of time, from 1; `RUN_START` and `RUN_END` have none.
    pub number: usize,
    /// How many steps it is nested in.
    pub depth: usize,
    /// Whether other steps are nested in it.
    pub has_children: bool,
    /// Microseconds from the start of the run to its start.
    pub offset: Option<u64>,
    /// How long it took, in microseconds; `None` when it has no duration or did not end.
    pub duration: Option<u64>,
    /// Whether it has begun and not ended.
    pub in_flight: bool,
    /// The record.
    pub record: &'a Record,
}

impl Step<'_> {
    /// What it is called: the model, the tool, the span.
    pub fn name(&self) -> String {
        match &self.record.payload {
            Payload::LlmCall { model, .. } => gist::word(model),
            Payload::ToolCall { tool_name, .. } => gist::word(tool_name),
            Payload::StateUpdate { .. } => "state".to_owned(),
            Payload::Error(_) => "error".to_owned(),
            Payload::LoopWarning { .. } => "loop warning".to_owned(),
            Payload::RunStart { .. } | Payload::RunEnd { .. } | Payload::Unknown { .. } => {
                gist::word(&self.record.name)
            }
        }
    }

    /// The sign of its kind.
    pub fn glyph(&self) -> &'static str {
        match &self.record.payload {
            Payload::LlmCall { .. } => "✦",
            Payload::ToolCall { .. } => "⚒",
            Payload::StateUpdate { .. } => "◆",
            Payload::Error(_) => "✗",
            Payload::LoopWarning { .. } => "⟳",
            Payload::RunStart { .. } | Payload::RunEnd { .. } | Payload::Unknown { .. } => "▸",
        }
    }

    /// The tone of its kind.
    pub fn tone(&self) -> Tone {
        match &self.record.payload {
            Payload::LlmCall { .. } => Tone::Llm,
            Payload::ToolCall { .. } => Tone::Tool,
            Payload::StateUpdate { .. } => Tone::State,
            Payload::Error(_) => Tone::Bad,
            Payload::LoopWarning { .. } => Tone::Warning,
            Payload::RunStart { .. } | Payload::RunEnd { .. } | Payload::Unknown { .. } => Tone::Strong,
        }
    }

    /// Whether it is a call of a model or a tool.
    pub fn is_call(&self) -> bool {
        matches!(
            self.record.payload,
            Payload::LlmCall { .. } | Payload::ToolCall { .. }
        )
    }

    /// Whether it tells a failure.
    pub fn failed(&self) -> bool {
        gist::failed(&self.record.payload)
    }
}

/// The steps of a projected run, each after the step that it is nested in, siblings as they happened.
///
/// The records only have whole milliseconds, so durations are taken from the spans where those are at hand. `started` is
/// when the run started, for a run whose root has not been written.
pub fn steps<'a>(
    records: &'a [Record],
    spans: &[SpanRecord],
    in_flight: &[StartedSpan],
    started: Option<Timestamp>,
) -> Vec<Step<'a>> {
    let in_flight: HashSet<String> = in_flight
        .iter()
        .map(|started| started.span_id.to_string())
        .collect();
    let spans: HashMap<String, &SpanRecord> = spans
        .iter()
        .map(|span| (span.span_id.to_string(), span))
        .collect();
    let run_start = records
        .iter()
        .find(|record| matches!(record.payload, Payload::RunStart { .. }));
    let time = |record: &Record| record.ts.parse::<Timestamp>().ok();
    let start = run_start
        .and_then(time)
        .or(started)
        .or_else(|| records.first().and_then(time));
    let own: Vec<&Record> = records
        .iter()
        .filter(|record| match record.payload {
            // A damaged run may have more than one root; what is nested in the others stays visible as theirs.
            Payload::RunStart { .. } => run_start.is_some_and(|start| start.event_id != record.event_id),
            Payload::RunEnd { .. } => false,
            _ => true,
        })
        .collect();

    let mut steps: Vec<Step<'_>> = own
        .iter()
        .enumerate()
        .map(|(index, record)| Step {
            number: index + 1,
            depth: 0,
            has_children: false,
            offset: start.and_then(|start| microseconds_between(start, record.ts.parse().ok()?)),
            duration: duration(record, spans.get(&record.event_id).copied()),
            in_flight: in_flight.contains(&record.event_id)
                || spans
                    .get(&record.event_id)
                    .is_some_and(|span| span.end_time.is_none()),
            record,
        })
        .collect();
    let order = nest(&own);
    let mut nested = Vec::with_capacity(steps.len());
    for (position, &(index, depth)) in order.iter().enumerate() {
        if let Some(step) = steps.get_mut(index) {
            step.depth = depth;
            step.has_children = order.get(position + 1).is_some_and(|(_, next)| *next > depth);
            nested.push(step.clone());
        }
    }
    nested
}

fn microseconds_between(start: Timestamp, end: Timestamp) -> Option<u64> {
    u64::try_from(end.microseconds_since(start)).ok()
}

fn duration(record: &Record, span: Option<&SpanRecord>) -> Option<u64> {
    span.and_then(|span| microseconds_between(span.start_time.instant(), span.end_time.as_ref()?.instant()))
        .or_else(|| record.duration_ms?.checked_mul(1_000))
}

/// Every record's index with its depth, parents first. Records whose parent is no step stand at the top, and so do
/// the members of a cycle, which only a damaged run has.
fn nest(records: &[&Record]) -> Vec<(usize, usize)> {
    let index_of: HashMap<&str, usize> = records
        .iter()
        .enumerate()
        .map(|(index, record)| (record.event_id.as_str(), index))
        .collect();
    let mut children: Vec<Vec<usize>> = vec![Vec::new(); records.len()];
    let mut tops = Vec::new();
    for (index, record) in records.iter().enumerate() {
        let parent = record
            .parent_id
            .as_deref()
            .and_then(|parent| index_of.get(parent));
        match parent.and_then(|parent| children.get_mut(*parent)) {
            Some(siblings) => siblings.push(index),
            None => tops.push(index),
        }
    }
    let mut order = Vec::with_capacity(records.len());
    let mut placed = vec![false; records.len()];
    // A run may be nested deeper than the call stack is.
    for top in tops.into_iter().chain(0..records.len()) {
        let mut waiting = vec![(top, 0)];
        while let Some((index, depth)) = waiting.pop() {
            if let Some(placed) = placed.get_mut(index).filter(|placed| !**placed) {
                *placed = true;
                order.push((index, depth));
                let below = children.get(index).into_iter().flatten().rev();
                waiting.extend(below.map(|child| (*child, depth + 1)));
            }
        }
    }
    order
}

#[cfg(test)]
#[path = "steps_tests.rs"]
mod tests;
