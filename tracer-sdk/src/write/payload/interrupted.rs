//! The error that ends a value's `serialize` early.

use std::fmt;

/// Why a value's `serialize` came to an early end; [`Output`](super::output::Output) knows what it means.
#[derive(Debug)]
pub(super) struct Interrupted;

impl fmt::Display for Interrupted {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("the value is not written further")
    }
}

impl std::error::Error for Interrupted {}

impl serde::ser::Error for Interrupted {
    fn custom<T: fmt::Display>(_: T) -> Self {
        Self
    }
}

impl serde::de::Error for Interrupted {
    fn custom<T: fmt::Display>(_: T) -> Self {
        Self
    }
}

pub(super) type WriteResult<T = ()> = Result<T, Interrupted>;
