//! Messages as the page shows them: texts as Markdown, values as values.

use std::hash::{DefaultHasher, Hash, Hasher};

use serde::Serialize;
use serde_json::Value;
use tracer_insight::conversation::{
    Conversation, Media, MediaSource, Message, MessagePart, embedded_json, part_label, same_as_before,
};
use tracer_insight::value_summary;

use super::super::markdown;
use super::cut::{ShownValue, StepAddress, StepPart};

/// A message.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct MessageAnswer {
    /// Whose it is: `system`, `user`, `assistant`, `tool`, or the provider's own word; with a name in brackets, where
    /// several share a role.
    role: String,
    /// The voice to show it in: `system`, `user`, `assistant` or `tool`.
    speaker: &'static str,
    /// True unless the call before has it, in this order.
    is_new: bool,
    /// On the first of several messages that the call before had too: how to fold them.
    #[serde(skip_serializing_if = "Option::is_none")]
    fold: Option<MessageFold>,
    parts: Vec<PartAnswer>,
}

/// Messages that can be folded into one line.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct MessageFold {
    /// Number of messages, this one included.
    count: usize,
    /// The line in their place.
    label: String,
}

/// A part of a message.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct PartAnswer {
    /// `text`, `thinking`, `call`, `result`, `media`, `refusal` or `other`.
    #[serde(rename = "type")]
    kind: &'static str,
    /// Its label, where it needs one: `calls`, `thinking, 21 characters`.
    #[serde(skip_serializing_if = "Option::is_none")]
    label: Option<String>,
    /// The tool, the file or the address that the label is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    /// A picture or a sound that the page can show.
    #[serde(skip_serializing_if = "Option::is_none")]
    media: Option<MediaJson>,
    /// A text, read as Markdown: safe to show, without anything that loads or runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    html: Option<String>,
    /// The text, the arguments, the result, or a shape that is not known; a text that holds JSON as that.
    #[serde(flatten)]
    shown: ShownValue,
}

/// Media in a message.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct MediaJson {
    /// Its media type.
    #[serde(rename = "type")]
    media_type: String,
    /// The address of its Base64 text.
    url: String,
}

/// Media that a browser shows without running anything in them.
const SHOWN_MEDIA: [&str; 8] = [
    "image/png",
    "image/jpeg",
    "image/gif",
    "image/webp",
    "audio/wav",
    "audio/mp3",
    "audio/mpeg",
    "audio/ogg",
];

impl MediaJson {
    fn of(media: &Media, place: &StepAddress) -> Option<Self> {
        let data = base64_of(media)?;
        let named = media.media_type.as_deref()?;
        let media_type = if named.contains('/') {
            named.to_owned()
        } else {
            format!("{}/{named}", media.kind.as_str())
        };
        SHOWN_MEDIA.contains(&media_type.as_str()).then(|| Self {
            url: place.media_url(&key(data)),
            media_type,
        })
    }
}

/// The whole data of media; `None` where they are elsewhere, or were cut.
fn base64_of(media: &Media) -> Option<&str> {
    let MediaSource::Data(data) = &media.source else {
        return None;
    };
    let is_base64 = |byte: u8| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte);
    data.bytes().all(is_base64).then_some(data)
}

/// A key of data, within one viewer.
fn key(data: &str) -> String {
    let mut hasher = DefaultHasher::new();
    data.hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}

/// The Base64 text of the media with a key in a model call.
pub(crate) fn media_text(call: &Conversation, wanted: &str) -> Option<String> {
    let messages = call.prompt.iter().chain(&call.answer);
    let mut data = messages
        .flat_map(|message| &message.parts)
        .filter_map(|part| match part {
            MessagePart::Media(media) => base64_of(media),
            _ => None,
        });
    data.find(|data| key(data) == wanted).map(str::to_owned)
}

/// The messages of a part of a step.
pub(crate) fn messages(messages: &[Message], part: StepPart, place: &StepAddress) -> Vec<MessageAnswer> {
    let answer = |message: &Message| MessageAnswer {
        role: value_summary::label(&message.label()),
        speaker: message.speaker().as_str(),
        is_new: true,
        fold: None,
        parts: message
            .parts
            .iter()
            .map(|said| said_part(said, part, place))
            .collect(),
    };
    messages.iter().map(answer).collect()
}

/// Marks the messages that are not new, and folds those that follow each other.
pub(super) fn fold_earlier(messages: &mut [MessageAnswer], is_new: &[bool]) {
    for (message, is_new) in messages.iter_mut().zip(is_new) {
        message.is_new = *is_new;
    }
    for group in messages.chunk_by_mut(|one, other| one.is_new == other.is_new) {
        let count = group.len();
        if let Some(first) = group.first_mut().filter(|first| !first.is_new) {
            let label = same_as_before(count);
            first.fold = Some(MessageFold { count, label });
        }
    }
}

fn said_part(said: &MessagePart, part: StepPart, place: &StepAddress) -> PartAnswer {
    let label = part_label(said);
    let answer = match said {
        MessagePart::Text(text) => of_json_or_text("text", text, part, place),
        MessagePart::Reasoning(text) => of_text("thinking", text, part, place),
        MessagePart::Refusal(text) => of_text("refusal", text, part, place),
        MessagePart::ToolCall { arguments, .. } => of_value("call", arguments, part, place),
        MessagePart::ToolResult {
            value: Value::String(text),
            ..
        } => of_json_or_text("result", text, part, place),
        MessagePart::ToolResult { value, .. } => of_value("result", value, part, place),
        MessagePart::Media(media) => PartAnswer {
            media: MediaJson::of(media, place),
            ..of_value("media", &Value::Null, part, place)
        },
        MessagePart::Unknown(value) => of_value("other", value, part, place),
    };
    let name = label.as_ref().and_then(|label| label.name);
    PartAnswer {
        name: name.map(value_summary::label),
        label: label.map(|label| label.text),
        ..answer
    }
}

fn of_json_or_text(kind: &'static str, text: &str, part: StepPart, place: &StepAddress) -> PartAnswer {
    match embedded_json(text) {
        Some(value) => of_value(kind, &value, part, place),
        None => of_text(kind, text, part, place),
    }
}

fn of_text(kind: &'static str, text: &str, part: StepPart, place: &StepAddress) -> PartAnswer {
    let shown = ShownValue::text(&value_summary::with_markers(text), part, place);
    PartAnswer {
        kind,
        html: shown.beginning().and_then(markdown::to_html),
        shown,
        ..PartAnswer::default()
    }
}

fn of_value(kind: &'static str, value: &Value, part: StepPart, place: &StepAddress) -> PartAnswer {
    PartAnswer {
        kind,
        shown: ShownValue::of(value, part, place).unwrap_or_default(),
        ..PartAnswer::default()
    }
}
