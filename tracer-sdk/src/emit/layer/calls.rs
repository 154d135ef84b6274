//! What the layer knows of the calls in a run: what models asked for, which tools wait for their results, what failed last.

use std::sync::{Arc, Weak};

use serde_json::Value;

use super::tools::{ToolArguments, result_in};
use crate::emit::error::ErrorInfo;
use crate::emit::open_span::OpenSpan;
use crate::emit::run_state::RunState;
use crate::format::{EventType, SpanId, Timestamp, names};
use crate::process::{OwnLock, OwnProcess, PerProcess};

/// How many tool spans of a run wait for their results.
const MAX_WAITING: usize = 64;

/// What the layer knows of the calls in a run.
#[derive(Debug, Default)]
pub(super) struct RunCalls {
    pub(super) arguments: ToolArguments,
    /// Tool spans that have closed and whose results the next request may name.
    pub(super) waiting: Vec<WaitingTool>,
    /// Requests and replies of the run are logged.
    pub(super) has_bodies: bool,
    /// The error of the last model call; `None` when it was answered.
    pub(super) last_failure: Option<ErrorInfo>,
}

impl RunCalls {
    /// Removes the tools whose results a request holds. Those that it does not name wait on: it may be another
    /// conversation's.
    pub(super) fn take_answered(&mut self, request: &Value) -> Vec<(WaitingTool, String)> {
        let results: Vec<Option<String>> = self
            .waiting
            .iter()
            .map(|tool| result_in(request, &tool.call_id))
            .collect();
        let mut answered = Vec::new();
        for (place, result) in results.into_iter().enumerate().rev() {
            if let Some(result) = result {
                answered.push((self.waiting.remove(place), result));
            }
        }
        answered.reverse();
        answered
    }
}

/// What the layer knows of a run, shared by its spans.
pub(super) type SharedCalls = Arc<OwnLock<RunCalls>>;

/// The runs that layers of this process record into.
static RUNS: PerProcess<OwnLock<Vec<RecordedRun>>> =
    PerProcess::new(|process| OwnLock::new(process, Vec::new()));

/// A run, and what is known of the calls in it.
type RecordedRun = (Weak<RunState>, SharedCalls);

/// What is known of the calls in a run.
pub(super) fn calls_of(run: &Arc<RunState>) -> SharedCalls {
    let new = || Arc::new(OwnLock::new(OwnProcess::current(), RunCalls::default()));
    let Some(mut runs) = RUNS.get().lock() else {
        return new();
    };
    if let Some((_, calls)) = runs
        .iter()
        .find(|(known, _)| std::ptr::eq(known.as_ptr(), Arc::as_ptr(run)))
    {
        return Arc::clone(calls);
    }
    runs.retain(|(known, _)| known.strong_count() > 0);
    let calls = new();
    runs.push((Arc::downgrade(run), Arc::clone(&calls)));
    calls
}

/// A tool span that has closed and is not written, because the next request to the model may hold its result.
#[derive(Debug)]
pub(super) struct WaitingTool {
    pub(super) call_id: String,
    pub(super) span: OpenSpan,
    pub(super) event_type: EventType,
    pub(super) same_call: Option<SpanId>,
    pub(super) end: Timestamp,
    pub(super) has_arguments: bool,
}

impl WaitingTool {
    /// Waits for the result, where requests of the run are logged; no longer than the run lasts.
    pub(super) fn wait(self, run: &Arc<RunState>, calls: &SharedCalls) {
        let Some(mut known) = calls.lock() else {
            return self.finish(None);
        };
        if !known.has_bodies || run.has_ended() {
            drop(known);
            return self.finish(None);
        }
        let is_first = known.waiting.is_empty();
        let oldest = (known.waiting.len() >= MAX_WAITING).then(|| known.waiting.remove(0));
        known.waiting.push(self);
        drop(known);
        if let Some(oldest) = oldest {
            oldest.finish(None);
        }
        if is_first {
            let calls = Arc::downgrade(calls);
            run.before_end(move || {
                let waiting = calls
                    .upgrade()
                    .and_then(|calls| Some(std::mem::take(&mut calls.lock()?.waiting)));
                waiting.into_iter().flatten().for_each(|tool| tool.finish(None));
            });
        }
    }

    /// Writes the span, with its result where it came.
    pub(super) fn finish(mut self, result: Option<&str>) {
        if let Some(mut editor) = self.span.editor() {
            if let Some(result) = result {
                editor.result(&JsonOrText(result));
            }
            let joined = match (self.has_arguments, result.is_some()) {
                (true, true) => "arguments,result",
                (true, false) => "arguments",
                (false, true) => "result",
                (false, false) => "",
            };
            if !joined.is_empty() {
                editor.redacted().0.word(names::JOINED, joined);
            }
        }
        self.span.end_library(self.event_type, self.same_call, self.end);
    }
}

/// JSON text that serialises as what it says; other text as a string.
pub(super) struct JsonOrText<'t>(pub(super) &'t str);

impl serde::Serialize for JsonOrText<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match serde_json::from_str::<&serde_json::value::RawValue>(self.0) {
            Ok(json) => json.serialize(serializer),
            Err(_) => serializer.serialize_str(self.0),
        }
    }
}
