//! Reading messages by the tables of shapes. Every field that a table does not name is kept as an unknown part.

use serde_json::{Map, Value, json};

use super::shapes::{self, BodySection, MessageField, PartShape};
use super::{Media, MediaKind, MediaSource, Message, MessagePart, Role};

/// Larger texts are not tried as JSON, in bytes.
const MAX_JSON_BYTES: usize = 1024 * 1024;
/// Bodies around bodies deeper than this are kept as they are, so that no nesting exhausts the stack.
const MAX_NESTING: usize = 24;
/// Name shown for a call without a name.
const UNNAMED: &str = "(unnamed)";

/// The messages of a prompt, instructions first.
pub fn prompt_messages(prompt: &Value) -> Vec<Message> {
    ParsedBody::prompt(prompt).messages
}

/// The messages of an answer.
pub fn answer_messages(answer: &Value) -> Vec<Message> {
    ParsedBody::answer(answer).messages
}

/// The last message of a prompt, without reading those before it where the prompt is a plain list of messages.
pub fn last_prompt_message(prompt: &Value) -> Option<Message> {
    let list = match prompt {
        Value::Array(list) => Some(list),
        _ => ["messages", "value"]
            .iter()
            .find_map(|key| prompt.get(key)?.as_array()),
    };
    let is_message = |item: &&Value| item.get("role").is_some_and(Value::is_string);
    match list.and_then(|list| list.last()).filter(is_message) {
        Some(message) => prompt_messages(message).pop(),
        None => prompt_messages(prompt).pop(),
    }
}

/// The object or list that a text holds as JSON, as the arguments and results of tools often do.
pub fn embedded_json(text: &str) -> Option<Value> {
    let may_be_json = text.len() <= MAX_JSON_BYTES && text.trim_start().starts_with(['{', '[']);
    may_be_json.then(|| serde_json::from_str(text).ok()).flatten()
}

/// Parsed messages of a prompt or an answer.
#[derive(Debug, Default)]
pub(super) struct ParsedBody {
    pub(super) messages: Vec<Message>,
    finish_reasons: Vec<String>,
    is_answer: bool,
}

impl ParsedBody {
    pub(super) fn prompt(value: &Value) -> Self {
        Self::default().whole(value, &Role::User)
    }

    pub(super) fn answer(value: &Value) -> Self {
        let reading = Self {
            is_answer: true,
            ..Self::default()
        };
        reading.whole(value, &Role::Assistant)
    }

    /// Why the model stopped, as its answer says; several choices are joined by commas.
    pub(super) fn finish_reason(&self) -> Option<String> {
        (!self.finish_reasons.is_empty()).then(|| self.finish_reasons.join(", "))
    }

    fn whole(mut self, value: &Value, role: &Role) -> Self {
        let embedded = value.as_str().and_then(embedded_json).filter(is_conversation);
        self.value(embedded.as_ref().unwrap_or(value), role, 0);
        self
    }

    /// A body, a list of messages, or a message.
    fn value(&mut self, value: &Value, role: &Role, nesting: usize) {
        match value {
            Value::Null => {}
            Value::Array(items) if !items.is_empty() && items.iter().all(is_bare_part) => {
                self.push(role, items.iter().flat_map(part).collect());
            }
            Value::Array(items) if !items.is_empty() && items.iter().all(is_plain) => {
                self.push(role, part(value));
            }
            Value::Array(items) => {
                for item in items {
                    self.value(item, role, nesting + 1);
                }
            }
            Value::Object(map) if nesting < MAX_NESTING => self.object(map, role, nesting),
            value => self.push(role, part(value)),
        }
    }

    fn push(&mut self, role: &Role, parts: Vec<MessagePart>) {
        self.messages.push(Message {
            role: role.clone(),
            name: None,
            parts,
        });
    }

    fn object(&mut self, map: &Map<String, Value>, role: &Role, nesting: usize) {
        let has_role = map.get("role").is_some_and(Value::is_string);
        if !has_role && let Some(shape) = part_shape(map) {
            let role = match shape {
                PartShape::Call | PartShape::Reasoning | PartShape::Refusal => &Role::Assistant,
                PartShape::Result => &Role::Tool,
                PartShape::Text | PartShape::Compaction | PartShape::Media(_) => role,
            };
            return self.push(role, part_of_object(map, shape));
        }
        let mut fields = ObjectFields::of(map);
        self.finish_reasons
            .extend(fields.text(&shapes::FINISH_REASON).map(str::to_owned));
        let own_role = own_role(&mut fields);
        let role = own_role.as_ref().unwrap_or(role);
        if let Some(wrapped) = fields.object_where(&shapes::MESSAGE_WRAPPERS, is_message) {
            self.object(wrapped, role, nesting + 1);
            let looked_up = looked_up(&mut fields);
            if let Some(last) = self.messages.last_mut() {
                last.parts.extend(looked_up);
            }
            let rest = fields.rest(self.messages.last().map_or(&[][..], |last| &last.parts));
            if let Some(last) = self.messages.last_mut() {
                last.parts.extend(rest);
            }
            return;
        }
        if own_role.is_some() || !self.body(&mut fields, role, nesting) {
            self.message(fields, role);
        }
    }

