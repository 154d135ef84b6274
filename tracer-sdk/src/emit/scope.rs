//! An open run or span with a beginning and one end, whichever way it is left: by return, error, panic or
//! cancellation. Guards, traced futures and the attribute are made of it.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;

use super::context::{Context, ContextGuard};
use super::error::ErrorInfo;
use super::open_span::OpenSpan;
use super::panic::{Frames, Watch, forget};
use super::recording::{self, Recording};
use super::root::CANCELLED;
use super::run_state::RunState;
use super::start::{Started, start_run};
use crate::format::EventType;
use crate::format::names::{self, event_keys, events};
use crate::guardrails::{GuardrailExceeded, Guardrails};
use crate::process::OwnLock;
use crate::settings::Config;
use crate::write::draft::EventTime;
use crate::write::files::{Disk, FileSystem};

/// Where a traced function stands, and the name that it was given.
#[derive(Debug, Clone)]
pub struct Site {
    pub(crate) name: Option<Cow<'static, str>>,
    pub(crate) path: &'static str,
    pub(crate) function: &'static str,
    pub(crate) line: u32,
}

impl Site {
    /// A function by its source path (relative to its package), its name and its line.
    #[must_use]
    pub const fn new(
        name: Option<Cow<'static, str>>,
        path: &'static str,
        function: &'static str,
        line: u32,
    ) -> Self {
        Self {
            name,
            path,
            function,
            line,
        }
    }

    fn span_name(&self) -> Cow<'static, str> {
        self.name.clone().unwrap_or(Cow::Borrowed(self.function))
    }

    /// `function (path:line)`, or `path:line` where the function is not known.
    #[must_use]
    pub fn place(&self) -> String {
        match self.function {
            "" => format!("{}:{}", self.path, self.line),
            function => format!("{function} ({}:{})", self.path, self.line),
        }
    }
}

/// An open run or span; clones are the same one. Outside of a run, or with recording off, it is inert.
#[derive(Debug, Clone, Default)]
pub struct Scope {
    inner: Option<Arc<Inner>>,
    refused: Option<GuardrailExceeded>,
}

#[derive(Debug)]
struct Inner {
    context: Context,
    /// The run that this scope ends.
    run: Option<Arc<RunState>>,
    /// The span that this scope ends; taken out while user code runs, and for good when it ends.
    span: OwnLock<Option<OpenSpan>>,
}

impl Scope {
    /// A run; a structural child span where a run is active already.
    #[must_use]
    pub fn run(site: &Site, guardrails: Guardrails) -> Self {
        let config = Config::new().guardrails(guardrails);
        Self::run_with(site, &config, None)
    }

    /// The same with settings, and with another file system than the machine's own.
    pub(crate) fn run_with(site: &Site, config: &Config, file_system: Option<&Arc<dyn FileSystem>>) -> Self {
        let Some(_recording) = Recording::enter_or_count() else {
            return Self::default();
        };
        // What was dropped before belongs to no run.
        recording::take_dropped();
        // A thread may still be within a run that has ended; what starts now is a run of its own.
        if let Some(context) = Context::of_thread().filter(|context| !context.run.has_ended()) {
            return Self::open(OpenSpan::under(context, EventType::Unknown, site.span_name()));
        }
        let file_system = file_system.map_or_else(|| Arc::new(Disk) as Arc<dyn FileSystem>, Arc::clone);
        match start_run(site, config, &file_system) {
            Some(Started::Own(run)) => Self::of_run(run),
            Some(Started::Joined { run, parent, name }) => {
                let context = Context {
                    run: Arc::clone(&run),
                    span: parent,
                    inferred: false,
                };
                let mut span = OpenSpan::under(context, EventType::Unknown, name.into());
                // Structure is never refused.
                let _ = span.start(None);
                Self::of(span.context(), Some(run), Some(span))
            }
            None => Self::default(),
        }
    }

    /// A run that this scope ends.
    pub(crate) fn of_run(run: Arc<RunState>) -> Self {
        let context = Context {
            span: run.root_id(),
            run: Arc::clone(&run),
            inferred: false,
        };
        Self::of(context, Some(run), None)
    }

    /// A structural span.
    #[must_use]
    pub fn span(site: &Site) -> Self {
        let Some(_recording) = Recording::enter_or_count() else {
            return Self::default();
        };
        OpenSpan::begin(EventType::Unknown, site.span_name())
            .map(Self::open)
            .unwrap_or_default()
    }

    /// A tool call, named after the function unless it was given a name.
    #[must_use]
    pub fn tool(site: &Site) -> Self {
        let Some(_recording) = Recording::enter_or_count() else {
            return Self::default();
        };
        OpenSpan::begin(EventType::ToolCall, site.span_name())
            .map(Self::open)
            .unwrap_or_default()
    }

    /// A model call.
    #[must_use]
    pub fn llm(model: impl Into<Cow<'static, str>>, provider: Option<&str>) -> Self {
        let Some(_recording) = Recording::enter_or_count() else {
            return Self::default();
        };
        let Some(mut span) = OpenSpan::begin(EventType::LlmCall, model.into()) else {
            return Self::default();
        };
        if let Some(provider) = provider {
            span.text(names::PROVIDER, provider);
        }
        Self::open(span)
    }

