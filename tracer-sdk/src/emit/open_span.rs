//! A span in progress: what recorders, timed spans and attributes put together until it ends.

use std::borrow::Cow;
use std::future::Future;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde::Serialize;

use super::context::{Context, ContextGuard};
use super::error::ErrorInfo;
use super::future::{InContext, TraceFutureExt};
use super::panic::{self, watched};
use super::pool::{self, SignatureBuffers};
use super::progress::Written;
use super::recording::Recording;
use super::registry;
use super::root::{
    CANCELLED, STATUS_ERROR, STATUS_OK, error_attributes, exception_event, operation, structural_name,
};
use super::run_state::{Recorded, Refusal};
use crate::format::names::{self, Name, event_keys, events};
use crate::format::{EventType, SpanId, Timestamp, Usage};
use crate::guardrails::{EventKind, GuardrailExceeded, Reservation};
use crate::loops::{self, Asked, Kind};
use crate::redact::Redactor;
use crate::write::draft::{Draft, EventTime, Scalar, Shape};
use crate::write::open_entries::OpenEntry;
use crate::write::run_files::EndedSpan;

/// A span in progress; empty where nothing is recorded. Owns everything it needs, so it may move between threads.
///
/// It is one word, because builders hand it on by value at every call, and outside of a run that must cost next to
/// nothing.
#[derive(Debug, Default)]
pub(crate) struct OpenSpan(Option<Box<SpanState>>);

/// The memory of a span, taken from the thread's pool and given back when the span ends.
#[derive(Debug, Default)]
pub(crate) struct SpanState {
    /// `None` while it waits in the pool.
    place: Option<Place>,
    content: SpanContent,
}

/// The place of a span in its run.
#[derive(Debug)]
struct Place {
    context: Context,
    id: SpanId,
    event_type: EventType,
    /// It may be the parent of others.
    is_entered: AtomicBool,
}

#[derive(Debug, Default)]
struct SpanContent {
    name: Cow<'static, str>,
    draft: Draft,
    /// When it was started; `None` for a span that is recorded after the fact.
    start: Option<Timestamp>,
    /// How long a call took that is recorded after the fact.
    duration: Duration,
    error: Option<ErrorInfo>,
    stream: Option<Box<Stream>>,
    reservation: Option<Reservation>,
    on_drop: OnDrop,
}

/// What becomes of a span that is dropped before it was ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum OnDrop {
    /// It was never started, or what started it ends it: nothing is written.
    #[default]
    Discard,
    /// It ends.
    End,
    /// It ends as cancelled with this message, unless it has an answer or an error by then.
    Cancel(&'static str),
}

/// When a span ends. One that was not started has lasted for the duration that it was given.
#[derive(Debug, Clone, Copy)]
pub(crate) enum EndTime {
    Now,
    At(Timestamp),
    /// When its guardrail refused it: nothing is counted.
    Refused(Timestamp),
}

/// A streamed answer so far.
#[derive(Debug, Default)]
struct Stream {
    text: String,
    chunks: u64,
    first_after: Duration,
}

/// How much of a streamed answer is kept in memory, in bytes; the settings cut it further.
const MAX_STREAM_BYTES: usize = 1024 * 1024;

impl SpanState {
    /// Empties everything and keeps the buffers.
    pub(crate) fn clear(&mut self) {
        let Self { place, content } = self;
        // Field by field: moving all of them costs as much as writing an attribute.
        *place = None;
        content.name = Cow::Borrowed("");
        content.draft.clear();
        content.start = None;
        content.duration = Duration::ZERO;
        content.error = None;
        content.stream = None;
        content.reservation = None;
        content.on_drop = OnDrop::Discard;
    }
}

impl OpenSpan {
    /// A span under the current context; empty, and counted, when there is none.
    #[inline]
    pub(crate) fn begin(event_type: EventType, name: impl Into<Cow<'static, str>>) -> Self {
        let Some(_recording) = Recording::enter_or_count() else {
            return Self::default();
        };
        panic::forget();
        if let Some(context) = Context::active() {
            return Self::under(context, event_type, name.into());
        }
        registry::count_without_run();
        Self::default()
    }

