//! A recorded span of a library: what it says until it closes, and what is written then.

use std::borrow::Cow;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use serde_json::value::RawValue;
use serde_json::{Map, Value};
use tracing::Metadata;

use super::attributes::SentAttributes;
use super::bodies::{CallSide, RigRequest, finish_reason};
use super::calls::{ClosedTool, JsonOrText, WorkEnding};
use super::conversations::ConversationRun;
use super::outcome::{Failure, INFERRED_ERROR, failure};
use super::runs::{LiveContext, is_of};
use super::vocabulary::{
    CALL_IDS, MODELS, NAMED_TOOL, TOOLS, asks_until_answered, names_a_tool, shows_an_answer,
};
use crate::emit::context::Context;
use crate::emit::error::ErrorInfo;
use crate::emit::open_span::{LibraryCall, OpenSpan};
use crate::emit::panic;
use crate::emit::run_state::{EnclosingCall, RunState};
use crate::process::{OwnLock, since_coarse};
use crate::redact::Redactor;
use crate::write::draft::{Draft, ForeignLimits, ScalarValue};
use tracer_format::loops;
use tracer_format::project::child_type;
use tracer_format::{EventType, SpanId, SpanKind, Timestamp, names};

/// Maximum number of log messages and links that a span keeps.
const MAX_LOGS: usize = 64;
const MAX_LINKS: usize = 16;
const MAX_LOG_FIELDS: usize = 64;

/// In the extensions of a span that is recorded.
#[derive(Debug, Clone)]
pub(super) struct LibrarySpan(Arc<Shared>);

/// A span that may have closed.
pub(super) type WeakLibrarySpan = Weak<Shared>;

#[derive(Debug)]
pub(super) struct Shared {
    /// For what happens within the span.
    context: Context,
    metadata: &'static Metadata<'static>,
    names_a_tool: bool,
    visits: Visits,
    /// `None` when the span has closed.
    work: OwnLock<Option<OpenWork>>,
    _live: LiveContext,
}

/// A pause of a span's work before the last time that it was entered, from which on it was not polled but dropped: what is polled
/// to its end is dropped at once.
const MIN_PAUSE: Duration = Duration::from_millis(1);

/// When a span was entered and left. A future is polled within its span, and dropped within it, too.
#[derive(Debug)]
struct Visits {
    opened: Instant,
    /// The thread was unwinding when the span was opened, or when it was entered the last time.
    was_unwinding: AtomicBool,
    entered: AtomicU32,
    /// When it was left the last time, and how long that was before it was entered again, in nanoseconds.
    left: AtomicU64,
    pause: AtomicU64,
}

impl Visits {
    fn begin() -> Self {
        Self {
            opened: Instant::now(),
            was_unwinding: AtomicBool::new(std::thread::panicking()),
            entered: AtomicU32::new(0),
            left: AtomicU64::new(0),
            pause: AtomicU64::new(0),
        }
    }

