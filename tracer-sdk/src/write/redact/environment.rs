//! The process's own secrets: literal values of environment variables with a secret-like name.

use super::keys::{KeyVerdict, Keys};
use super::shapes::{Beside, Notice, Sign, by_last_word};

/// Shorter values would be found in ordinary text.
const SHORTEST_VALUE: usize = 8;

/// The values to look for, longest first so that the longer of two values with one beginning wins.
#[derive(Debug, Default)]
pub(super) struct EnvironmentSecrets(Vec<String>);

impl EnvironmentSecrets {
    pub(super) fn new(environment: impl IntoIterator<Item = (String, String)>, keys: &Keys) -> Self {
        let mut values = Vec::new();
        for (name, value) in environment {
            let value = value.trim();
            let is_secret =
                keys.verdict(name.as_bytes()) != KeyVerdict::Keep || by_last_word(name.as_bytes()).is_some();
            if !is_secret || value.len() < SHORTEST_VALUE {
                continue;
            }
            // Inside JSON text the value may be spelled with escapes.
            if let Ok(escaped) = serde_json::to_string(value) {
                let escaped = escaped.trim_matches('"');
                if escaped != value {
                    values.push(escaped.to_owned());
                }
            }
            values.push(value.to_owned());
        }
        values.sort_by(|left, right| right.len().cmp(&left.len()).then_with(|| left.cmp(right)));
        values.dedup();
        Self(values)
    }

    pub(super) fn noticed_by(&self, notice: &mut Notice<'_>) {
        for value in &self.0 {
            if let Some([first, second, third]) = value.as_bytes().first_chunk() {
                notice(Sign {
                    pair: [*first, *second],
                    beside: Beside::After(&[*third]),
                });
            }
        }
    }

    /// Where the value that begins at `start` ends.
    pub(super) fn find(&self, bytes: &[u8], start: usize) -> Option<usize> {
        let rest = bytes.get(start..)?;
        self.0
            .iter()
            .find(|value| rest.starts_with(value.as_bytes()))
            .map(|value| start + value.len())
    }
}
