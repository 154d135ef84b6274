//! What is taken out of keys, strings and arguments, and what is left alone.

mod corpus;
mod fake_secrets;
mod harmless;
mod hostile_texts;
mod keys;
mod leaks;
mod linear;
mod places;
mod texts;

use super::{RedactionSettings, Redactor};

fn redactor() -> Redactor {
    Redactor::new(&RedactionSettings::default(), [])
}