    fn now(&self) -> u64 {
        u64::try_from(self.opened.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    fn since_left(&self) -> u64 {
        self.now().saturating_sub(self.left.load(Ordering::Relaxed))
    }

    /// Counts an entry. Returns `true` for the first one.
    fn enter(&self) -> bool {
        self.was_unwinding
            .store(std::thread::panicking(), Ordering::Relaxed);
        let is_first = self.entered.fetch_add(1, Ordering::Relaxed) == 0;
        if !is_first {
            self.pause.store(self.since_left(), Ordering::Relaxed);
        }
        is_first
    }

    fn leave(&self) {
        self.left.store(self.now(), Ordering::Relaxed);
    }

    /// The panic that this thread unwinds from since the span was opened or entered.
    fn panic(&self) -> Option<ErrorInfo> {
        let is_new = !self.was_unwinding.load(Ordering::Relaxed);
        is_new.then(panic::unwinding).flatten().map(|panic| panic.error)
    }

    /// Returns whether the work within the span seems to have been dropped while it waited: it is entered once more for
    /// that, a while after it was left, and closes at once.
    fn seem_given_up(&self) -> bool {
        let pause = Duration::from_nanos(self.pause.load(Ordering::Relaxed));
        let closes_at_once = Duration::from_nanos(self.since_left()) < MIN_PAUSE;
        self.entered.load(Ordering::Relaxed) > 1 && pause >= MIN_PAUSE && closes_at_once
    }
}

/// State of an open span.
#[derive(Debug)]
struct OpenWork {
    /// Empty for the root of a run.
    span: OpenSpan,
    /// The span that it is in, and itself.
    parent: SpanId,
    /// The branch of the run that it is in.
    branch: SpanId,
    is_agent: bool,
    attributes: SentAttributes,
    event_type: EventType,
    /// The call that this one may report again.
    enclosing: Option<EnclosingCall>,
    run: Arc<RunState>,
    /// Recorders within it look whether they report it again.
    is_open_call: bool,
    /// The run ends with the span.
    owns_run: bool,
    /// The conversation that the span is part of.
    conversation: Option<Arc<ConversationRun>>,
    first_enter: Option<Timestamp>,
    last_change: Option<Timestamp>,
    request: Option<String>,
    facts: RigRequest,
    reply: Option<String>,
    finish_reason: Option<String>,
    last_error: Option<String>,
    /// The panic that left the span.
    panic: Option<ErrorInfo>,
    follows_from: Vec<SpanId>,
    logs: Vec<(Timestamp, Map<String, Value>)>,
    /// Number of logs and links past those that are kept.
    left_out: u64,
}

/// Parent context of a new span.
#[derive(Debug)]
pub(super) struct ParentPlace {
    pub(super) context: Context,
    /// It is the root of the run in the context.
    pub(super) is_root: bool,
    /// The run ends with it.
    pub(super) owns_run: bool,
    pub(super) conversation: Option<Conversed>,
}

/// The conversation that a span is part of, and when it was opened, by the coarse clock.
#[derive(Debug)]
pub(super) struct Conversed {
    pub(super) conversation: Arc<ConversationRun>,
    pub(super) since: Duration,
}

/// The span with the name that its library gives it for others.
fn display_name(attributes: &SentAttributes, metadata: &'static Metadata<'static>) -> Cow<'static, str> {
    match attributes.text("otel.name") {
        Some(name) => Cow::Owned(name.to_owned()),
        None => Cow::Borrowed(metadata.name()),
    }
}

impl LibrarySpan {
    /// Opens a span, on a thread that is recording.
    pub(super) fn open(
        place: ParentPlace,
        metadata: &'static Metadata<'static>,
        attributes: SentAttributes,
        event_type: EventType,
    ) -> Self {
        let ParentPlace {
            context,
            is_root,
            owns_run,
            conversation,
        } = place;
        let run = Arc::clone(&context.run);
        let mut work = OpenWork {
            span: OpenSpan::default(),
            parent: context.span,
            branch: context.branch,
            is_agent: is_root,
            event_type,
            enclosing: None,
            run: Arc::clone(&run),
            is_open_call: false,
            owns_run,
            conversation: conversation
                .as_ref()
                .map(|placed| Arc::clone(&placed.conversation)),
            first_enter: None,
            last_change: None,
            request: None,
            facts: RigRequest::default(),
            reply: None,
            finish_reason: None,
            last_error: None,
            panic: None,
            follows_from: Vec::new(),
            logs: Vec::new(),
            left_out: 0,
            attributes,
        };
        let mut within = context.clone();
        if !is_root {
            work.enclosing = run.enclosing_call(context.span);
            let name = display_name(&work.attributes, metadata);
            let is_inferred = context.inferred;
            let mut span = OpenSpan::of_library(context, event_type, &name);
            if let Some(mut editor) = span.editor() {
                if is_inferred {
                    editor.redacted().0.cleaned(names::CONTEXT, "inferred");
                }
                work.is_agent = loops::is_agent(|key| work.attributes.text(key));
                if work.is_agent {
                    editor.begin_branch();
                }
            }
            span.start_library(work.same_call(event_type));
            if let Some(placed) = &conversation
                && let Some(mut editor) = span.editor()
            {
                editor.set_start(run.clock.before(run.clock.now(), since_coarse(placed.since)));
            }
            within = span.context().unwrap_or(within);
            work.span = span;
            work.describe_open(&within);
        }
        within.inferred = false;
        let process = run.process().clone();
        Self(Arc::new(Shared {
            context: within,
            metadata,
            names_a_tool: names_a_tool(metadata),
            visits: Visits::begin(),
            work: OwnLock::new(process, Some(work)),
            _live: LiveContext::begin(),
        }))
    }

    pub(super) fn downgrade(&self) -> WeakLibrarySpan {
        Arc::downgrade(&self.0)
    }

    pub(super) fn upgrade(span: &WeakLibrarySpan) -> Option<Self> {
        span.upgrade().map(Self)
    }

