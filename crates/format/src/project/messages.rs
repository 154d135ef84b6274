//! The prompt and the response of a model call: from span events, from OpenTelemetry's attributes, or from those of another
//! vocabulary (capture, section 1).

use serde_json::{Map, Value, json};

use crate::names::{self, Name, event_keys, events};
use crate::vocabulary::{
    ANSWER, ANSWER_FIELDS, ARGUMENT_FIELDS, ARGUMENTS, CONTENT_EVENTS, Content, ContentForm, MESSAGE_EVENTS,
    MessageEvent, OUTPUT_EVENTS, PROMPT, RESULT, Vocabulary,
};
use crate::{SpanEvent, SpanRecord};

use super::flat;
use super::values::{parsed, shaped, structure, value};

/// Keys of the message body, in an event that does not spread it over its attributes.
const BODIES: [&str; 3] = ["gen_ai.event.content", "event_body", "body"];

/// The prompt of a model call.
///
/// Without a span event: the messages of `gen_ai.input.messages`, together with `gen_ai.system_instructions`, where
/// there are some, as `{"system_instructions": …, "messages": …}`.
pub(super) fn prompt(span: &SpanRecord, attributes: &Map<String, Value>) -> Value {
    if let Some(messages) = event_messages(span, attributes, false) {
        return shaped(messages);
    }
    if let Some(contents) = contents(span, events::PROMPT) {
        return contents;
    }
    let stored = |name| value(name, attributes).filter(|value| says(value)).map(parsed);
    let messages = stored(names::INPUT_MESSAGES).map(without_envelope);
    let messages = messages
        .or_else(|| content_event(span, false))
        .or_else(|| first(PROMPT, attributes));
    match (stored(names::SYSTEM_INSTRUCTIONS), messages) {
        (None, messages) => shaped(messages.map(with_instructions).unwrap_or_default()),
        (Some(system), None) => json!({ "system_instructions": system }),
        (Some(_), Some(messages)) if begins_with_instructions(&messages) => shaped(messages),
        (Some(system), Some(messages)) => json!({ "system_instructions": system, "messages": messages }),
    }
}

/// The response of a model call.
pub(super) fn response(span: &SpanRecord, attributes: &Map<String, Value>) -> Value {
    if let Some(messages) = event_messages(span, attributes, true) {
        return shaped(messages);
    }
    // In a conversation of events these are earlier answers, which the prompt repeats.
    let of_events = (!is_conversation(span))
        .then(|| contents(span, events::RESPONSE))
        .flatten();
    if let Some(contents) = of_events {
        return contents;
    }
    let stored = value(names::OUTPUT_MESSAGES, attributes).filter(|value| says(value));
    let answer = stored.map(parsed).map(without_envelope);
    let answer = answer.or_else(|| content_event(span, true));
    let answer = answer
        .or_else(|| answer_of_fields(attributes))
        .or_else(|| first(ANSWER, attributes));
    shaped(answer.unwrap_or_default())
}

/// The reason that an answer of span events names.
pub(super) fn finish_reason(span: &SpanRecord) -> Option<String> {
    span.events
        .iter()
        .filter(|event| event.name == "gen_ai.choice")
        .find_map(|event| {
            message_body(&event.attributes)
                .get("finish_reason")?
                .as_str()
                .map(str::to_owned)
        })
}

/// The arguments of a tool call, where the format's own span event has none.
pub(super) fn arguments(span: &SpanRecord, attributes: &Map<String, Value>) -> Option<Value> {
    first(ARGUMENTS, attributes)
        .or_else(|| output_event(span, false))
        .or_else(|| composed(ARGUMENT_FIELDS, attributes))
        .map(|arguments| match &arguments {
            // JSON within a text of JSON.
            Value::String(text) => structure(text).unwrap_or(arguments),
            _ => arguments,
        })
        .map(called_with)
}

