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

/// Line ending of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LineEnd {
    /// A line feed.
    Lf,
    /// A carriage return and a line feed.
    CrLf,
}

impl LineEnd {
    pub(super) const fn text(self) -> &'static str {
        match self {
            Self::Lf => "\n",
            Self::CrLf => "\r\n",
        }
    }

    fn of(text: &[u8]) -> Self {
        match text.iter().position(|byte| *byte == b'\n') {
            Some(position) if position > 0 && text.get(position - 1) == Some(&b'\r') => Self::CrLf,
            _ => Self::Lf,
        }
    }
}

/// A JSON value with the text that it came as.
pub type Json = Box<RawValue>;

/// One frame of a streamed body.
#[derive(Debug, Clone)]
pub enum StreamFrame {
    /// A server-sent event with a name, if it has one, and data that is an object or an array.
    Event {
        /// The event's name.
        name: Option<String>,
        /// Its data.
        data: Json,
    },
    /// A server-sent event whose data is a text, such as `[DONE]`.
    TextEvent {
        /// The event's name.
        name: Option<String>,
        /// Its data.
        data: String,
    },
    /// A JSON value on a line of its own.
    Line(Json),
    /// An item of an array, or the data of an event in a form of its own, and the text before it.
    Item {
        /// The bracket or comma, with the space around it; the fields of the event up to the data.
        before: String,
        /// The item.
        json: Json,
    },
    /// Text as it came.
    Text(String),
    /// Bytes as they came, which are no text.
    Bytes(Vec<u8>),
}

impl StreamFrame {
    /// The bytes that it came as.
    #[must_use]
    pub fn bytes(&self, line_end: LineEnd) -> Vec<u8> {
        let end = line_end.text();
        let event = |name: &Option<String>, data: &str| {
            let name = name
                .as_ref()
                .map_or_else(String::new, |name| format!("event: {name}{end}"));
            format!("{name}data: {data}{end}{end}").into_bytes()
        };
        match self {
            Self::Event { name, data } => event(name, data.get()),
            Self::TextEvent { name, data } => event(name, data),
            Self::Line(json) => format!("{}{end}", json.get()).into_bytes(),
            Self::Item { before, json } => format!("{before}{}", json.get()).into_bytes(),
            Self::Text(text) => text.clone().into_bytes(),
            Self::Bytes(bytes) => bytes.clone(),
        }
    }

    /// The JSON value that it carries.
    #[must_use]
    pub fn json(&self) -> Option<&Json> {
        match self {
            Self::Event { data, .. } => Some(data),
            Self::Line(json) | Self::Item { json, .. } => Some(json),
            Self::TextEvent { .. } | Self::Text(_) | Self::Bytes(_) => None,
        }
    }

