//! State of the calls in a run: requested tools, awaited results, failures.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use serde_json::Value;

use super::outcome::INCOMPLETE;
use super::tools::{ToolArguments, result_in};
use super::vocabulary::TOOLS;
use crate::emit::context::Context;
use crate::emit::error::ErrorInfo;
use crate::emit::open_span::{EndTime, OpenSpan};
use crate::process::{OwnLock, OwnProcess};
use tracer_format::names::span_names;
use tracer_format::{EventType, SpanId, Timestamp, names};

/// Maximum number of remembered tools of a run whose results have not come.
const MAX_CLOSED_TOOLS: usize = 64;
/// Maximum number of IDs of closed tools that are told apart; a later one is that of its own branch alone.
const MAX_CLOSED_IDS: usize = 4096;

/// Maximum number of spans of a run whose last outcome is remembered.
const MAX_ENDINGS: usize = 1024;

/// Maximum number of errors of a run that wait for its end.
const MAX_PASSED_ON: usize = 64;

/// The layer's state of the calls in a run.
#[derive(Debug, Default)]
pub(super) struct RunCalls {
    pub(super) arguments: ToolArguments,
    /// Tools that have run and whose results the next request may name.
    closed_tools: VecDeque<ClosedTool>,
    /// IDs of the tools that have run, each with whether several had it.
    closed_ids: HashMap<String, bool>,
    /// Requests and replies of the run are logged.
    pub(super) has_bodies: bool,
    /// Last outcome directly within a span, by its ID; a span with an answer of its own has none.
    endings: HashMap<SpanId, WorkEnding>,
    /// Errors that functions returned, which may be the run's own.
    passed_on: Vec<PassedOn>,
}

/// Last outcome within a span that represents the work of an agent.
#[derive(Debug, Clone, Default)]
pub(super) struct WorkEnding {
    /// Why the last model call, or the last agent, failed.
    pub(super) failure: Option<ErrorInfo>,
    /// The last model call was that of an agent, which asks again until it has an answer.
    pub(super) is_of_agent: bool,
    /// A tool ran after it.
    pub(super) ran_tool: bool,
}

impl WorkEnding {
    /// Why the work failed that ended like this and has no answer of its own.
    pub(super) fn into_failure(self) -> Option<ErrorInfo> {
        let no_answer = || ErrorInfo::new(INCOMPLETE, "no answer: no model call followed the tools");
        self.failure
            .or_else(|| (self.is_of_agent && self.ran_tool).then(no_answer))
    }
}

/// An error that a function returned, as `#[instrument(err)]` logs it: who calls the function may return it, too.
#[derive(Debug)]
struct PassedOn {
    context: Context,
    at: Timestamp,
    error: ErrorInfo,
}

impl PassedOn {
    fn record(self) {
        let mut span = OpenSpan::under(self.context, EventType::Error, span_names::ERROR);
        if let Some(mut editor) = span.editor() {
            editor.fail(self.error);
        }
        span.end_on_recording_thread(EndTime::At(self.at));
    }
}

/// Keeps an error that a function returned until the end of the run, which may be that error: it is one, however many functions
/// pass it on.
pub(super) fn pass_on(context: Context, error: ErrorInfo) {
    let run = Arc::clone(&context.run);
    let passed_on = PassedOn {
        at: run.clock.now(),
        context,
        error,
    };
    {
        let Some(mut known) = run.library.calls.lock() else {
            return;
        };
        let mut all = known.passed_on.iter();
        if all.any(|other| other.error.message == passed_on.error.message)
            || known.passed_on.len() >= MAX_PASSED_ON
        {
            return;
        }
        known.passed_on.push(passed_on);
    }
    if run.has_ended() {
        run.library.record_passed_on(None);
    }
}

/// The part of a run that layers have in it.
#[derive(Debug)]
pub(crate) struct LibraryState {
    /// A layer started the run, and no recorder of the program.
    pub(super) has_started_run: AtomicBool,
    /// Number of open model and tool calls of libraries.
    open_calls: AtomicU64,
    /// Libraries made calls in the run: what others recorded of them, too, only its projection knows.
    has_calls: AtomicBool,
    /// Maximum length of a JSON text of a library, in bytes.
    pub(super) max_message_bytes: usize,
    pub(super) calls: OwnLock<RunCalls>,
}

impl LibraryState {
    pub(crate) fn new(process: OwnProcess, max_message_bytes: usize) -> Self {
        Self {
            has_started_run: AtomicBool::new(false),
            open_calls: AtomicU64::new(0),
            has_calls: AtomicBool::new(false),
            max_message_bytes,
            calls: OwnLock::new(process, RunCalls::default()),
        }
    }

