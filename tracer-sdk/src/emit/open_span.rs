//! A span that has started: what recorders and timed spans put together until it ends.

use std::borrow::Cow;
use std::time::Duration;

use serde::Serialize;

use super::context::Context;
use super::error::ErrorInfo;
use super::panic;
use super::pool::{self, SignatureBuffers};
use super::progress::Written;
use super::recording::Recording;
use super::registry;
use super::root::{
    CANCELLED, STATUS_ERROR, STATUS_OK, error_attributes, exception_event, operation, structural_name,
};
use super::run_state::{EndedSpan, Recorded, Refusal};
use crate::format::names::{self, Name, event_keys, events};
use crate::format::{EventType, SpanId, Timestamp};
use crate::guardrails::{EventKind, GuardrailExceeded, Reservation};
use crate::loops::{self, Asked, Kind};
use crate::redact::Redactor;
use crate::write::draft::{Draft, EventTime, Scalar, Shape};
use crate::write::open_entries::OpenEntry;

/// A span that is being recorded. Owns everything it needs, so it may move between threads.
///
/// Builders hand it on by value at every call, so what is large lies in [`Contents`].
#[derive(Debug)]
pub(crate) struct OpenSpan {
    context: Context,
    id: SpanId,
    /// When it was started or recorded; until then when its run was.
    start: Timestamp,
    /// Given back to the pool when the span ends.
    contents: Option<Box<Contents>>,
    event_type: EventType,
    reservation: Option<Reservation>,
    /// It was started, and what it records now may be of much later.
    timed: bool,
    entered: bool,
}

/// What a span has to tell.
#[derive(Debug, Default)]
pub(crate) struct Contents {
    name: Cow<'static, str>,
    draft: Draft,
    error: Option<ErrorInfo>,
    /// How long a call took that is recorded after the fact.
    duration: Option<Duration>,
    /// What a timed span is told with that is dropped without an answer; `None` when it needs none or has one.
    unanswered: Option<&'static str>,
}

impl Contents {
    /// Empties everything and keeps the buffers.
    pub(crate) fn clear(&mut self) {
        self.name = Cow::Borrowed("");
        self.draft.clear();
        self.error = None;
        self.duration = None;
        self.unanswered = None;
    }
}

impl OpenSpan {
    /// A span under the current context; `None`, and counted, when there is none.
    #[inline]
    pub(crate) fn begin(event_type: EventType, name: impl Into<Cow<'static, str>>) -> Option<Self> {
        panic::forget();
        let Some(context) = Context::active() else {
            registry::count_without_run();
            return None;
        };
        Some(Self::under(context, event_type, name.into()))
    }

