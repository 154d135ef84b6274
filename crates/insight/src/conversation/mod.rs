//! [`Conversation`]: the messages of a model call, whatever shape the provider gives them.
//!
//! Providers agree on little. A prompt is a string, a list of messages, or an object that holds such a list; a message
//! holds a string or a list of parts; a tool call has five spellings. [`prompt_messages`] and [`answer_messages`] read
//! them all by the tables of `shapes`: a new spelling is a line there. What no table knows is kept as
//! [`MessagePart::Unknown`], so that no text is lost.

mod parse;
#[cfg(test)]
mod schema_tests;
mod shapes;
#[cfg(test)]
mod tests;
mod tools;
mod turns;
#[cfg(test)]
mod vocabulary_tests;
mod words;

use serde_json::Value;
use tracer_sdk::format::names::markers;
use tracer_sdk::format::{Payload, Usage};

pub use parse::{answer_messages, embedded_json, last_prompt_message, prompt_messages};
pub use tools::{OfferedTool, offered_tools};
pub use turns::{Turn, TurnReader, new_messages, unwrapped};
pub(crate) use turns::{tool_message_content, value_key};
pub use words::{PartLabel, earlier_messages, part_label, prompt_heading, same_as_before};

/// A model call: what was asked, and what came of it.
///
/// ```
/// use serde_json::json;
/// use tracer_insight::conversation::{MessagePart, prompt_messages};
///
/// let asked = prompt_messages(&json!({"contents": [{"role": "user", "parts": [{"text": "Where is my refund?"}]}]}));
/// assert_eq!(asked[0].parts, [MessagePart::Text("Where is my refund?".to_owned())]);
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Conversation {
    /// Input of the model, its instructions first.
    pub prompt: Vec<Message>,
    /// Answer of the model.
    pub answer: Vec<Message>,
    /// Why it stopped: as the record says, else as the answer does.
    pub finish_reason: Option<String>,
    /// Tokens, where recorded.
    pub usage: Usage,
}

impl Conversation {
    /// The conversation of a model call; `None` for any other record.
    pub fn from_payload(payload: &Payload) -> Option<Self> {
        let Payload::LlmCall {
            prompt,
            response,
            usage,
            stop_reason,
            ..
        } = payload
        else {
            return None;
        };
        let answer = parse::ParsedBody::answer(response);
        Some(Self {
            prompt: prompt_messages(prompt),
            finish_reason: stop_reason.clone().or_else(|| answer.finish_reason()),
            answer: answer.messages,
            usage: *usage,
        })
    }
}

/// A message of one role, in parts.
#[derive(Debug, Clone, PartialEq)]
pub struct Message {
    /// Whose it is.
    pub role: Role,
    /// The participant's own name, where several share a role.
    pub name: Option<String>,
    /// Parts of the message, in order; none for an empty message.
    pub parts: Vec<MessagePart>,
}

impl Message {
    /// The word for whose it is and, where there is one, the name: `user`, `user (Ada)`.
    pub fn label(&self) -> String {
        let word = match self.speaker() {
            Speaker::Tool => Role::Tool.as_str(),
            _ => self.role.as_str(),
        };
        match &self.name {
            Some(name) => format!("{word} ({name})"),
            None => word.to_owned(),
        }
    }

    /// The voice to show the message in: results that a provider has the user send are the tool's.
    pub fn speaker(&self) -> Speaker {
        let is_result = |part: &MessagePart| matches!(part, MessagePart::ToolResult { .. });
        match self.role {
            Role::Tool => Speaker::Tool,
            Role::User if !self.parts.is_empty() && self.parts.iter().all(is_result) => Speaker::Tool,
            Role::System | Role::Developer => Speaker::System,
            Role::Assistant => Speaker::Assistant,
            Role::User | Role::Other(_) => Speaker::User,
        }
    }
}

/// Whose a message is. Synonyms (`model`, `human`, `function` …) are one role.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Role {
    /// Instructions.
    System,
    /// Instructions, in the newer word of some providers.
    Developer,
    /// The user: a person, or a program that asks.
    User,
    /// The model.
    Assistant,
    /// A tool that was called.
    Tool,
    /// Any other, in the provider's word.
    Other(String),
}

impl Role {
    /// The word for it: `system`, `developer`, `user`, `assistant`, `tool`, or the provider's own.
    pub fn as_str(&self) -> &str {
        match self {
            Self::System => "system",
            Self::Developer => "developer",
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::Tool => "tool",
            Self::Other(word) => word,
        }
    }
}

tracer_sdk::words! {
    /// The four voices that a surface distinguishes, by colour for example.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Speaker in tracer_insight::conversation {
        /// Instructions.
        System = "system",
        /// The user, and any role that is not known.
        User = "user",
        /// The model.
        Assistant = "assistant",
        /// A tool.
        Tool = "tool",
    }
}

/// A part of a message.
#[derive(Debug, Clone, PartialEq)]
pub enum MessagePart {
    /// Text.
    Text(String),
    /// The model's reasoning; empty where the provider keeps it to itself.
    Reasoning(String),
    /// A tool that the model calls.
    ToolCall {
        /// Call ID that the result refers to.
        id: Option<String>,
        /// The tool.
        name: String,
        /// Arguments of the call; those sent as JSON text are parsed.
        arguments: Value,
    },
    /// Result of a tool call.
    ToolResult {
        /// The call that it answers.
        id: Option<String>,
        /// The tool, where the message names it.
        name: Option<String>,
        /// The result; content that is nothing but text, as that.
        value: Value,
        /// `true` when the tool failed.
        is_error: bool,
    },
    /// An image, a recording, a document.
    Media(Media),
    /// The reason that the model gives for not answering.
    Refusal(String),
    /// Content of a shape that no table lists.
    Unknown(Value),
}

/// An image, a recording, a document: what it is, without showing it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Media {
    /// Kind of media.
    pub kind: MediaKind,
    /// Its media type, or the format that the provider names: `image/png`, `wav`.
    pub media_type: Option<String>,
    /// Its file name or title.
    pub name: Option<String>,
    /// Location of the media.
    pub source: MediaSource,
}

tracer_sdk::words! {
    /// A kind of [`Media`].
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum MediaKind in tracer_insight::conversation {
        /// A picture.
        Image = "image",
        /// A recording of sound.
        Audio = "audio",
        /// A film.
        Video = "video",
        /// A document or any other file.
        File = "file",
    }
}

/// Location of a [`Media`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MediaSource {
    /// In the message, as Base64 text.
    Data(String),
    /// At an address.
    Uri(String),
    /// With the provider, under this ID.
    FileId(String),
}

impl Media {
    /// Its size in bytes, where the message holds it.
    pub fn size(&self) -> Option<u64> {
        match &self.source {
            MediaSource::Data(base64) => {
                // A marker for omitted data gives its size; the size of truncated data is unknown.
                let digits = match base64.strip_prefix(markers::OMITTED) {
                    Some(size) => size.strip_prefix(" (")?.strip_suffix(" bytes)")?.parse().ok()?,
                    None if base64.ends_with(markers::TRUNCATED) => return None,
                    None => base64.trim_end_matches('=').len() as u64,
                };
                Some(digits * 3 / 4)
            }
            MediaSource::Uri(_) | MediaSource::FileId(_) => None,
        }
    }
}
