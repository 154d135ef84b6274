//! Messages as the page shows them: texts as Markdown, values as values.

use serde::Serialize;
use serde_json::Value;

use super::super::markdown;
use super::cut::{Part, Place, ends, is_large};
use tracer_insight::legacy_conversation as conversation;
use tracer_insight::legacy_conversation::Message;
use tracer_insight::step_summary;
use tracer_insight::value_lines::unpacked;

/// What somebody said in one go.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(in super::super) struct MessageAnswer {
    /// Who: `system`, `user`, `assistant`, `tool`, or whatever the provider says.
    role: String,
    /// Whether the model had neither heard nor said it in its call before, in this order.
    is_new: bool,
    parts: Vec<PartAnswer>,
}

/// A part of a message.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct PartAnswer {
    /// `text`, `thinking`, `call`, `result` or `other`.
    #[serde(rename = "type")]
    kind: &'static str,
    /// What was said; of a large text its beginning.
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    /// The same, read as Markdown: safe to show, without anything that loads or runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    html: Option<String>,
    /// The tool that is to be called.
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    /// What it is given, what it gave, or a shape that is not known; a text that holds JSON as that.
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<Value>,
    /// How many bytes it has.
    size: usize,
    /// Of a part that is cut, how it ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    tail: Option<String>,
    /// Of a part that is cut, where the whole is that it is a part of.
    #[serde(skip_serializing_if = "Option::is_none")]
    value_url: Option<String>,
}

/// The messages; `is_new` tells by its number whether one is.
pub(in super::super) fn messages(
    messages: &[Message],
    is_new: impl Fn(usize) -> bool,
    part: Part,
    place: &Place,
) -> Vec<MessageAnswer> {
    messages
        .iter()
        .enumerate()
        .map(|(number, message)| MessageAnswer {
            role: step_summary::word(&message.role),
            is_new: is_new(number),
            parts: message
                .parts
                .iter()
                .map(|said| answer(said, part, place))
                .collect(),
        })
        .collect()
}

fn answer(said: &conversation::Part, part: Part, place: &Place) -> PartAnswer {
    match said {
        conversation::Part::Text(text) => match unpacked(text) {
            Some(value) => of_value("text", None, &value, part, place),
            None => of_text("text", text, part, place),
        },
        conversation::Part::Thinking(text) => of_text("thinking", text, part, place),
        conversation::Part::Call { name, arguments } => {
            of_value("call", Some(step_summary::word(name)), arguments, part, place)
        }
        conversation::Part::Result(value) => match value {
            Value::String(text) => match unpacked(text) {
                Some(value) => of_value("result", None, &value, part, place),
                None => of_text("result", text, part, place),
            },
            value => of_value("result", None, value, part, place),
        },
        conversation::Part::Other(value) => of_value("other", None, value, part, place),
    }
}

fn of_text(kind: &'static str, text: &str, part: Part, place: &Place) -> PartAnswer {
    let (text, tail) = if is_large(text) {
        let (head, tail) = ends(text);
        (head, Some(tail.to_owned()))
    } else {
        (text, None)
    };
    let shown = step_summary::with_markers(text);
    PartAnswer {
        kind,
        html: markdown::to_html(&shown),
        size: text.len(),
        text: Some(shown),
        name: None,
        value: None,
        value_url: tail.is_some().then(|| place.url(part)),
        tail,
    }
}

fn of_value(
    kind: &'static str,
    name: Option<String>,
    value: &Value,
    part: Part,
    place: &Place,
) -> PartAnswer {
    let text = value.to_string();
    if is_large(&text) {
        return PartAnswer {
            name,
            html: None,
            ..of_text(kind, &text, part, place)
        };
    }
    PartAnswer {
        kind,
        text: None,
        html: None,
        name,
        size: text.len(),
        value: (!value.is_null()).then(|| value.clone()),
        tail: None,
        value_url: None,
    }
}
