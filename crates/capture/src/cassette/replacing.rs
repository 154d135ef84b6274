//! Secrets taken out of what is kept of an exchange, also where a stream has them in pieces.

use std::collections::BTreeMap;

use serde_json::Value;
use tracer_sdk::redaction::Redaction;

use super::format::raw_json;
use super::frames::{Json, StreamFrame};
use super::recorded::RecordedBody;
use super::shapes::Places;
use tracer_providers::form_fields;

/// Members by which streams send a text in pieces.
const PIECES: [&str; 15] = [
    "arguments",
    "code",
    "content",
    "delta",
    "input",
    "partial_json",
    "reasoning",
    "reasoning_content",
    "refusal",
    "response",
    "stringValue",
    "summary",
    "text",
    "thinking",
    "transcript",
];
/// Members that say which text a piece belongs to.
const DISCRIMINATORS: [&str; 5] = [
    "content_index",
    "index",
    "item_id",
    "output_index",
    "summary_index",
];

/// The request without secrets, and with names for the folders of its process; of a form its fields, of its files the sizes.
pub(super) fn request(body: &[u8], redaction: &Redaction, places: &Places) -> Option<Value> {
    let value = serde_json::from_slice(body).ok().or_else(|| form_fields(body))?;
    Some(redaction.value(placed(value, places)).0)
}

/// The value with names for folders in its texts.
fn placed(value: Value, places: &Places) -> Value {
    match value {
        Value::String(text) => Value::String(places.text(&text).into_owned()),
        Value::Array(items) => Value::Array(items.into_iter().map(|item| placed(item, places)).collect()),
        Value::Object(members) => Value::Object(
            members
                .into_iter()
                .map(|(key, value)| (key, placed(value, places)))
                .collect(),
        ),
        other => other,
    }
}

/// Takes secrets out of the body of an answer; gives the places where something was replaced.
pub(super) fn body(body: &mut RecordedBody, redaction: &Redaction) -> Vec<String> {
    let mut replaced = Vec::new();
    match body {
        RecordedBody::Json(json) => {
            if let Some((cleaned, places)) = without_secrets(json, redaction) {
                replaced.extend(places.into_iter().map(|place| format!("response.body{place}")));
                *json = cleaned;
            }
        }
        RecordedBody::Text(text) => {
            // A document over several lines is JSON all the same.
            let cleaned = match serde_json::from_str::<Value>(text) {
                Ok(value) => {
                    let (cleaned, changed) = redaction.value(value);
                    (changed > 0).then(|| cleaned.to_string())
                }
                Err(_) => None,
            };
            let text_now = cleaned.as_deref().unwrap_or(text);
            let cleaned = redaction.text(text_now).into_owned();
            if cleaned != *text {
                replaced.push("response.text".to_owned());
                *text = cleaned;
            }
        }
        RecordedBody::Bytes(bytes) => {
            let text = String::from_utf8_lossy(bytes);
            if redaction.text(&text) != text {
                replaced.push("response.base64".to_owned());
                bytes.clear();
            }
        }
        RecordedBody::Stream { frames, .. } => {
            let mut frames: Vec<&mut StreamFrame> = frames.iter_mut().collect();
            replaced.extend(pieces(&mut frames, redaction));
            for (position, frame) in frames.into_iter().enumerate() {
                replaced.extend(
                    in_frame(frame, redaction)
                        .into_iter()
                        .map(|place| frame_place(position, &place)),
                );
            }
        }
    }
    replaced.dedup();
    replaced
}

fn frame_place(position: usize, place: &str) -> String {
    format!("response.frames[{position}]{place}")
}

/// Takes secrets out of one frame.
fn in_frame(frame: &mut StreamFrame, redaction: &Redaction) -> Vec<String> {
    match frame {
        StreamFrame::Text(text) => in_text(text, redaction),
        StreamFrame::Bytes(bytes) => {
            let text = String::from_utf8_lossy(bytes);
            if redaction.text(&text) == text {
                return Vec::new();
            }
            bytes.clear();
            vec![String::new()]
        }
        StreamFrame::Item { before, json } => {
            let mut places = in_text(before, redaction);
            if let Some((cleaned, found)) = without_secrets(json, redaction) {
                *json = cleaned;
                places.extend(found);
            }
            places
        }
    }
}

fn in_text(text: &mut String, redaction: &Redaction) -> Vec<String> {
    let cleaned = redaction.text(text);
    if cleaned == *text {
        return Vec::new();
    }
    *text = cleaned.into_owned();
    vec![String::new()]
}

