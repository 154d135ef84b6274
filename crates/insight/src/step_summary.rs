//! The gist of a step: `what went in → what came out`, in one line.

mod messages;

use serde_json::{Map, Value};
use tracer_sdk::format::{ErrorPayload, Payload, RecordedStatus, Usage};

use crate::text;

use messages::answer_summary;
pub(crate) use messages::prompt_summary;

/// Longer texts say no more in one line.
const LONGEST_TEXT: usize = 300;
/// What an emitter writes in the place of a secret, and in the place of what was cut (decisions, section 6).
const MARKERS: [(&str, &str); 2] = [("__REDACTED__", "‹redacted›"), ("__TRUNCATED__", "‹truncated›")];

/// What went into a step and what came out of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Gist {
    /// What went in; the only part of a step that has no result.
    pub before: String,
    /// What came out.
    pub after: Option<String>,
}

impl Gist {
    fn one(text: String) -> Self {
        Self {
            before: text,
            after: None,
        }
    }

    fn pair(before: String, after: String) -> Self {
        Self {
            before,
            after: (!after.is_empty()).then_some(after),
        }
    }

    /// The same after something that is told first.
    #[must_use]
    pub fn after(mut self, told: Option<String>) -> Self {
        if let Some(told) = told {
            self.before = if self.before.is_empty() {
                told
            } else {
                format!("{told} · {}", self.before)
            };
        }
        self
    }

    /// Both parts in at most so many columns; when they do not fit, neither takes the other's half.
    pub fn fitted(&self, columns: usize) -> String {
        const ARROW: &str = " → ";
        let Some(after) = &self.after else {
            return text::fit(&self.before, columns).into_owned();
        };
        let room = columns.saturating_sub(text::width(ARROW));
        let (before, after_width) = (text::width(&self.before), text::width(after));
        let before_room = before.min(room.saturating_sub(after_width).max(room / 2));
        format!(
            "{}{ARROW}{}",
            text::fit(&self.before, before_room),
            text::fit(after, room - before_room)
        )
        .trim_start()
        .to_owned()
    }
}

/// The gist of a record; failures and loop evidence are told elsewhere.
pub fn of(payload: &Payload) -> Gist {
    match payload {
        Payload::LlmCall {
            prompt,
            response,
            error,
            ..
        } => Gist::pair(
            prompt_summary(prompt),
            outcome(answer_summary(response), error.as_ref()),
        ),
        Payload::ToolCall {
            args, result, error, ..
        } => Gist::pair(value(args), outcome(value(result), error.as_ref())),
        Payload::StateUpdate { state, diff } => Gist::one(match diff {
            None | Some(Value::Null) => value(state),
            Some(diff) => format!("changed {}", value(diff)),
        }),
        Payload::Error(error) => Gist::one(word(&error.error_type)),
        Payload::LoopWarning {
            pattern_type,
            repetitions,
            window_size,
            ..
        } => Gist::one(format!(
            "{} ×{repetitions} in a window of {window_size}",
            word(pattern_type.as_deref().unwrap_or("repeated"))
        )),
        Payload::Unknown {
            attributes, error, ..
        } => Gist::pair(
            fields(own_attributes(attributes)),
            outcome(String::new(), error.as_ref()),
        ),
        Payload::RunStart { run_name, .. } => Gist::one(word(run_name.as_deref().unwrap_or_default())),
        Payload::RunEnd { status } => Gist::one(status.as_str().to_owned()),
    }
}

fn outcome(result: String, error: Option<&ErrorPayload>) -> String {
    error.map_or(result, |error| format!("✗ {}", word(&error.error_type)))
}

/// The failure of a record: its own, when it is an error, or that of the call that it tells.
pub fn failure(payload: &Payload) -> Option<&ErrorPayload> {
    match payload {
        Payload::Error(error) => Some(error),
        Payload::LlmCall { error, .. } | Payload::ToolCall { error, .. } | Payload::Unknown { error, .. } => {
            error.as_ref()
        }
        _ => None,
    }
}

