//! The layer itself: what `tracing` calls.

use std::sync::atomic::Ordering;
use std::time::Duration;

use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::Interest;
use tracing::{Dispatch, Event, Level, Metadata, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context as LayerContext;
use tracing_subscriber::registry::{LookupSpan, SpanRef};

use super::attributes::{FieldVisitor, SentAttributes};
use super::bodies::parse_message;
use super::calls::pass_on;
use super::callsites::{CallsiteFilter, count_enter, count_exit};
use super::conversations::ConversationRun;
use super::report;
use super::runs::{LiveContext, OutermostSpan, SurroundingSpan, start_run};
use super::span::{Conversed, LibrarySpan, ParentPlace};
use super::tool_events::{outcome_of_tool, span_of_tool, tool_left};
use super::vocabulary::{
    is_agent, is_body_target, is_call, is_marked, is_noise, is_span_field, names_a_tool, run_name,
};
use super::{LayerOptions, RunOn};
use crate::emit::context::{self, Context};
use crate::emit::error::ErrorInfo;
use crate::emit::open_span::{EndTime, OpenSpan};
use crate::emit::panic;
use crate::emit::recording::RecordingGuard;
use crate::emit::run_state::registry;
use crate::process::coarse_now;
use tracer_format::EventType;
use tracer_format::names::{self, span_names};
use tracer_format::project::child_type;

/// Records the spans that its filter lets through.
#[derive(Debug)]
pub(super) struct LibraryRecorder {
    options: LayerOptions,
    filter: CallsiteFilter,
}

impl LibraryRecorder {
    pub(super) fn new(options: LayerOptions, filter: CallsiteFilter) -> Self {
        Self { options, filter }
    }

    /// The place of a span; `None` when no run is to have it.
    fn place<S: for<'a> LookupSpan<'a>>(
        &self,
        attributes: &Attributes<'_>,
        fields: &SentAttributes,
        event_type: EventType,
        span: &SpanRef<'_, S>,
    ) -> Option<NewSpanPlace> {
        let metadata = attributes.metadata();
        let (within, outermost) = self.surroundings(span);
        // Both the spans of libraries and the recorders' are on the thread's stack while they are entered, so that its top
        // is the nearest. A span with a parent of its own choice belongs there.
        let thread = Context::of_thread();
        let nearest = if attributes.is_contextual() {
            thread.or(within)
        } else {
            within.or(thread)
        };
        let is_agent = is_agent(fields, metadata.target(), metadata.name());
        // A thread may still be within a run that has ended; an agent that starts now is a run of its own.
        if let Some(context) = nearest.filter(|context| !is_agent || !context.run.has_ended()) {
            return Some(inside(context));
        }
        if self.options.run_on == RunOn::Marked && !is_marked(fields) {
            return None;
        }
        if !is_agent && !is_call(event_type, fields) {
            return None;
        }
        if let Some(context) = outermost.as_ref().and_then(SurroundingSpan::context) {
            return Some(inside(context));
        }
        if !is_agent
            && let Some(run) = registry::only_live_run()
            // A run that another call or agent of a library started is live by chance.
            && !run.library.has_started_run.load(Ordering::Relaxed)
            && run.is_own_process()
        {
            return Some(inside(Context {
                span: run.root_id(),
                branch: run.root_id(),
                run,
                inferred: true,
            }));
        }
        if let Some(outermost) = outermost {
            return outermost.promote(&self.options.config).map(inside);
        }
        if !is_agent {
            return Some(NewSpanPlace::Deferred);
        }
        let name = run_name(fields, metadata.name(), true);
        let new = start_run(name, metadata, &self.options.config, None)?;
        Some(NewSpanPlace::Known(ParentPlace {
            context: new.context,
            is_root: !new.is_joined,
            owns_run: true,
            conversation: None,
        }))
    }

    /// Opens a call that no span is around, now that something happens in it or its messages are known.
    fn open_deferred<S: for<'a> LookupSpan<'a>>(&self, span: &SpanRef<'_, S>) {
        let Some(deferred) = span.extensions_mut().remove::<DeferredSpan>() else {
            return;
        };
        let DeferredSpan {
            metadata,
            fields,
            since,
            ..
        } = deferred;
        let event_type = child_type(metadata.name(), fields.as_map());
        let conversation = ConversationRun::continued(&fields, event_type).or_else(|| {
            let name = run_name(&fields, metadata.name(), false);
            let new = start_run(name, metadata, &self.options.config, Some(since))?;
            Some(ConversationRun::begin(new.context))
        });
        report::span_opened(metadata, conversation.is_some());
        if let Some(conversation) = conversation {
            let place = ParentPlace {
                context: conversation.context.clone(),
                is_root: false,
                owns_run: false,
                conversation: Some(Conversed { conversation, since }),
            };
            let recorded = LibrarySpan::open(place, metadata, fields, event_type);
            span.extensions_mut().replace(recorded);
        }
    }

    /// The context of the nearest recorded span around a span, or else the outermost span around it.
    fn surroundings<S: for<'a> LookupSpan<'a>>(
        &self,
        span: &SpanRef<'_, S>,
    ) -> (Option<Context>, Option<SurroundingSpan>) {
        let mut outermost = None;
        for around in span.scope().skip(1) {
            self.open_deferred(&around);
            let extensions = around.extensions();
            if let Some(recorded) = extensions.get::<LibrarySpan>() {
                return (Some(recorded.context().clone()), None);
            }
            outermost = extensions.get::<OutermostSpan>().map(OutermostSpan::share);
        }
        (None, outermost)
    }
}

/// The place of a new span.
enum NewSpanPlace {
    Known(ParentPlace),
    /// A call that no span is around: its messages tell the conversation, and they come later.
    Deferred,
}

/// The place of a span within a run.
fn inside(context: Context) -> NewSpanPlace {
    NewSpanPlace::Known(ParentPlace {
        context,
        is_root: false,
        owns_run: false,
        conversation: None,
    })
}

/// In the extensions of a call that no span is around, until its conversation is known.
#[derive(Debug)]
struct DeferredSpan {
    metadata: &'static Metadata<'static>,
    fields: SentAttributes,
    since: Duration,
    _live: LiveContext,
}

/// The recorded span, if it is one.
fn recorded<S: for<'a> LookupSpan<'a>>(span: &SpanRef<'_, S>) -> Option<LibrarySpan> {
    span.extensions().get::<LibrarySpan>().cloned()
}

/// The nearest recorded span around an event, or else the outermost span around it.
fn around<S>(
    event: &Event<'_>,
    context: &LayerContext<'_, S>,
) -> (Option<LibrarySpan>, Option<SurroundingSpan>)
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    let mut outermost = None;
    for span in context.event_scope(event).into_iter().flatten() {
        if let Some(recorded) = recorded(&span) {
            return (Some(recorded), None);
        }
        outermost = span
            .extensions()
            .get::<OutermostSpan>()
            .and_then(OutermostSpan::shared);
    }
    (None, outermost)
}