/// The value without secrets and where they were; `None` when there was none.
fn without_secrets(json: &Json, redaction: &Redaction) -> Option<(Json, Vec<String>)> {
    let value: Value = serde_json::from_str(json.get()).ok()?;
    let (cleaned, changed) = redaction.value(value.clone());
    // A member that is there twice hides its first value from a reader of values.
    let is_hidden = changed == 0 && redaction.text(json.get()) != json.get() && {
        let shown = cleaned.to_string();
        redaction.text(&shown) == shown
    };
    if changed == 0 && !is_hidden {
        return None;
    }
    let mut places = Vec::new();
    differing(&value, &cleaned, &mut String::new(), &mut places);
    if places.is_empty() {
        places.push(String::new());
    }
    Some((raw_json(&cleaned)?, places))
}

/// The paths of the leaves that differ.
fn differing(before: &Value, after: &Value, path: &mut String, places: &mut Vec<String>) {
    let length = path.len();
    match (before, after) {
        (Value::Object(left), Value::Object(right)) if left.len() == right.len() => {
            for ((key, left), (_, right)) in left.iter().zip(right) {
                path.push('.');
                path.push_str(key);
                differing(left, right, path, places);
                path.truncate(length);
            }
        }
        (Value::Array(left), Value::Array(right)) => {
            for (position, (left, right)) in left.iter().zip(right).enumerate() {
                path.extend(["[", &position.to_string(), "]"]);
                differing(left, right, path, places);
                path.truncate(length);
            }
        }
        (left, right) if left == right => {}
        _ => places.push(path.clone()),
    }
}

/// A piece of a text: the frame, the pointer in it, the text.
type StreamedPieces = Vec<(usize, String, String)>;

/// Finds secrets in texts that come in pieces. The whole text moves into its first piece then: what is left of it must not
/// be divided where the secret was.
fn pieces(frames: &mut [&mut StreamFrame], redaction: &Redaction) -> Vec<String> {
    let mut texts: BTreeMap<String, StreamedPieces> = BTreeMap::new();
    for (position, frame) in frames.iter().enumerate() {
        let value = frame
            .json()
            .and_then(|json| serde_json::from_str::<Value>(json.get()).ok());
        if let Some(value) = value {
            collect(
                &value,
                position,
                &mut String::new(),
                &mut String::new(),
                &mut texts,
            );
        }
    }
    let mut replaced = Vec::new();
    for pieces in texts.into_values().filter(|pieces| pieces.len() > 1) {
        let whole: String = pieces.iter().map(|(_, _, text)| text.as_str()).collect();
        let cleaned = redaction.text(&whole);
        if cleaned == whole {
            continue;
        }
        let mut cleaned = Some(cleaned.into_owned());
        for (position, pointer, _) in &pieces {
            let Some(json) = frames.get_mut(*position).and_then(|frame| frame.json_mut()) else {
                continue;
            };
            let Ok(mut value) = serde_json::from_str::<Value>(json.get()) else {
                continue;
            };
            if let Some(place) = value.pointer_mut(pointer) {
                if cleaned.is_some() {
                    replaced.push(frame_place(*position, &pointer.replace('/', ".")));
                }
                *place = Value::String(cleaned.take().unwrap_or_default());
            }
            if let Some(changed) = raw_json(&value) {
                *json = changed;
            }
        }
    }
    replaced
}

/// Notes the pieces of texts in a frame: `channel` is the path with what says which text it is.
fn collect(
    value: &Value,
    frame: usize,
    pointer: &mut String,
    channel: &mut String,
    texts: &mut BTreeMap<String, StreamedPieces>,
) {
    let (pointer_length, channel_length) = (pointer.len(), channel.len());
    match value {
        Value::Object(members) => {
            for key in DISCRIMINATORS {
                if let Some(member) = members.get(key).filter(|member| !member.is_null()) {
                    channel.extend(["#", key, "=", &member.to_string()]);
                }
            }
            let with_discriminators = channel.len();
            for (key, member) in members {
                pointer.push('/');
                pointer.push_str(&key.replace('~', "~0").replace('/', "~1"));
                channel.push('/');
                channel.push_str(key);
                match member {
                    Value::String(text) if PIECES.contains(&key.as_str()) => {
                        texts.entry(channel.clone()).or_default().push((
                            frame,
                            pointer.clone(),
                            text.clone(),
                        ));
                    }
                    member => collect(member, frame, pointer, channel, texts),
                }
                pointer.truncate(pointer_length);
                channel.truncate(with_discriminators);
            }
        }
        Value::Array(items) => {
            for (position, item) in items.iter().enumerate() {
                let position = position.to_string();
                pointer.extend(["/", &position]);
                channel.extend(["/", &position]);
                collect(item, frame, pointer, channel, texts);
                pointer.truncate(pointer_length);
                channel.truncate(channel_length);
            }
        }
        _ => {}
    }
    channel.truncate(channel_length);
}