/// Keys that reporters put around the arguments of a call: decorators, callbacks, wrappers of methods.
const CALL_REPORT: [&str; 7] = [
    "args",
    "input_str",
    "inputs",
    "kwargs",
    "metadata",
    "sanitize_inputs_outputs",
    "tags",
];

/// The arguments of a call without what was put around them: the call itself as a message, or the report of one.
fn called_with(arguments: Value) -> Value {
    let mut map = match in_message(arguments, "tool_call", "arguments") {
        Value::Object(map) => map,
        other => return other,
    };
    let is_report = map.keys().all(|key| CALL_REPORT.contains(&key.as_str()))
        && (map.contains_key("input_str") || map.get("kwargs").is_some_and(Value::is_object));
    if !is_report {
        return Value::Object(map);
    }
    let is_empty = |value: &Value| !says(value) || *value == json!({}) || *value == json!([]);
    // The other keys of a callback are its own and no arguments.
    let places: &[&str] = match map.get("input_str") {
        Some(_) => &["inputs", "input_str"],
        None => &["inputs", "kwargs", "args"],
    };
    if !map.get("args").is_none_or(is_empty) && !map.get("kwargs").is_none_or(is_empty) {
        return Value::Object(map);
    }
    let given = places
        .iter()
        .find_map(|key| map.remove(*key).filter(|value| !is_empty(value)));
    match given {
        Some(Value::Array(mut list)) if list.len() == 1 && list.iter().all(Value::is_object) => {
            list.pop().unwrap_or_default()
        }
        Some(Value::String(text)) => structure(&text).unwrap_or(Value::String(text)),
        given => given.unwrap_or_else(|| json!({})),
    }
}

/// The member of the part of a message that is alone in a list, where a library reports a call or its result as one.
fn in_message(value: Value, part_type: &str, member: &str) -> Value {
    let part = value.pointer("/0/parts/0");
    let is_alone = value.get(1).is_none() && value.pointer("/0/parts/1").is_none();
    match part.and_then(|part| part.get(member)) {
        Some(inner) if is_alone && value.pointer("/0/parts/0/type") == Some(&json!(part_type)) => {
            inner.clone()
        }
        _ => value,
    }
}

/// The result of a tool call, where the format's own span event has none.
pub(super) fn result(span: &SpanRecord, attributes: &Map<String, Value>) -> Option<Value> {
    // Strands gives what the model gets, in blocks.
    let is_blocks = attributes.contains_key("gen_ai.tool.status");
    let stored = first(RESULT, attributes).map(|result| (result, is_blocks));
    let (result, is_blocks) = stored.or_else(|| Some((output_event(span, true)?, true)))?;
    let result = in_message(result, "tool_call_response", "response");
    Some(match tool_message_content(&result) {
        Some(content) => of_blocks(content),
        None if is_blocks => of_blocks(result),
        None => result,
    })
}

/// The content of a tool's message, where a framework wraps the result in one: as an object, a constructor, or a text of Python;
/// or, in `LlamaIndex`, beside what the tool was given.
fn tool_message_content(result: &Value) -> Option<Value> {
    if let (Some(returned), Some(_)) = (result.get("raw_output"), result.get("raw_input")) {
        return Some(returned.clone());
    }
    let output = result.get("output").unwrap_or(result);
    let inner = output.get("kwargs").or_else(|| output.get("data"));
    let message = inner.unwrap_or(output);
    let kinds = [
        message.get("type"),
        output.pointer("/id").and_then(|path| path.as_array()?.last()),
    ];
    let is_message = kinds
        .iter()
        .flatten()
        .any(|kind| *kind == "tool" || *kind == "ToolMessage")
        && message.get("tool_call_id").is_some();
    let is_callback = || {
        let keys = result
            .as_object()
            .filter(|map| map.len() == 2 && map.contains_key("kwargs"));
        keys.is_some() && result.get("output").is_some()
    };
    match message.get("content") {
        Some(content) if is_message => Some(parsed(content)),
        _ => match output.as_str().and_then(written_message_content) {
            Some(content) => Some(content),
            None => is_callback().then(|| output.clone()),
        },
    }
}

