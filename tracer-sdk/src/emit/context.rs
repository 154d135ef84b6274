//! Which run and which span a thread is working for: a stack per thread, restored by guards and at every poll.

use std::cell::RefCell;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use serde::Serialize;

use super::panic::watched;
use super::recording::RecordingGuard;
use super::run_state::{RunState, registry};
use crate::redact::Redactor;
use crate::write::draft::Draft;
use tracer_format::{EventType, SpanId, TraceId, TraceParent, Usage};

thread_local! {
    /// Guards hold positions, so that those dropped out of order neither panic nor disturb the others.
    static STACK: RefCell<Vec<Option<Context>>> = const { RefCell::new(Vec::new()) };
}

/// A run and the span in it that new spans belong under. Cheap to clone; carry it into threads and tasks.
///
/// ```
/// use tracer_sdk::Context;
///
/// let folder = tempfile::tempdir()?;
/// let config = tracer_sdk::Config::new().data_dir(folder.path());
/// let run = tracer_sdk::Run::new("fan out").config(&config).start();
/// let context = Context::current().expect("a run is active");
/// let worker = std::thread::spawn(context.wrap(|| tracer_sdk::tool_call("search").record()));
/// worker.join().unwrap()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Context {
    pub(crate) run: Arc<RunState>,
    pub(crate) span: SpanId,
    /// The span with which the branch of the run began that loops are looked for in; the root's ID for its own branch.
    pub(crate) branch: SpanId,
    /// The thread had no context of its own, and this run was the only one.
    pub(crate) inferred: bool,
}

impl Context {
    /// The context of this thread or task; `None` outside of every run.
    ///
    /// A thread that was never given a context, while exactly one run is live in the process, gets that run's.
    ///
    /// ```
    /// use tracer_sdk::Context;
    ///
    /// let folder = tempfile::tempdir()?;
    /// let config = tracer_sdk::Config::new().data_dir(folder.path());
    /// let run = tracer_sdk::Run::new("fan out").config(&config).start();
    /// assert_eq!(Context::current().map(|context| context.trace_id()), run.trace_id());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn current() -> Option<Self> {
        match RecordingGuard::enter() {
            Some(_recording) => Self::active(),
            None => Self::of_thread(),
        }
    }

    /// The same, for a recorder.
    pub(crate) fn active() -> Option<Self> {
        Self::of_thread().or_else(|| {
            let run = registry::only_live_run().filter(|run| run.is_own_process())?;
            Some(Self {
                span: run.root_id(),
                branch: run.root_id(),
                run,
                inferred: true,
            })
        })
    }

    /// The context that this thread was given. One that a forked child inherited is not its own: the child may start a
    /// run, and has none until then.
    pub(crate) fn of_thread() -> Option<Self> {
        STACK
            .try_with(|stack| stack.try_borrow().ok()?.last().cloned().flatten())
            .ok()
            .flatten()
            .filter(|context| context.run.is_own_process())
    }

    /// The run's ID.
    ///
    /// ```
    /// let folder = tempfile::tempdir()?;
    /// let config = tracer_sdk::Config::new().data_dir(folder.path());
    /// let run = tracer_sdk::Run::new("fan out").config(&config).start();
    /// let context = run.context().expect("recording is on");
    /// assert_eq!(Some(context.trace_id()), run.trace_id());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn trace_id(&self) -> TraceId {
        self.run.trace_id()
    }

    /// Adds an attribute of your own to the span that the context is of, or to the run; a structured value is stored as JSON text.
    /// It replaces one of the same key that the span sets itself. A span that has ended stays as it is.
    ///
    /// ```
    /// use tracer_sdk::Context;
    /// use tracer_sdk::testing::capture;
    ///
    /// #[tracer_sdk::trace(tool)]
    /// fn search() {
    ///     if let Some(span) = Context::current() {
    ///         span.attribute("pages", &3);
    ///     }
    /// }
    ///
    /// let run = capture(search);
    /// assert_eq!(run.spans[0].attributes["pages"], 3);
    /// ```
    pub fn attribute<T: Serialize + ?Sized>(&self, key: &str, value: &T) -> &Self {
        self.add(|draft, redactor| draft.user(key, value, redactor))
    }

    /// Sets the tokens of the model call that the context is of; nothing where it is of no model call.
    ///
    /// ```
    /// use tracer_sdk::testing::capture;
    /// use tracer_sdk::{Context, Usage};
    ///
    /// #[tracer_sdk::trace(llm, model = "gpt-5", result)]
    /// fn ask() -> &'static str {
    ///     if let Some(span) = Context::current() {
    ///         span.usage(Usage::new(14, 6));
    ///     }
    ///     "Because."
    /// }
    ///
    /// let run = capture(ask);
    /// assert_eq!(run.spans[0].attributes["gen_ai.usage.total_tokens"], 20);
    /// ```
    pub fn usage(&self, usage: Usage) -> &Self {
        self.add(|draft, _| {
            if self.run.open_type(self.span) == Some(EventType::LlmCall) {
                draft.usage(usage);
            }
        })
    }

    /// Adds to the span. No user code runs under a lock.
    pub(super) fn add(&self, write: impl FnOnce(&mut Draft, &Redactor)) -> &Self {
        if let Some(_recording) = RecordingGuard::enter() {
            let mut draft = Draft::default();
            write(&mut draft, &self.run.redactor);
            self.run.add_to(self.span, draft);
        }
        self
    }

    /// Opens the run to a child process, and gives this context for it in the form of W3C's `traceparent`: hand it on in the
    /// environment variable `TRACER_TRACEPARENT`, and the child's runs become spans of this run, in the same directory.
    /// Where the child recorded, `meta.json` says that its counts are not exact, and readers count the log.
    ///
    /// ```no_run
    /// use std::process::Command;
    ///
    /// let mut child = Command::new("indexer");
    /// if let Some(context) = tracer_sdk::Context::current() {
    ///     child.env("TRACER_TRACEPARENT", context.share());
    /// }
    /// child.status()?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[must_use]
    pub fn share(&self) -> String {
        if let Some(_recording) = RecordingGuard::enter() {
            self.run.share(self.span);
        }
        TraceParent {
            trace_id: self.trace_id(),
            span_id: self.span,
        }
        .to_string()
    }

    /// Makes this the context of the thread until the guard is dropped.
    ///
    /// ```
    /// let folder = tempfile::tempdir()?;
    /// let config = tracer_sdk::Config::new().data_dir(folder.path());
    /// let run = tracer_sdk::Run::new("fan out").config(&config).start();
    /// let context = run.context().expect("recording is on");
    /// let worker = std::thread::spawn(move || {
    ///     let _guard = context.enter();
    ///     tracer_sdk::tool_call("search").record()
    /// });
    /// worker.join().unwrap()?;
    /// assert_eq!(run.finish().written, 2); // the call and the run's own span
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn enter(&self) -> ContextGuard {
        ContextGuard {
            position: push(self.clone()),
            not_send: PhantomData,
        }
    }

    /// Runs a closure within this context.
    ///
    /// ```
    /// let folder = tempfile::tempdir()?;
    /// let config = tracer_sdk::Config::new().data_dir(folder.path());
    /// let run = tracer_sdk::Run::new("fan out").config(&config).start();
    /// let context = run.context().expect("recording is on");
    /// std::thread::scope(|threads| {
    ///     threads.spawn(|| context.in_scope(|| tracer_sdk::tool_call("search").record()));
    ///     threads.spawn(|| context.in_scope(|| tracer_sdk::tool_call("read_file").record()));
    /// });
    /// assert_eq!(run.finish().written, 3);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn in_scope<R>(&self, work: impl FnOnce() -> R) -> R {
        let _guard = self.enter();
        watched(work)
    }

    /// Wraps a closure so that it runs within this context wherever it is called: in a thread, a pool, a callback.
    ///
    /// ```
    /// let folder = tempfile::tempdir()?;
    /// let config = tracer_sdk::Config::new().data_dir(folder.path());
    /// let run = tracer_sdk::Run::new("fan out").config(&config).start();
    /// let context = run.context().expect("recording is on");
    /// let search = context.wrap(|| tracer_sdk::tool_call("search").record());
    /// std::thread::spawn(search).join().unwrap()?;
    /// assert_eq!(run.finish().written, 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn wrap<R>(self, work: impl FnOnce() -> R) -> impl FnOnce() -> R {
        move || self.in_scope(work)
    }
}

