//! Detection of failures in returned values of any type, with their message.
//!
//! Chosen by autoref: `(&&&&&&Outcome(&value)).tracer_error(place)` finds the first implementation below that holds, since
//! each takes one reference more than the next. So no option is needed, no alias of `Result` is missed, and no bound is put
//! on the user's types.

use std::error::Error;
use std::fmt::{Debug, Display};
use std::ops::Deref;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::emit::error::{ErrorInfo, UNNAMED, causes, debug_text, root_type, short_type_name};

/// A returned value, to be asked for its error.
pub struct Outcome<'a, T>(pub &'a T);

/// An error of the standard kind: its text and the causes behind it.
pub trait ErrorOutcome {
    /// The error, seen at `place`.
    fn tracer_error(&self, place: &'static str) -> Option<ErrorInfo>;
}

impl<T, E: Error> ErrorOutcome for &&&&&Outcome<'_, Result<T, E>> {
    fn tracer_error(&self, place: &'static str) -> Option<ErrorInfo> {
        self.0
            .as_ref()
            .err()
            .map(|error| ErrorInfo::with_causes(error).at(place))
    }
}

/// A holder of errors that is not one itself: `anyhow::Error`, `Box<dyn Error>`. It tells as much. A backtrace that it has
/// is left where it is: to print it means to resolve it, which takes tens of milliseconds, while the program runs.
pub trait WrappedErrorOutcome {
    /// The error, seen at `place`.
    fn tracer_error(&self, place: &'static str) -> Option<ErrorInfo>;
}

impl<T, E> WrappedErrorOutcome for &&&&Outcome<'_, Result<T, E>>
where
    E: Deref<Target: Error> + Display,
{
    fn tracer_error(&self, place: &'static str) -> Option<ErrorInfo> {
        let error = self.0.as_ref().err()?;
        // A `Deref` belongs to the user, too.
        let stack = catch_unwind(AssertUnwindSafe(|| causes(&**error))).unwrap_or_default();
        let mut info = ErrorInfo {
            stack,
            ..ErrorInfo::of(error)
        };
        if info.error_type == UNNAMED
            && let Ok(Some(known)) = catch_unwind(AssertUnwindSafe(|| root_type(&**error)))
        {
            info.error_type = known;
        }
        Some(info.at(place))
    }
}

/// An error that can only be displayed: a `String`.
pub trait DisplayOutcome {
    /// The error, seen at `place`.
    fn tracer_error(&self, place: &'static str) -> Option<ErrorInfo>;
}

impl<T, E: Display> DisplayOutcome for &&&Outcome<'_, Result<T, E>> {
    fn tracer_error(&self, place: &'static str) -> Option<ErrorInfo> {
        self.0.as_ref().err().map(|error| ErrorInfo::of(error).at(place))
    }
}

/// An error that can only be debugged: that text is all there is of it, and one that has a backtrace in it pays for it.
pub trait DebugOutcome {
    /// The error, seen at `place`.
    fn tracer_error(&self, place: &'static str) -> Option<ErrorInfo>;
}

impl<T, E: Debug> DebugOutcome for &&Outcome<'_, Result<T, E>> {
    fn tracer_error(&self, place: &'static str) -> Option<ErrorInfo> {
        let error = self.0.as_ref().err()?;
        let message = debug_text(error).unwrap_or_else(|| NO_TEXT.to_owned());
        Some(ErrorInfo::new(short_type_name::<E>(), message).at(place))
    }
}

/// An error that says nothing.
pub trait ResultOutcome {
    /// The error, seen at `place`.
    fn tracer_error(&self, place: &'static str) -> Option<ErrorInfo>;
}

impl<T, E> ResultOutcome for &Outcome<'_, Result<T, E>> {
    fn tracer_error(&self, place: &'static str) -> Option<ErrorInfo> {
        self.0
            .is_err()
            .then(|| ErrorInfo::new(short_type_name::<E>(), NO_TEXT).at(place))
    }
}

/// Anything else has not failed.
pub trait AnyOutcome {
    /// No error.
    fn tracer_error(&self, place: &'static str) -> Option<ErrorInfo>;
}

impl<T> AnyOutcome for Outcome<'_, T> {
    fn tracer_error(&self, _place: &'static str) -> Option<ErrorInfo> {
        None
    }
}

/// The message of an error that has no text of its own.
const NO_TEXT: &str = "the error has no text";

#[cfg(test)]
mod tests;