    /// A span under a context, for a thread that is recording.
    pub(crate) fn under(context: Context, event_type: EventType, name: Cow<'static, str>) -> Self {
        let run = &context.run;
        run.redactor.look_again();
        let name = match run.redactor.text(&name) {
            Cow::Borrowed(_) => name,
            Cow::Owned(redacted) => Cow::Owned(redacted),
        };
        let name = match event_type {
            EventType::Unknown => structural_name(name),
            _ => name,
        };
        let mut state = pool::take_span();
        let draft = &mut state.content.draft;
        match event_type {
            EventType::LlmCall => draft.cleaned(names::REQUEST_MODEL, &name),
            EventType::ToolCall => draft.cleaned(names::TOOL_NAME, &name),
            _ => {}
        }
        operation(draft, event_type, &name);
        if context.inferred {
            draft.word(names::CONTEXT, "inferred");
        }
        state.content.name = name;
        state.place = Some(Place {
            id: run.new_span_id(),
            context,
            event_type,
            is_entered: AtomicBool::new(false),
        });
        Self(Some(state))
    }

    /// Makes the span a timed one: from now on it is open, and the guardrail has granted the call.
    pub(crate) fn start(mut self, on_drop: OnDrop) -> Result<Self, GuardrailExceeded> {
        if self.is_empty() {
            return Ok(self);
        }
        let Some(recording) = Recording::enter_or_count() else {
            return Ok(Self::default());
        };
        let Some((place, content)) = self.parts() else {
            return Ok(self);
        };
        let run = &place.context.run;
        if let Some(kind) = event_kind(place.event_type) {
            match run.reserve(kind) {
                Ok(reservation) => content.reservation = reservation,
                Err(refusal) => {
                    drop(recording);
                    return Err(self.refuse(refusal));
                }
            }
        }
        let start = run.clock.now();
        let entry = OpenEntry {
            parent: place.context.span,
            name: content.name.clone(),
            event_type: place.event_type,
            start,
            is_named: false,
            has_stand_in: false,
            outlives_run: false,
        };
        run.add_open(place.id, entry);
        content.start = Some(start);
        content.on_drop = on_drop;
        Ok(self)
    }

    fn parts(&mut self) -> Option<(&Place, &mut SpanContent)> {
        let SpanState { place, content } = self.0.as_deref_mut()?;
        Some((place.as_ref()?, content))
    }

    fn place(&self) -> Option<&Place> {
        self.0.as_ref()?.place.as_ref()
    }

