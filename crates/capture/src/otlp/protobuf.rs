//! Strings of a protobuf request that are no UTF-8, replaced: prost refuses the whole request for one of them.

use prost::encoding::{decode_varint, encode_varint};

/// The kind of a field of OTLP that holds strings, itself or within.
#[derive(Debug, Clone, Copy)]
enum Field {
    Text,
    Message(&'static Message),
}

/// The fields of a message that hold strings, by their numbers (opentelemetry-proto 1.9).
#[derive(Debug)]
pub(super) struct Message(&'static [(u64, Field)]);

/// The request of `/v1/traces`.
pub(super) static TRACES: Message = Message(&[(1, Field::Message(&RESOURCE_SPANS))]);
/// The request of `/v1/logs`.
pub(super) static LOGS: Message = Message(&[(1, Field::Message(&RESOURCE_LOGS))]);

static RESOURCE_SPANS: Message = Message(&[
    (1, Field::Message(&RESOURCE)),
    (2, Field::Message(&SCOPE_SPANS)),
    (3, Field::Text),
]);
static SCOPE_SPANS: Message = Message(&[
    (1, Field::Message(&SCOPE)),
    (2, Field::Message(&SPAN)),
    (3, Field::Text),
]);
static SPAN: Message = Message(&[
    (3, Field::Text),
    (5, Field::Text),
    (9, Field::Message(&KEY_VALUE)),
    (11, Field::Message(&EVENT)),
    (13, Field::Message(&LINK)),
    (15, Field::Message(&STATUS)),
]);
static EVENT: Message = Message(&[(2, Field::Text), (3, Field::Message(&KEY_VALUE))]);
static LINK: Message = Message(&[(3, Field::Text), (4, Field::Message(&KEY_VALUE))]);
static STATUS: Message = Message(&[(2, Field::Text)]);
static RESOURCE_LOGS: Message = Message(&[
    (1, Field::Message(&RESOURCE)),
    (2, Field::Message(&SCOPE_LOGS)),
    (3, Field::Text),
]);
static SCOPE_LOGS: Message = Message(&[
    (1, Field::Message(&SCOPE)),
    (2, Field::Message(&LOG_RECORD)),
    (3, Field::Text),
]);
static LOG_RECORD: Message = Message(&[
    (3, Field::Text),
    (5, Field::Message(&ANY_VALUE)),
    (6, Field::Message(&KEY_VALUE)),
    (12, Field::Text),
]);
static RESOURCE: Message = Message(&[(1, Field::Message(&KEY_VALUE)), (3, Field::Message(&ENTITY))]);
static ENTITY: Message = Message(&[
    (1, Field::Text),
    (2, Field::Text),
    (3, Field::Text),
    (4, Field::Text),
]);
static SCOPE: Message = Message(&[
    (1, Field::Text),
    (2, Field::Text),
    (3, Field::Message(&KEY_VALUE)),
]);
static KEY_VALUE: Message = Message(&[(1, Field::Text), (2, Field::Message(&ANY_VALUE))]);
static ANY_VALUE: Message = Message(&[
    (1, Field::Text),
    (5, Field::Message(&ARRAY)),
    (6, Field::Message(&KEY_VALUE_LIST)),
]);
static ARRAY: Message = Message(&[(1, Field::Message(&ANY_VALUE))]);
static KEY_VALUE_LIST: Message = Message(&[(1, Field::Message(&KEY_VALUE))]);

/// Messages within each other, as prost limits them.
const MAX_DEPTH: usize = 100;

/// `bytes` of a message with each string as UTF-8, and how many strings were repaired; `None` where the bytes are no
/// protobuf, or no string needs it.
pub(super) fn with_valid_texts(message: &Message, bytes: &[u8]) -> Option<(Vec<u8>, u64)> {
    let mut repaired = Vec::with_capacity(bytes.len());
    let mut count = 0;
    copy(message, bytes, &mut repaired, &mut count, 0)?;
    (count > 0).then_some((repaired, count))
}

fn copy(message: &Message, mut bytes: &[u8], out: &mut Vec<u8>, count: &mut u64, depth: usize) -> Option<()> {
    if depth > MAX_DEPTH {
        return None;
    }
    while !bytes.is_empty() {
        let key = decode_varint(&mut bytes).ok()?;
        encode_varint(key, out);
        let (number, wire_type) = (key >> 3, key & 7);
        let length = match wire_type {
            0 => {
                encode_varint(decode_varint(&mut bytes).ok()?, out);
                continue;
            }
            1 => 8,
            2 => usize::try_from(decode_varint(&mut bytes).ok()?).ok()?,
            5 => 4,
            _ => return None,
        };
        let (value, rest) = bytes.split_at_checked(length)?;
        bytes = rest;
        if wire_type != 2 {
            out.extend_from_slice(value);
            continue;
        }
        match message.0.iter().find(|(known, _)| *known == number) {
            Some((_, Field::Message(within))) => {
                let mut inner = Vec::with_capacity(value.len());
                copy(within, value, &mut inner, count, depth + 1)?;
                append(&inner, out);
            }
            Some((_, Field::Text)) if std::str::from_utf8(value).is_err() => {
                *count += 1;
                append(String::from_utf8_lossy(value).as_bytes(), out);
            }
            _ => append(value, out),
        }
    }
    Some(())
}

fn append(value: &[u8], out: &mut Vec<u8>) {
    encode_varint(value.len() as u64, out);
    out.extend_from_slice(value);
}