    /// Reads an object as a body around messages; returns whether it is one.
    fn body(&mut self, fields: &mut ObjectFields<'_>, role: &Role, nesting: usize) -> bool {
        let is_answer = self.is_answer;
        let is_echo = |section| is_answer && section != BodySection::Messages;
        let mut found = in_order(fields.map, &shapes::SECTIONS);
        found.retain(|(_, section, value)| is_section(*section, value));
        if found.is_empty() {
            return false;
        }
        let is_said = |(_, section, _): &(&str, BodySection, &Value)| !is_echo(*section);
        let is_any_said = found.iter().any(is_said);
        if is_answer && !is_any_said && is_message(fields.map) {
            fields.used.extend(found.iter().map(|(key, ..)| *key));
            return false;
        }
        let mut trial = fields.clone();
        trial.used.extend(found.iter().map(|(key, ..)| *key));
        let rest = trial.rest(&[]);
        // Plain texts next to fields that no table lists are a custom shape, which is shown as a whole.
        let is_own_shape = rest.is_some() && found.iter().all(|(_, _, value)| value.is_string());
        if is_own_shape {
            return false;
        }
        *fields = trial;
        let first = self.messages.len();
        for (_, section, value) in &found {
            match section {
                echo if is_any_said && is_echo(*echo) => {}
                BodySection::Instructions => {
                    let parts = content(value);
                    self.push(&Role::System, parts);
                }
                BodySection::History | BodySection::Messages => self.value(value, role, nesting + 1),
            }
        }
        let said: Vec<&MessagePart> = self
            .messages
            .iter()
            .skip(first)
            .flat_map(|message| &message.parts)
            .collect();
        if let Some(rest) = without_repetition(rest, &said) {
            let instructions = self.messages.iter().skip(first);
            let instructions = instructions
                .take_while(|message| message.role == Role::System)
                .count();
            let message = Message {
                role: role.clone(),
                name: None,
                parts: vec![rest],
            };
            // Before what was said, so that the last message stays the last.
            self.messages.insert(first + instructions, message);
        }
        true
    }

    fn message(&mut self, mut fields: ObjectFields<'_>, role: &Role) {
        let mut parts: Vec<MessagePart> = Vec::new();
        let mut is_known = false;
        for (key, field, value) in in_order(fields.map, &shapes::MESSAGE_FIELDS) {
            if !is_field(field, value) {
                continue;
            }
            is_known = true;
            fields.used.push(key);
            // Some say the same in two members.
            let said = parts.len();
            for part in field_parts(field, value) {
                let is_repeated = match &part {
                    MessagePart::Reasoning(_) | MessagePart::ToolCall { .. } => parts[..said].contains(&part),
                    _ => false,
                };
                if !is_repeated {
                    parts.push(part);
                }
            }
        }
        if !is_known {
            let whole = Value::Object(fields.map.clone());
            return self.push(role, vec![MessagePart::Unknown(whole)]);
        }
        let mut name = None;
        if *role == Role::Tool {
            parts = results(parts, &mut fields);
        } else {
            name = fields
                .text(&shapes::NAME)
                .filter(|name| !name.is_empty())
                .map(str::to_owned);
        }
        parts.extend(fields.rest(&parts));
        self.messages.push(Message {
            role: role.clone(),
            name,
            parts,
        });
    }
}

/// Look-ups made before an answer, as the call of a tool and its result.
fn looked_up(fields: &mut ObjectFields<'_>) -> Vec<MessagePart> {
    for (key, tool, asked, found) in shapes::LOOKED_UP {
        let Some(metadata) = fields.map.get(key).and_then(Value::as_object) else {
            continue;
        };
        let Some(asked) = metadata
            .get(asked)
            .filter(|asked| asked.as_array().is_some_and(|asked| !asked.is_empty()))
        else {
            continue;
        };
        fields.used.push(key);
        return vec![
            MessagePart::ToolCall {
                id: None,
                name: tool.to_owned(),
                arguments: json!({"queries": asked}),
            },
            MessagePart::ToolResult {
                id: None,
                name: Some(tool.to_owned()),
                // Kept whole: the references in the texts would be lost without the rest.
                value: metadata.get(found).cloned().unwrap_or_default(),
                is_error: false,
            },
        ];
    }
    Vec::new()
}