#[cfg(test)]
mod tests {
    use tracer_sdk::settings::Settings;

    use super::super::frames::{Framing, divide};
    use super::*;

    const SECRET: &str = "sk-proj-Abcdefgh12345678Abcdefgh12345678";

    fn redaction() -> Redaction {
        Redaction::new(&Settings::with_data_dir("unused"), [])
    }

    fn stream(framing: Framing, text: &str) -> RecordedBody {
        let frames = divide(framing, text.as_bytes());
        RecordedBody::Stream { framing, frames }
    }

    #[test]
    fn a_secret_in_pieces_is_found() {
        for size in [1, 3, 7, 100] {
            let letters: Vec<char> = format!("the key is {SECRET}, keep it").chars().collect();
            let mut text = String::new();
            for piece in letters.chunks(size) {
                let piece: String = piece.iter().collect();
                let chunk = serde_json::json!({"choices": [{"index": 0, "delta": {"content": piece}}]});
                text.extend(["data: ", &chunk.to_string(), "\n\n"]);
            }
            let mut body_of_stream = stream(Framing::Events, &text);
            let replaced = body(&mut body_of_stream, &redaction());
            let kept = String::from_utf8(body_of_stream.bytes()).unwrap();
            assert!(
                !kept.contains("Abcdefgh") && kept.contains("__REDACTED__"),
                "{size}: {kept}"
            );
            assert!(replaced[0].starts_with("response.frames["), "{replaced:?}");
            let contents: String = kept
                .split("\n\n")
                .filter_map(|event| serde_json::from_str::<Value>(event.strip_prefix("data: ")?).ok())
                .filter_map(|value| Some(value.pointer("/choices/0/delta/content")?.as_str()?.to_owned()))
                .collect();
            assert_eq!(contents, "the key is __REDACTED__, keep it", "{size}");
        }
    }

    #[test]
    fn a_secret_in_pieces_is_found_however_events_and_content_are_written() {
        let (one, other) = SECRET.split_at(17);
        for (start, end) in [("data: ", "\n"), ("data:", "\n\n"), ("id: 7\ndata: ", "\n\n")] {
            for content in [
                |text: &str| serde_json::json!([{"type": "text", "text": text}]),
                |text: &str| serde_json::json!([{"type": "thinking", "thinking": [{"type": "text", "text": text}]}]),
            ] {
                let chunk = |text: &str| serde_json::json!({"choices": [{"index": 0, "delta": {"content": content(text)}}]});
                let text = format!("{start}{}{end}{start}{}{end}", chunk(one), chunk(other));
                let mut body_of_stream = stream(Framing::Events, &text);
                assert_eq!(body(&mut body_of_stream, &redaction()).len(), 1, "{text}");
                let kept = String::from_utf8(body_of_stream.bytes()).unwrap();
                assert!(
                    !kept.contains("Abcdefgh") && kept.contains("__REDACTED__"),
                    "{kept}"
                );
            }
        }
    }

    #[test]
    fn what_holds_no_secret_stays_as_it_came() {
        for (framing, text) in [
            (
                Framing::Events,
                "data: {\"b\": 1,  \"a\":{\"content\":\"hi\"}}\n\n: ping\n\ndata: [DONE]\n\n",
            ),
            (
                Framing::Lines,
                "{\"message\":{\"content\":\"a\"},\"done\":false}\n{\"done\":true}\n",
            ),
        ] {
            let mut unchanged = stream(framing, text);
            assert!(body(&mut unchanged, &redaction()).is_empty());
            assert_eq!(unchanged.bytes(), text.as_bytes());
        }
    }

    #[test]
    fn a_place_of_a_secret_is_named() {
        let text = format!("{{\"choices\":[{{\"message\":{{\"content\":\"use {SECRET}\"}}}}]}}");
        let mut json = RecordedBody::Json(serde_json::from_str(&text).unwrap());
        assert_eq!(
            body(&mut json, &redaction()),
            ["response.body.choices[0].message.content"]
        );
        let mut text = RecordedBody::Text(format!("oops: {SECRET}"));
        assert_eq!(body(&mut text, &redaction()), ["response.text"]);
    }

    #[test]
    fn a_member_twice_hides_nothing() {
        let text = format!("{{\"content\":\"{SECRET}\",\"content\":\"x\"}}");
        let mut json = RecordedBody::Json(serde_json::from_str(&text).unwrap());
        body(&mut json, &redaction());
        assert!(!String::from_utf8(json.bytes()).unwrap().contains("Abcdefgh"));
    }
}
