//! A report in words that every surface shows: the verdict, the checks, what changed.

pub mod changes;
pub mod checks;
pub mod comparison;
pub mod outcome;
pub mod table;
pub mod trials;
pub mod verdict;

#[cfg(any(test, feature = "testing"))]
#[doc(hidden)]
pub mod samples;
