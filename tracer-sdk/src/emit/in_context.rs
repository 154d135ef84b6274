//! Futures within a context: it is the thread's at every poll, and while a cancelled future is dropped.

use std::cell::Cell;
use std::future::Future;
use std::pin::Pin;
use std::task::{self, Poll};

use pin_project_lite::pin_project;

use super::context::{self, Context};

thread_local! {
    /// Number of futures that this thread is dropping, one within the other.
    static DROPPED: Cell<u32> = const { Cell::new(0) };
}

/// Returns whether this thread is dropping a future: what it unwinds from is no panic of that future, whose own has
/// left it at a poll.
pub(super) fn is_dropping_a_future() -> bool {
    DROPPED.try_with(Cell::get).unwrap_or(0) > 0
}

/// Enters a context when it is dropped; declared before the future whose drop needs the context.
#[derive(Debug)]
pub(super) struct EnterOnDrop(pub(super) Option<Context>);

impl Drop for EnterOnDrop {
    fn drop(&mut self) {
        if let Some(context) = &self.0 {
            let _ = DROPPED.try_with(|dropped| dropped.set(dropped.get() + 1));
            context::push(context.clone());
        }
    }
}

/// Leaves what [`EnterOnDrop`] entered; declared behind the future.
#[derive(Debug)]
pub(super) struct LeaveOnDrop(pub(super) Option<Context>);

impl Drop for LeaveOnDrop {
    fn drop(&mut self) {
        if let Some(context) = &self.0 {
            let _ = DROPPED.try_with(|dropped| dropped.set(dropped.get().saturating_sub(1)));
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
    /// use tracer_sdk::TraceFutureExt;
    ///
    /// let folder = tempfile::tempdir()?;
    /// let config = tracer_sdk::Config::new().data_dir(folder.path());
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
/// use tracer_sdk::TraceFutureExt;
///
/// let folder = tempfile::tempdir()?;
/// let config = tracer_sdk::Config::new().data_dir(folder.path());
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
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// use tracer_sdk::TraceFutureExt;
    /// use tracer_sdk::testing::capture_async;
    ///
    /// let search = async { tracer_sdk::tool_call("search").record() };
    /// let run = capture_async(async { tokio::spawn(search.in_current_run()).await }).await;
    /// assert_eq!(run.tree(), "run captured\n└─ tool search\n");
    /// # }
    /// ```
    fn in_current_run(self) -> InContext<Self> {
        self.in_optional_context(Context::current())
    }

    /// Polls this future within a context.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use tracer_sdk::{Config, Context, TraceFutureExt};
    ///
    /// let folder = tempfile::tempdir()?;
    /// let config = Config::new().data_dir(folder.path());
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