    /// Whether nothing is recorded.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    pub(crate) fn id(&self) -> Option<SpanId> {
        self.place().map(|place| place.id)
    }

    /// The context for what happens inside this span.
    pub(crate) fn context(&self) -> Option<Context> {
        let place = self.place()?;
        place.is_entered.store(true, Ordering::Relaxed);
        Some(Context {
            run: place.context.run.clone(),
            span: place.id,
            inferred: false,
        })
    }

    pub(crate) fn enter(&self) -> Option<ContextGuard> {
        self.context().map(|context| context.enter())
    }

    pub(crate) fn in_scope<R>(&self, work: impl FnOnce() -> R) -> R {
        let _guard = self.enter();
        watched(work)
    }

    pub(crate) fn instrument<F: Future>(&self, future: F) -> InContext<F> {
        future.in_optional_context(self.context())
    }

    /// Changes the span, if there is one. What the user's code that this calls records meanwhile is dropped.
    #[inline]
    pub(crate) fn edit(&mut self, change: impl FnOnce(&mut SpanEditor<'_>)) {
        if !self.is_empty()
            && let Some(_recording) = Recording::enter()
            && let Some(mut editor) = self.editor()
        {
            change(&mut editor);
        }
    }

    /// The span to be changed by a thread that is recording.
    pub(crate) fn editor(&mut self) -> Option<SpanEditor<'_>> {
        let (place, content) = self.parts()?;
        if content.start.is_some() {
            // Since the span was made, the program may have read secrets.
            place.context.run.redactor.look_again();
        }
        Some(SpanEditor { place, content })
    }

    /// Ends the span: its line is written, and its run's limits and loop detector are informed.
    pub(crate) fn end(mut self, time: EndTime) -> Result<(), GuardrailExceeded> {
        let Some(mut state) = self.0.take() else {
            return Ok(());
        };
        let mut outcome = Ok(());
        if let Some(_recording) = Recording::enter_or_count()
            && let SpanState {
                place: Some(place),
                content,
            } = &mut *state
        {
            let run = &place.context.run;
            let end = match time {
                EndTime::Now => run.clock.now(),
                EndTime::At(end) | EndTime::Refused(end) => end,
            };
            content.add_outcome(place.event_type, &run.redactor);
            let span = EndedSpan {
                id: place.id,
                parent: place.context.span,
                name: &content.name,
                event_type: place.event_type,
                start: content
                    .start
                    .unwrap_or_else(|| run.clock.before(end, content.duration)),
                end,
                error: content.error.as_ref().map(|error| error.message.as_str()),
                may_have_children: place.is_entered.load(Ordering::Relaxed),
            };
            let recorded = run.write(&span, &mut content.draft);
            if recorded == Recorded::Nowhere {
                registry::count_unattached();
            }
            if !matches!(time, EndTime::Refused(_)) {
                outcome = place.observe(content, end, recorded);
            }
        }
        pool::give_span(state);
        outcome
    }

    /// The call was refused before it was made. The one that crossed the limit is written, so that the trace shows what was
    /// stopped; a program that goes on asking does not fill the disk.
    fn refuse(mut self, refusal: Refusal) -> GuardrailExceeded {
        if let Some(now) = refusal.crossed_at
            && let Some((_, content)) = self.parts()
        {
            // At the instant of the run's error, which the file has later: first the record, then the error.
            content.start = Some(now);
            let exceeded = &refusal.exceeded;
            let recording = Recording::mark();
            content.error = Some(ErrorInfo::new(exceeded.error_type(), exceeded.to_string()));
            drop(recording);
            let _ = self.end(EndTime::Refused(now));
        }
        refusal.exceeded
    }

    /// Gives up a span that was not ended.
    fn abandon(mut self) {
        let Some((place, content)) = self.parts() else {
            return;
        };
        match content.on_drop {
            OnDrop::Discard => {
                // A thread that is recording may hold what releasing waits for.
                if let Some(reservation) = content.reservation.take()
                    && let Some(_recording) = Recording::enter()
                {
                    place.context.run.release(reservation);
                }
                if let Some(state) = self.0.take() {
                    pool::give_span(state);
                }
                return;
            }
            OnDrop::Cancel(message) if content.error.is_none() => {
                let _recording = Recording::mark();
                content.error = Some(ErrorInfo::new(CANCELLED, message));
            }
            _ => {}
        }
        // A guardrail that this trips is sticky: the next recorder call returns it.
        let _ = self.end(EndTime::Now);
    }
}

impl Drop for OpenSpan {
    #[inline]
    fn drop(&mut self) {
        if !self.is_empty() {
            std::mem::take(self).abandon();
        }
    }
}

impl Place {
    /// Informs the run's limits and its loop detector of a record.
    fn observe(
        &self,
        content: &mut SpanContent,
        end: Timestamp,
        recorded: Recorded,
    ) -> Result<(), GuardrailExceeded> {
        let run = &self.context.run;
        let reservation = content.reservation.take();
        if recorded == Recorded::Nowhere {
            if let Some(reservation) = reservation {
                run.release(reservation);
            }
            return run.tripped().map_or(Ok(()), Err);
        }
        let Some(kind) = event_kind(self.event_type) else {
            // Structure is no event, and its end returns nothing that a guardrail could say.
            return Ok(());
        };
        pool::with_signature_buffers(|buffers| {
            let asked = asked(self.event_type, content, buffers);
            let written = Written {
                id: self.id,
                kind,
                // The limits protect the program for as long as it works; a loop would change what the run said.
                signature: asked
                    .filter(|_| recorded == Recorded::InRun)
                    .map(|asked| (buffers.signature.as_str(), asked)),
                reservation,
            };
            run.observe(written, end)
        })
    }
}