/// The content in what Python writes of a tool's message: `content='12:00' name='clock' tool_call_id='call_1'`.
fn written_message_content(text: &str) -> Option<Value> {
    let quoted = text.strip_prefix("content=")?;
    let quote = quoted
        .chars()
        .next()
        .filter(|quote| matches!(quote, '\'' | '"'))?;
    let mut content = String::new();
    let mut chars = quoted.char_indices().skip(1);
    while let Some((position, char)) = chars.next() {
        match char {
            '\\' => content.push(match chars.next()?.1 {
                'n' => '\n',
                't' => '\t',
                'r' => '\r',
                other => other,
            }),
            _ if char == quote => {
                let is_message = quoted.get(position..)?.contains(" tool_call_id=");
                return is_message.then(|| parsed(&Value::String(content)));
            }
            _ => content.push(char),
        }
    }
    None
}

/// The text of a content that is blocks of text alone, or the one value that it has; anything else as it is.
fn of_blocks(content: Value) -> Value {
    let blocks = content.as_array().filter(|blocks| !blocks.is_empty());
    let texts: Option<Vec<&str>> =
        blocks.and_then(|blocks| blocks.iter().map(|block| block.get("text")?.as_str()).collect());
    match (texts, blocks.map(Vec::as_slice)) {
        (Some(texts), _) => {
            let text = texts.join("\n");
            structure(&text).unwrap_or(Value::String(text))
        }
        (None, Some([block])) => block.get("json").cloned().unwrap_or(content),
        _ => content,
    }
}

/// Returns whether a value is neither null nor an empty text.
fn says(value: &Value) -> bool {
    !value.is_null() && value.as_str() != Some("")
}

/// The first content that says something.
fn first(contents: &[Content], attributes: &Map<String, Value>) -> Option<Value> {
    contents
        .iter()
        .find_map(|content| content_at(content, attributes))
        .filter(says)
}

fn content_at(content: &Content, attributes: &Map<String, Value>) -> Option<Value> {
    if let ContentForm::Flat = content.form {
        return flat::list(attributes, content.key).map(with_function_calls);
    }
    let stored = attributes.get(content.key).filter(|value| says(value))?;
    Some(match content.form {
        ContentForm::Value | ContentForm::Flat => parsed(stored),
        ContentForm::Typed(mime) => typed(stored, attributes.get(mime).and_then(Value::as_str)),
        ContentForm::Field(fields) => {
            let whole = parsed(stored);
            let field = fields.iter().filter_map(|field| whole.get(field));
            let mut field = field.filter(|field| says(field) && **field != json!({}) && **field != json!([]));
            field.next().cloned().unwrap_or(whole)
        }
    })
}

/// A text that is JSON where its type says so; without a type, where it can only be meant as JSON.
fn typed(stored: &Value, mime: Option<&str>) -> Value {
    let is_json = match mime.filter(|mime| !mime.is_empty()) {
        Some(mime) => mime.contains("json"),
        None => stored
            .as_str()
            .is_some_and(|text| text.trim_start().starts_with(['{', '[', '"'])),
    };
    if is_json { parsed(stored) } else { stored.clone() }
}

/// An answer whose parts are attributes of their own; a text alone is a text.
fn answer_of_fields(attributes: &Map<String, Value>) -> Option<Value> {
    let mut answer = composed(ANSWER_FIELDS, attributes)?;
    let fields = answer.as_object_mut()?;
    if fields.len() == 1
        && let Some(text @ Value::String(_)) = fields.get("content")
    {
        return Some(text.clone());
    }
    fields.insert("role".to_owned(), json!("assistant"));
    Some(answer)
}

