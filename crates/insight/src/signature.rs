//! Structural signatures: a run without times, values and texts.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::digest::sha256_hex;
use tracer_sdk::format::EventType;

/// The structure of a run: its tools, models and kinds of records.
///
/// Runs with equal signatures took the same way.
///
/// ```
/// use tracer_insight::signature::Signature;
///
/// let tools = ["search", "reply", "search"].map(str::to_owned).to_vec();
/// let signature = Signature { tools, ..Signature::default() };
/// assert_eq!(signature.tool_counts()["search"], 2);
/// assert_ne!(signature.id(), Signature::default().id());
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Signature {
    /// Types of all records in order, `RUN_START` and `RUN_END` included.
    pub events: Vec<Cow<'static, str>>,
    /// Models that were asked, sorted, each once.
    pub models: Vec<String>,
    /// Ending of the run: `ok`, `error`, `running`.
    pub status: String,
    /// Tools in the order of their calls.
    pub tools: Vec<String>,
}

impl Signature {
    /// The SHA-256 digest of the signature as JSON.
    #[must_use]
    pub fn id(&self) -> String {
        // Texts and lists: nothing in them can fail to be JSON.
        sha256_hex(&serde_json::to_vec(self).unwrap_or_default())
    }

    /// The number of records of a type.
    pub fn count_of(&self, event_type: EventType) -> u64 {
        let word = event_type.as_str();
        self.events.iter().filter(|known| *known == word).count() as u64
    }

    /// The tools that were called.
    pub fn tool_names(&self) -> BTreeSet<&String> {
        self.tools.iter().collect()
    }

    /// The number of calls of each tool.
    #[must_use]
    pub fn tool_counts(&self) -> BTreeMap<&str, u64> {
        let mut counts = BTreeMap::new();
        for tool in &self.tools {
            *counts.entry(tool.as_str()).or_default() += 1;
        }
        counts
    }
}
