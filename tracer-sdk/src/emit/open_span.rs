//! A span in progress: what recorders, timed spans and attributes put together until it ends.

use std::cell::RefCell;
use std::future::Future;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde::Serialize;

use super::context::{Context, ContextGuard};
use super::conventions::{
    CANCELLED, STATUS_ERROR, STATUS_OK, error_attributes, exception_event, operation, structural_name,
};
use super::error::ErrorInfo;
#[cfg(feature = "providers")]
use super::error::UNNAMED;
use super::in_context::{InContext, TraceFutureExt, is_dropping_a_future};
use super::panic::{self, FrameNames, PanicWatch, watched};
use super::progress::WrittenRecord;
use super::recording::RecordingGuard;
use super::run_state::{CallRefusal, RecordOutcome, registry};
use super::streamed::{self, StreamedAnswer, ToolCallChunk};
#[cfg(feature = "providers")]
use tracer_providers::Vendor;

use super::unattached;
#[cfg(feature = "providers")]
use super::vendor_events::{VendorEvents, add_facts, events_of};
#[cfg(feature = "prices")]
use crate::guardrails::CallSpend;
use crate::guardrails::GuardrailExceeded;
use crate::redact::Redactor;
use crate::write::draft::{Draft, EventTime, ScalarValue};
use crate::write::open_entries::OpenEntry;
use crate::write::run_files::EndedSpan;
use tracer_format::loops::{self, Asked, StepSignature, TrailKind};
use tracer_format::names::{self, Name, event_keys, events};
use tracer_format::{EventType, SpanId, SpanKind, Timestamp, Usage};

/// A span in progress; empty where nothing is recorded. Owns everything it needs, so it may move between threads.
///
/// It is one word, because builders hand it on by value at every call, and outside of a run that must cost next to
/// nothing.
#[derive(Debug, Default)]
pub(crate) struct OpenSpan(Option<Box<SpanState>>);

/// The memory of a span, taken from the thread's pool and given back when the span ends.
#[derive(Debug, Default)]
struct SpanState {
    /// `None` while it waits in the pool.
    place: Option<SpanPlace>,
    content: SpanContent,
}

/// The boxes are handed out as they are.
type WaitingSpans = Vec<Box<SpanState>>;

thread_local! {
    /// See [`pool`]: the memory of spans is kept here, because it is theirs.
    static SPANS: RefCell<WaitingSpans> = const { RefCell::new(Vec::new()) };
}

/// As many spans wait per thread as are open within each other, as a rule.
const MAX_KEPT_SPANS: usize = 4;

/// The memory for a span: one that waits, or a new one.
fn take_span() -> Box<SpanState> {
    let waiting = SPANS.try_with(|spans| spans.try_borrow_mut().ok()?.pop());
    waiting.ok().flatten().unwrap_or_default()
}

/// Keeps the memory of a span for this thread's next ones, unless enough of it waits.
fn give_span(mut span: Box<SpanState>) {
    // Memory dropped here is the SDK's own, and the program's allocator may record that.
    let _recording = RecordingGuard::mark();
    span.clear();
    // A thread that is ending has no pool any more.
    let _ = SPANS.try_with(|spans| {
        if let Ok(mut spans) = spans.try_borrow_mut()
            && spans.len() < MAX_KEPT_SPANS
        {
            spans.push(span);
        }
    });
}

/// The place of a span in its run.
#[derive(Debug)]
struct SpanPlace {
    context: Context,
    id: SpanId,
    event_type: EventType,
    /// It may be the parent of others.
    is_entered: AtomicBool,
    /// A branch of the run begins with it: an agent, or a span concurrent with another one.
    begins_branch: AtomicBool,
    /// Another span of the run reports this call, too: it counts there.
    same_call: Option<SpanId>,
}

#[derive(Debug, Default)]
struct SpanContent {
    name: String,
    draft: Draft,
    /// When it was started; `None` for a span that is recorded after the fact.
    start: Option<Timestamp>,
    /// Duration of a call that is recorded after the fact.
    duration: Duration,
    error: Option<ErrorInfo>,
    stream: Option<Box<StreamedAnswer>>,
    reservation: Option<EventType>,
    on_drop: OnDrop,
    /// Since it was started, for one that a panic drops.
    watch: Option<PanicWatch>,
    /// A library's data on its span.
    #[cfg(feature = "tracing")]
    library: Option<Box<LibraryCall>>,
}

