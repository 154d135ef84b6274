//! The structural signature of a run: what it did, without times, values and texts.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::digest::sha256_hex;
use tracer_sdk::format::EventType;

/// What a run did: the tools, the models and the kinds of records, in order (gate-contract, section 6.5).
///
/// Two runs with the same signature went the same way.
///
/// ```
/// use tracer_insight::signature::Signature;
///
/// assert_eq!(
///     Signature::default().id(),
///     "83b59631f630515c4e3cc07b780cac2f30b8cb0809641d07ef47cc6bc65493c5"
/// );
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Signature {
    /// The types of all records, `RUN_START` and `RUN_END` included. Text, because a baseline may know more types.
    pub event_type_sequence: Vec<Cow<'static, str>>,
    /// How the run ended: `ok`, `error`, `running`.
    pub final_status: String,
    /// The models that were asked, sorted, each once.
    pub llm_models_used: Vec<String>,
    /// How often each tool was called.
    pub tool_call_counts: BTreeMap<String, u64>,
    /// The tools in the order of their calls.
    pub tool_call_sequence: Vec<String>,
    /// The tools that were called, sorted, each once.
    pub tool_path: Vec<String>,
}

impl Signature {
    /// The SHA-256 digest of the signature as canonical JSON: keys sorted, no spaces, nothing escaped that need not be.
    ///
    /// ```
    /// use tracer_insight::signature::Signature;
    ///
    /// let signature = Signature { final_status: "ok".to_owned(), ..Signature::default() };
    /// assert_ne!(signature.id(), Signature::default().id());
    /// ```
    #[must_use]
    pub fn id(&self) -> String {
        sha256_hex(self.canonical().as_bytes())
    }

    /// The text that the ID is the digest of: the fields are sorted by name.
    pub fn canonical(&self) -> String {
        // Texts, numbers, lists and a map with texts for keys: nothing in them can fail to be JSON.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// How many records have this type.
    pub fn count_of(&self, event_type: EventType) -> u64 {
        let word = event_type.as_str();
        self.event_type_sequence
            .iter()
            .filter(|known| *known == word)
            .count() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::measured;

    #[test]
    fn the_vectors_give_their_text_and_digest() {
        for vector in measured("signature_id") {
            let signature: Signature = serde_json::from_value(vector.input["signature"].clone()).unwrap();
            assert_eq!(
                signature.canonical(),
                vector.expected["canonical"].as_str().unwrap()
            );
            assert_eq!(signature.id(), vector.expected["sha256"].as_str().unwrap());
        }
    }
}