/// The fields of an object that a table names, in the order of the table.
fn in_order<'a, T: Copy>(
    map: &'a Map<String, Value>,
    table: &[(&'static str, T)],
) -> Vec<(&'static str, T, &'a Value)> {
    let place = |key: &String| table.iter().position(|(known, _)| known == key);
    let mut found: Vec<(usize, &Value)> = map
        .iter()
        .filter_map(|(key, value)| Some((place(key)?, value)))
        .collect();
    found.sort_unstable_by_key(|(place, _)| *place);
    let entry = |(place, value)| table.get(place).map(|(key, kind)| (*key, *kind, value));
    found.into_iter().filter_map(entry).collect()
}

/// The role that an object names: by its `role`, a `LangChain` class or type.
fn own_role(fields: &mut ObjectFields<'_>) -> Option<Role> {
    if let Some(word) = fields.text(&shapes::ROLE) {
        return Some(shapes::known_role(word).unwrap_or_else(|| Role::Other(word.to_owned())));
    }
    if fields.map.contains_key("lc")
        && let Some(path) = fields.map.get("id").and_then(Value::as_array)
        && let Some(role) = path.last().and_then(Value::as_str).and_then(shapes::known_role)
    {
        fields.used.push("id");
        return Some(role);
    }
    fields
        .map
        .get("type")
        .and_then(Value::as_str)
        .and_then(shapes::known_role)
}

/// The parts of a tool's message: texts are its result.
fn results(parts: Vec<MessagePart>, fields: &mut ObjectFields<'_>) -> Vec<MessagePart> {
    let is_text = |part: &MessagePart| matches!(part, MessagePart::Text(_));
    if !parts.iter().any(is_text) {
        return parts;
    }
    let id = fields.text(&shapes::CALL_ID).map(str::to_owned);
    let name = fields.text(&shapes::TOOL_NAME).map(str::to_owned);
    let is_error = fields.is_error();
    let (texts, others): (Vec<MessagePart>, Vec<MessagePart>) = parts.into_iter().partition(is_text);
    let texts: Vec<String> = texts
        .into_iter()
        .filter_map(|part| match part {
            MessagePart::Text(text) => Some(text),
            _ => None,
        })
        .collect();
    let value = Value::String(texts.join("\n"));
    let mut results = vec![MessagePart::ToolResult {
        id,
        name,
        is_error: is_error || is_report_of_failure(&value),
        value,
    }];
    results.extend(others);
    results
}

/// Returns whether a value can be the content of a section.
fn is_section(section: BodySection, value: &Value) -> bool {
    match value {
        Value::String(text) => !text.is_empty(),
        Value::Array(_) => true,
        Value::Object(map) => match section {
            BodySection::Instructions => is_message(map) || part_shape(map).is_some(),
            BodySection::History | BodySection::Messages => is_body(map),
        },
        _ => false,
    }
}

/// Returns whether an object is a message, or has messages in it.
fn is_body(map: &Map<String, Value>) -> bool {
    is_message(map)
        || part_shape(map).is_some()
        || shapes::SECTIONS
            .iter()
            .any(|(key, _)| map.get(*key).is_some_and(Value::is_array))
        || ["message", "delta"]
            .iter()
            .chain(&shapes::MESSAGE_WRAPPERS)
            .any(|key| {
                let inner = map.get(*key).and_then(Value::as_object);
                inner.is_some_and(is_message)
            })
}

/// Returns whether an object holds fields of a message.
fn is_message(map: &Map<String, Value>) -> bool {
    map.get("role").is_some_and(Value::is_string)
        || shapes::MESSAGE_FIELDS.iter().any(|(key, field)| {
            *key != "message" && map.get(*key).is_some_and(|value| is_field(*field, value))
        })
}

/// Returns whether a value can be the content of a field of a message.
fn is_field(field: MessageField, value: &Value) -> bool {
    match (field, value) {
        (MessageField::Content, Value::Object(map)) => part_shape(map).is_some(),
        (MessageField::Content, Value::Null)
        | (MessageField::Content | MessageField::Reasoning | MessageField::Refusal, Value::String(_))
        | (
            MessageField::Calls | MessageField::Results | MessageField::Executed | MessageField::Media(_),
            Value::Object(_),
        )
        | (_, Value::Array(_)) => true,
        _ => false,
    }
}

fn field_parts(field: MessageField, value: &Value) -> Vec<MessagePart> {
    let items = match value {
        Value::Array(items) => items.as_slice(),
        value => std::slice::from_ref(value),
    };
    match field {
        MessageField::Content => content(value),
        MessageField::Reasoning => items
            .iter()
            .flat_map(|item| match item {
                Value::String(text) => reasoning_text(text),
                item => part(item),
            })
            .collect(),
        MessageField::Refusal => items
            .iter()
            .flat_map(|item| match item {
                Value::String(text) if text.is_empty() => Vec::new(),
                Value::String(text) => vec![MessagePart::Refusal(text.clone())],
                item => part(item),
            })
            .collect(),
        MessageField::Calls => items
            .iter()
            .flat_map(|item| shaped(item, PartShape::Call))
            .collect(),
        MessageField::Executed => items.iter().flat_map(executed).collect(),
        MessageField::Results => items
            .iter()
            .flat_map(|item| shaped(item, PartShape::Result))
            .collect(),
        MessageField::Media(kind) => items
            .iter()
            .flat_map(|item| match item {
                Value::String(data) => vec![MessagePart::Media(media_from_text(data, kind))],
                item => shaped(item, PartShape::Media(kind)),
            })
            .collect(),
    }
}

fn reasoning_text(text: &str) -> Vec<MessagePart> {
    let part = MessagePart::Reasoning(text.to_owned());
    if text.is_empty() { Vec::new() } else { vec![part] }
}

fn shaped(value: &Value, shape: PartShape) -> Vec<MessagePart> {
    match value {
        Value::Object(map) => part_of_object(map, shape),
        value => part(value),
    }
}

fn content(value: &Value) -> Vec<MessagePart> {
    match value {
        Value::Array(items) => items.iter().flat_map(part).collect(),
        Value::Object(map) if part_shape(map).is_none() => {
            match map.get("parts").or_else(|| map.get("content")) {
                Some(inner @ (Value::Array(_) | Value::String(_))) => {
                    let mut fields = ObjectFields::of(map);
                    fields
                        .used
                        .extend(["parts", "content", "role"].iter().filter(|key| {
                            map.get(**key).is_some_and(|value| {
                                std::ptr::eq(value, inner) || **key == "role" && value.is_string()
                            })
                        }));
                    let mut parts = content(inner);
                    parts.extend(fields.rest(&parts));
                    parts
                }
                _ => part(value),
            }
        }
        value => part(value),
    }
}

/// The message parts of one item of a content, those within it included; none for one that is empty.
fn part(value: &Value) -> Vec<MessagePart> {
    match value {
        Value::Null => Vec::new(),
        Value::String(text) if text.is_empty() => Vec::new(),
        Value::String(text) => vec![MessagePart::Text(text.clone())],
        Value::Object(map) => match part_shape(map) {
            Some(shape) => part_of_object(map, shape),
            None if has_text(map) => part_of_object(map, PartShape::Text),
            None if map.len() == 1 && map.contains_key(shapes::PART_WRAPPER) => {
                map.values().flat_map(part).collect()
            }
            None => vec![MessagePart::Unknown(value.clone())],
        },
        value => vec![MessagePart::Unknown(value.clone())],
    }
}

/// Returns whether a value is a number, a flag or null: a list of them, as of tokens, is no list of messages.
fn is_plain(value: &Value) -> bool {
    matches!(value, Value::Null | Value::Bool(_) | Value::Number(_))
}

fn has_text(map: &Map<String, Value>) -> bool {
    map.get("text").is_some_and(Value::is_string)
}

/// Shape of the part that an object is, by its type, else by its keys.
fn part_shape(map: &Map<String, Value>) -> Option<PartShape> {
    match map.get("type").and_then(Value::as_str) {
        // A message of `LangChain` may be of the type `function` too.
        Some("function") if map.contains_key("content") => None,
        Some(part_type) => shapes::part_of_type(part_type).map(|(shape, _)| shape),
        None if map.get("role").is_some_and(Value::is_string) || map.contains_key("content") => None,
        None => {
            let is_thought = map.get("thought") == Some(&Value::Bool(true)) && has_text(map);
            let by_key = || shapes::part_of_key(|key| map.get(key).is_some_and(Value::is_object));
            is_thought
                .then_some(PartShape::Reasoning)
                .or_else(by_key)
                .or_else(|| shapes::part_of_fields(map))
        }
    }
}

/// Returns whether an item of a list is a part of one message, not a message by itself.
fn is_bare_part(item: &Value) -> bool {
    let Value::Object(map) = item else { return false };
    if map.get("role").is_some_and(Value::is_string) || map.contains_key("message") {
        return false;
    }
    match map.get("type").and_then(Value::as_str) {
        Some(part_type) => {
            part_shape(map).is_some() && shapes::part_of_type(part_type).is_some_and(|(_, is_item)| !is_item)
        }
        None => part_shape(map).is_some() || (has_text(map) && !is_message_beside_text(map)),
    }
}

/// Returns whether an object with a text is more than a part: a choice of a completion, for example.
fn is_message_beside_text(map: &Map<String, Value>) -> bool {
    let mut fields = ObjectFields::of(map);
    fields.text(&shapes::FINISH_REASON).is_some() || map.contains_key("generation_info")
}

fn part_of_object(map: &Map<String, Value>, shape: PartShape) -> Vec<MessagePart> {
    let mut fields = ObjectFields::of(map);
    let unknown = || vec![MessagePart::Unknown(Value::Object(map.clone()))];
    let mut parts = match shape {
        PartShape::Text => match text_of(&mut fields) {
            Some(text) if text.is_empty() => Vec::new(),
            Some(text) => vec![MessagePart::Text(text)],
            None => return unknown(),
        },
        PartShape::Refusal => match fields.text(&shapes::REFUSAL) {
            Some(text) => vec![MessagePart::Refusal(text.to_owned())],
            None => return unknown(),
        },
        PartShape::Compaction => {
            let summary = fields.text(&shapes::TEXT).filter(|summary| !summary.is_empty());
            let summary = summary.map(|summary| format!(": {summary}")).unwrap_or_default();
            vec![MessagePart::Text(format!("conversation compacted{summary}"))]
        }
        PartShape::Reasoning => vec![reasoning(&mut fields)],
        PartShape::Call => call(&mut fields),
        PartShape::Result => vec![result(&mut fields)],
        PartShape::Media(kind) => match media(&mut fields, kind) {
            Some(part) => vec![part],
            None => return unknown(),
        },
    };
    parts.extend(fields.rest(&parts));
    parts
}

/// The text of a part: itself, or within an object (`{"text": {"value": …}}`).
fn text_of(fields: &mut ObjectFields<'_>) -> Option<String> {
    if let Some(text) = fields.text(&shapes::TEXT) {
        return Some(text.to_owned());
    }
    let inner = fields.object_where(&["text"], |inner| {
        inner.get("value").is_some_and(Value::is_string)
    })?;
    let mut inner = ObjectFields::of(inner);
    let text = inner.text(&["value"]).map(str::to_owned);
    fields.inner.push(inner);
    text
}

fn reasoning(fields: &mut ObjectFields<'_>) -> MessagePart {
    let mut texts: Vec<String> = Vec::new();
    for key in shapes::REASONING {
        let mut found = Vec::new();
        if let Some(value) = fields.map.get(key)
            && collect_texts(value, &mut found)
        {
            fields.used.push(key);
            for text in found {
                if !texts.contains(&text) {
                    texts.push(text);
                }
            }
        }
    }
    if fields.map.get("type").and_then(Value::as_str) == Some("redacted_thinking") {
        // Encrypted: it says nothing.
        fields.used.push("data");
    }
    MessagePart::Reasoning(texts.join("\n"))
}

/// Collects the texts of a summary; whether it holds nothing else.
fn collect_texts(value: &Value, texts: &mut Vec<String>) -> bool {
    match value {
        Value::Bool(true) | Value::Null => true,
        Value::String(text) => {
            if !text.is_empty() {
                texts.push(text.clone());
            }
            true
        }
        Value::Array(items) => items.iter().all(|item| collect_texts(item, texts)),
        Value::Object(map) => map.iter().all(|(key, value)| match key.as_str() {
            "text" | "reasoningText" => collect_texts(value, texts),
            // Encrypted.
            "redactedContent" => true,
            key => shapes::is_setting(key, value),
        }),
        _ => false,
    }
}

fn call(fields: &mut ObjectFields<'_>) -> Vec<MessagePart> {
    fields.unwrap(&shapes::CALL_WRAPPERS);
    let id = fields.text(&shapes::CALL_ID).map(str::to_owned);
    let name = tool_name(fields).unwrap_or_else(|| UNNAMED.to_owned());
    let arguments = fields.value(&shapes::ARGUMENTS).cloned().unwrap_or_default();
    let arguments = match &arguments {
        Value::String(text) => embedded_json(text).unwrap_or(arguments),
        _ => arguments,
    };
    let is_error = fields.is_error();
    let mut parts = vec![MessagePart::ToolCall {
        id: id.clone(),
        name: name.clone(),
        arguments,
    }];
    // A result may be present along with the error: an empty one, say.
    let has_error = shapes::ERROR_KEYS.iter().any(|key| {
        let error = fields.map.get(*key);
        error.is_some_and(|error| !error.is_null() && *error != "")
    });
    if let Some((value, is_failure)) = result_value(fields, &shapes::RESULT_OF_CALL) {
        let is_failure = is_failure || has_error || is_report_of_failure(&value);
        parts.push(MessagePart::ToolResult {
            id,
            name: Some(name),
            value,
            is_error: is_error || is_failure,
        });
    }
    parts
}

/// A call that the provider ran, and its result: its output, or else all its remaining fields.
fn executed(item: &Value) -> Vec<MessagePart> {
    let Some(map) = item.as_object() else {
        return part(item);
    };
    let text = |key: &str| {
        let text = map.get(key).and_then(Value::as_str);
        text.filter(|text| !text.is_empty()).map(str::to_owned)
    };
    let name = text("name")
        .or_else(|| text("type"))
        .unwrap_or_else(|| UNNAMED.to_owned());
    let arguments = map.get("arguments").cloned().unwrap_or_default();
    let arguments = match &arguments {
        Value::String(text) => embedded_json(text).unwrap_or(arguments),
        _ => arguments,
    };
    let is_said = |value: &Value| !value.is_null() && *value != "";
    let error = map.get("error").filter(|error| is_said(error));
    let output = error.or_else(|| map.get("output").filter(|output| is_said(output)));
    let besides = || {
        const OF_THE_CALL: [&str; 7] = ["arguments", "error", "id", "index", "name", "output", "type"];
        let besides = map
            .iter()
            .filter(|(key, value)| !OF_THE_CALL.contains(&key.as_str()) && is_said(value));
        let besides: Map<String, Value> = besides.map(|(key, value)| (key.clone(), value.clone())).collect();
        (!besides.is_empty()).then_some(Value::Object(besides))
    };
    let mut parts = vec![MessagePart::ToolCall {
        id: text("id"),
        name: name.clone(),
        arguments,
    }];
    if let Some(value) = output.cloned().or_else(besides) {
        parts.push(MessagePart::ToolResult {
            id: text("id"),
            name: Some(name),
            value,
            is_error: error.is_some(),
        });
    }
    parts
}

fn result(fields: &mut ObjectFields<'_>) -> MessagePart {
    // Cohere repeats the call in its result.
    fields.unwrap(&shapes::CALL_WRAPPERS);
    // Haystack, too, with its arguments.
    let results = fields.inner.iter_mut();
    for result in results.filter(|result| result.map.contains_key("origin")) {
        result
            .inner
            .iter_mut()
            .for_each(|call| call.used.push("arguments"));
    }
    let is_error = fields.is_error();
    let (value, is_failure) = result_value(fields, &shapes::RESULT).unwrap_or_default();
    let is_failure = is_failure || is_report_of_failure(&value) || is_hosted(fields) && says_failure(&value);
    MessagePart::ToolResult {
        id: fields.text(&shapes::CALL_ID).map(str::to_owned),
        name: tool_name(fields),
        value,
        is_error: is_error || is_failure,
    }
}

/// Returns whether a result is of a tool with a type of its own, whose form the provider has set; the form of any other
/// is free.
fn is_hosted(fields: &ObjectFields<'_>) -> bool {
    let part_type = fields.map.get("type").and_then(Value::as_str);
    part_type.is_some_and(|part_type| shapes::tool_of_type(part_type).is_some())
}

/// Returns whether the result of any tool is a report of its failure: a framework's phrase, or an object whose `error` is set,
/// also as JSON in a text.
fn is_report_of_failure(value: &Value) -> bool {
    match value {
        Value::String(text) => {
            let is_phrase =
                |(beginning, end): &(&str, &str)| text.starts_with(beginning) && text.ends_with(end);
            shapes::FAILURE_PHRASES.iter().any(is_phrase)
                || embedded_json(text).is_some_and(|value| value.is_object() && is_report_of_failure(&value))
        }
        Value::Object(map) => map.get("error").is_some_and(|error| match error {
            Value::Null => false,
            Value::Bool(is_set) => *is_set,
            Value::String(text) => !text.trim().is_empty(),
            Value::Array(items) => !items.is_empty(),
            Value::Object(fields) => !fields.is_empty(),
            Value::Number(number) => number.as_f64() != Some(0.0),
        }),
        _ => false,
    }
}

/// Returns whether the result of such a tool reports a failure: by its type, its exit code, or that of a command
/// within.
fn says_failure(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.iter().any(says_failure),
        Value::Object(map) => {
            let text = |key: &str| map.get(key).and_then(Value::as_str).unwrap_or_default();
            let has_code = shapes::EXIT_CODES.iter().any(|key| {
                map.get(*key)
                    .and_then(Value::as_i64)
                    .is_some_and(|code| code != 0)
            });
            text("type").ends_with("_error")
                || text("type") == "timeout"
                || has_code
                || map.get("outcome").is_some_and(says_failure)
        }
        _ => false,
    }
}