    fn open(mut span: OpenSpan) -> Self {
        if let Err(exceeded) = span.start(None) {
            return Self {
                inner: None,
                refused: Some(exceeded),
            };
        }
        Self::of(span.context(), None, Some(span))
    }

    fn of(context: Context, run: Option<Arc<RunState>>, span: Option<OpenSpan>) -> Self {
        let inner = Inner {
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
        self.refused.clone()
    }

    /// The guardrail that the run of this scope has tripped over.
    #[must_use]
    pub fn tripped(&self) -> Option<GuardrailExceeded> {
        let inner = self.inner.as_ref()?;
        let _recording = Recording::enter()?;
        inner.context.run.tripped()
    }

    /// Whether anything is recorded.
    #[must_use]
    pub fn is_recording(&self) -> bool {
        self.inner.is_some()
    }

    /// The context for what happens inside.
    pub(crate) fn context(&self) -> Option<Context> {
        self.inner.as_ref().map(|inner| inner.context.clone())
    }

    /// What the tool is given, or what the model is asked.
    pub fn arguments<T: Serialize + ?Sized>(&self, value: &T) {
        self.edit(|span| match span.event_type() {
            EventType::LlmCall => span.message(events::PROMPT, EventTime::Start, value),
            _ => span.json_event(
                events::TOOL_ARGUMENTS,
                EventTime::Start,
                event_keys::ARGUMENTS,
                value,
            ),
        });
    }

    /// What the tool gave, or what the model answered.
    pub fn result<T: Serialize + ?Sized>(&self, value: &T) {
        self.edit(|span| match span.event_type() {
            EventType::LlmCall => span.message(events::RESPONSE, EventTime::End, value),
            _ => span.json_event(events::TOOL_RESULT, EventTime::End, event_keys::RESULT, value),
        });
    }

    /// The span is taken out while it is edited: user code never runs under the lock.
    fn edit(&self, change: impl FnOnce(&mut OpenSpan)) {
        let (Some(inner), Some(_recording)) = (&self.inner, Recording::enter()) else {
            return;
        };
        let taken = inner.span.lock().and_then(|mut place| place.take());
        if let Some(mut span) = taken {
            change(&mut span);
            if let Some(mut place) = inner.span.lock() {
                *place = Some(span);
            }
        }
    }

    /// Records that the work failed.
    pub fn fail(&self, error: ErrorInfo) {
        let (Some(inner), Some(_recording)) = (&self.inner, Recording::enter()) else {
            return;
        };
        let Some(mut place) = inner.span.lock() else {
            return;
        };
        match (&inner.run, place.as_mut()) {
            (_, Some(span)) => span.fail(error),
            (Some(run), None) => run.fail(error),
            (None, None) => {}
        }
    }

    /// Ends the run or span. Only the first end counts.
    pub fn end(&self) {
        self.end_with(None, Duration::ZERO);
    }

    /// Watches for a panic from now on; `None` where nothing is recorded.
    pub(crate) fn watch(&self) -> Option<Watch> {
        self.inner.as_ref().map(|inner| Watch::start(&inner.context.run))
    }

    /// Ends as failed if the thread began to unwind since the watch began; says whether it did.
    pub(crate) fn end_if_panicked(&self, watch: Option<&Watch>) -> bool {
        let (Some(inner), Some(watch)) = (&self.inner, watch) else {
            return false;
        };
        let frames = match inner.run {
            Some(_) => Frames::Resolved,
            None => Frames::LeftOut,
        };
        let panic = watch.panic(&inner.context.run, frames);
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
        let Some(_recording) = Recording::enter_or_count() else {
            return;
        };
        let clock = &inner.context.run.clock;
        let end = clock.before(clock.now(), ago);
        let span = inner.span.lock().and_then(|mut place| place.take());
        if let Some(mut span) = span {
            match &error {
                Some(error) if !span.has_error() => span.fail(error.clone()),
                _ => {}
            }
            // A guardrail that this trips is sticky: the next recorder call returns it.
            let _ = span.end_at(end);
        }
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
        ScopeGuard {
            context: self.context().map(|context| context.enter()),
            scope: self.clone(),
            watch: self.watch(),
        }
    }
}

impl Drop for Scope {
    fn drop(&mut self) {
        // The last one gives its memory back, and the program's allocator may record that.
        let _recording = Recording::mark();
        self.inner = None;
    }
}

/// Ends its scope when dropped, as `panic` when the thread began to unwind meanwhile.
#[must_use = "the scope ends when this guard is dropped: bind it with `let _guard = …`"]
#[derive(Debug)]
pub struct ScopeGuard {
    context: Option<ContextGuard>,
    scope: Scope,
    /// `None` where nothing is recorded.
    watch: Option<Watch>,
}

impl Drop for ScopeGuard {
    fn drop(&mut self) {
        drop(self.context.take());
        if !self.scope.end_if_panicked(self.watch.as_ref()) {
            self.scope.end();
        }
        forget();
    }
}
