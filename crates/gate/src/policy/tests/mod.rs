//! Policies against the vectors of the contract, and the mistakes that they can hold.

mod mistakes;
mod overriding;
mod vectors;

use super::{Overrides, Policy, PolicyError};

/// A file of version 2 with these metrics.
fn with_metrics(metrics: &str) -> String {
    format!("version: 2\nmetrics:\n{metrics}")
}

fn read(text: &str) -> Result<Policy, PolicyError> {
    Policy::parse(text, &Overrides::default())
}

/// The code, the place and the words of the mistake in a text.
fn mistake(text: &str) -> (&'static str, (usize, usize), String) {
    let error = read(text).unwrap_err();
    let position = error
        .position
        .map_or((0, 0), |position| (position.line, position.column));
    (error.code.as_str(), position, error.to_string())
}
