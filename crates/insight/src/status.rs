//! The status of a run as it is shown: its sign, its tone, and the words that options take.

pub use tracer_runs::RunStatus;

use serde::Serializer;

use crate::line::Tone;

/// Writes the word for a status, for `serde(serialize_with)`.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde calls")]
pub(crate) fn serialize_word<S: Serializer>(status: &RunStatus, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(status.as_str())
}

/// The looks of a status.
pub trait Signs {
    /// Its sign.
    fn glyph(self) -> &'static str;
    /// Its tone.
    fn tone(self) -> Tone;
}

impl Signs for RunStatus {
    fn glyph(self) -> &'static str {
        match self {
            Self::Running => "●",
            Self::Interrupted => "◌",
            Self::Failed => "✗",
            Self::Looped => "⟳",
            Self::Ok => "✓",
            Self::Damaged => "!",
        }
    }

    fn tone(self) -> Tone {
        match self {
            Self::Running => Tone::Active,
            Self::Interrupted | Self::Looped | Self::Damaged => Tone::Warning,
            Self::Failed => Tone::Bad,
            Self::Ok => Tone::Good,
        }
    }
}
