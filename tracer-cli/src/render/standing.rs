//! The status of a run as it is shown: its sign, its tone, and the words that options take.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

pub use tracer_sdk::read::RunStatus;

use super::line::Tone;

/// How a status is drawn.
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

/// Takes a status that an option may name.
pub(crate) fn parser(
    allowed: impl IntoIterator<Item = RunStatus>,
) -> impl TypedValueParser<Value = RunStatus> {
    let values: Vec<PossibleValue> = allowed.into_iter().map(possible_value).collect();
    PossibleValuesParser::new(values).try_map(|word| RunStatus::from_word(&word).ok_or("is no status"))
}

fn possible_value(standing: RunStatus) -> PossibleValue {
    let value = PossibleValue::new(standing.as_str());
    match standing {
        RunStatus::Running => value.help("It goes on, as far as anybody can tell"),
        RunStatus::Interrupted => value.help("Its process is gone without having finished it"),
        // The format's own word.
        RunStatus::Failed => value.help("It ended with an error").alias("error"),
        RunStatus::Looped => value.help("It ended well, and asked the same again and again on the way"),
        RunStatus::Ok => value.help("It ended well"),
        RunStatus::Damaged => value.help("Its metadata or its log cannot be read"),
    }
}
