//! Loop warnings of runs whose calls were recorded from outside.

use std::collections::HashMap;

use serde_json::json;
use tracer_runs::import::ImportedSpan;
use tracer_runs::{IndexedSpan, LogIndex, RunReader};
use tracer_sdk::format::names::{EVENT_TYPE, event_keys, events, span_names};
use tracer_sdk::format::{EventType, SpanEvent, SpanId, SpanRecord};
use tracer_sdk::loops::{self, Trail};
use tracer_sdk::settings::Settings;

use super::ids::derived_span_id;

/// Warnings below `root`, one for each loop of the run, as a recorder in the program writes while it runs. A run with
/// warnings has those alone.
pub(super) fn warnings(run: &mut RunReader, root: SpanId, settings: &Settings) -> Vec<ImportedSpan> {
    let (Some(trace_id), counts) = (run.trace_id, run.counts()) else {
        return Vec::new();
    };
    if counts.loop_warnings > 0 || !has_repetitions(run.records.index(), settings.loop_repetitions) {
        return Vec::new();
    }
    let (mut trail, mut calls) = (Trail::default(), Vec::new());
    // A line that cannot be read is a problem that readers of the run report.
    for record in run.records.by_ref().filter_map(Result::ok) {
        let before = trail.entries().len();
        trail.take(&record, &loops::of_scalar);
        if trail.entries().len() > before {
            calls.push((record.end, record.event_id));
        }
    }
    let mut warnings = Vec::new();
    for warning in trail.loops(settings.loop_window, settings.loop_repetitions) {
        let evidence = warning.evidence_event_ids.iter();
        let evidence: Vec<_> = evidence.filter_map(|place| calls.get(*place)).collect();
        let Some(time) = evidence.iter().filter_map(|(end, _)| *end).max() else {
            continue;
        };
        let ids: Vec<&str> = evidence.iter().map(|(_, id)| id.as_str()).collect();
        let id_parts: Vec<&[u8]> = ids.iter().map(|id| id.as_bytes()).collect();
        let event = SpanEvent::new(events::LOOP_WARNING, time)
            .with(event_keys::PATTERN, warning.pattern)
            .with(event_keys::PATTERN_TYPE, warning.pattern_type.as_str())
            .with(event_keys::PATTERN_LENGTH, warning.pattern_length)
            .with(event_keys::REPETITIONS, warning.repetitions)
            .with(event_keys::WINDOW_SIZE, warning.window_size)
            .with(event_keys::EVIDENCE_EVENT_IDS, json!(ids).to_string());
        let id = derived_span_id(&id_parts);
        let name = span_names::LOOP_WARNING;
        let mut span = SpanRecord::new(trace_id, id, Some(root), name, (time, time));
        span.set(EVENT_TYPE, EventType::LoopWarning.as_str());
        span.events.push(event);
        warnings.push(ImportedSpan::new(span));
    }
    warnings
}

/// Returns whether as many calls as a loop has may ask the same: the records of other runs need not be read.
fn has_repetitions(index: &LogIndex, repetitions: usize) -> bool {
    let mut calls: HashMap<u32, usize> = HashMap::new();
    let spans = (0..index.len()).filter_map(|position| index.span(position));
    let is_call = |span: &IndexedSpan| matches!(span.event_type, EventType::LlmCall | EventType::ToolCall);
    for span in spans.filter(|span| is_call(span) && !span.is_leftover) {
        *calls.entry(span.signature).or_default() += 1;
    }
    calls.values().any(|calls| *calls >= repetitions)
}
