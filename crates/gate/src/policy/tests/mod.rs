//! Policies against the vectors of the contract, and the mistakes that they can hold.

mod mistakes;
mod vectors;

use super::{Overrides, Policy, PolicyError};

/// A file of version 2 with these metrics.
fn with_metrics(metrics: &str) -> String {
    format!("version: 2\nmetrics:\n{metrics}")
}

fn read(text: &str) -> Result<Policy, PolicyError> {
    Policy::parse(text, &Overrides::default())
}

/// The place and the words of the only mistake in a text.
fn mistake(text: &str) -> String {
    let error = read(text).unwrap_err();
    assert_eq!(error.mistakes.len(), 1, "{error}");
    error.to_string()
}
