//! Tests of keys, strings and arguments: secrets that go, and texts that stay.

mod corpus;
mod fake_secrets;
mod harmless;
mod hostile_texts;
mod keys;
mod leaks;
mod linear;
mod places;
mod texts;

use super::{KeyVerdict, RedactionSettings, Redactor};

fn verdict(redactor: &Redactor, key: &str) -> KeyVerdict {
    redactor.member(key, usize::MAX).verdict
}

fn redactor() -> Redactor {
    Redactor::new(&RedactionSettings::default(), [])
}