/// The fields that attributes hold, each from the first one that says something.
fn composed(table: &[(Vocabulary, &str, &str)], attributes: &Map<String, Value>) -> Option<Value> {
    let mut fields = Map::new();
    for (_, key, field) in table {
        if let Some(stored) = attributes.get(*key).filter(|value| says(value))
            && !fields.contains_key(*field)
        {
            // A text is a text, also one that looks like JSON.
            let is_text = matches!(key.rsplit('.').next(), Some("text" | "reasoning")) || !key.contains('.');
            let value = if is_text { stored.clone() } else { parsed(stored) };
            fields.insert((*field).to_owned(), value);
        }
    }
    (!fields.is_empty()).then_some(Value::Object(fields))
}

/// Messages that are wrapped in an object alone are those messages.
fn without_envelope(messages: Value) -> Value {
    match messages {
        Value::Object(mut map) if map.len() == 1 && map.get("messages").is_some_and(Value::is_array) => {
            map.remove("messages").unwrap_or_default()
        }
        messages => messages,
    }
}

/// A request whose instructions are in its settings, as Google's are, with them where instructions belong.
fn with_instructions(request: Value) -> Value {
    let instructions = request
        .pointer("/config/system_instruction")
        .filter(|value| says(value))
        .cloned();
    match (request, instructions) {
        (Value::Object(mut request), Some(instructions)) if request.contains_key("contents") => {
            request.insert("system_instruction".to_owned(), instructions);
            if let Some(Value::Object(config)) = request.get_mut("config") {
                config.remove("system_instruction");
            }
            Value::Object(request)
        }
        (request, _) => request,
    }
}

/// Returns whether a list of messages begins with instructions, so that those stored separately are the same.
fn begins_with_instructions(messages: &Value) -> bool {
    let first = messages.as_array().and_then(|messages| messages.first());
    let role = first.and_then(|first| first.get("role")?.as_str());
    role.is_some_and(|role| matches!(role, "system" | "developer"))
}

/// Calls of a flattened message whose name and arguments are fields of the message.
fn with_function_calls(mut messages: Value) -> Value {
    for message in messages
        .as_array_mut()
        .into_iter()
        .flatten()
        .filter_map(Value::as_object_mut)
    {
        if let Some(name) = message.remove("function_call_name") {
            let arguments = message.remove("function_call_arguments_json").unwrap_or_default();
            message.insert(
                "function_call".to_owned(),
                json!({"name": name, "arguments": arguments}),
            );
        }
    }
    messages
}

/// Returns whether the span events are the messages of a conversation, as in earlier versions of OpenTelemetry: the
/// format's own model calls have two of the same names, but no other.
fn is_conversation(span: &SpanRecord) -> bool {
    span.events.iter().any(|event| {
        let convention = MESSAGE_EVENTS.iter().find(|message| message.name == event.name);
        convention.is_some_and(|message| message.is_telling)
    })
}

/// The messages of span events, or of the attribute that holds such events as a list.
fn event_messages(span: &SpanRecord, attributes: &Map<String, Value>, is_answer: bool) -> Option<Value> {
    let mut messages: Vec<Value> = Vec::new();
    if is_conversation(span) {
        let mut events: Vec<&SpanEvent> = span.events.iter().collect();
        events.sort_by_key(|event| event.timestamp.instant());
        messages.extend(
            events
                .iter()
                .filter_map(|event| message_of(&event.name, &event.attributes, is_answer)),
        );
    } else if let Some(Value::Array(events)) = attributes.get("events").map(parsed) {
        messages.extend(events.iter().filter_map(|event| {
            let event = event.as_object()?;
            message_of(event.get("event.name")?.as_str()?, event, is_answer)
        }));
    }
    (!messages.is_empty()).then_some(Value::Array(messages))
}

