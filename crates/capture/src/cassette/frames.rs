//! Bodies of answers divided into frames that a person can read and that give the same bytes again: server-sent events, lines
//! of JSON, a JSON array in pieces. What would not give the same bytes is kept as it came.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use tracer_providers::ModelApi;

/// Framing of a streamed body.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Framing {
    /// Server-sent events.
    Events,
    /// A JSON value per line.
    Lines,
    /// The items of one JSON array.
    Array,
}

/// A JSON value with the text that it came as.
pub type Json = Box<RawValue>;

/// One frame of a streamed body.
#[derive(Debug, Clone)]
pub enum StreamFrame {
    /// A JSON value: the data of an event, a line, the item of an array.
    Item {
        /// Text between the JSON before it and this one: line ends, comments, fields of the event, a comma.
        before: String,
        /// The value.
        json: Json,
    },
    /// Text as it came, behind the last JSON.
    Text(String),
    /// Bytes as they came, which are no text.
    Bytes(Vec<u8>),
}

impl StreamFrame {
    /// The bytes that it came as.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        match self {
            Self::Item { before, json } => format!("{before}{}", json.get()).into_bytes(),
            Self::Text(text) => text.clone().into_bytes(),
            Self::Bytes(bytes) => bytes.clone(),
        }
    }

    /// The JSON value that it carries.
    #[must_use]
    pub fn json(&self) -> Option<&Json> {
        match self {
            Self::Item { json, .. } => Some(json),
            Self::Text(_) | Self::Bytes(_) => None,
        }
    }

    pub(super) fn json_mut(&mut self) -> Option<&mut Json> {
        match self {
            Self::Item { json, .. } => Some(json),
            Self::Text(_) | Self::Bytes(_) => None,
        }
    }

    fn raw(bytes: &[u8]) -> Self {
        match std::str::from_utf8(bytes) {
            Ok(text) => Self::Text(text.to_owned()),
            Err(_) => Self::Bytes(bytes.to_vec()),
        }
    }
}

/// Framing of a body; `None` for one document.
pub(super) fn framing_of(api: Option<ModelApi>, content_type: &str, body: &[u8]) -> Option<Framing> {
    if serde_json::from_slice::<&RawValue>(body).is_ok_and(|json| json.get().starts_with('{')) {
        // One object on one line is a stream of one line only where the type says so.
        let is_line = content_type.contains("ndjson") && body.ends_with(b"\n");
        return is_line.then_some(Framing::Lines);
    }
    if content_type.contains("event-stream") {
        return Some(Framing::Events);
    }
    let start = body.iter().find(|byte| !byte.is_ascii_whitespace());
    match (start, api) {
        (Some(b'['), Some(ModelApi::GenerateContent)) => Some(Framing::Array),
        (Some(b'{'), Some(_)) if body.contains(&b'\n') => Some(Framing::Lines),
        _ => content_type.contains("ndjson").then_some(Framing::Lines),
    }
}

/// Divides a body. The frames' bytes, one behind the other, are the body.
pub(super) fn divide(framing: Framing, body: &[u8]) -> Vec<StreamFrame> {
    let mut frames = Vec::new();
    let mut start = 0;
    while let Some(rest) = body.get(start..).filter(|rest| !rest.is_empty()) {
        let (frame, length) = match framing {
            Framing::Events | Framing::Lines => next_line(rest),
            Framing::Array => next_item(rest, start == 0),
        };
        start += length;
        frames.push(frame);
    }
    frames
}

/// An object or an array that fits on a line of the format as it is.
fn inline_json(text: &str) -> Option<Json> {
    if !text.starts_with(['{', '[']) || text.contains(['\n', '\r']) {
        return None;
    }
    let json: Json = serde_json::from_str(text).ok()?;
    (json.get() == text).then_some(json)
}

/// The first line with JSON, which may be the data of an event, and what is before it; a line that is no text by itself.
fn next_line(rest: &[u8]) -> (StreamFrame, usize) {
    let mut start = 0;
    for bytes in rest.split_inclusive(|byte| *byte == b'\n') {
        let end = start + bytes.len();
        let Ok(line) = std::str::from_utf8(bytes) else {
            return (StreamFrame::raw(rest.get(..end).unwrap_or(rest)), end);
        };
        let data = line.strip_prefix("data:").unwrap_or(line).trim_start();
        // The text before it is read only where it is needed, not again for each line.
        if let Some(json) = inline_json(data.trim_end())
            && let Ok(before) = std::str::from_utf8(rest.get(..end - data.len()).unwrap_or_default())
        {
            let (before, length) = (before.to_owned(), before.len() + json.get().len());
            return (StreamFrame::Item { before, json }, length);
        }
        start = end;
    }
    (StreamFrame::raw(rest), rest.len())
}