fn tool_name(fields: &mut ObjectFields<'_>) -> Option<String> {
    let by_type = || {
        let part_type = fields.map.get("type")?.as_str()?;
        shapes::tool_of_type(part_type).map(str::to_owned)
    };
    let by_type = by_type();
    let own_tool = shapes::OWN_TOOLS
        .iter()
        .find(|(key, _)| fields.map.contains_key(*key));
    if own_tool.is_some() {
        // Python, and what the flag of an error says already.
        for inner in &mut fields.inner {
            inner.used.extend(["language", "outcome"]);
        }
    }
    let by_type = by_type.or_else(|| own_tool.map(|(_, tool)| (*tool).to_owned()));
    let name = fields.text(&shapes::TOOL_NAME).filter(|name| !name.is_empty());
    name.map(str::to_owned).or(by_type)
}

/// A result, and whether it says that the tool failed.
fn result_value(fields: &mut ObjectFields<'_>, keys: &[&'static str]) -> Option<(Value, bool)> {
    let (key, value) = fields.entry(keys, |_| true)?;
    let is_failure = shapes::ERROR_KEYS.contains(&key);
    // The AI SDK's outputs name their type.
    if let Value::Object(map) = value
        && map.len() == 2
        && let (Some(output_type), Some(inner)) = (map.get("type").and_then(Value::as_str), map.get("value"))
    {
        return Some((plain_text(inner), is_failure || output_type.starts_with("error")));
    }
    Some((plain_text(value), is_failure))
}