    /// Returns whether spans of its callsite name their tool.
    pub(super) fn names_a_tool(&self) -> bool {
        self.0.names_a_tool
    }

    /// Returns whether the span is open and names this tool.
    pub(super) fn is_of_tool(&self, tool: &str) -> bool {
        let mut is_it = false;
        self.edit(|work| is_it = work.attributes.text(NAMED_TOOL) == Some(tool));
        is_it
    }

    /// The context for what happens within the span.
    pub(super) fn context(&self) -> &Context {
        &self.0.context
    }

    fn edit(&self, change: impl FnOnce(&mut OpenWork)) {
        if let Some(mut work) = self.0.work.lock()
            && let Some(work) = work.as_mut()
        {
            change(work);
        }
    }

    /// The span is entered.
    pub(super) fn enter(&self) {
        // A span is entered at every poll of its future; the first time is when its work began.
        if self.0.visits.enter() {
            let now = self.0.context.run.clock.now();
            self.edit(|work| work.first_enter = Some(now));
        }
    }

    /// The span is left: at the end of a poll, or by a panic.
    pub(super) fn leave(&self) {
        self.0.visits.leave();
        if let Some(panic) = self.0.visits.panic() {
            self.edit(|work| work.panic = Some(panic));
        }
    }

    /// The library says more of the span.
    pub(super) fn record(&self, attributes: SentAttributes) {
        let now = self.0.context.run.clock.now();
        self.edit(|work| {
            work.attributes.left_out += attributes.left_out;
            let is_answer = attributes.says(names::OUTPUT_MESSAGES.written());
            for (key, value) in attributes.into_map() {
                work.attributes.set(&key, value);
            }
            work.last_change = Some(now);
            if let Some(conversation) = work.conversation.as_ref().filter(|_| is_answer) {
                conversation.answered(&work.attributes);
            }
            let event_type = child_type(self.0.metadata.name(), work.attributes.as_map());
            if event_type != EventType::Unknown {
                work.event_type = event_type;
            }
            work.describe_open(&self.0.context);
        });
    }

    /// The library logged the request or the reply of the call, JSON text.
    pub(super) fn add_body(&self, side: CallSide, json: &str) {
        let Ok(body) = serde_json::from_str::<Value>(json) else {
            return;
        };
        let now = self.0.context.run.clock.now();
        let mut arrived = Vec::new();
        self.edit(|work| {
            work.last_change = Some(now);
            if let Some(mut calls) = work.run.library.calls.lock() {
                calls.has_bodies = true;
                match side {
                    CallSide::Request => arrived = calls.take_answered(&body, work.branch),
                    CallSide::Reply => calls.arguments.add_reply(&body, work.branch),
                }
            }
            match side {
                CallSide::Request => {
                    work.facts = RigRequest::of(&body);
                    work.request = Some(json.to_owned());
                }
                CallSide::Reply => {
                    work.finish_reason = finish_reason(&body).map(str::to_owned);
                    work.reply = Some(json.to_owned());
                }
            }
        });
        for (tool, result) in arrived {
            tool.report_result(&result, self.0.context.clone());
        }
    }

    /// Something was logged within the span; `error` is the message of an error.
    pub(super) fn add_log(&self, fields: Map<String, Value>, error: Option<String>) {
        let now = self.0.context.run.clock.now();
        self.edit(|work| {
            if error.is_some() {
                work.last_error = error;
            }
            if work.logs.len() < MAX_LOGS {
                work.logs.push((now, fields));
            } else {
                work.left_out += 1;
            }
        });
    }

    /// The last error that was logged within the span, which has a record of its own.
    pub(super) fn set_last_error(&self, error: String) {
        self.edit(|work| work.last_error = Some(error));
    }

    /// An error was logged within it, at a place in the code. `#[instrument(err)]` does so where the span itself is.
    pub(super) fn fail_at(&self, place: &'static Metadata<'static>, error: &ErrorInfo) {
        if is_of(self.0.metadata, place) {
            self.edit(|work| {
                work.attributes.set("otel.status_code", "ERROR".into());
                work.attributes
                    .set("otel.status_description", error.message.clone().into());
            });
        }
    }

    /// The span follows from another one of its run.
    pub(super) fn add_link(&self, other: &Self) {
        let (this, other) = (&self.0.context, &other.0.context);
        if this.run.trace_id() == other.run.trace_id() {
            self.edit(|work| {
                if work.follows_from.len() < MAX_LINKS {
                    work.follows_from.push(other.span);
                } else {
                    work.left_out += 1;
                }
            });
        }
    }