    /// A call of a library begins. Until it ends, recorders look whether they report it again.
    pub(super) fn begin_call(&self) {
        self.open_calls.fetch_add(1, Ordering::Relaxed);
        self.has_calls.store(true, Ordering::Relaxed);
    }

    pub(super) fn end_call(&self) {
        self.open_calls.fetch_sub(1, Ordering::Relaxed);
    }

    /// Returns whether a call of a library is open.
    pub(crate) fn has_open_call(&self) -> bool {
        self.open_calls.load(Ordering::Relaxed) > 0
    }

    /// Returns whether libraries made calls in the run.
    pub(crate) fn has_calls(&self) -> bool {
        self.has_calls.load(Ordering::Relaxed)
    }

    /// Records the errors that functions passed on, but for the one that the run ends with.
    pub(crate) fn record_passed_on(&self, error: Option<&ErrorInfo>) {
        let passed_on = self
            .calls
            .lock()
            .map(|mut calls| std::mem::take(&mut calls.passed_on));
        let is_other = |passed_on: &PassedOn| {
            error.is_none_or(|error| !error.message.contains(&passed_on.error.message))
        };
        let others = passed_on.into_iter().flatten().filter(is_other);
        others.for_each(PassedOn::record);
    }
}

impl RunCalls {
    /// A model call, or an agent, ended directly within a span.
    pub(super) fn end_within(&mut self, parent: SpanId, ending: WorkEnding) {
        if self.endings.len() < MAX_ENDINGS || self.endings.contains_key(&parent) {
            self.endings.insert(parent, ending);
        }
    }

    /// A tool ran directly within a span.
    pub(super) fn ran_tool(&mut self, parent: SpanId) {
        if let Some(ending) = self.endings.get_mut(&parent) {
            ending.ran_tool = true;
        }
    }

    /// Takes the last outcome within a span that has ended.
    pub(super) fn take_ending(&mut self, span: SpanId) -> Option<WorkEnding> {
        self.endings.remove(&span)
    }

    /// Remembers a tool that has run, where requests of the run are logged.
    pub(super) fn add_closed_tool(&mut self, tool: ClosedTool) {
        if self.has_bodies {
            let is_repeated = self.closed_ids.contains_key(&tool.call_id);
            if is_repeated || self.closed_ids.len() < MAX_CLOSED_IDS {
                self.closed_ids.insert(tool.call_id.clone(), is_repeated);
            }
            self.closed_tools.push_back(tool);
            let too_many = self.closed_tools.len().saturating_sub(MAX_CLOSED_TOOLS);
            self.closed_tools.drain(..too_many);
        }
    }

    /// Removes the tools whose results a request holds, in their branch, or in another one where no other tool of the run had
    /// their ID: an agent may hand over to the next. The others stay: it may be another conversation's. Of two with one ID it is
    /// not known which of them has the result.
    pub(super) fn take_answered(&mut self, request: &Value, branch: SpanId) -> Vec<(ClosedTool, String)> {
        let (mut answered, mut left) = (Vec::new(), VecDeque::new());
        for tool in std::mem::take(&mut self.closed_tools) {
            let is_alone = || self.closed_ids.get(&tool.call_id) == Some(&false);
            let result = Some(&tool.call_id).filter(|_| tool.branch == branch || is_alone());
            match result.and_then(|call_id| result_in(request, call_id)) {
                Some(result) => answered.push((tool, result)),
                None => left.push_back(tool),
            }
        }
        self.closed_tools = left;
        let ids: Vec<String> = answered.iter().map(|(tool, _)| tool.call_id.clone()).collect();
        let is_only =
            |(tool, _): &(ClosedTool, String)| ids.iter().filter(|id| **id == tool.call_id).count() == 1;
        answered.retain(is_only);
        answered
    }
}

/// A tool whose span is written, without its result.
#[derive(Debug)]
pub(super) struct ClosedTool {
    pub(super) call_id: String,
    /// The branch of the run in which it was asked for.
    pub(super) branch: SpanId,
    pub(super) name: String,
    pub(super) span: SpanId,
    pub(super) start: Timestamp,
    pub(super) end: Timestamp,
}

impl ClosedTool {
    /// Writes the result as a report of its own, which readers join with the tool's: the tool's span is written.
    pub(super) fn report_result(self, result: &str, mut context: Context) {
        context.span = self.span;
        let mut report = OpenSpan::of_library(context, EventType::ToolCall, &self.name);
        if let Some(mut editor) = report.editor() {
            editor.set_start(self.start);
            let (draft, redactor) = editor.redacted();
            draft.cleaned(names::OPERATION, "execute_tool");
            draft.user(TOOLS[0], &self.name, redactor);
            draft.flag(names::LAYER);
            draft.flag(names::DERIVED);
            editor.result(&JsonOrText(result));
        }
        report.end_library(EventType::ToolCall, Some(self.span), self.end);
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
