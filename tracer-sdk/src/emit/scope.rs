//! An open run or span with a beginning and one end, whichever way it is left: by return, error, panic or
//! cancellation. Guards, traced futures and the attribute are made of it.

use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;

use super::context::{Context, ContextGuard};
use super::conventions::CANCELLED;
use super::error::ErrorInfo;
use super::open_span::{EndTime, OnDrop, OpenSpan, SpanEditor};
use super::panic::{FrameNames, PanicWatch, forget};
use super::recording::{self, RecordingGuard};
use super::run::Run;
use super::run_state::RunState;
use super::site::Site;
use super::start::{Started, start_run};
use crate::guardrails::{GuardrailExceeded, Guardrails};
use crate::process::OwnLock;
use crate::settings::Config;
use tracer_format::names::{self, Name};
use tracer_format::{EventType, Tags, Usage};

/// An open run or span; clones are the same one. Outside of a run, or with recording off, it is inert.
#[derive(Debug, Clone, Default)]
pub struct Scope {
    inner: Option<Arc<ScopeState>>,
    // Rare, and each future of a traced function holds some scopes.
    refused: Option<Box<GuardrailExceeded>>,
}

#[derive(Debug)]
struct ScopeState {
    context: Context,
    /// The run that this scope ends.
    run: Option<Arc<RunState>>,
    /// It is a run, an agent or other structure, and no call.
    is_structure: bool,
    /// The span that this scope ends; taken out while user code runs, and for good when it ends.
    span: OwnLock<OpenSpan>,
}

impl ScopeState {
    /// The span, which is no longer there for others; empty in a forked child.
    fn take_span(&self) -> OpenSpan {
        let span = self.span.lock().map(|mut place| std::mem::take(&mut *place));
        span.unwrap_or_default()
    }
}

impl Scope {
    /// A run; a structural child span where a run is active already.
    #[must_use]
    pub fn run(site: &Site, guardrails: Guardrails) -> Self {
        let config = Config::new().guardrails(guardrails);
        Self::run_as(&Run::at(site.clone(), config))
    }

    /// The same as it is described.
    pub(super) fn run_as(run: &Run) -> Self {
        let Some(recording) = RecordingGuard::enter_or_count() else {
            return Self::default();
        };
        // Records dropped before belong to no run.
        recording::take_dropped();
        // A thread may still be within a run that has ended; what starts now is a run of its own.
        if let Some(context) = Context::of_thread().filter(|context| !context.run.has_ended()) {
            let mut span = OpenSpan::under(context, EventType::Unknown, run.site.span_name());
            tag(&mut span, run.tags.in_code());
            drop(recording);
            return Self::open(span);
        }
        match start_run(run, Duration::ZERO) {
            Some(Started::Own(run)) => Self::of_run(run),
            Some(Started::Joined {
                run: joined,
                parent,
                name,
            }) => {
                let context = Context {
                    run: Arc::clone(&joined),
                    span: parent,
                    branch: parent,
                    inferred: false,
                };
                let mut span = OpenSpan::under(context, EventType::Unknown, &name);
                tag(&mut span, run.tags.in_code());
                drop(recording);
                // Structure is never refused.
                let span = span.start(OnDrop::Discard).unwrap_or_default();
                span.context()
                    .map(|context| Self::new(context, Some(joined), span))
                    .unwrap_or_default()
            }
            None => Self::default(),
        }
    }

    /// A run that this scope ends.
    pub(crate) fn of_run(run: Arc<RunState>) -> Self {
        let context = Context {
            span: run.root_id(),
            branch: run.root_id(),
            run: Arc::clone(&run),
            inferred: false,
        };
        Self::new(context, Some(run), OpenSpan::default())
    }

    /// A structural span.
    #[must_use]
    pub fn span(site: &Site) -> Self {
        Self::open(OpenSpan::begin(EventType::Unknown, site.span_name()))
    }

    /// An agent, named after the function unless it was given a name.
    #[must_use]
    pub fn agent(site: &Site) -> Self {
        Self::open(OpenSpan::of_agent(site.span_name()))
    }

    /// A tool call, named after the function unless it was given a name.
    #[must_use]
    pub fn tool(site: &Site) -> Self {
        Self::open(OpenSpan::begin(EventType::ToolCall, site.span_name()))
    }

