//! [`StepKind`]: the kinds of steps, with the word, the sign and the tone of each.

use serde::{Deserialize, Serialize};
use tracer_sdk::format::EventType;

use crate::line::Tone;

tracer_sdk::words! {
    /// The kind of a step.
    ///
    /// ```
    /// use tracer_insight::step_kind::StepKind;
    /// use tracer_sdk::format::EventType;
    ///
    /// assert_eq!(StepKind::from(EventType::ToolCall), StepKind::Tool);
    /// assert_eq!(StepKind::from_word("llm"), Some(StepKind::Llm));
    /// assert_eq!(StepKind::Loop.glyph(), "⟳");
    /// ```
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
    #[serde(rename_all = "lowercase")]
    pub enum StepKind in tracer_insight::step_kind {
        /// The run itself.
        Run = "run",
        /// A model call.
        Llm = "llm",
        /// A tool call.
        Tool = "tool",
        /// A state.
        State = "state",
        /// A recorded error.
        Error = "error",
        /// A loop warning.
        Loop = "loop",
        /// A span that groups others.
        Span = "span",
    }
}

impl StepKind {
    /// The kinds that a step of a run can have, in the order in which they are listed.
    pub const OF_STEPS: [Self; 6] = [
        Self::Llm,
        Self::Tool,
        Self::State,
        Self::Error,
        Self::Loop,
        Self::Span,
    ];

    /// Its sign.
    pub const fn glyph(self) -> &'static str {
        match self {
            Self::Llm => "✦",
            Self::Tool => "⚒",
            Self::State => "◆",
            Self::Error => "✗",
            Self::Loop => "⟳",
            Self::Run | Self::Span => "▸",
        }
    }

    /// Its tone.
    pub const fn tone(self) -> Tone {
        match self {
            Self::Llm => Tone::Llm,
            Self::Tool => Tone::Tool,
            Self::State => Tone::State,
            Self::Error => Tone::Bad,
            Self::Loop => Tone::Warning,
            Self::Run | Self::Span => Tone::Strong,
        }
    }

    /// The name of steps of this kind that have none of their own.
    pub const fn fixed_name(self) -> Option<&'static str> {
        match self {
            Self::State => Some("state"),
            Self::Error => Some("error"),
            Self::Loop => Some("loop warning"),
            Self::Run | Self::Llm | Self::Tool | Self::Span => None,
        }
    }

    /// Is a call of a model or a tool.
    pub const fn is_call(self) -> bool {
        matches!(self, Self::Llm | Self::Tool)
    }
}

impl From<EventType> for StepKind {
    fn from(event_type: EventType) -> Self {
        match event_type {
            EventType::RunStart | EventType::RunEnd => Self::Run,
            EventType::LlmCall => Self::Llm,
            EventType::ToolCall => Self::Tool,
            EventType::StateUpdate => Self::State,
            EventType::Error => Self::Error,
            EventType::LoopWarning => Self::Loop,
            EventType::Unknown => Self::Span,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_and_options_use_the_same_word() {
        for kind in StepKind::ALL {
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.as_str());
            assert_eq!(StepKind::from_word(kind.as_str()), Some(kind));
        }
    }
}
