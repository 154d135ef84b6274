//! [`Computed`]: a constant that is made when it is first needed.

use std::fmt;
use std::ops::Deref;

use once_cell::race::OnceBox;

/// A constant that takes work to make. Threads that need it first together both make it, so that none waits.
pub struct Computed<T> {
    value: OnceBox<T>,
    make: fn() -> T,
}

impl<T> Computed<T> {
    /// The constant that `make` gives.
    pub const fn new(make: fn() -> T) -> Self {
        Self {
            value: OnceBox::new(),
            make,
        }
    }
}

impl<T> Deref for Computed<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        self.value.get_or_init(|| Box::new((self.make)()))
    }
}

impl<T: fmt::Debug> fmt::Debug for Computed<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.value.get().fmt(formatter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_constant_is_made_once() {
        static COMPUTED: Computed<String> = Computed::new(|| "a".repeat(3));
        assert!(std::ptr::eq(&raw const *COMPUTED, &raw const *COMPUTED));
        assert_eq!(COMPUTED.as_str(), "aaa");
    }
}
