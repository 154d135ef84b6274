//! A future that another one may cut short: `on_exceed = cancel`, and the time limit of a tool call.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use pin_project_lite::pin_project;

pin_project! {
    /// Polls a future, and drops it as soon as another one has an output in its place.
    #[must_use = "futures do nothing unless awaited"]
    pub struct CutShort<Body, Instead> {
        #[pin]
        body: Option<Body>,
        #[pin]
        instead: Instead,
    }
}

impl<Body: Future, Instead: Future<Output = Body::Output>> CutShort<Body, Instead> {
    /// A future, and what may cut it short.
    pub(crate) fn new(body: Body, instead: Instead) -> Self {
        let body = Some(body);
        Self { body, instead }
    }
}

impl<Body: Future, Instead: Future<Output = Body::Output>> Future for CutShort<Body, Instead> {
    type Output = Body::Output;

    fn poll(self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        let Some(body) = this.body.as_mut().as_pin_mut() else {
            return Poll::Pending;
        };
        if let Poll::Ready(output) = body.poll(task) {
            return Poll::Ready(output);
        }
        let output = ready!(this.instead.poll(task));
        this.body.set(None);
        Poll::Ready(output)
    }
}