/// A content that is nothing but text parts, as text; anything else as it is.
fn plain_text(value: &Value) -> Value {
    let Value::Array(items) = value else {
        return value.clone();
    };
    let texts: Option<Vec<&str>> = items.iter().map(text_alone).collect();
    match texts {
        Some(texts) if !texts.is_empty() => Value::String(texts.join("\n")),
        _ => value.clone(),
    }
}

/// The text of a part that is nothing else.
fn text_alone(item: &Value) -> Option<&str> {
    let map = item.as_object()?;
    let is_text = map.len() == 1 || map.get("type").and_then(Value::as_str) == Some("text");
    let is_plain = map.keys().all(|key| key == "type" || key == "text");
    (is_text && is_plain).then(|| map.get("text")?.as_str()).flatten()
}

fn media(fields: &mut ObjectFields<'_>, kind: MediaKind) -> Option<MessagePart> {
    fields.unwrap(&shapes::MEDIA_WRAPPERS);
    // A document may be plain text.
    let is_text = |fields: &ObjectFields<'_>| fields.map.get("type").and_then(Value::as_str) == Some("text");
    if let Some(inner) = fields.inner.iter_mut().find(|inner| is_text(inner))
        && let Some(text) = inner.text(&shapes::MEDIA_DATA)
    {
        return Some(MessagePart::Text(text.to_owned()));
    }
    let media_type = fields.text(&shapes::MEDIA_TYPE).map(str::to_owned);
    let modality = fields.map.get("modality").and_then(Value::as_str);
    let kind = modality.and_then(media_kind).unwrap_or(kind);
    let mut media = if let Some(uri) = fields.text(&shapes::MEDIA_URI) {
        media_from_text(uri, kind)
    } else if let Some(data) = fields.text(&shapes::MEDIA_DATA) {
        media_from_text(data, kind)
    } else {
        Media {
            kind,
            media_type: None,
            name: None,
            source: MediaSource::FileId(fields.text(&shapes::MEDIA_ID)?.to_owned()),
        }
    };
    media.media_type = media_type.or(media.media_type);
    media.name = fields.text(&shapes::MEDIA_NAME).map(str::to_owned);
    if media.kind == MediaKind::File {
        let by_type = media.media_type.as_deref().and_then(media_kind);
        media.kind = by_type.unwrap_or(kind);
    }
    Some(MessagePart::Media(media))
}

