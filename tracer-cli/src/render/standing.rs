//! How a run stands, in one word: what its files say, and what they cannot say about a process that died.

use tracer_sdk::format::{Counts, RunStatus};

use super::line::Tone;

/// How a run stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
pub enum Standing {
    /// It is going on, as far as anybody can tell.
    Running,
    /// Its process is gone without having finished it.
    Interrupted,
    /// It ended with an error.
    #[value(alias = "error")]
    Failed,
    /// It ended well, and repeated itself on the way.
    #[value(name = "loop")]
    Looped,
    /// It ended well.
    Ok,
    /// Its metadata cannot be read.
    Damaged,
}

impl Standing {
    /// The standing of a run whose metadata says `status` and `counts`.
    pub fn of(status: RunStatus, counts: Counts, interrupted: bool) -> Self {
        match status {
            RunStatus::Running if interrupted => Self::Interrupted,
            RunStatus::Running => Self::Running,
            RunStatus::Error => Self::Failed,
            RunStatus::Ok if counts.loop_warnings > 0 => Self::Looped,
            RunStatus::Ok => Self::Ok,
        }
    }

    /// Its sign.
    pub const fn glyph(self) -> &'static str {
        match self {
            Self::Running => "●",
            Self::Interrupted => "◌",
            Self::Failed => "✗",
            Self::Looped => "⟳",
            Self::Ok => "✓",
            Self::Damaged => "!",
        }
    }

    /// Its word.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Interrupted => "interrupted",
            Self::Failed => "failed",
            Self::Looped => "loop",
            Self::Ok => "ok",
            Self::Damaged => "damaged",
        }
    }

    /// Its tone.
    pub const fn tone(self) -> Tone {
        match self {
            Self::Running => Tone::Active,
            Self::Interrupted | Self::Looped | Self::Damaged => Tone::Warning,
            Self::Failed => Tone::Bad,
            Self::Ok => Tone::Good,
        }
    }

    /// Whether the run has no end yet, or never will have one.
    pub const fn is_open(self) -> bool {
        matches!(self, Self::Running | Self::Interrupted)
    }
}
