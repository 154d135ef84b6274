//! Protobuf that cannot be decoded as a whole: what is wrong with it is repaired or left out, field by field.

use std::cell::RefCell;

use prost::encoding::{
    DecodeContext, WireType, decode_key, decode_varint, encode_key, encode_varint, skip_field,
};

use super::repairs::{JsonField, Repairs};
use super::schema::Schema;

/// Depth to which messages are read; the limit of the decoder is 100.
const MAX_DEPTH: usize = 96;

/// The message with its texts as UTF-8, without what is nested too deep and what is no field, and how much that was; `None`
/// when it is no message at all, or nothing was changed.
pub(super) fn repaired(schema: &Schema, message: &[u8]) -> Option<(Vec<u8>, Repairs)> {
    let repairs = RefCell::default();
    let repaired = fields(schema, message, JsonField::new("the request", &repairs), 0)?;
    let repairs = repairs.into_inner();
    (repairs.values > 0).then_some((repaired, repairs))
}

fn fields(schema: &Schema, mut rest: &[u8], place: JsonField<'_>, depth: usize) -> Option<Vec<u8>> {
    let mut repaired = Vec::with_capacity(rest.len());
    while !rest.is_empty() {
        let whole = rest;
        let (number, wire_type) = decode_key(&mut rest).ok()?;
        let mut value = rest;
        skip_field(wire_type, number, &mut rest, DecodeContext::default()).ok()?;
        let as_sent = whole.get(..whole.len() - rest.len())?;
        let Some((_, name, field)) = schema.0.iter().find(|(known, ..)| *known == number) else {
            repaired.extend_from_slice(as_sent);
            continue;
        };
        let place = place.at(name);
        if wire_type != field.wire_type() {
            place.note(|| format!("`{name}` is of another type"));
            continue;
        }
        let mut inner = || {
            let length = usize::try_from(decode_varint(&mut value).ok()?).ok()?;
            value.get(..length)
        };
        if let Some(schema) = field.message() {
            if depth >= MAX_DEPTH {
                place.note(|| format!("`{name}` is nested too deep"));
                continue;
            }
            match fields(schema, inner()?, place, depth + 1) {
                Some(message) => write_bytes(number, &message, &mut repaired),
                None => place.note(|| format!("`{name}` is no message")),
            }
        } else if field.is_text() {
            let bytes = inner()?;
            let text = String::from_utf8_lossy(bytes);
            if text.as_bytes() != bytes {
                place.note(|| format!("`{name}` is no UTF-8"));
            }
            write_bytes(number, text.as_bytes(), &mut repaired);
        } else {
            repaired.extend_from_slice(as_sent);
        }
    }
    Some(repaired)
}

/// Writes a field of bytes, a text or a message.
pub(super) fn write_bytes(number: u32, value: &[u8], message: &mut Vec<u8>) {
    encode_key(number, WireType::LengthDelimited, message);
    encode_varint(value.len() as u64, message);
    message.extend_from_slice(value);
}