impl fmt::Debug for Context {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Context")
            .field("trace_id", &self.trace_id())
            .field("span", &self.span)
            .finish_non_exhaustive()
    }
}

/// Makes a context the thread's, without a guard; its position, or `None` when the thread is ending.
pub(crate) fn push(context: Context) -> Option<usize> {
    // The stack may have to grow, and the program's allocator may record that.
    let _recording = RecordingGuard::mark();
    let pushed = STACK.try_with(|stack| {
        let mut stack = stack.try_borrow_mut().ok()?;
        stack.push(Some(context));
        Some(stack.len() - 1)
    });
    pushed.ok().flatten()
}

/// Takes off the last context of a span that [`push`] put on.
pub(crate) fn pop_span(span: SpanId) {
    take_off(|stack| {
        stack
            .iter()
            .rposition(|entry| entry.as_ref().is_some_and(|entry| entry.span == span))
    });
}

/// Removes an entry and drops it after the borrow has ended: it may be the last holder of a run.
fn take_off(find: impl FnOnce(&[Option<Context>]) -> Option<usize>) {
    let left = STACK.try_with(|stack| {
        let mut stack = stack.try_borrow_mut().ok()?;
        let position = find(&stack)?;
        let left = stack.get_mut(position)?.take()?;
        while stack.last().is_some_and(Option::is_none) {
            stack.pop();
        }
        let stays = stack
            .iter()
            .flatten()
            .any(|other| Arc::ptr_eq(&other.run, &left.run));
        Some((left, stays))
    });
    if let Ok(Some((left, false))) = left
        && let Some(_recording) = RecordingGuard::enter()
    {
        left.run.settle_late();
    }
}

/// Restores the thread's earlier context when dropped. It belongs to its thread:
///
/// ```compile_fail
/// fn must_be_send<T: Send>(_: T) {}
/// let guard = tracer_sdk::Context::current().unwrap().enter();
/// must_be_send(guard);
/// ```
#[must_use = "the context lasts as long as this guard: bind it with `let _guard = …`"]
#[derive(Debug)]
pub struct ContextGuard {
    /// `None` when the thread is ending and has no stack any more.
    position: Option<usize>,
    not_send: PhantomData<*const ()>,
}

impl Drop for ContextGuard {
    fn drop(&mut self) {
        take_off(|_| self.position);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contexts_are_shared_between_threads_and_guards_are_not() {
        fn shared<T: Send + Sync>() {}
        shared::<Context>();
    }
}