    /// The span has closed, and is written. On a thread that is recording.
    pub(super) fn close(&self, has_content: bool) {
        let work = self.0.work.lock().and_then(|mut work| work.take());
        if let Some(mut work) = work {
            let visits = &self.0.visits;
            work.panic = work.panic.or_else(|| visits.panic());
            work.close(
                &self.0.context,
                self.0.metadata,
                has_content,
                visits.seem_given_up(),
            );
        }
    }
}

impl OpenWork {
    /// The call that this one reports again: a call within a call of the same kind.
    fn same_call(&self, event_type: EventType) -> Option<SpanId> {
        let enclosing = self
            .enclosing
            .as_ref()
            .filter(|call| call.event_type == event_type)?;
        let is_same = match event_type {
            // A library that calls a model within its own call has two spans for it, whatever their names.
            EventType::LlmCall if enclosing.is_library => true,
            EventType::LlmCall => self
                .attributes
                .first_text(&MODELS)
                .is_none_or(|model| enclosing.name.contains(model) || model.contains(&*enclosing.name)),
            EventType::ToolCall => self
                .attributes
                .first_text(&TOOLS)
                .is_none_or(|tool| *enclosing.name == *tool),
            _ => false,
        };
        is_same.then_some(enclosing.id)
    }

    /// The model or the tool.
    fn called(&self) -> Option<&str> {
        match self.event_type {
            EventType::LlmCall => self.attributes.first_text(&MODELS),
            EventType::ToolCall => self.attributes.first_text(&TOOLS),
            _ => None,
        }
    }

    /// Adds the model or tool, once it is known, to the run's list of open spans.
    fn describe_open(&mut self, context: &Context) {
        let run = &context.run;
        if let Some(called) = self.called() {
            let name = run.redactor.text(called);
            run.describe_open(context.span, self.event_type, &name);
        }
        let is_call = matches!(self.event_type, EventType::LlmCall | EventType::ToolCall);
        if is_call && !std::mem::replace(&mut self.is_open_call, is_call) {
            run.library.begin_call();
        }
    }

    fn close(
        mut self,
        context: &Context,
        metadata: &'static Metadata<'static>,
        has_content: bool,
        is_given_up: bool,
    ) {
        let run = Arc::clone(&context.run);
        let limits = ForeignLimits {
            max_message_bytes: run.library.max_message_bytes,
            omits_content: !has_content,
        };
        if self.is_open_call {
            run.library.end_call();
        }
        let name = display_name(&self.attributes, metadata);
        let event_type = child_type(&name, self.attributes.as_map());
        self.event_type = event_type;
        // A panic is how it ended, whatever was said of it before.
        let panic = self.panic.take().map(|error| Failure {
            error,
            is_inferred: false,
        });
        if let Some(panic) = &panic {
            let class = Value::from(&*panic.error.error_type);
            self.attributes.set(names::SENT_ERROR_TYPE.written(), class);
        }
        let same_call = self.same_call(event_type);
        let ending = self.take_ending(context.span);
        // An agent whose last model call failed was not dropped, but failed with it.
        let is_given_up = is_given_up && ending.as_ref().is_none_or(|ending| ending.failure.is_none());
        let said = panic.or_else(|| {
            failure(
                &self.attributes,
                event_type,
                metadata.fields(),
                self.reply.is_some(),
                self.last_error.as_deref(),
                is_given_up,
            )
        });
        let conversation = self.conversation.take();
        let ends_run = self.owns_run || conversation.is_some();
        let tripped = ends_run.then(|| run.tripped_in_joined()).flatten();
        let tripped = tripped.map(|error| Failure {
            error,
            is_inferred: false,
        });
        let failure = said.or(tripped).or_else(|| self.failed_within(ending.clone()));
        let end = self.end(event_type, &run);
        self.tell_parent(metadata, same_call, failure.as_ref(), ending);
        let owns_run = self.owns_run;
        if owns_run && self.span.is_empty() {
            return self.close_root(&run, metadata, failure, end, limits);
        }
        let ending = owns_run.then(|| self.take_ending(self.parent)).flatten();
        let failed = ending.and_then(WorkEnding::into_failure);
        if let (Some(conversation), Some(failure)) = (&conversation, &failure) {
            conversation.failed(&self.attributes, &failure.error);
        }
        self.close_span(metadata, event_type, same_call, failure, end, limits);
        if owns_run {
            run.end(failed, end);
        }
        if let Some(conversation) = conversation {
            conversation.leave(end);
        }
    }

