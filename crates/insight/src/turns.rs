//! A run as turns of a conversation: what each step says that nobody has heard before.

use std::collections::HashSet;

use serde_json::Value;
use tracer_sdk::format::Payload;

use crate::legacy_conversation as conversation;
use crate::legacy_conversation::{Message, Part};
use crate::value_lines;

/// What was heard before: agents send the whole conversation with every call.
#[derive(Debug, Default)]
pub struct Heard {
    /// Role and content of messages.
    texts: HashSet<String>,
    /// Results that tools gave, as they will come back in messages.
    results: HashSet<String>,
}

/// What a step says.
#[derive(Debug, PartialEq)]
pub enum Turn {
    /// A model was asked and answered.
    Model {
        /// How many messages were left out, being known.
        known: usize,
        /// What is new.
        new: Vec<Message>,
        /// What it answered.
        answered: Vec<Message>,
    },
    /// A tool was called.
    Tool,
    /// Anything else.
    Other,
}

impl Heard {
    /// What a record says, which is known from then on.
    pub fn hear(&mut self, payload: &Payload) -> Turn {
        match payload {
            Payload::LlmCall { prompt, response, .. } => {
                let asked = conversation::prompt(prompt);
                let (new, known): (Vec<Message>, Vec<Message>) =
                    asked.into_iter().partition(|message| !self.has(message));
                let answered = conversation::response(response);
                for message in new.iter().chain(&answered) {
                    self.texts.insert(key(message));
                }
                Turn::Model {
                    known: known.len(),
                    new,
                    answered,
                }
            }
            Payload::ToolCall { result, .. } => {
                if !result.is_null() {
                    self.results.insert(content_key(plain(result)));
                }
                Turn::Tool
            }
            _ => Turn::Other,
        }
    }

    /// Whether a message says what was said before, or what a tool gave.
    fn has(&self, message: &Message) -> bool {
        self.texts.contains(&key(message))
            || (!message.parts.is_empty()
                && message.parts.iter().all(|part| match part {
                    Part::Result(value) => self.results.contains(&content_key(value)),
                    _ => false,
                }))
    }
}

/// A result without the object that a record puts around what is neither an object nor a string.
pub fn plain(result: &Value) -> &Value {
    match result {
        Value::Object(map) if map.len() == 1 => map.get("value").unwrap_or(result),
        result => result,
    }
}

fn key(message: &Message) -> String {
    format!("{}\u{0}{:?}", message.role, message.parts)
}

fn content_key(value: &Value) -> String {
    match value {
        Value::String(text) => {
            value_lines::unpacked(text).map_or_else(|| text.clone(), |value| value.to_string())
        }
        value => value.to_string(),
    }
}
