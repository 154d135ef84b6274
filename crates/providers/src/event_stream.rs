//! The binary frames of Amazon's streams (`application/vnd.amazon.eventstream`). Their checksums are not checked: the transport's
//! are.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

/// The type of such streams.
pub(super) const MEDIA_TYPE: &str = "application/vnd.amazon.eventstream";

/// The lengths before a frame's headers, and their checksum.
const PRELUDE_BYTES: usize = 12;
/// The checksum behind a frame.
const CHECKSUM_BYTES: usize = 4;
/// The type of a header's value that is a text, the only one that events have.
const TEXT_TYPE: u8 = 7;

/// The JSON of each frame under the event's name, or as it is where the frame is an envelope around it, and whether the last frame
/// is whole.
pub(super) fn values(mut bytes: &[u8]) -> (Vec<Value>, bool) {
    let mut values = Vec::new();
    while !bytes.is_empty() {
        let Some((frame, rest)) = first_frame(bytes) else {
            return (values, false);
        };
        values.extend(value(frame));
        bytes = rest;
    }
    (values, true)
}

/// The headers and the payload of a frame.
type EventFrame<'a> = (&'a [u8], &'a [u8]);

fn first_frame(bytes: &[u8]) -> Option<(EventFrame<'_>, &[u8])> {
    let length = |at: usize| {
        let bytes = bytes.get(at..at + 4)?.try_into().ok()?;
        usize::try_from(u32::from_be_bytes(bytes)).ok()
    };
    let (whole, headers) = (length(0)?, length(4)?);
    let payload = PRELUDE_BYTES.checked_add(headers)?;
    let end = whole.checked_sub(CHECKSUM_BYTES).filter(|end| payload <= *end)?;
    let rest = bytes.get(whole..)?;
    Some((
        (bytes.get(PRELUDE_BYTES..payload)?, bytes.get(payload..end)?),
        rest,
    ))
}

fn value((headers, payload): EventFrame<'_>) -> Option<Value> {
    let payload: Value = serde_json::from_slice(payload).ok()?;
    if let Some(exception) = header(headers, ":exception-type").or_else(|| header(headers, ":error-code")) {
        let message = payload.get("message").cloned().unwrap_or_default();
        return Some(json!({"type": "error", "error": {"type": exception, "message": message}}));
    }
    // The model's own event.
    if let Some(text) = payload["bytes"].as_str() {
        return serde_json::from_slice(&STANDARD.decode(text).ok()?).ok();
    }
    let name = header(headers, ":event-type")?;
    Some(json!({ name: payload }))
}

/// The text of a header. Each is a length, a name, a type, a length of two bytes, and a text.
fn header<'a>(mut headers: &'a [u8], wanted: &str) -> Option<&'a str> {
    loop {
        let (length, rest) = headers.split_first()?;
        let (name, rest) = rest.split_at_checked(usize::from(*length))?;
        let (kind, rest) = rest.split_first()?;
        let (length, rest) = rest.split_at_checked(2)?;
        let length = usize::from(u16::from_be_bytes(length.try_into().ok()?));
        let (text, rest) = rest.split_at_checked(length)?;
        if *kind != TEXT_TYPE {
            return None;
        }
        if name == wanted.as_bytes() {
            return std::str::from_utf8(text).ok();
        }
        headers = rest;
    }
}

/// A frame with these headers around JSON.
#[cfg(test)]
pub(super) fn frame(headers: &[(&str, &str)], payload: &Value) -> Vec<u8> {
    let mut named = Vec::new();
    for (name, text) in headers {
        named.push(u8::try_from(name.len()).unwrap());
        named.extend(name.as_bytes());
        named.push(TEXT_TYPE);
        named.extend(u16::try_from(text.len()).unwrap().to_be_bytes());
        named.extend(text.as_bytes());
    }
    let payload = payload.to_string();
    let length = |bytes: usize| u32::try_from(bytes).unwrap().to_be_bytes();
    let whole = PRELUDE_BYTES + named.len() + payload.len() + CHECKSUM_BYTES;
    let prelude = [length(whole), length(named.len()), [0; 4]].concat();
    [&prelude, named.as_slice(), payload.as_bytes(), &[0; 4]].concat()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn frames_are_read_up_to_the_last_whole_one() {
        let events = [
            frame(
                &[(":message-type", "event"), (":event-type", "messageStart")],
                &json!({"role": "assistant"}),
            ),
            frame(
                &[(":event-type", "chunk")],
                &json!({"bytes": STANDARD.encode("{\"type\":\"ping\"}")}),
            ),
            frame(
                &[
                    (":message-type", "exception"),
                    (":exception-type", "throttlingException"),
                ],
                &json!({"message": "too many"}),
            ),
        ];
        let expected = [
            json!({"messageStart": {"role": "assistant"}}),
            json!({"type": "ping"}),
            json!({"type": "error", "error": {"type": "throttlingException", "message": "too many"}}),
        ];
        let whole = events.concat();
        assert_eq!(values(&whole), (expected.to_vec(), true));
        let cut = whole.len() - 1;
        assert_eq!(values(&whole[..cut]), (expected[..2].to_vec(), false));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read(bytes: Vec<u8>) {
            let _ = values(&bytes);
        }
    }
}