/// The context of a span that is entered or left: of a recorded one, or of the outermost one of a run.
fn context_of<S: for<'a> LookupSpan<'a>>(span: &SpanRef<'_, S>) -> Option<(Context, Option<LibrarySpan>)> {
    let outermost = {
        let extensions = span.extensions();
        if let Some(recorded) = extensions.get::<LibrarySpan>() {
            return Some((recorded.context().clone(), Some(recorded.clone())));
        }
        extensions.get::<OutermostSpan>()?.shared()?
    };
    Some((outermost.context()?, None))
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for LibraryRecorder {
    fn on_register_dispatch(&self, _: &Dispatch) {
        report::layer_installed();
    }

    fn register_callsite(&self, _: &'static Metadata<'static>) -> Interest {
        // Its filter says what it wants.
        Interest::always()
    }

    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: LayerContext<'_, S>) {
        let Some(span) = context.span(id) else { return };
        let metadata = attributes.metadata();
        if !self.filter.records(metadata) {
            if span.parent().is_none() {
                let outermost = OutermostSpan::new(metadata);
                if self.options.run_on == RunOn::AnyRoot
                    && Context::of_thread().is_none()
                    && let Some(_recording) = RecordingGuard::enter()
                {
                    outermost.share().promote(&self.options.config);
                }
                span.extensions_mut().replace(outermost);
            }
            return;
        }
        // Another layer of this kind has it.
        if span.extensions().get::<LibrarySpan>().is_some() {
            return;
        }
        // Spans that the code of a recorder's user makes meanwhile are no record.
        let Some(_recording) = RecordingGuard::enter() else {
            return;
        };
        let mut fields = FieldVisitor::default();
        attributes.record(&mut fields);
        let fields = fields.0;
        let event_type = child_type(metadata.name(), fields.as_map());
        let place = self.place(attributes, &fields, event_type, &span);
        if !matches!(place, Some(NewSpanPlace::Deferred)) {
            report::span_opened(metadata, place.is_some());
        }
        match place {
            Some(NewSpanPlace::Deferred) => {
                let deferred = DeferredSpan {
                    metadata,
                    fields,
                    since: coarse_now(),
                    _live: LiveContext::begin(),
                };
                span.extensions_mut().replace(deferred);
            }
            Some(NewSpanPlace::Known(place)) => {
                let recorded = LibrarySpan::open(place, metadata, fields, event_type);
                span.extensions_mut().replace(recorded);
            }
            None if span.parent().is_none() => {
                span.extensions_mut().replace(OutermostSpan::new(metadata));
            }
            None => {}
        }
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: LayerContext<'_, S>) {
        let Some(span) = context.span(id) else { return };
        let recorded = recorded(&span);
        if recorded.is_none() && span.extensions().get::<DeferredSpan>().is_none() {
            return;
        }
        let Some(_recording) = RecordingGuard::enter() else {
            return;
        };
        let mut fields = FieldVisitor::default();
        values.record(&mut fields);
        let fields = fields.0;
        if let Some(recorded) = recorded {
            return recorded.record(fields);
        }
        let are_messages = fields.says(names::INPUT_MESSAGES.written());
        if let Some(deferred) = span.extensions_mut().get_mut::<DeferredSpan>() {
            for (key, value) in fields.into_map() {
                deferred.fields.set(&key, value);
            }
        }
        if are_messages {
            self.open_deferred(&span);
        }
    }

    fn on_follows_from(&self, id: &Id, follows: &Id, context: LayerContext<'_, S>) {
        let find = |id| context.span(id).and_then(|span| recorded(&span));
        if let (Some(recorded), Some(followed)) = (find(id), find(follows))
            && let Some(_recording) = RecordingGuard::enter()
        {
            recorded.add_link(&followed);
        }
    }

    fn on_event(&self, event: &Event<'_>, context: LayerContext<'_, S>) {
        let metadata = event.metadata();
        let Some(_recording) = RecordingGuard::enter() else {
            return;
        };
        let (around, outermost) = around(event, &context);
        if around.is_none() && (is_body_target(metadata.target()) || *metadata.level() > Level::ERROR) {
            return;
        }
        let mut fields = FieldVisitor::default();
        event.record(&mut fields);
        let fields = fields.0;
        if is_body_target(metadata.target()) && *metadata.level() > Level::WARN {
            if let (Some(around), Some((side, json))) =
                (&around, fields.text("message").and_then(parse_message))
            {
                around.add_body(side, json);
            }
            return;
        }
        let is_of_tool = names_a_tool(metadata);
        let described = if is_of_tool {
            span_of_tool(&fields, around.as_ref())
        } else {
            around.clone()
        };
        if let Some(described) = &described {
            let mut said = if is_of_tool {
                outcome_of_tool(&fields)
            } else {
                SentAttributes::default()
            };
            for (key, value) in fields.as_map().iter().filter(|(key, _)| is_span_field(key)) {
                said.set(key, value.clone());
            }
            if !said.as_map().is_empty() {
                described.record(said);
            }
        }
        if *metadata.level() <= Level::WARN {
            let around = described.or(around);
            log(metadata, fields, around.as_ref(), outermost.as_ref());
        }
    }

    fn on_enter(&self, id: &Id, context: LayerContext<'_, S>) {
        count_enter();
        if !LiveContext::is_any() {
            return;
        }
        let Some(span) = context.span(id) else { return };
        if span.extensions().get::<DeferredSpan>().is_some() {
            let _recording = RecordingGuard::mark();
            self.open_deferred(&span);
        }
        if let Some((within, recorded)) = context_of(&span) {
            panic::forget();
            if let Some(recorded) = recorded {
                recorded.enter();
            }
            context::push(within);
        }
    }

    fn on_exit(&self, id: &Id, context: LayerContext<'_, S>) {
        count_exit();
        if !LiveContext::is_any() {
            return;
        }
        if let Some(span) = context.span(id)
            && let Some((within, recorded)) = context_of(&span)
        {
            if let Some(recorded) = &recorded {
                recorded.leave();
            } else if let Some(panic) = panic::unwinding()
                && let Some(outermost) = span.extensions().get::<OutermostSpan>()
            {
                outermost.unwind(panic.error);
            }
            if let Some(recorded) = recorded.filter(LibrarySpan::names_a_tool) {
                tool_left(&recorded);
            }
            context::pop_span(within.span);
        }
    }

    fn on_close(&self, id: Id, context: LayerContext<'_, S>) {
        if !LiveContext::is_any() {
            return;
        }
        let Some(span) = context.span(&id) else { return };
        // A span may close while the thread records something else, and is written all the same.
        let _recording = RecordingGuard::mark();
        self.open_deferred(&span);
        let (recorded, outermost) = {
            let mut extensions = span.extensions_mut();
            (
                extensions.remove::<LibrarySpan>(),
                extensions.remove::<OutermostSpan>(),
            )
        };
        if let Some(recorded) = recorded {
            recorded.close(self.options.content);
        }
        if let Some(outermost) = outermost {
            outermost.close();
        }
    }
}