    /// Takes the last outcome directly within a span.
    fn take_ending(&self, within: SpanId) -> Option<WorkEnding> {
        self.run.library.calls.lock()?.take_ending(within)
    }

    /// The failure of an agent that follows from what happened last within it: it has nothing to say itself.
    fn failed_within(&self, ending: Option<WorkEnding>) -> Option<Failure> {
        let is_answered = self.attributes.telling_keys().any(shows_an_answer);
        let is_ok = self
            .attributes
            .text("otel.status_code")
            .is_some_and(|status| status.eq_ignore_ascii_case("ok"));
        if !self.is_agent || is_answered || is_ok {
            return None;
        }
        Some(Failure {
            error: ending?.into_failure()?,
            is_inferred: true,
        })
    }

    /// Reports the span's outcome to the one around it.
    fn tell_parent(
        &self,
        metadata: &Metadata<'_>,
        same_call: Option<SpanId>,
        failure: Option<&Failure>,
        within: Option<WorkEnding>,
    ) {
        let Some(mut calls) = self.run.library.calls.lock() else {
            return;
        };
        let ended = WorkEnding {
            failure: failure.map(|failure| failure.error.clone()),
            is_of_agent: asks_until_answered(metadata.target()),
            ran_tool: false,
        };
        match self.event_type {
            EventType::LlmCall if same_call.is_none() => calls.end_within(self.parent, ended),
            EventType::ToolCall => calls.ran_tool(self.parent),
            EventType::LlmCall => {}
            _ if self.is_agent => calls.end_within(self.parent, ended),
            _ => {
                if let Some(within) = within {
                    calls.end_within(self.parent, within);
                }
            }
        }
    }

    /// When the work of the span ended.
    fn end(&self, event_type: EventType, run: &RunState) -> Timestamp {
        let now = run.clock.now();
        // The span of a streamed call lives until the stream is dropped; what was said last came with its end.
        let is_streamed = self
            .attributes
            .get("gen_ai.request.stream")
            .is_some_and(|value| *value == true);
        let is_answered = self.attributes.telling_keys().any(shows_an_answer);
        match self.last_change {
            Some(last) if event_type == EventType::LlmCall && is_streamed && is_answered => last,
            _ => now,
        }
    }

    /// The span is a run of its own: what it says goes into the run's root.
    fn close_root(
        self,
        run: &Arc<RunState>,
        metadata: &'static Metadata<'static>,
        failure: Option<Failure>,
        end: Timestamp,
        limits: ForeignLimits,
    ) {
        let mut draft = Draft::default();
        self.describe(&mut draft, &run.redactor, metadata, EventType::Unknown, limits);
        if let Some(failure) = failure.as_ref().filter(|failure| failure.is_inferred) {
            draft.cleaned(names::INFERRED, INFERRED_ERROR);
            draft.text(names::SENT_ERROR_TYPE, &failure.error.error_type, &run.redactor);
        }
        run.add_to(run.root_id(), draft);
        run.end(failure.map(|failure| failure.error), end);
    }

