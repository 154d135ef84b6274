//! New messages of a conversation.
//!
//! Agents send all of it again with every call.

use std::collections::HashSet;
use std::fmt::Write as _;

use serde_json::Value;
use tracer_sdk::format::Payload;

use super::{Conversation, Message, MessagePart, embedded_json};

/// Pairs of messages that are compared, once two calls no longer begin alike.
const MAX_COMPARED_PAIRS: usize = 250_000;

/// Addition of a step to the conversation of its run.
#[derive(Debug, PartialEq)]
pub enum Turn {
    /// A model was asked and answered.
    Model {
        /// Number of messages of the prompt that an earlier step had already.
        earlier: usize,
        /// The others.
        new: Vec<Message>,
        /// The answer.
        answer: Vec<Message>,
    },
    /// A tool was called.
    Tool,
    /// Anything else.
    Other,
}

/// Reads the steps of a run in their order, and finds what each adds.
#[derive(Debug, Default)]
pub struct TurnReader {
    messages: HashSet<String>,
    /// Results of tools, as they come back in messages.
    results: HashSet<String>,
}

impl TurnReader {
    /// Returns the addition of a record to those before it.
    pub fn read(&mut self, payload: &Payload) -> Turn {
        if let Payload::ToolCall { result, .. } = payload {
            if !result.is_null() {
                self.results.insert(value_key(unwrapped(result)));
            }
            return Turn::Tool;
        }
        let Some(conversation) = Conversation::from_payload(payload) else {
            return Turn::Other;
        };
        let (new, earlier): (Vec<Message>, Vec<Message>) = conversation
            .prompt
            .into_iter()
            .partition(|message| !self.has(message));
        let answer = conversation.answer;
        self.messages.extend(new.iter().chain(&answer).map(key));
        Turn::Model {
            earlier: earlier.len(),
            new,
            answer,
        }
    }

    /// Returns whether a message is an earlier one, or holds nothing but results that steps have.
    fn has(&self, message: &Message) -> bool {
        let is_result = |part: &MessagePart| match part {
            MessagePart::ToolResult { value, .. } => self.results.contains(&value_key(value)),
            _ => false,
        };
        self.messages.contains(&key(message))
            || (!message.parts.is_empty() && message.parts.iter().all(is_result))
    }
}

/// For each message of a prompt, whether it is new: not among the messages of an earlier call, in their order.
pub fn new_messages(earlier: &[Message], prompt: &[Message]) -> Vec<bool> {
    let earlier: Vec<String> = earlier.iter().map(key).collect();
    let prompt: Vec<String> = prompt.iter().map(key).collect();
    let same = earlier
        .iter()
        .zip(&prompt)
        .take_while(|(one, other)| one == other)
        .count();
    let (earlier, rest) = (
        earlier.get(same..).unwrap_or_default(),
        prompt.get(same..).unwrap_or_default(),
    );
    let mut is_new = vec![true; prompt.len()];
    is_new.iter_mut().take(same).for_each(|is_new| *is_new = false);
    if earlier.len().saturating_mul(rest.len()) > MAX_COMPARED_PAIRS {
        return is_new;
    }
    for part in similar::capture_diff_slices(similar::Algorithm::Myers, earlier, rest) {
        if let similar::DiffOp::Equal { new_index, len, .. } = part {
            let said = is_new.iter_mut().skip(same + new_index).take(len);
            said.for_each(|is_new| *is_new = false);
        }
    }
    is_new
}

/// A result without the object that a record puts around what is neither an object nor a string, or a framework around what
/// its tool returned.
pub fn unwrapped(result: &Value) -> &Value {
    match result {
        Value::Object(map) if map.len() == 1 => map.get("value").unwrap_or(tool_message_content(result)),
        result => tool_message_content(result),
    }
}

/// Content of a tool's result within a message of `LangChain`'s: as an object of its own, stored
/// (`{"type":"tool","data":{…}}`) or as a constructor (`{"type":"constructor","kwargs":{…}}`). Any other value is given
/// back as it is.
pub(crate) fn tool_message_content(result: &Value) -> &Value {
    let content = || {
        let outer = result.as_object()?;
        // LangSmith puts the output of every step into an object.
        let message = match outer.get("output") {
            Some(output) if outer.len() == 1 => output.as_object()?,
            _ => outer,
        };
        let kind = message.get("type").and_then(Value::as_str);
        let message = match kind? {
            "tool" => message.get("data").map_or(Some(message), Value::as_object)?,
            "constructor" => message.get("kwargs")?.as_object()?,
            _ => return None,
        };
        // The result of a tool may itself have a type: only a message names the call that it answers.
        let content = message
            .get("content")
            .filter(|_| message.contains_key("tool_call_id"))?;
        match content.as_array().map(Vec::as_slice) {
            Some([only]) => only.get("text").or(Some(content)),
            _ => Some(content),
        }
    };
    content().unwrap_or(result)
}