    /// A tool call with its arguments.
    #[must_use]
    pub fn tool_with<T: Serialize + ?Sized>(site: &Site, arguments: &T) -> Self {
        let mut span = OpenSpan::begin(EventType::ToolCall, site.span_name());
        span.edit(|span| span.arguments(arguments));
        Self::open(span)
    }

    /// A model call.
    #[must_use]
    pub fn llm(model: &str, provider: Option<&str>) -> Self {
        let mut span = OpenSpan::begin(EventType::LlmCall, model);
        if let Some(provider) = provider {
            span.edit(|span| span.text(names::PROVIDER, provider));
        }
        Self::open(span)
    }

    /// A span that this scope ends.
    pub(crate) fn open(span: OpenSpan) -> Self {
        match span.start(OnDrop::Discard) {
            Ok(span) => span
                .context()
                .map(|context| Self::new(context, None, span))
                .unwrap_or_default(),
            Err(exceeded) => {
                // The program's allocator may record.
                let _recording = RecordingGuard::mark();
                Self {
                    inner: None,
                    refused: Some(Box::new(exceeded)),
                }
            }
        }
    }

    fn new(context: Context, run: Option<Arc<RunState>>, span: OpenSpan) -> Self {
        // The program's allocator may record.
        let _recording = RecordingGuard::mark();
        let inner = ScopeState {
            is_structure: !span.is_call(),
            span: OwnLock::new(context.run.process().clone(), span),
            context,
            run,
        };
        Self {
            inner: Some(Arc::new(inner)),
            refused: None,
        }
    }

    /// The guardrail that refused this call before it was made.
    #[must_use]
    pub fn refused(&self) -> Option<GuardrailExceeded> {
        self.refused.as_deref().cloned()
    }

    /// The guardrail that the run of this scope has tripped over.
    #[must_use]
    pub fn tripped(&self) -> Option<GuardrailExceeded> {
        let inner = self.inner.as_ref()?;
        let _recording = RecordingGuard::enter()?;
        inner.context.run.tripped()
    }

    /// Returns whether anything is recorded.
    #[must_use]
    pub fn is_recording(&self) -> bool {
        self.inner.is_some()
    }

    /// The context for what happens inside.
    pub(crate) fn context(&self) -> Option<Context> {
        self.inner.as_ref().map(|inner| inner.context.clone())
    }

    /// Records the question of the model, the agent or the run.
    pub fn arguments<T: Serialize + ?Sized>(&self, value: &T) {
        if !self.says(names::QUESTION, value) {
            self.edit(|span| span.prompt(value));
        }
    }

    /// Records what the tool returned, or the answer of the model, the agent or the run.
    pub fn result<T: Serialize + ?Sized>(&self, value: &T) {
        if self.says(names::ANSWER, value) {
            return;
        }
        self.edit(|span| match span.event_type() {
            EventType::LlmCall => span.response(value),
            _ => span.result(value),
        });
    }

    /// Records a question or an answer where it is none of a call.
    fn says<T: Serialize + ?Sized>(&self, name: Name, value: &T) -> bool {
        let structure = self.inner.as_ref().filter(|inner| inner.is_structure);
        if let Some(inner) = structure {
            inner
                .context
                .add(|draft, redactor| draft.json(name, value, redactor));
        }
        structure.is_some()
    }

    /// Records the tokens that the model used, by a function of its answer, which is called where something is recorded.
    pub fn usage_of<T: ?Sized, U: Into<Option<Usage>>>(&self, answer: &T, usage: impl FnOnce(&T) -> U) {
        if self.is_recording()
            && let Some(usage) = usage(answer).into()
        {
            self.edit(|span| span.usage(usage));
        }
    }