/// A library's data on its span, apart from attributes.
#[cfg(feature = "tracing")]
#[derive(Debug, Default)]
pub(crate) struct LibraryCall {
    /// The model or the tool: what loop detection knows the call by. The span has a name of its own.
    pub(crate) called: String,
    pub(crate) kind: Option<SpanKind>,
}

/// Treatment of a span that is dropped before it was ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum OnDrop {
    /// It was never started, or what started it ends it: nothing is written.
    #[default]
    Discard,
    /// It ends.
    End,
    /// It ends as cancelled with this message, unless it already has an answer or an error.
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

impl EndTime {
    fn is_refused(self) -> bool {
        matches!(self, Self::Refused(_))
    }
}

/// The longest buffer of a name that is kept for the next span.
const MAX_KEPT_NAME_BYTES: usize = 256;

impl SpanState {
    /// Empties everything and keeps the buffers.
    fn clear(&mut self) {
        let Self { place, content } = self;
        // Field by field: moving all of them costs as much as writing an attribute.
        *place = None;
        content.name.clear();
        content.name.shrink_to(MAX_KEPT_NAME_BYTES);
        content.draft.clear();
        content.start = None;
        content.duration = Duration::ZERO;
        content.error = None;
        content.stream = None;
        content.reservation = None;
        content.on_drop = OnDrop::Discard;
        content.watch = None;
        #[cfg(feature = "tracing")]
        {
            content.library = None;
        }
    }
}

impl OpenSpan {
    /// A span under the current context; empty, and counted, when there is none.
    #[inline]
    pub(crate) fn begin(event_type: EventType, name: &str) -> Self {
        let Some(_recording) = RecordingGuard::enter_or_count() else {
            return Self::default();
        };
        panic::forget();
        if let Some(context) = Context::active() {
            return Self::under(context, event_type, name);
        }
        registry::count_without_run();
        Self::default()
    }

    /// A structural span of one of OpenTelemetry's operations.
    pub(crate) fn of_operation(operation: &'static str, key: Name, name: &str) -> Self {
        let mut span = Self::begin(EventType::Unknown, name);
        span.edit(|span| {
            span.redacted().0.cleaned(names::OPERATION, operation);
            span.text(key, name);
        });
        span
    }

    /// The span of an agent, with which a branch of the run begins.
    pub(crate) fn of_agent(name: &str) -> Self {
        let mut span = Self::of_operation("invoke_agent", names::AGENT_NAME, name);
        span.edit(|span| span.begin_branch());
        span
    }

    /// A span under a context, for a thread that is recording.
    pub(crate) fn under(context: Context, event_type: EventType, name: &str) -> Self {
        #[cfg(feature = "tracing")]
        let same_call = match event_type {
            EventType::LlmCall | EventType::ToolCall => {
                context.run.same_library_call(context.span, event_type, name)
            }
            _ => None,
        };
        let mut span = Self::in_place(context, event_type, name);
        let Some(SpanState {
            place: Some(place),
            content,
        }) = span.0.as_deref_mut()
        else {
            return span;
        };
        let draft = &mut content.draft;
        match event_type {
            EventType::LlmCall => draft.cleaned(names::REQUEST_MODEL, &content.name),
            EventType::ToolCall => draft.cleaned(names::TOOL_NAME, &content.name),
            _ => {}
        }
        operation(draft, event_type, &content.name);
        #[cfg(feature = "tracing")]
        {
            place.same_call = same_call;
        }
        if place.context.inferred {
            draft.cleaned(names::CONTEXT, "inferred");
        }
        span
    }

    /// The span of a library under a context: what it is follows from what the library says of it.
    #[cfg(feature = "tracing")]
    pub(crate) fn of_library(context: Context, event_type: EventType, name: &str) -> Self {
        let mut span = Self::in_place(context, event_type, name);
        if let Some(state) = span.0.as_deref_mut() {
            state.content.library = Some(Box::default());
        }
        span
    }