    fn close_span(
        mut self,
        metadata: &'static Metadata<'static>,
        event_type: EventType,
        same_call: Option<SpanId>,
        failure: Option<Failure>,
        end: Timestamp,
        limits: ForeignLimits,
    ) {
        let mut span = std::mem::take(&mut self.span);
        let call_id = self.attributes.first_text(&CALL_IDS).map(str::to_owned);
        let has = |key: names::Name| self.attributes.says(key.written());
        let is_tool = event_type == EventType::ToolCall && !limits.omits_content;
        let asked = call_id
            .as_deref()
            .filter(|_| is_tool)
            .and_then(|id| self.run.library.calls.lock()?.arguments.take(id, self.branch));
        let branch = asked.as_ref().map_or(self.branch, |asked| asked.branch);
        let arguments = asked.filter(|_| !has(names::TOOL_CALL_ARGUMENTS));
        let awaits_result = is_tool && !has(names::TOOL_CALL_RESULT);
        let called = self.called().unwrap_or_default().to_owned();
        let kind = self.attributes.text("otel.kind").and_then(span_kind);
        if let Some(mut editor) = span.editor() {
            if event_type == EventType::ToolCall
                && let Some(start) = self.first_enter
            {
                editor.set_start(start);
            }
            let (draft, redactor) = editor.redacted();
            self.describe(draft, redactor, metadata, event_type, limits);
            if let Some(failure) = failure.as_ref().filter(|failure| failure.is_inferred) {
                draft.cleaned(names::INFERRED, INFERRED_ERROR);
                draft.text(names::SENT_ERROR_TYPE, &failure.error.error_type, redactor);
            }
            if event_type == EventType::LlmCall && !limits.omits_content {
                if !has(names::INPUT_MESSAGES)
                    && let Some(request) = self.request.as_deref().and_then(json_of)
                {
                    editor.prompt(request);
                }
                if !has(names::OUTPUT_MESSAGES)
                    && let Some(reply) = self.reply.as_deref().and_then(json_of)
                {
                    editor.response(reply);
                }
            }
            if let Some(asked) = &arguments {
                editor.arguments(&JsonOrText(&asked.arguments));
                editor.redacted().0.cleaned(names::JOINED, "arguments");
            }
            if let Some(Failure { error, .. }) = failure {
                editor.fail(error);
            }
            editor.set_library_call(LibraryCall {
                called: called.clone(),
                kind,
            });
        }
        let closed = call_id.filter(|_| awaits_result && !called.is_empty());
        let closed = closed.and_then(|call_id| {
            Some(ClosedTool {
                call_id,
                branch,
                name: called,
                span: span.id()?,
                start: span.editor()?.start()?,
                end,
            })
        });
        span.end_library(event_type, same_call, end);
        if let (Some(closed), Some(mut calls)) = (closed, self.run.library.calls.lock()) {
            calls.add_closed_tool(closed);
        }
    }

    /// Adds the library's attributes and logs to the draft, as the library sent them.
    fn describe(
        &self,
        draft: &mut Draft,
        redactor: &Redactor,
        metadata: &'static Metadata<'static>,
        event_type: EventType,
        limits: ForeignLimits,
    ) {
        const CONSUMED: [&str; 6] = [
            "message",
            "otel.kind",
            "otel.name",
            "otel.status_code",
            "otel.status_description",
            "otel.status_message",
        ];
        for (key, value) in self.attributes.as_map() {
            if !CONSUMED.contains(&key.as_str()) {
                draft.foreign(key, value, limits, redactor);
            }
        }
        draft.cleaned(names::SCOPE, metadata.target());
        draft.flag(names::LAYER);
        draft.leave_out(self.left_out + self.attributes.left_out);
        if event_type == EventType::LlmCall {
            self.describe_call(draft, redactor);
        }
        if !self.follows_from.is_empty() {
            draft.json(names::FOLLOWS_FROM, &self.follows_from, redactor);
        }
        for (at, fields) in &self.logs {
            draft.foreign_event(
                names::events::LOG.written(),
                *at,
                fields,
                MAX_LOG_FIELDS,
                limits,
                redactor,
            );
        }
    }

    /// Adds the facts of a model call that only the bodies give.
    fn describe_call(&self, draft: &mut Draft, redactor: &Redactor) {
        let has = |key: names::Name| self.attributes.says(key.written());
        if let Some(temperature) = self.facts.temperature
            && !has(names::TEMPERATURE)
        {
            draft.scalar(names::TEMPERATURE, ScalarValue::Float(temperature));
        }
        if let Some(tokens) = self.facts.max_tokens
            && !has(names::MAX_TOKENS)
        {
            draft.scalar(names::MAX_TOKENS, ScalarValue::Unsigned(tokens));
        }
        if let Some(top_p) = self.facts.top_p
            && !has(names::TOP_P)
        {
            draft.scalar(names::TOP_P, ScalarValue::Float(top_p));
        }
        if let Some(reason) = &self.finish_reason
            && !has(names::FINISH_REASONS)
        {
            draft.text(names::FINISH_REASONS, reason, redactor);
        }
    }
}

fn span_kind(text: &str) -> Option<SpanKind> {
    const KINDS: [SpanKind; 5] = [
        SpanKind::Internal,
        SpanKind::Client,
        SpanKind::Server,
        SpanKind::Producer,
        SpanKind::Consumer,
    ];
    KINDS
        .into_iter()
        .find(|kind| kind.as_str().eq_ignore_ascii_case(text))
}

/// The JSON that a text is.
fn json_of(text: &str) -> Option<&RawValue> {
    serde_json::from_str(text).ok()
}