    /// A span under a context.
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
        let mut contents = pool::take_contents();
        let draft = &mut contents.draft;
        match event_type {
            EventType::LlmCall => draft.cleaned(names::REQUEST_MODEL, &name),
            EventType::ToolCall => draft.cleaned(names::TOOL_NAME, &name),
            _ => {}
        }
        operation(draft, event_type, &name);
        if context.inferred {
            draft.word(names::CONTEXT, "inferred");
        }
        contents.name = name;
        Self {
            id: run.new_span_id(),
            start: run.started_at(),
            context,
            contents: Some(contents),
            event_type,
            reservation: None,
            timed: false,
            entered: false,
        }
    }

    /// Makes the span a timed one: from now on it is open, and the guardrail has granted the call. Dropped without an
    /// answer it is told as `unanswered`.
    pub(crate) fn start(&mut self, unanswered: Option<&'static str>) -> Result<(), GuardrailExceeded> {
        let run = &self.context.run;
        if let Some(kind) = event_kind(self.event_type) {
            match run.reserve(kind) {
                Ok(reservation) => self.reservation = reservation,
                Err(refusal) => return Err(self.refuse(refusal)),
            }
        }
        self.start = run.clock.now();
        let entry = OpenEntry {
            parent: self.context.span,
            name: self
                .contents
                .as_ref()
                .map(|contents| contents.name.clone())
                .unwrap_or_default(),
            event_type: self.event_type,
            start: self.start,
            is_named: false,
            has_stand_in: false,
            outlives_run: false,
        };
        run.opened(self.id, entry);
        self.timed = true;
        self.contents().unanswered = unanswered;
        Ok(())
    }

    /// The call was refused before it was made. The one that crossed the limit is written, so that the trace shows what
    /// was stopped; a program that goes on asking does not fill the disk.
    fn refuse(&mut self, refusal: Refusal) -> GuardrailExceeded {
        if let Some(now) = refusal.crossed_at {
            // At the instant of the run's error, which the file has later: first the record, then the error.
            self.start = now;
            self.fail(ErrorInfo::new(
                refusal.exceeded.error_type(),
                refusal.exceeded.to_string(),
            ));
            let mut contents = self.take_contents();
            let _ = self.write_line(&mut contents, now);
            pool::give_contents(contents);
        }
        refusal.exceeded
    }

    /// The context for what happens inside this span.
    pub(crate) fn context(&mut self) -> Context {
        self.entered = true;
        Context {
            run: self.context.run.clone(),
            span: self.id,
            inferred: false,
        }
    }

    pub(crate) fn event_type(&self) -> EventType {
        self.event_type
    }

    pub(crate) fn id(&self) -> SpanId {
        self.id
    }

    pub(crate) fn elapsed_since_start(&self) -> Duration {
        let micros = self.context.run.clock.now().microseconds_since(self.start);
        Duration::from_micros(u64::try_from(micros).unwrap_or(0))
    }

    pub(crate) fn has_error(&self) -> bool {
        self.contents
            .as_ref()
            .is_some_and(|contents| contents.error.is_some())
    }

    pub(crate) fn fail(&mut self, error: ErrorInfo) {
        self.contents().error = Some(error);
    }

    /// How long the call took that is recorded after the fact.
    pub(crate) fn set_duration(&mut self, duration: Duration) {
        self.contents().duration = Some(duration);
    }

    /// The span has its answer: dropping it is a good end.
    pub(crate) fn answered(&mut self) {
        self.contents().unanswered = None;
    }

    fn contents(&mut self) -> &mut Contents {
        self.contents.get_or_insert_with(pool::take_contents)
    }

    fn edit(&mut self) -> (&mut Draft, &Redactor) {
        let redactor = &self.context.run.redactor;
        if self.timed {
            // Since the span was made, the program may have read secrets.
            redactor.look_again();
        }
        let contents = self.contents.get_or_insert_with(pool::take_contents);
        (&mut contents.draft, redactor)
    }

    fn take_contents(&mut self) -> Box<Contents> {
        self.contents.take().unwrap_or_default()
    }

    pub(crate) fn text(&mut self, name: Name, text: &str) {
        let (draft, redactor) = self.edit();
        draft.text(name, text, redactor);
    }

    pub(crate) fn scalar(&mut self, name: Name, value: Scalar) {
        self.edit().0.scalar(name, value);
    }

    pub(crate) fn user<T: Serialize + ?Sized>(&mut self, key: &str, value: &T) {
        let (draft, redactor) = self.edit();
        draft.user(key, value, redactor);
    }

    pub(crate) fn meta<T: Serialize + ?Sized>(&mut self, value: &T) {
        let (draft, redactor) = self.edit();
        draft.json(names::META, value, redactor);
    }

    /// A prompt or a response: a plain string stays one.
    // Kept out of the builders, so that these stay small enough to cost next to nothing outside of a run.
    #[inline(never)]
    pub(crate) fn message<T: Serialize + ?Sized>(&mut self, event: Name, time: EventTime, value: &T) {
        let (draft, redactor) = self.edit();
        draft.event(event, time);
        if draft.event_content(event_keys::CONTENT, value, redactor) == Shape::Json {
            draft.event_text(event_keys::FORMAT, event_keys::FORMAT_JSON, redactor);
        }
    }

    /// Arguments, a result or a state: always JSON text.
    pub(crate) fn json_event<T: Serialize + ?Sized>(
        &mut self,
        event: Name,
        time: EventTime,
        key: &'static str,
        value: &T,
    ) {
        let (draft, redactor) = self.edit();
        draft.event(event, time);
        draft.event_json(key, value, redactor);
    }

    /// Adds to the event that was begun last.
    pub(crate) fn more_json<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) {
        let (draft, redactor) = self.edit();
        draft.event_json(key, value, redactor);
    }

    /// Ends the span after the fact: it is written with the duration that it is said to have had.
    pub(crate) fn record(mut self) -> Result<(), GuardrailExceeded> {
        let Some(_recording) = Recording::enter_or_count() else {
            return Ok(());
        };
        let end = self.context.run.clock.now();
        let duration = self.contents().duration.unwrap_or_default();
        self.start = self.context.run.clock.before(end, duration);
        self.write(end)
    }

    /// Ends a timed span now.
    pub(crate) fn end(self) -> Result<(), GuardrailExceeded> {
        let end = self.context.run.clock.now();
        self.end_at(end)
    }

    /// Ends a timed span at an instant.
    pub(crate) fn end_at(mut self, end: Timestamp) -> Result<(), GuardrailExceeded> {
        self.write(end)
    }

    /// Ends a timed span that is dropped: without an answer it was given up.
    pub(crate) fn end_dropped(mut self) {
        if let Some(message) = self.contents().unanswered
            && !self.has_error()
        {
            self.fail(ErrorInfo::new(CANCELLED, message));
        }
        // A guardrail that this trips is sticky: the next recorder call returns it.
        let _ = self.end();
    }

    /// Gives the place back that was kept for a call that is not made.
    fn release(&mut self) {
        if let Some(reservation) = self.reservation.take() {
            self.context.run.release(reservation);
        }
    }

    fn write(&mut self, end: Timestamp) -> Result<(), GuardrailExceeded> {
        let mut contents = self.take_contents();
        let outcome = match self.write_line(&mut contents, end) {
            Recorded::Nowhere => {
                self.release();
                self.context.run.tripped().map_or(Ok(()), Err)
            }
            recorded => self.tell(&contents, end, recorded),
        };
        pool::give_contents(contents);
        outcome
    }

    fn write_line(&self, contents: &mut Contents, end: Timestamp) -> Recorded {
        let run = &self.context.run;
        let Contents {
            name, draft, error, ..
        } = contents;
        let is_call = matches!(self.event_type, EventType::LlmCall | EventType::ToolCall);
        if is_call {
            let status = if error.is_some() { STATUS_ERROR } else { STATUS_OK };
            draft.word(names::STATUS, status);
        }
        match error {
            Some(error) if is_call || self.event_type == EventType::Error => {
                error_attributes(draft, error, &run.redactor);
            }
            Some(error) => exception_event(draft, error, EventTime::End, &run.redactor),
            None => {}
        }
        let span = EndedSpan {
            id: self.id,
            parent: self.context.span,
            name,
            event_type: self.event_type,
            start: self.start,
            end,
            error: error.as_ref().map(|error| error.message.as_str()),
            may_have_children: self.entered,
        };
        let recorded = run.write(&span, draft);
        if recorded == Recorded::Nowhere {
            registry::count_unattached();
        }
        recorded
    }

    /// Tells the run, whose limits and loop detector want to know.
    fn tell(
        &mut self,
        contents: &Contents,
        end: Timestamp,
        recorded: Recorded,
    ) -> Result<(), GuardrailExceeded> {
        let Some(kind) = event_kind(self.event_type) else {
            // Structure is no event, and its end returns nothing that a guardrail could say.
            return Ok(());
        };
        let reservation = self.reservation.take();
        pool::with_signature_buffers(|buffers| {
            let asked = asked(self.event_type, contents, buffers);
            let written = Written {
                id: self.id,
                kind,
                // The limits protect the program for as long as it works; a loop would change what the run said.
                signature: asked
                    .filter(|_| recorded == Recorded::InRun)
                    .map(|asked| (buffers.signature.as_str(), asked)),
                reservation,
            };
            self.context.run.observe(written, end)
        })
    }
}