fn media_kind(media_type: &str) -> Option<MediaKind> {
    let main = media_type.split('/').next().unwrap_or_default();
    [MediaKind::Image, MediaKind::Audio, MediaKind::Video]
        .into_iter()
        .find(|kind| kind.as_str() == main)
}

/// Media given as text: an address, or data.
fn media_from_text(text: &str, kind: MediaKind) -> Media {
    let data = text.strip_prefix("data:").and_then(|text| text.split_once(','));
    let (media_type, source) = match data {
        Some((head, data)) => {
            let media_type = head.split(';').next().filter(|media_type| !media_type.is_empty());
            (media_type.map(str::to_owned), MediaSource::Data(data.to_owned()))
        }
        None if text.contains("://") => (None, MediaSource::Uri(text.to_owned())),
        None => (None, MediaSource::Data(text.to_owned())),
    };
    Media {
        kind,
        media_type,
        name: None,
        source,
    }
}

/// Returns whether JSON in the place of a text is a conversation beyond doubt: a text that looks like JSON may be meant
/// as text.
fn is_conversation(value: &Value) -> bool {
    let is_said = |item: &Value| {
        let Value::Object(map) = item else { return false };
        let has_content = ["content", "parts", "tool_calls"]
            .iter()
            .any(|key| map.contains_key(*key));
        (map.get("role").is_some_and(Value::is_string) && has_content) || part_shape(map).is_some()
    };
    match value {
        Value::Array(items) => !items.is_empty() && items.iter().all(is_said),
        Value::Object(map) => {
            let lists = ["messages", "contents", "input", "output", "choices", "candidates"];
            let in_list = lists
                .iter()
                .filter_map(|key| map.get(*key)?.as_array())
                .any(|list| {
                    let is_item = |item: &Value| is_said(item) || item.as_object().is_some_and(is_body);
                    !list.is_empty() && list.iter().all(is_item)
                });
            in_list || is_said(value)
        }
        _ => false,
    }
}