    pub(super) fn json_mut(&mut self) -> Option<&mut Json> {
        match self {
            Self::Event { data, .. } => Some(data),
            Self::Line(json) | Self::Item { json, .. } => Some(json),
            Self::TextEvent { .. } | Self::Text(_) | Self::Bytes(_) => None,
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
pub(super) fn divide(framing: Framing, body: &[u8]) -> (LineEnd, Vec<StreamFrame>) {
    let line_end = LineEnd::of(body);
    let mut frames = Vec::new();
    let mut start = 0;
    while let Some(rest) = body.get(start..).filter(|rest| !rest.is_empty()) {
        let (frame, length) = match framing {
            Framing::Events => next_event(rest, line_end),
            Framing::Lines => next_line(rest, line_end),
            Framing::Array => next_item(rest, start == 0),
        };
        start += length;
        frames.push(frame);
    }
    (line_end, frames)
}

/// An object or an array that fits on a line of the format as it is.
fn inline_json(text: &str) -> Option<Json> {
    if !text.starts_with(['{', '[']) || text.contains(['\n', '\r']) {
        return None;
    }
    let json: Json = serde_json::from_str(text).ok()?;
    (json.get() == text).then_some(json)
}

fn next_event(rest: &[u8], line_end: LineEnd) -> (StreamFrame, usize) {
    let end = line_end.text();
    let blank = end.repeat(2);
    let item = next_data(rest, end);
    // Behind data that one line end divides from the next there may be no blank line at all.
    if let Some((_, length)) = &item
        && !rest
            .get(*length..)
            .unwrap_or_default()
            .starts_with(blank.as_bytes())
    {
        return item.unwrap_or_else(|| (StreamFrame::raw(rest), rest.len()));
    }
    let length = find(rest, blank.as_bytes()).map_or(rest.len(), |position| position + blank.len());
    let bytes = rest.get(..length).unwrap_or(rest);
    let read = || {
        let text = std::str::from_utf8(bytes).ok()?.strip_suffix(blank.as_str())?;
        let (name, data) = match text.strip_prefix("event: ") {
            Some(named) => {
                let (name, data) = named.split_once(end)?;
                (Some(name.to_owned()), data)
            }
            None => (None, text),
        };
        let data = data.strip_prefix("data: ")?;
        Some(match inline_json(data) {
            Some(data) => StreamFrame::Event { name, data },
            None => StreamFrame::TextEvent {
                name,
                data: data.to_owned(),
            },
        })
    };
    match (same_bytes(read(), bytes, line_end), item) {
        (StreamFrame::Text(_), Some(item)) => item,
        (frame, _) => (frame, length),
    }
}

/// The first JSON on a line of data before the next blank line, with the text before it, and where it ends.
fn next_data(rest: &[u8], end: &str) -> Option<(StreamFrame, usize)> {
    let mut start = 0;
    loop {
        let line = rest.get(start..).filter(|line| !line.is_empty())?;
        let length = find(line, end.as_bytes()).unwrap_or(line.len());
        let text = std::str::from_utf8(line.get(..length)?).ok()?;
        if text.is_empty() && start > 0 {
            return None;
        }
        let data = text
            .strip_prefix("data:")
            .map(|data| data.strip_prefix(' ').unwrap_or(data));
        if let Some(data) = data
            && let Some(json) = inline_json(data)
        {
            let until = start + length;
            let before = rest.get(..until - data.len())?;
            let before = std::str::from_utf8(before).ok()?.to_owned();
            return Some((StreamFrame::Item { before, json }, until));
        }
        start += length + end.len();
    }
}

fn next_line(rest: &[u8], line_end: LineEnd) -> (StreamFrame, usize) {
    let end = line_end.text();
    let length = find(rest, end.as_bytes()).map_or(rest.len(), |position| position + end.len());
    let bytes = rest.get(..length).unwrap_or(rest);
    let read = || {
        Some(StreamFrame::Line(inline_json(
            std::str::from_utf8(bytes).ok()?.strip_suffix(end)?,
        )?))
    };
    (same_bytes(read(), bytes, line_end), length)
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
    let bytes = rest.get(..length).unwrap_or(rest);
    let frame = inline_json(json.get())
        .zip(std::str::from_utf8(before).ok())
        .map(|(json, before)| StreamFrame::Item {
            before: before.to_owned(),
            json,
        });
    (same_bytes(frame, bytes, LineEnd::Lf), length)
}

/// The frame if it gives these bytes again; else the bytes.
fn same_bytes(frame: Option<StreamFrame>, bytes: &[u8], line_end: LineEnd) -> StreamFrame {
    frame
        .filter(|frame| frame.bytes(line_end) == bytes)
        .unwrap_or_else(|| StreamFrame::raw(bytes))
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|window| window == wanted)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn again(framing: Framing, body: &[u8]) -> Vec<u8> {
        let (line_end, frames) = divide(framing, body);
        frames.iter().flat_map(|frame| frame.bytes(line_end)).collect()
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
            ("event: ping\ndata: {\"type\": \"ping\"}\n\ndata: [DONE]\n\n", 2),
            ("data: {\"b\":1,\"a\":2.50}\r\n\r\n", 1),
            (": comment\n\ndata: {\"a\":1}\n\n", 1),
            ("id: 7\ndata: {}\n\n", 1),
            ("data:{}\n\n", 1),
            ("data: {}\ndata: {}\nevent: x\ndata: {}\ndata: [DONE]\n", 3),
            ("data: {\"a\":\ndata: 1}\n\n", 1),
        ] {
            let (_, frames) = divide(Framing::Events, body.as_bytes());
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