/// What loop detection knows of a span, whose signature is left in the buffers; `None` for what it does not look at.
fn asked(event_type: EventType, contents: &Contents, buffers: &mut SignatureBuffers) -> Option<Asked> {
    let draft = &contents.draft;
    let is_json =
        |event| draft.event_text_of(event, event_keys::FORMAT) == Some(event_keys::FORMAT_JSON.as_bytes());
    let failed = contents.error.is_some();
    Some(match event_type {
        EventType::LlmCall => {
            loops::llm_signature(&contents.name, &mut buffers.signature);
            let content = |event| draft.event_text_of(event, event_keys::CONTENT);
            let prompt =
                content(events::PROMPT).and_then(|text| buffers.prompt(text, is_json(events::PROMPT)));
            // Without a prompt, answers are compared.
            let mut response = || buffers.prompt(content(events::RESPONSE)?, is_json(events::RESPONSE));
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
            let asked = buffers.tool_signature(&contents.name, arguments);
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

impl Drop for OpenSpan {
    fn drop(&mut self) {
        // A thread that is recording may hold what releasing waits for.
        if self.reservation.is_some()
            && let Some(_recording) = Recording::enter()
        {
            self.release();
        }
        if let Some(contents) = self.contents.take() {
            let _recording = Recording::mark();
            pool::give_contents(contents);
        }
    }
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
