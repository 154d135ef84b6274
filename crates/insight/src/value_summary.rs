//! Values and texts in one line, as summaries and labels show them.

use serde_json::Value;

use crate::text;

/// Characters of a text that are shown in one line.
const MAX_TEXT_CHARS: usize = 300;
/// Markers that an emitter writes in the place of a secret, and of what was cut (decisions, section 6).
const MARKERS: [(&str, &str); 2] = [("__REDACTED__", "‹redacted›"), ("__TRUNCATED__", "‹truncated›")];

/// A value in one line: fields as `name=value`, what is nested by its size.
pub fn summarize(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::Object(map) => match map.get("value") {
            // A record wraps a value that is neither an object nor a string in this (decisions, section 3).
            Some(inner) if map.len() == 1 => nested(inner),
            _ if map.is_empty() => "{}".to_owned(),
            _ => summarize_fields(map),
        },
        other => nested(other),
    }
}

pub(crate) fn summarize_fields<'a>(map: impl IntoIterator<Item = (&'a String, &'a Value)>) -> String {
    let mut line = String::new();
    for (name, value) in map {
        // Text past the limit is never seen, and a payload may have a million fields.
        if line.len() > MAX_TEXT_CHARS {
            line.push_str(text::ELLIPSIS);
            break;
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(&label(name));
        line.push('=');
        line.push_str(&nested(value));
    }
    line
}

fn nested(value: &Value) -> String {
    match value {
        Value::String(text) => bare_or_quoted(text),
        Value::Array(items) if items.is_empty() => "[]".to_owned(),
        Value::Array(items) => format!("[{}]", text::counted(items.len() as u64, "item")),
        Value::Object(map) if map.is_empty() => "{}".to_owned(),
        Value::Object(map) => format!("{{{}}}", text::counted(map.len() as u64, "field")),
        scalar => scalar.to_string(),
    }
}

fn bare_or_quoted(text: &str) -> String {
    let is_word = |char: char| char.is_alphanumeric() || "_-./:@#+".contains(char);
    if MARKERS.iter().any(|(marker, _)| *marker == text) || (!text.is_empty() && text.chars().all(is_word)) {
        label(text)
    } else {
        quoted(text)
    }
}

/// A text in quotes, on one line.
pub fn quoted(text: &str) -> String {
    format!("\"{}\"", label(text))
}

/// A text on one line, with the emitter's markers in words.
pub fn label(text: &str) -> String {
    with_markers(&text::one_line(text, MAX_TEXT_CHARS))
}

/// A text with the emitter's markers in words.
pub fn with_markers(text: &str) -> String {
    MARKERS.iter().fold(text.to_owned(), |text, (marker, words)| {
        text.replace(marker, words)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn values_are_summarized_by_fields_and_sizes() {
        let cases = [
            (json!(null), ""),
            (json!({}), "{}"),
            (
                json!({"id": "cust_1042", "plan": "pro plan", "n": 3, "ok": true}),
                r#"id=cust_1042 n=3 ok=true plan="pro plan""#,
            ),
            (
                json!({"hits": [1, 2], "none": [], "who": {"a": 1}}),
                "hits=[2 items] none=[] who={1 field}",
            ),
            (json!({"value": [1, 2, 3]}), "[3 items]"),
            (json!({"value": 42}), "42"),
            (json!({"api_key": "__REDACTED__"}), "api_key=‹redacted›"),
            (
                json!("line one\nline two__TRUNCATED__"),
                "\"line one line two‹truncated›\"",
            ),
        ];
        for (json, text) in cases {
            assert_eq!(summarize(&json), text, "{json}");
        }
    }
}
