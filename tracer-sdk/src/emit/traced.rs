//! [`Traced`]: a future that is a run or a span of its own.

use std::future::Future;
use std::pin::Pin;
use std::task::{self, Poll};

use pin_project_lite::pin_project;

use super::context::Context;
use super::in_context::{EnterOnDrop, LeaveOnDrop};
use super::panic::{PanicWatch, watched};
use super::scope::Scope;

pin_project! {
    /// A future that is a run or a span of its own. It ends when the future is ready; dropped before that, it is
    /// recorded as cancelled.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let folder = tempfile::tempdir()?;
    /// let config = tracer_sdk::Config::new().data_dir(folder.path());
    /// let work = tracer_sdk::Run::new("ask").config(&config).try_instrument(async { "42".parse::<u8>() });
    /// drop(work); // cancelled before it was polled
    /// let run = tracer_runs::RunStore::new(folder.path()).newest()?.load()?;
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

/// Reports a panic in a poll, which an executor may catch before the future is dropped.
struct NotePanic<'a> {
    scope: &'a Scope,
    watch: Option<PanicWatch>,
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
