//! The status of a run as it is shown: its sign, its tone, and the words that options take.

pub use tracer_runs::RunStatus;

use crate::line::Tone;

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
