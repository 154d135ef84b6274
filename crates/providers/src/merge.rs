//! Merging of a stream's values into one.
//!
//! An empty value never replaces a known one, and a value that comes in pieces grows with each of them.

use serde_json::{Map, Value, json};

/// Members that say what something is: they are repeated, and do not come in pieces.
const MARKS: [&str; 12] = [
    "call_id",
    "expires_at",
    "format",
    "id",
    "index",
    "item_id",
    "mime_type",
    "model",
    "name",
    "object",
    "role",
    "type",
];
/// Members of a part in which its content grows. Two parts that have none of them are two, however alike.
const CONTENTS: [&str; 8] = [
    "content",
    "data",
    "reasoning",
    "refusal",
    "summary",
    "text",
    "thinking",
    "transcript",
];

/// Sets what has a value. The last one counts, number by number, but nothing empty replaces what is known.
pub(super) fn update(known: &mut Map<String, Value>, later: &Map<String, Value>, skip: &[&str]) {
    for (key, value) in later {
        if value.is_null() || *value == "" || skip.contains(&key.as_str()) {
            continue;
        }
        match (known.get_mut(key), value) {
            (Some(Value::Object(known)), Value::Object(later)) => update(known, later, &[]),
            (Some(known), later) if is_nothing(later) && !is_nothing(known) => {}
            _ => {
                known.insert(key.clone(), value.clone());
            }
        }
    }
}

/// Fills in what a value lacks, or has empty, of what was known before it.
pub(super) fn complete(last: &mut Map<String, Value>, before: &Map<String, Value>) {
    for (key, known) in before {
        match (last.get_mut(key), known) {
            (Some(Value::Object(last)), Value::Object(known)) => complete(last, known),
            (Some(last), known) if is_nothing(last) => *last = known.clone(),
            (Some(_), _) => {}
            (None, known) => {
                last.insert(key.clone(), known.clone());
            }
        }
    }
}

/// Returns whether a value is empty; a count of zero is, too, where another one is known.
fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(_) => false,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
    }
}

/// Appends what a delta brings to what came before: texts to texts, parts to parts, also where one came as a text and the other
/// as a list of parts.
pub(super) fn append(known: &mut Map<String, Value>, delta: &Map<String, Value>) {
    for (key, more) in delta {
        match known.get_mut(key) {
            Some(known) if is_nothing(known) => *known = more.clone(),
            Some(_) if MARKS.contains(&key.as_str()) => {}
            Some(known) => append_value(known, more),
            None if more.is_null() => {}
            None => {
                known.insert(key.clone(), more.clone());
            }
        }
    }
}

pub(super) fn append_value(known: &mut Value, more: &Value) {
    match (&mut *known, more) {
        (_, Value::Null) => {}
        (Value::String(text), Value::String(more)) => text.push_str(more),
        (Value::Object(members), Value::Object(more)) => append(members, more),
        (Value::String(_) | Value::Object(_) | Value::Array(_), more) if is_nothing(more) => {}
        (
            Value::String(_) | Value::Object(_) | Value::Array(_),
            Value::String(_) | Value::Object(_) | Value::Array(_),
        ) => {
            let mut list = parts(known.take());
            for part in parts(more.clone()) {
                append_part(&mut list, part);
            }
            *known = Value::Array(list);
        }
        (known, more) => *known = more.clone(),
    }
}

/// A content as a list of its parts.
fn parts(content: Value) -> Vec<Value> {
    match content {
        Value::Array(items) => items,
        Value::String(text) if text.is_empty() => Vec::new(),
        Value::String(text) => vec![json!({"type": "text", "text": text})],
        content => vec![content],
    }
}

fn append_part(list: &mut Vec<Value>, part: Value) {
    let before = match part.get("index") {
        Some(index) => list.iter_mut().rfind(|known| known.get("index") == Some(index)),
        None => list.last_mut(),
    };
    match (before, part) {
        (Some(Value::Object(known)), Value::Object(part)) if is_continued(known, &part) => {
            append(known, &part);
        }
        (Some(Value::Object(known)), Value::Object(part)) if is_completed(known, &part) => {
            update(known, &part, &[]);
        }
        (_, part) => list.push(part),
    }
}

/// Returns whether a part continues the content of another one: nothing else in them differs.
fn is_continued(known: &Map<String, Value>, part: &Map<String, Value>) -> bool {
    let grows = |key: &str| CONTENTS.contains(&key) && part.contains_key(key) && known.contains_key(key);
    part.keys().any(|key| grows(key))
        && part.iter().all(|(key, value)| {
            CONTENTS.contains(&key.as_str())
                || is_nothing(value)
                || known
                    .get(key)
                    .is_none_or(|known| is_nothing(known) || known == value)
        })
}