    fn in_place(context: Context, event_type: EventType, name: &str) -> Self {
        let run = &context.run;
        let redacted = run.redactor.text(name);
        let name = match event_type {
            EventType::Unknown => structural_name(&redacted),
            _ => &redacted,
        };
        let mut state = take_span();
        state.content.name.push_str(name);
        state.place = Some(SpanPlace {
            id: run.new_span_id(),
            context,
            event_type,
            is_entered: AtomicBool::new(false),
            begins_branch: AtomicBool::new(false),
            same_call: None,
        });
        Self(Some(state))
    }

    /// Makes the span a timed one: from now on it is open, and the guardrail has granted the call.
    pub(crate) fn start(mut self, on_drop: OnDrop) -> Result<Self, GuardrailExceeded> {
        if self.is_empty() {
            return Ok(self);
        }
        let Some(recording) = RecordingGuard::enter_or_count() else {
            return Ok(Self::default());
        };
        let Some((place, content)) = self.parts() else {
            return Ok(self);
        };
        let run = &place.context.run;
        if let Some(event_type) = place.counts_as() {
            match run.reserve(event_type) {
                Ok(reservation) => content.reservation = reservation,
                Err(refusal) => {
                    drop(recording);
                    return Err(self.refuse(refusal));
                }
            }
        }
        place.open(content, on_drop);
        Ok(self)
    }

    /// Makes the span of a library a timed one. Its call counts from now on, but cannot be refused.
    #[cfg(feature = "tracing")]
    pub(crate) fn start_library(&mut self, same_call: Option<SpanId>) {
        if let Some(place) = self.0.as_deref_mut().and_then(|state| state.place.as_mut()) {
            place.same_call = same_call;
        }
        let Some((place, content)) = self.parts() else {
            return;
        };
        if let Some(event_type) = place.counts_as() {
            // Refused or not, the run has tripped: its end and `check` report it.
            content.reservation = place.context.run.reserve(event_type).unwrap_or_default();
        }
        place.open(content, OnDrop::End);
    }

    /// Ends the span of a library as what it turned out to be.
    #[cfg(feature = "tracing")]
    pub(crate) fn end_library(mut self, event_type: EventType, same_call: Option<SpanId>, end: Timestamp) {
        if let Some(SpanState {
            place: Some(place),
            content,
        }) = self.0.as_deref_mut()
        {
            let counted = place.counts_as();
            place.event_type = event_type;
            place.same_call = same_call;
            if place.counts_as() != counted
                && let Some(reservation) = content.reservation.take()
            {
                place.context.run.release(reservation);
            }
        }
        // A guardrail that this trips is sticky: `check` and every recorder return it.
        let _ = self.end_recording(EndTime::At(end));
    }

    /// As [`start`](Self::start), for structure and on a thread that is recording.
    #[cfg(feature = "tracing")]
    pub(crate) fn start_on_recording_thread(&mut self, on_drop: OnDrop) {
        if let Some((place, content)) = self.parts() {
            place.open(content, on_drop);
        }
    }

    /// As [`end`](Self::end), on a thread that is recording. A guardrail that this trips is sticky.
    #[cfg(feature = "tracing")]
    pub(crate) fn end_on_recording_thread(self, time: EndTime) {
        let _ = self.end_recording(time);
    }

    fn parts(&mut self) -> Option<(&SpanPlace, &mut SpanContent)> {
        let SpanState { place, content } = self.0.as_deref_mut()?;
        Some((place.as_ref()?, content))
    }

    fn place(&self) -> Option<&SpanPlace> {
        self.0.as_ref()?.place.as_ref()
    }

    /// Its name; `None` where nothing is recorded.
    pub(crate) fn name(&self) -> Option<&str> {
        Some(&self.0.as_ref()?.content.name)
    }

    /// Returns whether nothing is recorded.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// True of a call; false of structure and of nothing.
    pub(crate) fn is_call(&self) -> bool {
        self.place()
            .is_some_and(|place| place.event_type != EventType::Unknown)
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
            branch: place.inner_branch(),
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
            && let Some(_recording) = RecordingGuard::enter()
            && let Some(mut editor) = self.editor()
        {
            change(&mut editor);
        }
    }

