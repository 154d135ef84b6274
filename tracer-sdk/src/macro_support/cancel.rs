//! `on_exceed = cancel`: a future that stops at its next await once its run has tripped a guardrail.

use std::future::{Future, poll_fn};
use std::task::Poll;

use crate::emit::cut_short::CutShort;
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

/// Returns the conversion of a guardrail into `Returned`, the return type of a function.
pub fn as_returned<Returned: FromGuardrailExceeded>() -> fn(GuardrailExceeded) -> Returned {
    Returned::from_guardrail_exceeded
}

/// The body of the run that `scope` is; when it waits and the run has tripped, it is dropped and the guardrail is returned.
pub fn cancel_on_exceed<Body: Future>(
    scope: Scope,
    as_returned: fn(GuardrailExceeded) -> Body::Output,
    body: Body,
) -> CutShort<Body, impl Future<Output = Body::Output>> {
    let tripped = poll_fn(move |_| {
        scope
            .tripped()
            .map_or(Poll::Pending, |exceeded| Poll::Ready(as_returned(exceeded)))
    });
    CutShort::new(body, tripped)
}