/// Key by which two messages are equal, without their IDs: providers leave them out of one place and write them in
/// another.
fn key(message: &Message) -> String {
    let mut key = message.label();
    for part in &message.parts {
        key.push('\0');
        let written = match part {
            MessagePart::ToolCall { name, arguments, .. } => write!(key, "call {name} {arguments}"),
            MessagePart::ToolResult { value, .. } => write!(key, "result {}", value_key(value)),
            part => write!(key, "{part:?}"),
        };
        debug_assert!(written.is_ok(), "a string takes everything");
    }
    key
}

/// Key by which two results are equal: JSON is, in a text too.
pub(crate) fn value_key(value: &Value) -> String {
    match value {
        Value::String(text) => embedded_json(text).map_or_else(|| text.clone(), |value| value.to_string()),
        value => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::prompt_messages;
    use super::*;

    /// The letters of the messages that are new; one letter is one message.
    fn new_letters(earlier: &str, prompt: &str) -> String {
        let messages = |letters: &str| -> Vec<Message> {
            let all: Vec<Value> = letters
                .chars()
                .map(|letter| json!({"role": "user", "content": letter.to_string()}))
                .collect();
            prompt_messages(&json!({"messages": all}))
        };
        let is_new = new_messages(&messages(earlier), &messages(prompt));
        assert_eq!(is_new.len(), prompt.len());
        prompt
            .chars()
            .zip(is_new)
            .filter_map(|(letter, is_new)| is_new.then_some(letter))
            .collect()
    }

    #[test]
    fn messages_are_old_only_in_the_order_of_the_earlier_call() {
        assert_eq!(new_letters("", "ab"), "ab");
        assert_eq!(new_letters("abc", "abcd"), "d");
        // Another beginning, the same rest.
        assert_eq!(new_letters("abcd", "xbcde"), "xe");
        // The same messages in another order.
        assert_eq!(new_letters("abc", "cab").len(), 1);
        assert_eq!(new_letters("ab", "abab"), "ab");
        // Left out of the middle, put into it.
        assert_eq!(new_letters("abcdef", "abef"), "");
        assert_eq!(new_letters("abef", "abcdef"), "cd");
        assert_eq!(new_letters("abc", ""), "");
        let (many, more) = ("ab".repeat(400), "ba".repeat(400));
        assert_eq!(new_letters(&many, &(many.clone() + "c")), "c");
        // Past the limit, what follows the common beginning is new.
        assert_eq!(new_letters(&many, &more), more);
    }

    #[test]
    fn a_tool_message_is_what_the_tool_returned() {
        let fields =
            json!({"content": "7 C", "name": "get_weather", "tool_call_id": "call_1", "status": "success"});
        let mut plain = fields.clone();
        plain["type"] = json!("tool");
        for wrapped in [
            plain.clone(),
            json!({"type": "tool", "data": fields}),
            json!({"lc": 1, "type": "constructor", "id": ["langchain", "schema", "messages", "ToolMessage"], "kwargs": fields}),
            json!({"output": plain}),
            json!({"type": "tool", "tool_call_id": "call_1", "content": [{"type": "text", "text": "7 C"}]}),
        ] {
            assert_eq!(unwrapped(&wrapped), "7 C", "{wrapped}");
        }
        for own in [
            json!({"type": "tool", "content": "a hammer"}),
            json!({"output": {"type": "tool", "content": "a hammer"}, "status": "ok"}),
            json!({"type": "constructor", "kwargs": 7}),
            json!({"type": "tool", "data": "x", "tool_call_id": "call_1"}),
            json!(["7 C"]),
        ] {
            assert_eq!(unwrapped(&own), &own);
        }
        assert_eq!(unwrapped(&json!({"value": 7})), 7);
    }

    #[test]
    fn a_call_without_its_id_is_the_same_call() {
        let call = |id: &str| json!({"messages": [{"role": "assistant", "tool_calls": [{"id": id, "function": {"name": "ls", "arguments": "{}"}}]}]});
        let (one, other) = (prompt_messages(&call("call_1")), prompt_messages(&call("")));
        assert_eq!(new_messages(&one, &other), [false]);
    }
}