fn message_of(name: &str, attributes: &Map<String, Value>, is_answer: bool) -> Option<Value> {
    let event = MESSAGE_EVENTS
        .iter()
        .find(|event| event.name == name && event.is_answer == is_answer)?;
    Some(message(event, attributes))
}

fn message(event: &MessageEvent, attributes: &Map<String, Value>) -> Value {
    let mut body = message_body(attributes);
    let finish_reason = body.get("finish_reason").cloned();
    // A choice is an object around its message.
    let mut message = match body.remove("message").map(|message| parsed(&message)) {
        Some(Value::Object(message)) => message,
        Some(content) if event.is_answer => Map::from_iter([("content".to_owned(), content)]),
        _ => body,
    };
    for key in ["content", "tool_calls"] {
        if let Some(stored) = message.get_mut(key) {
            *stored = structured(stored);
        }
    }
    message.retain(|key, _| {
        let is_of_event = ["gen_ai.", "event.", "tracer."]
            .iter()
            .any(|prefix| key.starts_with(prefix));
        !is_of_event && key != "index"
    });
    message.entry("role").or_insert_with(|| json!(event.role));
    if let Some(reason) = finish_reason {
        message.entry("finish_reason").or_insert(reason);
    }
    Value::Object(message)
}

/// Parses the JSON text of an object or a list; any other text stays a text.
fn structured(stored: &Value) -> Value {
    match stored.as_str() {
        Some(text) if text.trim_start().starts_with(['{', '[']) => parsed(stored),
        _ => stored.clone(),
    }
}

/// The body of a message event: spread over its attributes, or as JSON under one of them.
fn message_body(attributes: &Map<String, Value>) -> Map<String, Value> {
    let body = BODIES
        .iter()
        .filter_map(|key| attributes.get(*key))
        .map(parsed)
        .find_map(|body| match body {
            Value::Object(body)
                if ["content", "tool_calls", "message"]
                    .iter()
                    .any(|key| body.contains_key(*key)) =>
            {
                Some(body)
            }
            _ => None,
        });
    body.unwrap_or_else(|| attributes.clone())
}

/// The content of a span event of the oldest convention.
fn content_event(span: &SpanRecord, is_answer: bool) -> Option<Value> {
    let of = CONTENT_EVENTS.iter().filter(|known| known.is_answer == is_answer);
    event_value(span, of)
}

fn output_event(span: &SpanRecord, is_answer: bool) -> Option<Value> {
    let of = OUTPUT_EVENTS.iter().filter(|known| known.is_answer == is_answer);
    event_value(span, of)
}

/// The value under the first key that the last event of one of these kinds has.
fn event_value<'a>(
    span: &SpanRecord,
    mut kinds: impl Iterator<Item = &'a crate::vocabulary::ContentEvent>,
) -> Option<Value> {
    kinds.find_map(|kind| {
        let event = span.events.iter().rfind(|event| event.name == kind.name)?;
        let mut values = kind.keys.iter().filter_map(|key| event.attributes.get(*key));
        values.find(|value| says(value)).map(parsed)
    })
}

/// The content of the span events with a name. Several are several messages: the list of them, in their order.
fn contents(span: &SpanRecord, name: Name) -> Option<Value> {
    let mut contents: Vec<Value> = span
        .events
        .iter()
        .filter(|event| name.is(&event.name))
        .filter_map(|event| content(&event.attributes))
        .collect();
    match contents.len() {
        0 => None,
        1 => contents.pop().map(shaped),
        _ => Some(shaped(Value::Array(contents))),
    }
}

/// A text stays a text, also one that looks like JSON, unless the event says that it is JSON.
fn content(attributes: &Map<String, Value>) -> Option<Value> {
    let stored = attributes.get(event_keys::CONTENT)?;
    let is_json = attributes.get(event_keys::FORMAT).and_then(Value::as_str) == Some(event_keys::FORMAT_JSON);
    Some(if is_json { parsed(stored) } else { stored.clone() })
}
