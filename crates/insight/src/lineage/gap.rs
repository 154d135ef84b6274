//! [`InputGap`]: why the recorded input of a model call is not all that the model was given.

use serde_json::{Map, Value};
use tracer_sdk::format::names::markers;

use crate::context_bill::is_continued;
use crate::conversation::{Message, MessagePart};
use crate::text;

/// A part of an input that is not searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum InputGap {
    NotRecorded,
    Continued,
    /// With the number of the message, from 1.
    Cut(usize),
    Redacted(usize),
    Media(usize),
    /// The definition of a tool is not whole.
    Tool,
    /// The input has the value, in none of its messages and tools.
    Elsewhere,
}

impl InputGap {
    /// The first gap of an input.
    pub(super) fn of(prompt: &Value, attributes: &Map<String, Value>, messages: &[Message]) -> Option<Self> {
        if messages.is_empty() {
            return Some(Self::NotRecorded);
        }
        if is_continued(prompt, Some(attributes)) {
            return Some(Self::Continued);
        }
        let parts = (1..)
            .zip(messages)
            .flat_map(|(number, message)| message.parts.iter().map(move |part| (number, part)));
        parts.into_iter().find_map(|(number, part)| match part {
            MessagePart::Text(text) | MessagePart::Reasoning(text) | MessagePart::Refusal(text) => {
                Self::of_text(number, text)
            }
            MessagePart::ToolCall { arguments: value, .. }
            | MessagePart::ToolResult { value, .. }
            | MessagePart::Unknown(value) => Self::of_text(number, &value.to_string()),
            MessagePart::Media(_) => Some(Self::Media(number)),
        })
    }

    /// The gap in the definition of a tool.
    pub(super) fn of_tool(definition: &Value) -> Option<Self> {
        Self::of_text(0, &definition.to_string()).map(|_| Self::Tool)
    }

    fn of_text(number: usize, text: &str) -> Option<Self> {
        let has = |marker: &&str| text.contains(*marker);
        if [markers::TRUNCATED, markers::OMITTED, markers::UNSERIALIZABLE]
            .iter()
            .any(has)
        {
            return Some(Self::Cut(number));
        }
        text.contains(markers::REDACTED).then_some(Self::Redacted(number))
    }

    /// The gap of the call that is step `step` in a sentence.
    pub(super) fn words(self, step: usize) -> String {
        let step = text::step_ranges(&[step]);
        match self {
            Self::NotRecorded => format!("the input of {step} was not recorded"),
            Self::Continued => format!("{step} continued a conversation whose beginning is not in its input"),
            Self::Cut(message) => {
                format!("the input of {step} was cut at message {message} when it was recorded")
            }
            Self::Redacted(message) => format!("message {message} of the input of {step} was redacted"),
            Self::Tool => {
                format!(
                    "the definition of a tool in the input of {step} was cut or redacted when it was recorded"
                )
            }
            Self::Elsewhere => format!("the input of {step} has it outside its messages"),
            Self::Media(message) => {
                format!("message {message} of the input of {step} has an attachment, which is not searched")
            }
        }
    }
}
