//! Baselines as files: reading, writing, and their digest.

use serde::{Deserialize, Deserializer, de};
use serde_json::Value;

use super::{Baseline, MAKE_AGAIN};
use crate::InputError;
use tracer_insight::digest::{sha256_hex, write_canonical};

/// The version that is written and read.
pub(super) const VERSION: u32 = 1;

impl Baseline {
    /// The length of the largest file that is read as a baseline or as the report that one is made from, in bytes.
    pub const MAX_BYTES: u64 = 64 * 1024 * 1024;

    /// Reads a baseline, and refuses one whose values or digest do not hold.
    ///
    /// ```
    /// use tracer_gate::Baseline;
    ///
    /// let error = Baseline::parse(b"version: 2").unwrap_err();
    /// assert_eq!(error.to_string(), "the file is not a JSON object");
    /// ```
    ///
    /// # Errors
    ///
    /// [`InputError`] with the place of the mistake.
    pub fn parse(text: &[u8]) -> Result<Self, InputError> {
        check_version(text, "baseline_version", VERSION, [MAKE_AGAIN; 2])?;
        let baseline: Self = from_json(text, MAKE_AGAIN)?;
        baseline.check()?;
        Ok(baseline)
    }

    /// The baseline as the text of its file: indented JSON and a newline.
    ///
    /// ```
    /// use tracer_gate::Baseline;
    /// use tracer_insight::profile::RunProfile;
    /// use tracer_sdk::testing::capture;
    ///
    /// let run = capture(|| ());
    /// let baseline = Baseline::of_run(&RunProfile::new(&run.meta, run.records), "2026-01-01T00:00:00.000Z");
    /// assert!(baseline.to_json().starts_with("{\n  \"baseline_version\": 1,"));
    /// ```
    #[must_use]
    pub fn to_json(&self) -> String {
        // Texts, finite numbers, lists and maps with texts for keys: nothing in them can fail to be JSON.
        let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
        text.push('\n');
        text
    }

    /// The SHA-256 digest of everything but the time and the digest itself.
    pub(super) fn content_digest(&self) -> String {
        let mut content = serde_json::to_value(self).unwrap_or_default();
        if let Some(object) = content.as_object_mut() {
            for key in ["created_at", "digest"] {
                object.remove(key);
            }
        }
        let mut text = Vec::new();
        // Writing to memory cannot fail.
        let _ = write_canonical(&content, &mut text);
        sha256_hex(&text)
    }

    fn check(&self) -> Result<(), InputError> {
        if self.trials.is_empty() {
            return Err(refused("trials: the baseline holds no run"));
        }
        for (number, trial) in (1..).zip(&self.trials) {
            if let Some((name, _)) = trial.metrics.iter().find(|(_, value)| **value < 0.0) {
                let message = format!("trials: {} of trial {number} is negative", name.escape_debug());
                return Err(refused(message));
            }
            let signature = self.signatures.get(&trial.signature);
            if signature.is_none_or(|signature| signature.id() != trial.signature) {
                let message = format!("signatures: that of trial {number} is missing or edited");
                return Err(refused(message));
            }
        }
        if self.digest != self.content_digest() {
            return Err(
                InputError::new("digest: the file was edited after it was written")
                    .with_hint("restore it from version control")
                    .with_hint(format!("or {MAKE_AGAIN}")),
            );
        }
        Ok(())
    }
}

fn refused(message: impl Into<String>) -> InputError {
    InputError::new(message).with_hint(MAKE_AGAIN)
}

/// The document, unless it is of another format or version: such a one may have any form. The hints are for a file
/// without a version, and for another one.
pub(super) fn check_version(
    text: &[u8],
    key: &str,
    known: u32,
    [no_version, other]: [&str; 2],
) -> Result<Value, InputError> {
    let document: Value = from_json(text, no_version)?;
    let refused = |message: String, hint: &str| Err(InputError::new(message).with_hint(hint));
    match document.get(key).or_else(|| document.get("schema_version")) {
        None => refused(format!("{key} is missing"), no_version),
        Some(version) if is_version(version, known) => Ok(document),
        Some(Value::String(old)) => {
            let old = old.escape_debug();
            refused(format!("it is of an old format, version {old}"), other)
        }
        Some(version) => refused(format!("{key}: {version} is not understood; {known} is"), other),
    }
}

/// Checks the number of a version, which some programs write as 1.0.
pub(super) fn is_version(value: &Value, version: u32) -> bool {
    value.as_f64() == Some(version.into())
}

/// Reads the version of a baseline.
pub(super) fn version<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    let read = Value::deserialize(deserializer)?;
    let known = is_version(&read, VERSION).then_some(VERSION);
    known.ok_or_else(|| de::Error::custom("another version, expected 1"))
}

/// Reads a JSON object; the error has the place and the expected type, and quotes nothing.
pub(super) fn from_json<'de, T: Deserialize<'de>>(text: &'de [u8], hint: &str) -> Result<T, InputError> {
    let refused = |message: String| InputError::new(message).with_hint(hint);
    // A list of the right length would do for a structure.
    if !text.trim_ascii_start().starts_with(b"{") {
        return Err(refused("the file is not a JSON object".to_owned()));
    }
    serde_json::from_slice(text).map_err(|error| {
        let reported = error.to_string();
        let reported = reported.split(" at line").next().unwrap_or_default();
        let what = match reported.rsplit_once(", expected ") {
            _ if reported.starts_with("missing field") => reported.to_owned(),
            Some((_, expected)) => format!("expected {expected}"),
            None => "is not what belongs there".to_owned(),
        };
        refused(format!(
            "line {}, column {}: {what}",
            error.line(),
            error.column()
        ))
    })
}
