//! Framing of responses: server-sent events, JSON lines, streamed JSON array, single document.

use serde::de::IgnoredAny;
use serde_json::Value;

use super::event_stream;

/// The JSON values of a response, and whether all of it could be read.
#[derive(Debug, Default, PartialEq)]
pub(super) struct ResponseValues {
    pub(super) values: Vec<Value>,
    /// Something was neither JSON nor a comment, or the last value was cut short.
    pub(super) has_unreadable: bool,
    /// The sentinel `[DONE]` was there.
    pub(super) is_done: bool,
    /// It was one document, no stream.
    pub(super) is_document: bool,
}

/// Prefixes of the lines of server-sent events.
pub const EVENT_BEGINNINGS: [&str; 5] = [":", "data:", "event:", "id:", "retry:"];
/// The sentinel that ends `OpenAI`'s streams.
const DONE: &str = "[DONE]";

/// Divides a response by its content type. What says nothing, or the wrong thing, is divided by what it looks like:
/// compatible servers are not careful with the type.
pub(super) fn divide(content_type: &str, bytes: &[u8]) -> ResponseValues {
    let media_type = content_type.split(';').next().unwrap_or_default().trim();
    if media_type.eq_ignore_ascii_case(event_stream::MEDIA_TYPE) {
        let (values, is_whole) = event_stream::values(bytes);
        return ResponseValues {
            values,
            has_unreadable: !is_whole,
            ..ResponseValues::default()
        };
    }
    let text = String::from_utf8_lossy(bytes);
    if let Ok(value) = serde_json::from_str::<Value>(&text) {
        return match value {
            // Gemini without `alt=sse` streams an array.
            Value::Array(values) => ResponseValues {
                values,
                ..ResponseValues::default()
            },
            value => ResponseValues {
                values: vec![value],
                is_document: true,
                ..ResponseValues::default()
            },
        };
    }
    if media_type.eq_ignore_ascii_case("text/event-stream") || looks_like_events(&text) {
        return server_sent_events(&text);
    }
    if text.trim_start().starts_with('[') {
        return cut_array(&text);
    }
    json_lines(&text)
}

fn looks_like_events(text: &str) -> bool {
    let start = text.trim_start_matches(['\u{feff}', '\r', '\n']);
    EVENT_BEGINNINGS
        .iter()
        .any(|beginning| start.starts_with(beginning))
}

/// The data of server-sent events (HTML standard, *Parsing an event stream*): lines end in CR, LF or both, several data
/// lines are one value, comments and other fields say nothing here.
fn server_sent_events(text: &str) -> ResponseValues {
    let mut frames = ResponseValues::default();
    let mut data: Option<String> = None;
    let text = text
        .strip_prefix('\u{feff}')
        .unwrap_or(text)
        .replace("\r\n", "\n");
    for line in text.split(['\n', '\r']) {
        if line.is_empty() {
            if let Some(data) = data.take() {
                frames.push_event(&data);
            }
            continue;
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        if field == "data" {
            let value = value.strip_prefix(' ').unwrap_or(value);
            match &mut data {
                Some(data) => {
                    data.push('\n');
                    data.push_str(value);
                }
                None => data = Some(value.to_owned()),
            }
        }
    }
    // A browser drops what no blank line ends; here a connection may have been closed right behind the last value.
    if let Some(data) = data {
        frames.push_event(&data);
    }
    frames
}

fn json_lines(text: &str) -> ResponseValues {
    let mut frames = ResponseValues::default();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        frames.push(line);
    }
    frames
}

/// The whole values of an array that was cut short.
fn cut_array(text: &str) -> ResponseValues {
    let mut frames = ResponseValues {
        has_unreadable: true,
        ..ResponseValues::default()
    };
    let mut rest = text.trim_start().get(1..).unwrap_or_default();
    loop {
        rest = rest.trim_start_matches(|char: char| char.is_whitespace() || char == ',');
        let mut values = serde_json::Deserializer::from_str(rest).into_iter::<Value>();
        let Some(Ok(value)) = values.next() else {
            return frames;
        };
        let read = values.byte_offset();
        frames.values.push(value);
        rest = rest.get(read..).unwrap_or_default();
    }
}

