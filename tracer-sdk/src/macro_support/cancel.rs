//! `on_exceed = cancel`: a future that stops at its next await once its run has tripped a guardrail.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use pin_project_lite::pin_project;

use crate::emit::scope::Scope;
use crate::guardrails::GuardrailExceeded;

/// A return type that can carry the guardrail that cancelled the function.
#[diagnostic::on_unimplemented(
    message = "`on_exceed = cancel` cannot return the guardrail as a `{Self}`",
    label = "this function returns `{Self}`",
    note = "return a `Result<_, E>` where `E: From<tracer_sdk::GuardrailExceeded>`: `anyhow::Result` and `Box<dyn Error>` do"
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

pin_project! {
    /// Polls the body of a run; when it waits and the run has tripped, drops it and returns the guardrail.
    #[must_use = "futures do nothing unless awaited"]
    pub struct CancelOnExceed<Body> {
        scope: Scope,
        #[pin]
        body: Option<Body>,
    }
}

impl<Body> CancelOnExceed<Body>
where
    Body: Future<Output: FromGuardrailExceeded>,
{
    /// The body of the run that `scope` is.
    pub fn new(scope: Scope, body: Body) -> Self {
        Self {
            scope,
            body: Some(body),
        }
    }
}

impl<Body> Future for CancelOnExceed<Body>
where
    Body: Future<Output: FromGuardrailExceeded>,
{
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
                Poll::Ready(Body::Output::from_guardrail_exceeded(exceeded))
            }
            None => Poll::Pending,
        }
    }
}