impl SpanContent {
    /// Adds the streamed answer, the status and the error.
    fn add_outcome(&mut self, event_type: EventType, redactor: &Redactor) {
        let draft = &mut self.draft;
        if let Some(stream) = &self.stream {
            let milliseconds = stream.first_after.as_secs_f64() * 1_000.0;
            draft.scalar(names::TIME_TO_FIRST_CHUNK, Scalar::Float(milliseconds));
            draft.scalar(names::CHUNKS, Scalar::Unsigned(stream.chunks));
            if !stream.text.is_empty() {
                add_message(
                    draft,
                    events::RESPONSE,
                    EventTime::End,
                    stream.text.as_str(),
                    redactor,
                );
            }
        }
        let is_call = matches!(event_type, EventType::LlmCall | EventType::ToolCall);
        if is_call {
            let status = if self.error.is_some() {
                STATUS_ERROR
            } else {
                STATUS_OK
            };
            draft.word(names::STATUS, status);
        }
        match &self.error {
            Some(error) if is_call || event_type == EventType::Error => {
                error_attributes(draft, error, redactor);
            }
            Some(error) => exception_event(draft, error, EventTime::End, redactor),
            None => {}
        }
    }
}

/// A span that is being changed by a thread that is recording.
pub(crate) struct SpanEditor<'a> {
    place: &'a Place,
    content: &'a mut SpanContent,
}

impl SpanEditor<'_> {
    fn redacted(&mut self) -> (&mut Draft, &Redactor) {
        (&mut self.content.draft, &self.place.context.run.redactor)
    }

    pub(crate) fn event_type(&self) -> EventType {
        self.place.event_type
    }

    pub(crate) fn has_error(&self) -> bool {
        self.content.error.is_some()
    }

    pub(crate) fn fail(&mut self, error: ErrorInfo) {
        self.content.error = Some(error);
        self.set_answered();
    }

    /// Sets how long a call took that is recorded after the fact.
    pub(crate) fn set_duration(&mut self, duration: Duration) {
        self.content.duration = duration;
    }

    /// The span has its answer: dropping it is a good end.
    pub(crate) fn set_answered(&mut self) {
        if let OnDrop::Cancel(_) = self.content.on_drop {
            self.content.on_drop = OnDrop::End;
        }
    }

    pub(crate) fn text(&mut self, name: Name, text: &str) {
        let (draft, redactor) = self.redacted();
        draft.text(name, text, redactor);
    }

    pub(crate) fn scalar(&mut self, name: Name, value: Scalar) {
        self.content.draft.scalar(name, value);
    }

    pub(crate) fn usage(&mut self, usage: Usage) {
        let parts = [
            (names::INPUT_TOKENS, usage.prompt_tokens),
            (names::OUTPUT_TOKENS, usage.completion_tokens),
            (names::TOTAL_TOKENS, usage.total_tokens),
        ];
        for (name, tokens) in parts {
            if let Some(tokens) = tokens {
                self.scalar(name, Scalar::Unsigned(tokens));
            }
        }
    }

    /// Sets an attribute of the user's own.
    pub(crate) fn attribute<T: Serialize + ?Sized>(&mut self, key: &str, value: &T) {
        let (draft, redactor) = self.redacted();
        draft.user(key, value, redactor);
    }

    pub(crate) fn meta<T: Serialize + ?Sized>(&mut self, value: &T) {
        let (draft, redactor) = self.redacted();
        draft.json(names::META, value, redactor);
    }

    /// Sets a prompt: a plain string stays one.
    // Kept out of the builders, so that these stay small enough to cost next to nothing outside of a run.
    #[inline(never)]
    pub(crate) fn prompt<T: Serialize + ?Sized>(&mut self, value: &T) {
        let (draft, redactor) = self.redacted();
        add_message(draft, events::PROMPT, EventTime::Start, value, redactor);
    }

    /// Sets a response: a plain string stays one. It replaces what was streamed.
    #[inline(never)]
    pub(crate) fn response<T: Serialize + ?Sized>(&mut self, value: &T) {
        let (draft, redactor) = self.redacted();
        add_message(draft, events::RESPONSE, EventTime::End, value, redactor);
        if let Some(stream) = &mut self.content.stream {
            stream.text.clear();
        }
        self.set_answered();
    }

    /// Adds to a streamed response.
    pub(crate) fn chunk(&mut self, text: &str) {
        let start = self.content.start;
        let stream = self.content.stream.get_or_insert_with(|| {
            let now = self.place.context.run.clock.now();
            let micros = start.map_or(0, |start| now.microseconds_since(start));
            Box::new(Stream {
                first_after: Duration::from_micros(u64::try_from(micros).unwrap_or(0)),
                ..Stream::default()
            })
        });
        stream.chunks += 1;
        if stream.text.len() < MAX_STREAM_BYTES {
            stream.text.push_str(text);
        }
    }

    /// Sets the arguments of a tool: always JSON text.
    pub(crate) fn arguments<T: Serialize + ?Sized>(&mut self, value: &T) {
        let (draft, redactor) = self.redacted();
        draft.event(events::TOOL_ARGUMENTS, EventTime::Start);
        draft.event_json(event_keys::ARGUMENTS, value, redactor);
    }

    /// Sets the result of a tool: always JSON text.
    pub(crate) fn result<T: Serialize + ?Sized>(&mut self, value: &T) {
        let (draft, redactor) = self.redacted();
        draft.event(events::TOOL_RESULT, EventTime::End);
        draft.event_json(event_keys::RESULT, value, redactor);
        self.set_answered();
    }

    /// Sets the state of the agent: always JSON text.
    pub(crate) fn state<T: Serialize + ?Sized>(&mut self, value: &T) {
        let (draft, redactor) = self.redacted();
        draft.event(events::STATE, EventTime::End);
        draft.event_json(event_keys::STATE, value, redactor);
    }

    /// Adds what changed to the state.
    pub(crate) fn state_diff<T: Serialize + ?Sized>(&mut self, value: &T) {
        let (draft, redactor) = self.redacted();
        draft.event_json(event_keys::DIFF, value, redactor);
    }
}

