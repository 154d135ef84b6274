//! A text as recording would leave it.

use crate::redact::Redactor;
use crate::settings::Settings;

/// A text as recording would write it: secrets replaced, then cut. `secrets` are values that the environment would hold
/// under secret-like names; those shorter than 8 bytes are taken for words.
///
/// ```
/// use tracer_sdk::settings::Settings;
/// use tracer_sdk::testing::redacted;
///
/// let settings = Settings::with_data_dir("unused");
/// assert_eq!(redacted("the key is hunter2-hunter2", &settings, &["hunter2-hunter2"]), "the key is __REDACTED__");
/// ```
#[must_use]
pub fn redacted(text: &str, settings: &Settings, secrets: &[&str]) -> String {
    let environment = secrets
        .iter()
        .enumerate()
        .map(|(number, secret)| (format!("SECRET_{number}"), (*secret).to_owned()));
    Redactor::new(&settings.into(), environment)
        .text(text)
        .into_owned()
}
