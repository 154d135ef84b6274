//! The process's own secrets: literal values of environment variables with a secret-like name.

use super::RedactionSettings;
use super::keys::{DEFAULTS, NameMeaning, RedactKeys};
use super::value::{is_path, is_placeholder};

/// Shorter values would be found in ordinary text.
const MIN_VALUE_BYTES: usize = 8;

/// Variables that only look like a password: the working directory.
const HARMLESS_VARIABLES: [&str; 2] = ["PWD", "OLDPWD"];

/// Words that say how something is protected rather than with what: `REDIS_AUTH=required`.
const MODES: [&str; 9] = [
    "disabled",
    "enabled",
    "required",
    "optional",
    "anonymous",
    "kerberos",
    "negotiate",
    "certificate",
    "external",
];

/// The environment variables whose names and values are Unicode.
pub(crate) fn variables() -> impl Iterator<Item = (String, String)> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
}

/// The values to look for, longest first so that the longer of two values with one beginning wins.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct EnvironmentSecrets(Vec<String>);

impl EnvironmentSecrets {
    /// The secrets of an environment by the redact keys of these settings; none where nothing is redacted.
    pub(super) fn of(
        settings: &RedactionSettings,
        environment: impl IntoIterator<Item = (impl AsRef<str>, impl AsRef<str>)>,
        keys: &RedactKeys,
    ) -> Self {
        let mut values = Vec::new();
        for (name, value) in environment.into_iter().filter(|_| settings.redact) {
            let value = value.as_ref().trim();
            if value.len() >= MIN_VALUE_BYTES && is_secret(name.as_ref(), value, keys) {
                // Inside JSON text the value may be spelled with escapes.
                if let Ok(escaped) = serde_json::to_string(value) {
                    let escaped = escaped.trim_matches('"');
                    if escaped != value {
                        values.push(escaped.to_owned());
                    }
                }
                values.push(value.to_owned());
            }
        }
        values.sort_by(|left, right| right.len().cmp(&left.len()).then_with(|| left.cmp(right)));
        values.dedup();
        Self(values)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The beginnings of the values, which they are found by.
    pub(super) fn anchors(&self) -> impl Iterator<Item = &[u8]> {
        const MOST: usize = 16;
        self.0
            .iter()
            .map(|value| value.as_bytes().get(..MOST).unwrap_or(value.as_bytes()))
    }

    /// Finds where the value that begins at `start` ends.
    pub(super) fn find(&self, bytes: &[u8], start: usize) -> Option<usize> {
        let rest = bytes.get(start..)?;
        self.0
            .iter()
            .find(|value| rest.starts_with(value.as_bytes()))
            .map(|value| start + value.len())
    }
}

/// Says whether a variable with this name holds a secret, by the redact keys of the settings or by the default ones.
fn is_secret(name: &str, value: &str, keys: &RedactKeys) -> bool {
    let by = |keys: &RedactKeys| keys.meaning(name.as_bytes());
    let Some(class) = by(keys).or_else(|| by(&DEFAULTS)) else {
        return false;
    };
    let is_harmless = HARMLESS_VARIABLES.contains(&name) || is_path(value.as_bytes());
    // `SERVICE_AUTH` may as well say how to sign in.
    let is_word =
        || is_placeholder(value.as_bytes()) || MODES.iter().any(|mode| value.eq_ignore_ascii_case(mode));
    !(is_harmless || is_number_of(class, value) || (class == NameMeaning::Token && is_word()))
}

/// Says whether the value is a number under a name that says that a token is meant: `AUTH_TOKEN=12345678` is a secret,
/// `MAX_PASS=100000000` is none. Long numbers are seldom counts.
fn is_number_of(class: NameMeaning, value: &str) -> bool {
    class == NameMeaning::Token
        && value.len() < 2 * MIN_VALUE_BYTES
        && value.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
}