/// True if a part of the same index only adds to the known one: it comes again, whole.
fn is_completed(known: &Map<String, Value>, part: &Map<String, Value>) -> bool {
    let is_said_again = |known: &Value, later: &Value| match (known, later) {
        (Value::String(known), Value::String(later)) => later.starts_with(known.as_str()),
        (known, later) => known == later,
    };
    part.contains_key("index")
        && part.iter().all(|(key, later)| {
            is_nothing(later)
                || known
                    .get(key)
                    .is_none_or(|known| is_nothing(known) || is_said_again(known, later))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_that_comes_again_whole_is_one() {
        let mut known = json!([{"index": 0, "type": "search", "arguments": "{\"query\":\"q\"}"}]);
        for again in [
            json!([{"index": 0, "type": "search", "arguments": "{\"query\":\"q\"}", "output": "6:40"}]),
            json!([{"index": 1, "type": "search", "arguments": "{}"}]),
            json!([{"index": 1, "output": "7:10"}]),
        ] {
            append_value(&mut known, &again);
        }
        assert_eq!(
            known,
            json!([
                {"index": 0, "type": "search", "arguments": "{\"query\":\"q\"}", "output": "6:40"},
                {"index": 1, "type": "search", "arguments": "{}", "output": "7:10"},
            ])
        );
    }

    fn members(value: Value) -> Map<String, Value> {
        match value {
            Value::Object(members) => members,
            other => panic!("{other}"),
        }
    }

    #[test]
    fn nothing_empty_replaces_what_is_known() {
        let mut known = members(
            json!({"id": "a", "model": "m", "created": 17, "tools": [1], "done": true,
            "usage": {"prompt_tokens": 1000, "completion_tokens": 1, "details": {"cached_tokens": 900}}}),
        );
        let last = members(
            json!({"id": "", "model": null, "created": 0, "tools": [], "done": false, "more": "x",
            "usage": {"completion_tokens": 20, "prompt_tokens": 0, "details": {"reasoning_tokens": 5}}}),
        );
        update(&mut known, &last, &[]);
        assert_eq!(
            Value::Object(known.clone()),
            json!({"id": "a", "model": "m", "created": 17, "tools": [1], "done": false, "more": "x",
                "usage": {"prompt_tokens": 1000, "completion_tokens": 20, "details": {"cached_tokens": 900, "reasoning_tokens": 5}}})
        );
        let mut last = last;
        complete(&mut last, &known);
        assert_eq!(
            (&last["id"], &last["usage"]["prompt_tokens"]),
            (&json!("a"), &json!(1000))
        );
    }

    #[test]
    fn deltas_of_any_form_are_appended_by_their_parts() {
        let text = |text: &str| json!({"type": "text", "text": text});
        for (deltas, expected) in [
            (vec![json!("a"), json!("b")], json!("ab")),
            (
                vec![
                    json!(""),
                    json!("a "),
                    json!([{"type": "reference", "reference_ids": [0]}]),
                    json!("b"),
                    json!("c"),
                ],
                json!([text("a "), {"type": "reference", "reference_ids": [0]}, text("bc")]),
            ),
            (
                vec![
                    json!([{"type": "thinking", "thinking": [text("Let ")]}]),
                    json!([{"type": "thinking", "thinking": [text("me see.")]}]),
                    json!("Now."),
                ],
                json!([{"type": "thinking", "thinking": [text("Let me see.")]}, text("Now.")]),
            ),
            (
                vec![
                    json!({"id": "audio_1", "transcript": "The "}),
                    json!({"id": "audio_1", "transcript": "6:40", "data": "AA"}),
                    json!({"data": "BB", "expires_at": 9}),
                ],
                json!({"id": "audio_1", "transcript": "The 6:40", "data": "AABB", "expires_at": 9}),
            ),
            (
                vec![
                    json!([{"type": "reasoning.text", "index": 0, "text": "Hm", "signature": null}]),
                    json!([{"type": "reasoning.text", "index": 0, "text": ", so", "signature": "c2ln"}]),
                    json!([{"type": "reasoning.encrypted", "index": 1, "data": "x"}]),
                ],
                json!([{"type": "reasoning.text", "index": 0, "text": "Hm, so", "signature": "c2ln"},
                    {"type": "reasoning.encrypted", "index": 1, "data": "x"}]),
            ),
            // Parts that are alike and grow by nothing are two.
            (
                vec![
                    json!([{"type": "reference", "reference_ids": [0]}]),
                    json!([{"type": "reference", "reference_ids": [0]}]),
                ],
                json!([{"type": "reference", "reference_ids": [0]}, {"type": "reference", "reference_ids": [0]}]),
            ),
            (
                vec![json!({"type": "text", "text": "a"}), json!("b")],
                json!([text("ab")]),
            ),
            (
                vec![json!([text("a")]), json!(null), json!([]), json!("")],
                json!([text("a")]),
            ),
        ] {
            let mut message = Map::new();
            for delta in &deltas {
                append(&mut message, &members(json!({"content": delta})));
            }
            assert_eq!(message["content"], expected, "{deltas:?}");
        }
    }
}
