//! The work of a scope as the scope sees it: refused before it begins, and asked for its error when it is done.
//!
//! A hand-written future: an `async` block would hold the work twice, as what it captured and as what it awaits, so that
//! wrappers within wrappers would double with each level.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use pin_project_lite::pin_project;

use super::scope::Scope;
use crate::guardrails::GuardrailExceeded;

pin_project! {
    /// Polls the work of a scope, unless it is refused, and shows the scope what it gave.
    #[must_use = "futures do nothing unless awaited"]
    pub struct Observed<Body, Refuse, Observe> {
        scope: Scope,
        // Gone with the first poll.
        refuse: Option<Refuse>,
        observe: Option<Observe>,
        #[pin]
        body: Body,
    }
}

impl<Body, Refuse, Observe> Observed<Body, Refuse, Observe>
where
    Body: Future,
    Refuse: FnOnce(GuardrailExceeded) -> Option<Body::Output>,
    Observe: FnOnce(&Scope, &Body::Output),
{
    /// The work of `scope`; `refuse` gives what it returns instead when a guardrail refuses it.
    pub fn new(scope: Scope, body: Body, refuse: Refuse, observe: Observe) -> Self {
        Self {
            scope,
            refuse: Some(refuse),
            observe: Some(observe),
            body,
        }
    }
}

impl<Body, Refuse, Observe> Future for Observed<Body, Refuse, Observe>
where
    Body: Future,
    Refuse: FnOnce(GuardrailExceeded) -> Option<Body::Output>,
    Observe: FnOnce(&Scope, &Body::Output),
{
    type Output = Body::Output;

    fn poll(self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        if let Some(refuse) = this.refuse.take()
            && let Some(refusal) = this.scope.refused().and_then(refuse)
        {
            return Poll::Ready(refusal);
        }
        let output = ready!(this.body.poll(task));
        match this.observe.take() {
            Some(observe) => Poll::Ready(observed(this.scope, output, observe)),
            None => Poll::Ready(output),
        }
    }
}

/// Shows the scope what its work gave, where anything is recorded, and hands it on.
pub fn observed<Output>(scope: &Scope, output: Output, observe: impl FnOnce(&Scope, &Output)) -> Output {
    if scope.is_recording() {
        observe(scope, &output);
    }
    output
}