/// Whether the record tells a failure, with or without words for it.
pub fn failed(payload: &Payload) -> bool {
    match payload {
        Payload::Error(_) => true,
        Payload::LlmCall { status, .. }
        | Payload::ToolCall { status, .. }
        | Payload::Unknown { status, .. } => *status == RecordedStatus::Error,
        _ => false,
    }
}

/// Tokens in and out, `412→35`; `None` when neither is known.
pub fn tokens(usage: &Usage) -> Option<String> {
    let side = |tokens: Option<u64>| tokens.map_or_else(|| "?".to_owned(), |tokens| tokens.to_string());
    match (usage.prompt_tokens, usage.completion_tokens, usage.total_tokens) {
        (None, None, None) => None,
        (None, None, Some(total)) => Some(total.to_string()),
        (prompt, completion, _) => Some(format!("{}→{}", side(prompt), side(completion))),
    }
}

/// A value in one line: fields as `name=value`, what is nested by its size.
pub fn value(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::Object(map) => match map.get("value") {
            // How a record holds what is neither an object nor a string (decisions, section 3).
            Some(inner) if map.len() == 1 => nested(inner),
            _ if map.is_empty() => "{}".to_owned(),
            _ => fields(map),
        },
        other => nested(other),
    }
}

fn fields<'a>(map: impl IntoIterator<Item = (&'a String, &'a Value)>) -> String {
    let mut line = String::new();
    for (name, value) in map {
        // What is past the limit is never seen, and a payload may have a million fields.
        if line.len() > LONGEST_TEXT {
            line.push_str(text::ELLIPSIS);
            break;
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(&word(name));
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
        word(text)
    } else {
        quoted(text)
    }
}

/// A text in quotes, on one line.
pub fn quoted(text: &str) -> String {
    format!("\"{}\"", word(text))
}

/// A text on one line, with the emitter's markers told in words.
pub fn word(text: &str) -> String {
    with_markers(&text::one_line(text, LONGEST_TEXT))
}

/// A text with the emitter's markers told in words.
pub fn with_markers(text: &str) -> String {
    MARKERS.iter().fold(text.to_owned(), |text, (marker, words)| {
        text.replace(marker, words)
    })
}

/// What the user put on a span, without the keys of the format itself.
fn own_attributes(attributes: &Map<String, Value>) -> impl Iterator<Item = (&String, &Value)> {
    const NAMESPACES: [&str; 5] = ["tracer.", "maida.", "agentdbg.", "gen_ai.", "exception."];
    attributes
        .iter()
        .filter(|(key, _)| !NAMESPACES.iter().any(|namespace| key.starts_with(namespace)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn values_are_told_by_their_fields_and_sizes() {
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
            assert_eq!(value(&json), text, "{json}");
        }
    }

    #[test]
    fn a_result_is_never_pushed_out_by_long_arguments() {
        let gist = Gist::pair("query=a-very-long-question".into(), "hits=2".into());
        assert_eq!(gist.fitted(80), "query=a-very-long-question → hits=2");
        assert_eq!(gist.fitted(24), "query=a-very-l… → hits=2");
        let gist = Gist::pair("id=7".into(), "a-very-long-answer".into());
        assert_eq!(gist.fitted(17), "id=7 → a-very-lo…");
        assert_eq!(Gist::pair(String::new(), "sent".into()).fitted(20), "→ sent");
    }

    #[test]
    fn tokens_say_what_is_known() {
        assert_eq!(tokens(&Usage::new(412, 35)).as_deref(), Some("412→35"));
        assert_eq!(tokens(&Usage::default()), None);
        let mut part = Usage::default();
        part.completion_tokens = Some(3);
        assert_eq!(tokens(&part).as_deref(), Some("?→3"));
        let mut total = Usage::default();
        total.total_tokens = Some(5);
        assert_eq!(tokens(&total).as_deref(), Some("5"));
    }
}
