//! Futures that work for a run: the context is the thread's at every poll, and while a cancelled future is dropped.

use std::future::Future;
use std::pin::Pin;
use std::task::{self, Poll};

use pin_project_lite::pin_project;

use super::context::{self, Context};
use super::panic::{Watch, watched};
use super::scope::Scope;

/// Enters a context when it is dropped; stands before the future whose drop needs the context.
#[derive(Debug)]
struct EnterOnDrop(Option<Context>);

impl Drop for EnterOnDrop {
    fn drop(&mut self) {
        if let Some(context) = &self.0 {
            context::push(context.clone());
        }
    }
}

/// Leaves what [`EnterOnDrop`] entered; stands behind the future.
#[derive(Debug)]
struct LeaveOnDrop(Option<Context>);

impl Drop for LeaveOnDrop {
    fn drop(&mut self) {
        if let Some(context) = &self.0 {
            context::pop_span(context.span);
        }
    }
}

pin_project! {
    /// A future that is polled, and dropped, within a context. Made by [`TraceFutureExt`].
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let config = tracer_sdk::Config::new().data_dir(folder.path());
    /// use tracer_sdk::TraceFutureExt;
    ///
    /// let run = tracer_sdk::Run::new("fan out").config(&config).start();
    /// let search = async { tracer_sdk::tool_call("search").record() }.in_current_run();
    /// tokio::spawn(search).await??;
    /// assert_eq!(run.finish().written, 2); // the call and the run's own span
    /// # Ok(()) }
    /// ```
    #[must_use = "futures do nothing unless polled"]
    #[derive(Debug)]
    pub struct InContext<F> {
        // The order of the fields is the order in which they are dropped.
        enter: EnterOnDrop,
        #[pin]
        inner: F,
        leave: LeaveOnDrop,
    }
}

impl<F: Future> Future for InContext<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, task: &mut task::Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        let _guard = this.enter.0.as_ref().map(Context::enter);
        this.inner.poll(task)
    }
}

/// Carries runs into tasks.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir().unwrap();
/// # let config = tracer_sdk::Config::new().data_dir(folder.path());
/// use tracer_sdk::TraceFutureExt;
///
/// let run = tracer_sdk::Run::new("fan out").config(&config).start();
/// let calls = ["search", "read_file"].map(|tool| {
///     tokio::spawn(async move { tracer_sdk::tool_call(tool).record() }.in_current_run())
/// });
/// for call in calls {
///     call.await??;
/// }
/// assert_eq!(run.finish().written, 3);
/// # Ok(()) }
/// ```
pub trait TraceFutureExt: Future + Sized {
    /// Polls this future within the context that is current now. Spawned tasks need it:
    ///
    /// ```
    /// use tracer_sdk::TraceFutureExt;
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let config = tracer_sdk::Config::new().data_dir(folder.path());
    /// # fn spawn<F: Future>(_: F) {}
    /// let run = tracer_sdk::Run::new("fan out").config(&config).start();
    /// spawn(async { tracer_sdk::tool_call("search").record() }.in_current_run());
    /// ```
    fn in_current_run(self) -> InContext<Self> {
        self.in_optional_context(Context::current())
    }

    /// Polls this future within a context.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let config = tracer_sdk::Config::new().data_dir(folder.path());
    /// use tracer_sdk::{Context, TraceFutureExt};
    ///
    /// let run = tracer_sdk::Run::new("fan out").config(&config).start();
    /// let mut plan = tracer_sdk::span("plan").start();
    /// if let Some(context) = plan.context() {
    ///     tokio::spawn(async { tracer_sdk::tool_call("search").record() }.in_context(context)).await??;
    /// }
    /// plan.end();
    /// assert_eq!(run.finish().written, 3);
    /// # Ok(()) }
    /// ```
    fn in_context(self, context: Context) -> InContext<Self> {
        self.in_optional_context(Some(context))
    }

    #[doc(hidden)]
    fn in_optional_context(self, context: Option<Context>) -> InContext<Self> {
        InContext {
            enter: EnterOnDrop(context.clone()),
            inner: self,
            leave: LeaveOnDrop(context),
        }
    }
}

impl<F: Future> TraceFutureExt for F {}

pin_project! {
    /// A future that is a run or a span of its own. It ends when the future is ready; dropped before that, it is told
    /// as cancelled.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let config = tracer_sdk::Config::new().data_dir(folder.path());
    /// let work = tracer_sdk::Run::new("ask").config(&config).instrument(async { "42".parse::<u8>() });
    /// drop(work); // cancelled before it was polled
    /// let run = tracer_sdk::read::RunStore::new(folder.path()).newest()?.load()?;
    /// assert_eq!(run.spans[0].status_description, "dropped before it was finished");
    /// # Ok(()) }
    /// ```
    #[must_use = "futures do nothing unless polled"]
    #[derive(Debug)]
    pub struct Traced<F> {
        // The order of the fields is the order in which they are dropped.
        enter: EnterOnDrop,
        // Gone once it is ready: a call that it still holds ends before its run does.
        #[pin]
        inner: Option<F>,
        leave: LeaveOnDrop,
        scope: CancelOnDrop,
    }
}

/// Ends a scope whose future never came to its end.
#[derive(Debug)]
struct CancelOnDrop(Scope);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

impl<F: Future> Traced<F> {
    /// Makes `future` the work of `scope`. For the attribute: users call [`Run::instrument`](crate::Run::instrument).
    #[doc(hidden)]
    pub fn new(scope: Scope, future: F) -> Self {
        let context = scope.context();
        Self {
            enter: EnterOnDrop(context.clone()),
            inner: Some(future),
            leave: LeaveOnDrop(context),
            scope: CancelOnDrop(scope),
        }
    }
}

/// Tells a panic in a poll, which an executor may catch before the future is dropped.
struct NotePanic<'a> {
    scope: &'a Scope,
    watch: Option<Watch>,
}

impl Drop for NotePanic<'_> {
    fn drop(&mut self) {
        self.scope.end_if_panicked(self.watch.as_ref());
    }
}

impl<F: Future> Future for Traced<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, task: &mut task::Context<'_>) -> Poll<F::Output> {
        let mut this = self.project();
        let Some(inner) = this.inner.as_mut().as_pin_mut() else {
            // It was ready before; nothing wakes it again.
            return Poll::Pending;
        };
        let guard = this.enter.0.as_ref().map(Context::enter);
        let note = NotePanic {
            scope: &this.scope.0,
            watch: this.scope.0.watch(),
        };
        let polled = watched(|| inner.poll(task));
        if polled.is_ready() {
            this.inner.set(None);
        }
        drop(note);
        drop(guard);
        if polled.is_ready() {
            this.enter.0 = None;
            this.leave.0 = None;
            this.scope.0.end();
        }
        polled
    }
}
