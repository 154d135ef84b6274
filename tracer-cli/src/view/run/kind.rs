//! The kinds of rows, as the page names them.

use serde::Serialize;
use tracer_sdk::format::EventType;

/// What a row tells about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub(in super::super) enum Kind {
    /// The run itself.
    Run,
    /// A model call.
    Llm,
    /// A tool call.
    Tool,
    /// A state.
    State,
    /// An error that was recorded for itself.
    Error,
    /// A loop warning.
    Loop,
    /// A span that groups others.
    Other,
}

impl Kind {
    /// The kind of what a record tells.
    pub(in super::super) const fn of(event_type: EventType) -> Self {
        match event_type {
            EventType::RunStart | EventType::RunEnd => Self::Run,
            EventType::LlmCall => Self::Llm,
            EventType::ToolCall => Self::Tool,
            EventType::StateUpdate => Self::State,
            EventType::Error => Self::Error,
            EventType::LoopWarning => Self::Loop,
            EventType::Unknown => Self::Other,
        }
    }

    /// Its number in the columns.
    pub(in super::super) const fn number(self) -> u8 {
        self as u8
    }

    /// The kind with a name.
    pub(in super::super) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "run" => Self::Run,
            "llm" => Self::Llm,
            "tool" => Self::Tool,
            "state" => Self::State,
            "error" => Self::Error,
            "loop" => Self::Loop,
            "other" | "span" => Self::Other,
            _ => return None,
        })
    }
}