    /// The span is taken out while it is edited: user code never runs under the lock.
    fn edit(&self, change: impl FnOnce(&mut SpanEditor<'_>)) {
        let (Some(inner), Some(_recording)) = (&self.inner, RecordingGuard::enter()) else {
            return;
        };
        let mut span = inner.take_span();
        if let Some(mut editor) = span.editor() {
            change(&mut editor);
            if let Some(mut place) = inner.span.lock() {
                *place = span;
            }
        }
    }

    /// Records that the work failed.
    pub fn fail(&self, error: ErrorInfo) {
        let (Some(inner), Some(_recording)) = (&self.inner, RecordingGuard::enter()) else {
            return;
        };
        let Some(mut place) = inner.span.lock() else {
            return;
        };
        match (place.editor(), &inner.run) {
            (Some(mut span), _) => span.fail(error),
            (None, Some(run)) => run.fail(error),
            (None, None) => {}
        }
    }

    /// Ends the run or span. Only the first end counts.
    pub fn end(&self) {
        self.end_with(None, Duration::ZERO);
    }

    /// Watches for a panic from now on; `None` where nothing is recorded.
    pub(crate) fn watch(&self) -> Option<PanicWatch> {
        self.inner
            .as_ref()
            .map(|inner| PanicWatch::start(inner.context.run.panics()))
    }

    /// Ends as failed if the thread began to unwind since the watch began; says whether it did.
    pub(crate) fn end_if_panicked(&self, watch: Option<&PanicWatch>) -> bool {
        let (Some(inner), Some(watch)) = (&self.inner, watch) else {
            return false;
        };
        let frames = match inner.run {
            Some(_) => FrameNames::Resolved,
            None => FrameNames::LeftOut,
        };
        let panic = watch.panic(inner.context.run.panics(), frames);
        let has_panicked = panic.is_some();
        if let Some(panic) = panic {
            self.end_with(Some(panic.error), panic.at.elapsed());
        }
        has_panicked
    }

    pub(crate) fn cancel(&self) {
        if self.inner.is_some() {
            self.end_with(
                Some(ErrorInfo::new(CANCELLED, "dropped before it was finished")),
                Duration::ZERO,
            );
        }
    }

    /// Ends what this scope ends, as of so long ago.
    fn end_with(&self, error: Option<ErrorInfo>, ago: Duration) {
        let Some(inner) = &self.inner else { return };
        let Some(recording) = RecordingGuard::enter_or_count() else {
            return;
        };
        let clock = &inner.context.run.clock;
        let end = clock.before(clock.now(), ago);
        let mut span = inner.take_span();
        let tripped = || inner.run.as_ref()?.tripped_in_joined();
        if let Some(mut span) = span.editor()
            && !span.has_error()
            && let Some(error) = error.clone().or_else(tripped)
        {
            span.fail(error);
        }
        drop(recording);
        // A guardrail that this trips is sticky: the next recorder call returns it.
        let _ = span.end(EndTime::At(end));
        let _recording = RecordingGuard::mark();
        if let Some(run) = &inner.run {
            run.end(error, end);
        }
    }

    /// Holds the lock of the span, for tests.
    #[cfg(test)]
    pub(super) fn hold_span(&self) -> Option<impl Drop> {
        self.inner.as_ref()?.span.lock()
    }

    /// Makes this the current context; dropping the guard restores the earlier one and ends the scope.
    pub fn enter(&self) -> ScopeGuard {
        self.guard(true)
    }

    /// Makes this the current context for the synchronous part of a function that returns a future. Dropping the guard
    /// restores the earlier context, and leaves the scope open for the future to end unless the thread unwinds.
    pub fn prepare(&self) -> ScopeGuard {
        self.guard(false)
    }

    fn guard(&self, ends: bool) -> ScopeGuard {
        ScopeGuard {
            context: self.context().map(|context| context.enter()),
            scope: self.clone(),
            watch: self.watch(),
            ends,
        }
    }
}

/// Adds the tags of a run that becomes a span of another one.
fn tag(span: &mut OpenSpan, tags: &Tags) {
    if let Some(mut editor) = span.editor().filter(|_| !tags.is_empty()) {
        let (draft, redactor) = editor.redacted();
        draft.tags(&redactor.tags(tags));
    }
}

impl Drop for Scope {
    fn drop(&mut self) {
        // The last one gives its memory back, and the program's allocator may record that.
        let _recording = RecordingGuard::mark();
        self.inner = None;
        self.refused = None;
    }
}

/// Ends its scope when dropped, as `panic` when the thread began to unwind meanwhile.
#[must_use = "the scope ends when this guard is dropped: bind it with `let _guard = …`"]
#[derive(Debug)]
pub struct ScopeGuard {
    context: Option<ContextGuard>,
    scope: Scope,
    /// `None` where nothing is recorded.
    watch: Option<PanicWatch>,
    /// Without a panic the scope ends, too.
    ends: bool,
}

impl Drop for ScopeGuard {
    fn drop(&mut self) {
        drop(self.context.take());
        if !self.scope.end_if_panicked(self.watch.as_ref()) && self.ends {
            self.scope.end();
        }
        if self.ends {
            forget();
        }
    }
}
