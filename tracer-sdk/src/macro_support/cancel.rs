//! `on_exceed = cancel`: a future that stops at its next await once its run has tripped a guardrail.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use pin_project_lite::pin_project;

use crate::emit::scope::Scope;
use crate::guardrails::GuardrailExceeded;

/// A return type that can carry the guardrail that cancelled the function.
#[diagnostic::on_unimplemented(
    message = "`on_exceed = cancel` cannot return the guardrail as `{Self}`",
    label = "not a `Result` whose error is `From<GuardrailExceeded>`",
    note = "`anyhow::Result<_>` and `Result<_, Box<dyn Error>>` are; for an error of your own, write the `From`"
)]
pub trait FromGuardrailExceeded {
    /// The value that the cancelled function returns.
    fn from_guardrail_exceeded(exceeded: GuardrailExceeded) -> Self;
}

impl<T, E: From<GuardrailExceeded>> FromGuardrailExceeded for Result<T, E> {
    fn from_guardrail_exceeded(exceeded: GuardrailExceeded) -> Self {
        Err(exceeded.into())
    }
}

/// How a function that returns `Returned` returns a guardrail.
pub fn as_returned<Returned: FromGuardrailExceeded>() -> fn(GuardrailExceeded) -> Returned {
    Returned::from_guardrail_exceeded
}

pin_project! {
    /// Polls the body of a run; when it waits and the run has tripped, drops it and returns the guardrail.
    #[must_use = "futures do nothing unless awaited"]
    pub struct CancelOnExceed<Body: Future> {
        scope: Scope,
        as_returned: fn(GuardrailExceeded) -> Body::Output,
        #[pin]
        body: Option<Body>,
    }
}

impl<Body: Future> CancelOnExceed<Body> {
    /// The body of the run that `scope` is.
    pub fn new(scope: Scope, as_returned: fn(GuardrailExceeded) -> Body::Output, body: Body) -> Self {
        Self {
            scope,
            as_returned,
            body: Some(body),
        }
    }
}

impl<Body: Future> Future for CancelOnExceed<Body> {
    type Output = Body::Output;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        let Some(body) = this.body.as_mut().as_pin_mut() else {
            return Poll::Pending;
        };
        if let Poll::Ready(output) = body.poll(context) {
            return Poll::Ready(output);
        }
        match this.scope.tripped() {
            Some(exceeded) => {
                this.body.set(None);
                Poll::Ready((this.as_returned)(exceeded))
            }
            None => Poll::Pending,
        }
    }
}
