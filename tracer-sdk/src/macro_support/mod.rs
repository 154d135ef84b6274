//! The private interface of `#[tracer_sdk::trace]`, for its expansions only.
//!
//! There is no promise of stability here: `tracer-macros` and `tracer-sdk` are released together, each naming the
//! other's exact version.

mod arguments;
mod cancel;
mod dollars;
mod ok_value;
mod outcome;
mod refusal;
mod seconds;

use crate::emit::panic::watched;

pub use crate::emit::observed::{Observed, observed};
pub use crate::emit::scope::Scope;
pub use crate::emit::site::Site;
pub use crate::emit::traced::Traced;
pub use crate::guardrails::{Guardrails, StopOnLoop};
pub use arguments::Arguments;
pub use cancel::{as_returned, cancel_on_exceed};
pub use dollars::max_cost_usd;
pub use ok_value::{AnyValue, OkValue, ResultValue};
pub use outcome::{
    AnyOutcome, DebugOutcome, DisplayOutcome, ErrorOutcome, Outcome, ResultOutcome, WrappedErrorOutcome,
};
pub use refusal::{AnyReturn, ConvertibleReturn, Returned};
pub use seconds::seconds;
pub use std::borrow::Cow;
pub use std::boxed::Box;

/// Calls `body` once. A plain call of a closure would be inferred `FnMut`, and could not return a reborrow of a `&mut`
/// argument.
#[inline(always)]
#[expect(
    clippy::inline_always,
    reason = "it stands for the braces of the user's function"
)]
pub fn call_once<Body, Output>(body: Body) -> Output
where
    Body: FnOnce() -> Output,
{
    watched(body)
}

/// Calls `body` once for the future that it returns, whose output type the compiler learns here.
pub fn call_once_for_future<Output, Body, Returned>(body: Body) -> Returned
where
    Body: FnOnce() -> Returned,
    Returned: Future<Output = Output>,
{
    body()
}

/// Takes no value: a closure that moves what it mentions has all of the argument, and drops it when its own variables are gone.
pub const fn whole<Argument: ?Sized>(_: &Argument) {}

/// A value of the type that a function returns, which is never made: it only tells the compiler the type of an `async`
/// block, so that a mismatch is reported at the user's expression.
pub fn never_called<Output>() -> Output {
    loop {
        std::thread::park();
    }
}

/// The future of a function that never returns, marked as such for the compiler: `!` cannot be written where a type argument
/// stands, so that [`never_called`] cannot do it.
pub fn never_ready<Body>(body: Body) -> Body
where
    Body: Future<Output = <fn() -> ! as Function>::Output>,
{
    body
}

/// A function pointer, to name the type that it gives.
pub trait Function {
    /// The return type.
    type Output;
}

impl<Output> Function for fn() -> Output {
    type Output = Output;
}