    /// The span to be changed by a thread that is recording.
    pub(crate) fn editor(&mut self) -> Option<SpanEditor<'_>> {
        let (place, content) = self.parts()?;
        Some(SpanEditor { place, content })
    }

    /// Ends the span: its line is written, and its run's limits and loop detector are informed.
    pub(crate) fn end(self, time: EndTime) -> Result<(), GuardrailExceeded> {
        if self.is_empty() {
            return Ok(());
        }
        let Some(_recording) = RecordingGuard::enter_or_count() else {
            self.give_up();
            return Ok(());
        };
        self.end_recording(time)
    }

    /// Ends the span on a thread that is recording.
    fn end_recording(mut self, time: EndTime) -> Result<(), GuardrailExceeded> {
        let Some(mut state) = self.0.take() else {
            return Ok(());
        };
        let mut outcome = Ok(());
        if let SpanState {
            place: Some(place),
            content,
        } = &mut *state
        {
            let run = &place.context.run;
            let end = match time {
                EndTime::Now => run.clock.now(),
                EndTime::At(end) | EndTime::Refused(end) => end,
            };
            if place.is_entered.load(Ordering::Relaxed)
                && let Some(added) = run.take_added(place.id)
            {
                content.draft.take(added);
            }
            content.add_outcome(place.event_type, &run.redactor);
            let span = EndedSpan {
                id: place.id,
                parent: place.context.span,
                name: &content.name,
                event_type: if time.is_refused() {
                    EventType::Unknown
                } else {
                    place.recorded_type()
                },
                kind: content.kind(),
                start: content
                    .start
                    .unwrap_or_else(|| run.clock.before(end, content.duration)),
                end,
                error: content.error.as_ref().map(|error| error.message.as_str()),
                may_have_children: place.is_entered.load(Ordering::Relaxed),
            };
            #[cfg(feature = "prices")]
            let mut spend = None;
            #[cfg(feature = "prices")]
            let recorded = match run.costs() {
                Some(costs) if place.event_type == EventType::LlmCall && !time.is_refused() => run
                    .write_and_read(&span, &mut content.draft, |line| {
                        spend = costs.spend_of(run.trace_id(), place.id, place.same_call, line);
                    }),
                _ => run.write(&span, &mut content.draft),
            };
            #[cfg(not(feature = "prices"))]
            let recorded = run.write(&span, &mut content.draft);
            if recorded == RecordOutcome::Nowhere {
                unattached::count();
            }
            if place.begins_branch.load(Ordering::Relaxed) {
                run.end_branch(place.id);
            }
            if !time.is_refused() {
                outcome = place.observe(
                    content,
                    end,
                    recorded,
                    #[cfg(feature = "prices")]
                    spend,
                );
            }
        }
        give_span(state);
        outcome
    }

    /// Gives the memory back of a span that cannot be written.
    fn give_up(mut self) {
        if let Some(state) = self.0.take() {
            give_span(state);
        }
    }

    /// The call was refused before it was made. The one that crossed the limit is written, so that the trace shows what
    /// was stopped; a program that keeps asking does not fill the disk.
    fn refuse(mut self, refusal: CallRefusal) -> GuardrailExceeded {
        if let Some(now) = refusal.crossed_at
            && let Some((_, content)) = self.parts()
        {
            // At the instant of the run's error, which the file has later: first the record, then the error.
            content.start = Some(now);
            let exceeded = &refusal.exceeded;
            let recording = RecordingGuard::mark();
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
        let is_structure = place.event_type == EventType::Unknown;
        match content.on_drop {
            OnDrop::Discard => {
                // A thread that is recording may hold what releasing waits for.
                if let Some(reservation) = content.reservation.take()
                    && let Some(_recording) = RecordingGuard::enter()
                {
                    place.context.run.release(reservation);
                }
                if let Some(state) = self.0.take() {
                    give_span(state);
                }
                return;
            }
            OnDrop::Cancel(message) if content.error.is_none() => {
                let _recording = RecordingGuard::mark();
                let panic = place.panic(content);
                content.error = panic.or_else(|| Some(ErrorInfo::new(CANCELLED, message)));
            }
            // A call that ends in this way has its answer.
            OnDrop::End if is_structure && content.error.is_none() => {
                let _recording = RecordingGuard::mark();
                content.error = place.panic(content);
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

impl SpanPlace {
    /// Event type that the limits count: structure is no event, and a call that another span reports counts there.
    fn counts_as(&self) -> Option<EventType> {
        let recorded = self.recorded_type();
        matches!(
            recorded,
            EventType::LlmCall | EventType::ToolCall | EventType::StateUpdate | EventType::Error
        )
        .then_some(recorded)
    }

    /// Event type that readers see.
    fn recorded_type(&self) -> EventType {
        match self.same_call {
            Some(_) => EventType::Unknown,
            None => self.event_type,
        }
    }

    /// The branch of the run that what happens within the span belongs to.
    fn inner_branch(&self) -> SpanId {
        if self.begins_branch.load(Ordering::Relaxed) {
            self.id
        } else {
            self.context.branch
        }
    }

    /// From now on the span is one that has started.
    fn open(&self, content: &mut SpanContent, on_drop: OnDrop) {
        let run = &self.context.run;
        let start = run.clock.now();
        let entry = |name, buffer| OpenEntry {
            parent: self.context.span,
            name,
            event_type: self.event_type,
            start,
            arguments: content.draft.given_arguments(&run.redactor, buffer),
            is_holder: self.event_type != EventType::LlmCall,
            is_named: false,
            has_stand_in: false,
            outlives_run: false,
            #[cfg(feature = "tracing")]
            is_library: content.library.is_some(),
        };
        if run.add_open(self.id, &content.name, entry) {
            self.begins_branch.store(true, Ordering::Relaxed);
        }
        content.start = Some(start);
        content.on_drop = on_drop;
        if on_drop != OnDrop::Discard {
            content.watch = Some(PanicWatch::start(run.panics()));
        }
    }

    /// The panic since the span was started that this thread unwinds from.
    fn panic(&self, content: &SpanContent) -> Option<ErrorInfo> {
        let watch = content.watch.as_ref().filter(|_| !is_dropping_a_future())?;
        let panic = watch.panic(self.context.run.panics(), FrameNames::LeftOut)?;
        Some(panic.error)
    }

    /// Informs the run's limits and its loop detector of a record.
    fn observe(
        &self,
        content: &mut SpanContent,
        end: Timestamp,
        recorded: RecordOutcome,
        #[cfg(feature = "prices")] spend: Option<CallSpend>,
    ) -> Result<(), GuardrailExceeded> {
        let run = &self.context.run;
        let reservation = content.reservation.take();
        if recorded == RecordOutcome::Nowhere {
            if let Some(reservation) = reservation {
                run.release(reservation);
            }
            return run.tripped().map_or(Ok(()), Err);
        }
        let Some(event_type) = self.counts_as() else {
            // Structure is no event, and its end returns nothing that a guardrail could say.
            return Ok(());
        };
        // The limits protect the program for as long as it works; a loop would change what the run said.
        let signature = match recorded {
            RecordOutcome::InRun => asked(self.event_type, content),
            _ => None,
        };
        let written = WrittenRecord {
            id: self.id,
            branch: self.context.branch,
            event_type,
            signature,
            is_reserved: reservation.is_some(),
            #[cfg(feature = "prices")]
            spend,
        };
        run.observe(written, end)
    }
}

impl SpanContent {
    #[cfg_attr(
        not(feature = "tracing"),
        expect(clippy::unused_self, reason = "only the layer knows kinds")
    )]
    fn kind(&self) -> Option<SpanKind> {
        #[cfg(feature = "tracing")]
        return self.library.as_ref().and_then(|library| library.kind);
        #[cfg(not(feature = "tracing"))]
        None
    }

    /// The called model or tool.
    fn called(&self) -> &str {
        #[cfg(feature = "tracing")]
        if let Some(library) = &self.library {
            return &library.called;
        }
        &self.name
    }

    /// Adds what a vendor's events say of the call; the program's own response stays, and its error unless that has no type.
    #[cfg(feature = "providers")]
    fn add_vendor_answer(&mut self, redactor: &Redactor) {
        let events = self.stream.as_mut().and_then(|stream| stream.events.take());
        let Some(answer) = events.map(VendorEvents::into_answer) else {
            return;
        };
        let error = add_facts(&mut self.draft, &answer, redactor);
        let said = self.error.take();
        let has_type = |said: &ErrorInfo| said.error_type != UNNAMED;
        self.error = match error {
            Some(_) => said.filter(has_type).or(error),
            None => said,
        };
        let is_said = self
            .draft
            .event_text_of(events::RESPONSE, event_keys::CONTENT)
            .is_some();
        if !is_said && !answer.body.is_null() {
            add_message(
                &mut self.draft,
                events::RESPONSE,
                EventTime::End,
                &answer.body,
                redactor,
            );
        }
    }

    /// Adds the streamed answer, the status and the error.
    fn add_outcome(&mut self, event_type: EventType, redactor: &Redactor) {
        #[cfg(feature = "tracing")]
        if self.library.is_some() {
            // The outcome that a library reports is understood on reading; the rest is in the span's status.
            return;
        }
        #[cfg(feature = "providers")]
        self.add_vendor_answer(redactor);
        let draft = &mut self.draft;
        if let Some(stream) = &self.stream {
            let milliseconds = stream.first_after.as_secs_f64() * 1_000.0;
            draft.scalar(names::TIME_TO_FIRST_CHUNK, ScalarValue::Float(milliseconds));
            draft.scalar(names::CHUNKS, ScalarValue::Unsigned(stream.chunks));
            draft.leave_out(stream.left_out);
            if let Some(answer) = stream.content() {
                add_message(draft, events::RESPONSE, EventTime::End, &answer, redactor);
            }
        }
        let is_call = matches!(event_type, EventType::LlmCall | EventType::ToolCall);
        if is_call {
            let status = if self.error.is_some() {
                STATUS_ERROR
            } else {
                STATUS_OK
            };
            draft.cleaned(names::STATUS, status);
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
    place: &'a SpanPlace,
    content: &'a mut SpanContent,
}

impl SpanEditor<'_> {
    /// The span's draft so far, and its redactor.
    pub(crate) fn redacted(&mut self) -> (&mut Draft, &Redactor) {
        (&mut self.content.draft, &self.place.context.run.redactor)
    }

    pub(crate) fn event_type(&self) -> EventType {
        self.place.event_type
    }

    /// The span is an agent's, whose calls are a branch of the run.
    pub(crate) fn begin_branch(&self) {
        self.place.begins_branch.store(true, Ordering::Relaxed);
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

    pub(crate) fn scalar(&mut self, name: Name, value: ScalarValue) {
        self.content.draft.scalar(name, value);
    }

    pub(crate) fn usage(&mut self, usage: Usage) {
        self.content.draft.usage(usage);
    }

    /// Sets what loop detection knows the call by, and the kind of the span.
    #[cfg(feature = "tracing")]
    pub(crate) fn set_library_call(&mut self, call: LibraryCall) {
        self.content.library = Some(Box::new(call));
    }

    /// When the work of the span started.
    #[cfg(feature = "tracing")]
    pub(crate) fn start(&self) -> Option<Timestamp> {
        self.content.start
    }

    /// Sets when the work of the span started.
    #[cfg(feature = "tracing")]
    pub(crate) fn set_start(&mut self, start: Timestamp) {
        self.content.start = Some(start);
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
            stream.clear();
        }
        self.set_answered();
    }

    /// Adds to a streamed response.
    pub(crate) fn chunk(&mut self, text: &str) {
        self.stream().push_text(text);
    }

    /// Adds to a tool call of a streamed response.
    pub(crate) fn tool_call_chunk(&mut self, chunk: &ToolCallChunk<'_>) {
        self.stream().push_tool_call(chunk);
    }

    /// Adds to a streamed response what came from a vendor. The call is answered with its last event.
    #[cfg(feature = "providers")]
    pub(crate) fn vendor_event<T: Serialize + ?Sized>(&mut self, vendor: Vendor, given: &T) {
        for (event, bytes) in events_of(given) {
            if vendor.is_last(&event) {
                self.set_answered();
            }
            self.stream().push_event(vendor, event, bytes);
        }
    }

    /// The streamed response, which begins now unless it has.
    fn stream(&mut self) -> &mut StreamedAnswer {
        let start = self.content.start;
        self.content.stream.get_or_insert_with(|| {
            let now = self.place.context.run.clock.now();
            let micros = start.map_or(0, |start| now.microseconds_since(start));
            let first_after = Duration::from_micros(u64::try_from(micros).unwrap_or(0));
            Box::new(StreamedAnswer::new(first_after))
        })
    }

    /// Sets the arguments of a tool as the model wrote them.
    pub(crate) fn written_arguments(&mut self, written: &str) {
        self.arguments(&streamed::arguments(written));
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
    draft.event_content(value, redactor);
}

/// The data of a span that loop detection compares; `None` for other kinds of spans.
fn asked(event_type: EventType, content: &SpanContent) -> Option<(StepSignature<'_>, Asked)> {
    let draft = &content.draft;
    let failed = content.error.is_some();
    Some(match event_type {
        EventType::LlmCall => {
            let of_message = |event| message_numbers(draft, event);
            let prompt = of_message(events::PROMPT).or_else(|| {
                let text = sent_text(draft, names::INPUT_MESSAGES)?;
                prompt_numbers(text, true)
            });
            // Without a prompt, answers are compared.
            let came = if prompt.is_none() {
                of_message(events::RESPONSE)
            } else {
                None
            };
            let asked = Asked {
                kind: TrailKind::Model,
                asked: prompt.map(|(whole, _)| whole),
                last_message: prompt.map(|(_, last)| last),
                came: came.map(|(whole, _)| whole),
                failed,
                is_cut: false,
            };
            (StepSignature::of_model(content.called()), asked)
        }
        EventType::ToolCall => {
            let arguments = draft
                .event_text_of(events::TOOL_ARGUMENTS, event_keys::ARGUMENTS)
                .or_else(|| sent_text(draft, names::TOOL_CALL_ARGUMENTS));
            let (signature, arguments) = StepSignature::of_tool(content.called(), arguments);
            let result = || {
                let text = draft.event_text_of(events::TOOL_RESULT, event_keys::RESULT)?;
                (text != b"null").then(|| loops::number_of_json(text))?
            };
            let asked = Asked {
                kind: TrailKind::Tool,
                asked: arguments,
                last_message: None,
                came: if arguments.is_none() { result() } else { None },
                failed,
                is_cut: false,
            };
            (signature, asked)
        }
        EventType::StateUpdate => (StepSignature::of_state(), Asked::STATE),
        _ => return None,
    })
}

/// The numbers of a prompt or a response and of its last message.
fn message_numbers(draft: &Draft, event: Name) -> Option<(u64, u64)> {
    let text = draft.event_text_of(event, event_keys::CONTENT)?;
    let format = draft.event_text_of(event, event_keys::FORMAT);
    let is_json = format == Some(event_keys::FORMAT_JSON.as_bytes());
    prompt_numbers(text, is_json)
}

fn prompt_numbers(text: &[u8], is_json: bool) -> Option<(u64, u64)> {
    if is_json {
        return (text != b"null").then(|| loops::of_prompt(text))?;
    }
    let number = loops::of_text(text);
    Some((number, number))
}

/// Text that a library sent as an attribute where a recorder has an event.
#[cfg(feature = "tracing")]
fn sent_text(draft: &Draft, name: Name) -> Option<&[u8]> {
    draft.text_of(name.written())
}

#[cfg(not(feature = "tracing"))]
fn sent_text(_: &Draft, _: Name) -> Option<&[u8]> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_memory_of_a_long_name_is_not_kept() {
        let mut span = SpanState::default();
        span.content.name = "n".repeat(10_000_000);
        span.clear();
        assert!(span.content.name.capacity() <= MAX_KEPT_NAME_BYTES);
        span.content.name = String::with_capacity(MAX_KEPT_NAME_BYTES);
        span.clear();
        assert_eq!(span.content.name.capacity(), MAX_KEPT_NAME_BYTES);
    }
}