fn next_item(rest: &[u8], is_first: bool) -> (StreamFrame, usize) {
    let is_between = |byte: &u8| byte.is_ascii_whitespace() || *byte == b',' || (is_first && *byte == b'[');
    let between = rest.iter().take_while(|byte| is_between(byte)).count();
    let (before, behind) = rest.split_at_checked(between).unwrap_or((rest, &[]));
    let mut values = serde_json::Deserializer::from_slice(behind).into_iter::<Json>();
    let Some(Ok(json)) = values.next() else {
        return (StreamFrame::raw(rest), rest.len());
    };
    let length = between + values.byte_offset();
    let frame = match (inline_json(json.get()), std::str::from_utf8(before)) {
        (Some(json), Ok(before)) => StreamFrame::Item {
            before: before.to_owned(),
            json,
        },
        _ => StreamFrame::raw(rest.get(..length).unwrap_or(rest)),
    };
    (frame, length)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn again(framing: Framing, body: &[u8]) -> Vec<u8> {
        divide(framing, body)
            .iter()
            .flat_map(StreamFrame::bytes)
            .collect()
    }

    fn framing(content_type: &str, body: &str) -> Option<Framing> {
        framing_of(Some(ModelApi::GenerateContent), content_type, body.as_bytes())
    }

    #[test]
    fn bodies_are_divided_by_what_they_are() {
        for (content_type, body, expected) in [
            ("application/json", "{\"a\":1}", None),
            ("application/json", "{\n  \"a\": 1\n}\n", None),
            (
                "text/event-stream; charset=utf-8",
                "data: {}\n\n",
                Some(Framing::Events),
            ),
            ("text/event-stream", "{\"error\":1}", None),
            (
                "application/x-ndjson",
                "{\"a\":1}\n{\"a\":2}\n",
                Some(Framing::Lines),
            ),
            ("application/x-ndjson", "{\"a\":1}\n", Some(Framing::Lines)),
            (
                "application/json",
                "[{\"a\":1}\n,\r\n{\"a\":2}]",
                Some(Framing::Array),
            ),
            ("text/html", "<html>", None),
        ] {
            assert_eq!(framing(content_type, body), expected, "{body}");
        }
    }

    #[test]
    fn ordinary_frames_are_readable() {
        for (body, readable) in [
            ("event: ping\ndata: {\"type\": \"ping\"}\n\ndata: [DONE]\n\n", 1),
            ("data: {\"b\":1,\"a\":2.50}\r\n\r\n", 1),
            (": comment\n\ndata: {\"a\":1}\n\n", 1),
            ("id: 7\ndata: {}\n\n", 1),
            ("data:{}\n\n", 1),
            ("data: {}\ndata: {}\nevent: x\ndata: {}\ndata: [DONE]\n", 3),
            ("data: {\"a\":\ndata: 1}\n\n", 0),
        ] {
            let frames = divide(Framing::Events, body.as_bytes());
            let is_raw = |frame: &StreamFrame| matches!(frame, StreamFrame::Text(_) | StreamFrame::Bytes(_));
            let count = frames.iter().filter(|frame| !is_raw(frame)).count();
            assert_eq!(count, readable, "{body}: {frames:?}");
            assert_eq!(again(Framing::Events, body.as_bytes()), body.as_bytes());
        }
    }

    const BODIES: [(Framing, &str); 5] = [
        (
            Framing::Events,
            "data: {\"a\":1}\ndata: {\"b\":2}\n: c\nid: 7\ndata:{}\n\n\ndata: [DONE]\ndata: {\"d\":1}",
        ),
        (
            Framing::Events,
            "\u{feff}: hi\r\n\r\nevent: a\r\ndata: {\"x\": \"é\"}\r\n\r\ndata: {\"y\":1}\n\n\r\n\r\ndata: [DONE]\r\n\r\n",
        ),
        (
            Framing::Events,
            "event: message_start\ndata: {\"type\":\"message_start\"}\n\nevent: ping\ndata: {\"type\":\"ping\"}\n\n",
        ),
        (Framing::Lines, "{\"a\":1}\n\n{\"a\": 2 }\r\n{\"done\":true}\n"),
        (
            Framing::Array,
            "[{\"a\":1}\n,\r\n{\n  \"a\": [2]\n}\n, {\"b\":\"]\"}\n]\n",
        ),
    ];

    #[test]
    fn every_cut_of_a_body_comes_again_byte_for_byte() {
        for (framing, body) in BODIES {
            for cut in 0..=body.len() {
                let bytes = &body.as_bytes()[..cut];
                assert_eq!(again(framing, bytes), bytes, "{framing:?} {cut}");
            }
        }
    }

    proptest! {
        #[test]
        fn any_bytes_come_again(bytes: Vec<u8>, text in "(data: |event: a|\n|\r\n|\\{|\\}|\"|1|,|\\[){0,30}") {
            for framing in [Framing::Events, Framing::Lines, Framing::Array] {
                prop_assert_eq!(again(framing, &bytes), bytes.clone());
                prop_assert_eq!(again(framing, text.as_bytes()), text.as_bytes());
            }
        }
    }
}
