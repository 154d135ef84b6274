//! Detection of functions that can return a guardrail's refusal.
//!
//! Their return type is a `Result` whose error is made from a refusal. Chosen by autoref on the type alone, since a
//! refused call has no value yet.

use std::marker::PhantomData;

use crate::guardrails::GuardrailExceeded;

/// The return type of a function.
pub struct Returned<T>(PhantomData<fn() -> T>);

impl<T> Returned<T> {
    /// The type, to be asked.
    pub const fn new() -> Self {
        Self(PhantomData)
    }
}

impl<T> Default for Returned<T> {
    fn default() -> Self {
        Self::new()
    }
}

/// A type that can carry the refusal.
pub trait ConvertibleReturn {
    /// The return type.
    type Value;

    /// The value to return instead of running the function.
    fn tracer_refusal(&self, exceeded: GuardrailExceeded) -> Option<Self::Value>;
}

impl<T, E: From<GuardrailExceeded>> ConvertibleReturn for &Returned<Result<T, E>> {
    type Value = Result<T, E>;

    fn tracer_refusal(&self, exceeded: GuardrailExceeded) -> Option<Self::Value> {
        Some(Err(exceeded.into()))
    }
}

/// A type that cannot: the function runs, and its span says that it was refused.
pub trait AnyReturn {
    /// The return type.
    type Value;

    /// Nothing.
    fn tracer_refusal(&self, exceeded: GuardrailExceeded) -> Option<Self::Value>;
}

impl<T> AnyReturn for Returned<T> {
    type Value = T;

    fn tracer_refusal(&self, _exceeded: GuardrailExceeded) -> Option<T> {
        None
    }
}
