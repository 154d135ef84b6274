//! The mark of a run that was made of a coding agent's transcript: the additive key `transcript` of `meta.json`.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::RunMeta;

/// The key in `meta.json`.
pub const TRANSCRIPT_KEY: &str = "transcript";

/// The session that a run was made of, and how much of its files was read.
///
/// ```
/// use tracer_sdk::format::TranscriptOrigin;
///
/// let origin: TranscriptOrigin = serde_json::from_str(r#"{"agent": "codex", "session": "01a2", "bytes": 7}"#)?;
/// assert!(!origin.is_open);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct TranscriptOrigin {
    /// The agent that wrote it.
    pub agent: String,
    /// The agent's ID of the session.
    pub session: String,
    /// Bytes of all its files when they were read.
    pub bytes: u64,
    /// When the newest of them was changed, in milliseconds after 1970.
    pub modified_ms: u64,
    /// Number of records of a kind that was not known, and of such kinds.
    pub unknown_records: u64,
    /// Number of kinds that were not known.
    pub unknown_kinds: u64,
    /// Number of lines that could not be read.
    pub unreadable_lines: u64,
    /// It ends in the middle of a turn.
    pub is_open: bool,
}

impl RunMeta {
    /// The session that this run was made of; `None` for a run that was recorded.
    ///
    /// ```
    /// use tracer_sdk::testing::capture;
    ///
    /// let mut meta = capture(|| ()).meta;
    /// assert_eq!(meta.transcript(), None);
    ///
    /// meta.additional.insert("transcript".to_owned(), serde_json::json!({"agent": "codex"}));
    /// assert_eq!(meta.transcript().unwrap().agent, "codex");
    /// ```
    #[must_use]
    pub fn transcript(&self) -> Option<TranscriptOrigin> {
        let mark: &Value = self.additional.get(TRANSCRIPT_KEY)?;
        TranscriptOrigin::deserialize(mark).ok()
    }
}
