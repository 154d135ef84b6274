//! A whole value in lines: fields by their names, texts as they read, never as escaped strings.

use crate::conversation::embedded_json;
use crate::value_summary;
use serde_json::Value;

use crate::line::{Line, Tone};
use crate::text;

/// Indentation of the fields of a value, in columns.
const STEP: usize = 2;
/// Deeper levels keep this indentation, so that there is room left.
const MAX_INDENT: usize = 20;

/// The value, each line `indent` columns in and at most `width` columns wide; nothing is left out.
pub fn lines(value: &Value, indent: usize, width: usize) -> Vec<Line> {
    let mut lines = Vec::new();
    nested(value, indent, width, &mut lines);
    lines
}

/// A text as it reads: its own line breaks and indentation kept, long lines continued on the next one.
pub fn text_lines(text: &str, indent: usize, width: usize, tone: Tone) -> Vec<Line> {
    let text = value_summary::with_markers(text);
    let mut lines = Vec::new();
    for line in text.lines() {
        let parts = text::wrap_as_it_is(&line.replace('\t', "    "), width.saturating_sub(indent));
        lines.extend(
            parts
                .iter()
                .map(|part| Line::new().space(indent).with(part, tone).fitted(width.max(1))),
        );
    }
    lines
}

fn nested(value: &Value, indent: usize, width: usize, lines: &mut Vec<Line>) {
    match value {
        Value::Object(map) if !map.is_empty() => {
            for (name, field) in map {
                labelled(
                    &format!("{}:", value_summary::label(name)),
                    field,
                    indent,
                    width,
                    lines,
                );
            }
        }
        Value::Array(items) if !items.is_empty() => {
            for item in items {
                labelled("-", item, indent, width, lines);
            }
        }
        Value::String(text) => match embedded_json(text) {
            Some(value) => nested(&value, indent, width, lines),
            None if text.is_empty() => lines.push(Line::new().space(indent).with("\"\"", Tone::Muted)),
            None => lines.extend(text_lines(text, indent, width, Tone::Plain)),
        },
        scalar => lines.push(
            Line::new()
                .space(indent)
                .with(one_line(scalar).unwrap_or_default(), Tone::Plain)
                .fitted(width),
        ),
    }
}

/// A label with its value behind it where that fits, else below it.
fn labelled(label: &str, value: &Value, indent: usize, width: usize, lines: &mut Vec<Line>) {
    let head = Line::new().space(indent).with(label, Tone::Muted);
    let short = one_line(value).filter(|text| head.width() + 1 + text::width(text) <= width);
    if let Some(short) = short {
        lines.push(head.space(1).with(short, Tone::Plain));
        return;
    }
    let inner = (indent + STEP).min(MAX_INDENT);
    let first = lines.len();
    nested(value, inner, width, lines);
    // An item of a list begins on the line of its dash.
    let beside = (label == "-" && inner == indent + STEP)
        .then(|| lines.get_mut(first))
        .flatten();
    match beside {
        Some(line) => *line = line.clone().with_label(label, indent),
        None => lines.insert(first, head.fitted(width)),
    }
}

/// A value that takes one line; `None` for one that takes more.
fn one_line(value: &Value) -> Option<String> {
    match value {
        Value::String(text) if text.contains(['\n', '\r']) || embedded_json(text).is_some() => None,
        Value::String(text) if is_ambiguous(text) => Some(format!("\"{text}\"")),
        Value::String(text) => {
            Some(text::printable(&value_summary::with_markers(&text.replace('\t', "    "))).into_owned())
        }
        Value::Array(items) if items.is_empty() => Some("[]".to_owned()),
        Value::Object(map) if map.is_empty() => Some("{}".to_owned()),
        Value::Array(_) | Value::Object(_) => None,
        scalar => Some(scalar.to_string()),
    }
}

/// A text that would read as something else without quotes.
fn is_ambiguous(text: &str) -> bool {
    text.is_empty()
        || text.trim() != text
        || matches!(text, "true" | "false" | "null" | "[]" | "{}")
        || text.parse::<f64>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn texts(value: &Value, width: usize) -> Vec<String> {
        lines(value, 2, width).iter().map(Line::text).collect()
    }

    #[test]
    fn fields_lists_and_texts_read_as_they_are() {
        let value = json!({
            "code": "fn main() {\n    run();\n}",
            "empty": {"list": [], "text": "", "none": null},
            "items": ["a b", {"id": 7, "tags": ["x", "y"]}, "42"],
            "quoted": "say \"hi\"",
            "result": "{\"hits\": 2}",
        });
        let expected = [
            "  code:",
            "    fn main() {",
            "        run();",
            "    }",
            "  empty:",
            "    list: []",
            "    none: null",
            "    text: \"\"",
            "  items:",
            "    - a b",
            "    - id: 7",
            "      tags:",
            "        - x",
            "        - y",
            "    - \"42\"",
            "  quoted: say \"hi\"",
            "  result:",
            "    hits: 2",
        ];
        assert_eq!(texts(&value, 80), expected);
    }

    #[test]
    fn nothing_is_cut_and_no_control_character_passes() {
        let value = json!({"answer": "one two three four five\u{1b}[2J", "key": "__REDACTED__"});
        assert_eq!(
            texts(&value, 18),
            [
                "  answer:",
                "    one two three",
                "    four five␛[2J",
                "  key: ‹redacted›"
            ]
        );
    }
}