impl ResponseValues {
    /// The data of an event. Some servers end their events by one line end instead of two: its lines are several values then,
    /// each on a line or on a few.
    fn push_event(&mut self, data: &str) {
        let is_whole = data.trim() == DONE || serde_json::from_str::<IgnoredAny>(data).is_ok();
        if is_whole || !data.contains('\n') || !data.starts_with(['{', '[']) {
            return self.push(data);
        }
        let mut rest = data;
        while !rest.trim().is_empty() {
            let line = rest.split('\n').next().unwrap_or_default();
            // A value that begins elsewhere in a line is part of a torn one.
            let read = if line.trim() == DONE {
                self.is_done = true;
                line.len()
            } else if !line.starts_with(['{', '[']) {
                self.has_unreadable |= !line.trim().is_empty();
                line.len()
            } else {
                let mut values = serde_json::Deserializer::from_str(rest).into_iter::<Value>();
                match values.next() {
                    Some(Ok(value)) => {
                        self.values.push(value);
                        values.byte_offset()
                    }
                    Some(Err(error)) if error.is_eof() => {
                        self.has_unreadable = true;
                        return;
                    }
                    _ => {
                        self.has_unreadable = true;
                        line.len()
                    }
                }
            };
            rest = rest.get(read..).unwrap_or_default();
            rest = rest.strip_prefix('\n').unwrap_or(rest);
        }
    }

    fn push(&mut self, data: &str) {
        if data.trim() == DONE {
            self.is_done = true;
        } else if let Ok(value) = serde_json::from_str(data) {
            self.values.push(value);
        } else if !data.trim().is_empty() {
            self.has_unreadable = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn values(content_type: &str, text: &str) -> Vec<Value> {
        divide(content_type, text.as_bytes()).values
    }

    #[test]
    fn events_are_divided_whatever_ends_their_lines() {
        for end in ["\n", "\r\n", "\r"] {
            let text = [
                ": OPENROUTER PROCESSING",
                "",
                "event: delta",
                "data: {\"a\":1}",
                "",
                "id: 7",
                "data:{\"a\":",
                "data: 2}",
                "",
                "data: [DONE]",
                "",
            ]
            .join(end);
            let frames = divide("text/event-stream; charset=utf-8", text.as_bytes());
            assert_eq!(frames.values, [json!({"a": 1}), json!({"a": 2})], "{end:?}");
            assert!(frames.is_done && !frames.has_unreadable, "{end:?}");
        }
    }

    #[test]
    fn events_that_one_line_end_divides_are_read() {
        for end in ["\n", "\r\n", "\r"] {
            for lines in [
                vec!["data: {\"a\":1}", "data: {\"a\":2}", "data: [DONE]"],
                vec![
                    "event: x",
                    "data: {\"a\":1}",
                    "event: y",
                    "data: {\"a\":2}",
                    "data: [DONE]",
                    "",
                ],
                vec![
                    "data: {",
                    "data: \"a\":1}",
                    "data: {\"a\":",
                    "data: 2}",
                    "data: [DONE]",
                    "",
                ],
                vec!["data: [DONE]", "data: {\"a\":1}", "data: {\"a\":2}"],
            ] {
                let frames = divide("text/event-stream", lines.join(end).as_bytes());
                assert_eq!(frames.values, [json!({"a": 1}), json!({"a": 2})], "{lines:?}");
                assert!(frames.is_done && !frames.has_unreadable, "{lines:?} {frames:?}");
            }
        }
        let torn = divide(
            "text/event-stream",
            b"data: {\"a\":1}\ndata: oops\ndata: {\"a\":2}\ndata: {\"a\"",
        );
        assert_eq!(torn.values, [json!({"a": 1}), json!({"a": 2})]);
        assert!(torn.has_unreadable);
    }

    #[test]
    fn a_wrong_content_type_is_no_obstacle() {
        assert_eq!(
            values("application/json", "data: {\"a\":1}\n\n"),
            [json!({"a": 1})]
        );
        assert_eq!(
            values("text/plain", "{\"a\":1}\n{\"a\":2}\n"),
            [json!({"a": 1}), json!({"a": 2})]
        );
        assert_eq!(
            values("text/event-stream", "{\"error\":{}}"),
            [json!({"error": {}})]
        );
    }

    #[test]
    fn what_was_cut_short_keeps_its_whole_values() {
        for text in [
            "[{\"a\":1}\n,{\"a\":2}\n,{\"a\"",
            "{\"a\":1}\n{\"a\":2}\n{\"a\"",
            "data: {\"a\":1}\n\ndata: {\"a\":2}\n\ndata: {\"a\"",
        ] {
            let frames = divide("", text.as_bytes());
            assert_eq!(frames.values, [json!({"a": 1}), json!({"a": 2})], "{text}");
            assert!(frames.has_unreadable, "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_divided(bytes: Vec<u8>, content_type in "[a-z/-]{0,20}") {
            let _ = divide(&content_type, &bytes);
        }

        #[test]
        fn every_cut_of_a_stream_keeps_a_beginning_of_its_values(cut in 0usize..60) {
            let text = "data: {\"a\":1}\r\n\r\n: ping\r\n\r\ndata: {\"a\":2}\r\n\r\ndata: [DONE]\r\n\r\n";
            let part = text.get(..cut.min(text.len())).unwrap_or(text);
            let whole = values("text/event-stream", text);
            let kept = values("text/event-stream", part);
            prop_assert!(whole.starts_with(&kept));
        }
    }
}