/// Keeps a warning or an error of a library: an error that names one as a record of its own, the rest as an event of the
/// span.
fn log(
    metadata: &'static Metadata<'static>,
    fields: SentAttributes,
    around: Option<&LibrarySpan>,
    outermost: Option<&SurroundingSpan>,
) {
    // Records of the `log` crate name their own target in a field.
    if fields.text("log.target").is_some_and(is_noise) {
        return;
    }
    let message = fields.text("message").map(str::to_owned);
    let error = fields
        .first_text(&["exception.message", "error", "err", "error.message"])
        .map(str::to_owned);
    let is_error = *metadata.level() == Level::ERROR;
    let names_an_error = error.is_some() || fields.says("exception.type");
    if is_error && names_an_error {
        let context = around
            .map(|around| around.context().clone())
            .or_else(Context::of_thread)
            .or_else(|| outermost?.context());
        let Some(context) = context else { return };
        let error_type = fields
            .first_text(&["exception.type", "error.type"])
            .unwrap_or("Error");
        let message = error.or(message).unwrap_or_default();
        let mut info = ErrorInfo::new(error_type, message);
        info.stack = fields.text("exception.stacktrace").map(str::to_owned);
        if let Some(around) = around {
            around.set_last_error(info.message.clone());
        }
        // `#[instrument(err)]` says nothing else.
        if fields.as_map().keys().eq(["error"]) {
            if let Some(around) = around {
                around.fail_at(metadata, &info);
            }
            if let Some(outermost) = outermost {
                outermost.fail_at(metadata, &info);
            }
            return pass_on(context, info);
        }
        let mut span = OpenSpan::under(context, EventType::Error, span_names::ERROR);
        if let Some(mut editor) = span.editor() {
            editor.fail(info);
        }
        span.end_on_recording_thread(EndTime::Now);
        return;
    }
    if let Some(around) = around {
        let level = metadata.level().as_str();
        let mut fields = fields.into_map();
        fields.retain(|key, _| !key.starts_with("log."));
        fields.insert("level".to_owned(), level.into());
        fields.insert("target".to_owned(), metadata.target().into());
        around.add_log(fields, message.filter(|_| is_error));
    }
}
