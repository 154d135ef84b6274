//! The acceptance of a change of behaviour (gate, *Baseline*).

use serde::{Deserialize, Serialize};

/// The acceptance of a changed baseline.
///
/// ```
/// use tracer_gate::Acceptance;
///
/// let acceptance = Acceptance { accepted_by: "ada".to_owned(), ..Acceptance::default() };
/// assert_eq!(serde_json::to_value(&acceptance)?["accepted_by"], "ada");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Acceptance {
    /// Time in UTC.
    pub accepted_at: String,
    /// User who accepted it.
    pub accepted_by: String,
    /// Reason why the change is right.
    pub reason: String,
    /// Changes from the replaced baseline, in a sentence.
    pub changes: String,
    /// Version of the program that wrote it.
    pub tracer_version: String,
    /// SHA-256 digest of the replaced file.
    #[schemars(schema_with = "super::super::schema::sha256")]
    pub replaced_sha256: String,
}