/// A part that repeats nothing: a text that was read already is no rest.
fn without_repetition(rest: Option<MessagePart>, said: &[&MessagePart]) -> Option<MessagePart> {
    let Some(MessagePart::Unknown(Value::Object(mut map))) = rest else {
        return rest;
    };
    let is_said = |value: &Value| {
        let text = value.as_str();
        said.iter().any(|part| match part {
            MessagePart::Text(said) | MessagePart::Reasoning(said) => text == Some(said),
            _ => false,
        })
    };
    map.retain(|_, value| !is_said(value));
    (!map.is_empty()).then_some(MessagePart::Unknown(Value::Object(map)))
}

/// The fields of an object, with a record of those already read.
#[derive(Clone)]
struct ObjectFields<'a> {
    map: &'a Map<String, Value>,
    used: Vec<&'static str>,
    /// Objects within, whose fields count as its own.
    inner: Vec<ObjectFields<'a>>,
}

impl<'a> ObjectFields<'a> {
    fn of(map: &'a Map<String, Value>) -> Self {
        Self {
            map,
            used: Vec::new(),
            inner: Vec::new(),
        }
    }

    /// Lets the fields of the objects under these keys count as its own.
    fn unwrap(&mut self, keys: &[&'static str]) {
        for (key, value) in self.map {
            if let Value::Object(map) = value
                && let Some(key) = keys.iter().find(|wrapper| *wrapper == key)
            {
                self.used.push(key);
                let mut inner = ObjectFields::of(map);
                inner.unwrap(keys);
                self.inner.push(inner);
            }
        }
    }

    /// The first field with one of the keys that fits, which is read then; those within come first.
    fn entry(
        &mut self,
        keys: &[&'static str],
        fits: impl Fn(&Value) -> bool + Copy,
    ) -> Option<(&'static str, &'a Value)> {
        for inner in &mut self.inner {
            if let Some(found) = inner.entry(keys, fits) {
                return Some(found);
            }
        }
        let of_table = |(name, value): (&'a String, &'a Value)| {
            let (place, key) = keys.iter().enumerate().find(|(_, key)| *key == name)?;
            let is_free = !value.is_null() && fits(value) && !self.used.contains(key);
            is_free.then_some((place, (*key, value)))
        };
        let fields = self.map.iter().filter_map(of_table);
        let (_, found) = fields.min_by_key(|(place, _)| *place)?;
        self.used.push(found.0);
        Some(found)
    }

    fn value(&mut self, keys: &[&'static str]) -> Option<&'a Value> {
        self.entry(keys, |_| true).map(|(_, value)| value)
    }

    fn text(&mut self, keys: &[&'static str]) -> Option<&'a str> {
        self.entry(keys, Value::is_string)?.1.as_str()
    }

    fn object_where(
        &mut self,
        keys: &[&'static str],
        fits: impl Fn(&Map<String, Value>) -> bool + Copy,
    ) -> Option<&'a Map<String, Value>> {
        let (_, value) = self.entry(keys, |value| value.as_object().is_some_and(fits))?;
        value.as_object()
    }

    /// Returns whether a flag or a state says that a tool failed.
    fn is_error(&mut self) -> bool {
        let flag = self.entry(&shapes::IS_ERROR, Value::is_boolean);
        let state = ["status", "state"].iter().any(|key| {
            let state = self.map.get(*key).and_then(Value::as_str);
            state.is_some_and(|state| shapes::ERROR_STATES.contains(&state))
        });
        let outcome = self.map.get("outcome").and_then(Value::as_str);
        state
            || outcome.is_some_and(|outcome| shapes::ERROR_OUTCOMES.contains(&outcome))
            || flag.is_some_and(|(_, flag)| flag == &Value::Bool(true))
            || self.inner.iter_mut().any(ObjectFields::is_error)
    }

    /// The fields that were not read and are more than a setting.
    fn rest(&self, said: &[MessagePart]) -> Option<MessagePart> {
        let mut map = Map::new();
        self.collect_rest(&mut map);
        if map.is_empty() {
            return None;
        }
        let said: Vec<&MessagePart> = said.iter().collect();
        without_repetition(Some(MessagePart::Unknown(Value::Object(map))), &said)
    }

    fn collect_rest(&self, rest: &mut Map<String, Value>) {
        let is_empty = |value: &Value| match value {
            Value::Null => true,
            Value::String(text) => text.is_empty(),
            Value::Array(items) => items.is_empty(),
            Value::Object(map) => map.is_empty(),
            _ => false,
        };
        for (key, value) in self.map {
            if self.used.contains(&key.as_str()) || is_empty(value) || shapes::is_setting(key, value) {
                continue;
            }
            let mut free = key.clone();
            while rest.contains_key(&free) {
                free.push('_');
            }
            rest.insert(free, value.clone());
        }
        for inner in &self.inner {
            inner.collect_rest(rest);
        }
    }
}