/// Adds a prompt or a response: a plain string stays one.
fn add_message<T: Serialize + ?Sized>(
    draft: &mut Draft,
    event: Name,
    time: EventTime,
    value: &T,
    redactor: &Redactor,
) {
    draft.event(event, time);
    if draft.event_content(event_keys::CONTENT, value, redactor) == Shape::Json {
        draft.event_text(event_keys::FORMAT, event_keys::FORMAT_JSON, redactor);
    }
}

/// The part of a span that loop detection compares, its signature left in the buffers; `None` for other kinds of spans.
fn asked(event_type: EventType, content: &SpanContent, buffers: &mut SignatureBuffers) -> Option<Asked> {
    let draft = &content.draft;
    let is_json =
        |event| draft.event_text_of(event, event_keys::FORMAT) == Some(event_keys::FORMAT_JSON.as_bytes());
    let failed = content.error.is_some();
    Some(match event_type {
        EventType::LlmCall => {
            loops::llm_signature(&content.name, &mut buffers.signature);
            let text_of = |event| draft.event_text_of(event, event_keys::CONTENT);
            let prompt =
                text_of(events::PROMPT).and_then(|text| buffers.prompt(text, is_json(events::PROMPT)));
            // Without a prompt, answers are compared.
            let mut response = || buffers.prompt(text_of(events::RESPONSE)?, is_json(events::RESPONSE));
            let came = if prompt.is_none() { response() } else { None };
            Asked {
                kind: Kind::Model,
                asked: prompt.map(|(whole, _)| whole),
                last_message: prompt.map(|(_, last)| last),
                came: came.map(|(whole, _)| whole),
                failed,
                is_cut: false,
            }
        }
        EventType::ToolCall => {
            let arguments = draft.event_text_of(events::TOOL_ARGUMENTS, event_keys::ARGUMENTS);
            let asked = buffers.tool_signature(&content.name, arguments);
            let mut result = || buffers.number(draft.event_text_of(events::TOOL_RESULT, event_keys::RESULT)?);
            Asked {
                kind: Kind::Tool,
                asked,
                last_message: None,
                came: if asked.is_none() { result() } else { None },
                failed,
                is_cut: false,
            }
        }
        EventType::StateUpdate => {
            buffers.signature.push_str(loops::STATE_SIGNATURE);
            Asked::STATE
        }
        _ => return None,
    })
}

/// What the limits count a span as.
fn event_kind(event_type: EventType) -> Option<EventKind> {
    match event_type {
        EventType::LlmCall => Some(EventKind::LlmCall),
        EventType::ToolCall => Some(EventKind::ToolCall),
        EventType::StateUpdate => Some(EventKind::StateUpdate),
        EventType::Error => Some(EventKind::Error),
        _ => None,
    }
}
