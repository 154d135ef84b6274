//! Marker of the processes of a trial: a variable in their environment.

use std::ffi::OsStr;
use std::ffi::OsString;

/// A variable with a value that no other trial has.
#[derive(Debug, Clone)]
pub(crate) struct Marker {
    pub(super) name: &'static str,
    pub(super) value: OsString,
}

impl Marker {
    /// The variable.
    pub(crate) fn new(name: &'static str, value: impl AsRef<OsStr>) -> Self {
        Self {
            name,
            value: value.as_ref().to_owned(),
        }
    }

    /// Checks if this is the variable in the form of an environment block, `NAME=value`.
    #[cfg(any(target_os = "linux", test))]
    pub(super) fn is(&self, variable: &[u8]) -> bool {
        variable
            .strip_prefix(self.name.as_bytes())
            .and_then(|rest| rest.strip_prefix(b"="))
            .is_some_and(|value| value == self.value.as_encoded_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_whole_variable_is_the_mark() {
        let marker = Marker::new("TRIAL", "a.1");
        assert!(marker.is(b"TRIAL=a.1"));
        for other in ["TRIAL=a.10", "TRIAL=a", "MY_TRIAL=a.1", "TRIAL", ""] {
            assert!(!marker.is(other.as_bytes()), "{other}");
        }
    }
}
