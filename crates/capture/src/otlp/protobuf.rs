//! Protobuf that cannot be decoded as a whole: what is wrong with it is repaired or left out, field by field.

use std::cell::RefCell;

use super::repairs::{JsonField, Repairs};

/// So deep are messages read; the decoder goes no deeper than 100.
const MAX_DEPTH: usize = 96;

/// The fields of a message: number, name, and what they hold.
pub(super) struct Schema(&'static [(u64, &'static str, Field)]);

enum Field {
    Text,
    Message(&'static Schema),
    /// Anything else, by its wire type.
    Other(u64),
}

const VARINT: u64 = 0;
const FIXED_64: u64 = 1;
const LENGTH: u64 = 2;
const FIXED_32: u64 = 5;

use Field::{Message, Other, Text};

pub(super) static SPANS: Schema = Schema(&[(1, "resourceSpans", Message(&RESOURCE_SPANS))]);
pub(super) static LOGS: Schema = Schema(&[(1, "resourceLogs", Message(&RESOURCE_LOGS))]);

static RESOURCE_SPANS: Schema = Schema(&[
    (1, "resource", Message(&RESOURCE)),
    (2, "scopeSpans", Message(&SCOPE_SPANS)),
    (3, "schemaUrl", Text),
]);
static SCOPE_SPANS: Schema = Schema(&[
    (1, "scope", Message(&SCOPE)),
    (2, "spans", Message(&SPAN)),
    (3, "schemaUrl", Text),
]);
static SPAN: Schema = Schema(&[
    (1, "traceId", Other(LENGTH)),
    (2, "spanId", Other(LENGTH)),
    (3, "traceState", Text),
    (4, "parentSpanId", Other(LENGTH)),
    (5, "name", Text),
    (6, "kind", Other(VARINT)),
    (7, "startTimeUnixNano", Other(FIXED_64)),
    (8, "endTimeUnixNano", Other(FIXED_64)),
    (9, "attributes", Message(&KEY_VALUE)),
    (10, "droppedAttributesCount", Other(VARINT)),
    (11, "events", Message(&EVENT)),
    (12, "droppedEventsCount", Other(VARINT)),
    (13, "links", Message(&LINK)),
    (14, "droppedLinksCount", Other(VARINT)),
    (15, "status", Message(&STATUS)),
    (16, "flags", Other(FIXED_32)),
]);
static EVENT: Schema = Schema(&[
    (1, "timeUnixNano", Other(FIXED_64)),
    (2, "name", Text),
    (3, "attributes", Message(&KEY_VALUE)),
    (4, "droppedAttributesCount", Other(VARINT)),
]);
static LINK: Schema = Schema(&[
    (1, "traceId", Other(LENGTH)),
    (2, "spanId", Other(LENGTH)),
    (3, "traceState", Text),
    (4, "attributes", Message(&KEY_VALUE)),
    (5, "droppedAttributesCount", Other(VARINT)),
    (6, "flags", Other(FIXED_32)),
]);
static STATUS: Schema = Schema(&[(2, "message", Text), (3, "code", Other(VARINT))]);
static RESOURCE_LOGS: Schema = Schema(&[
    (1, "resource", Message(&RESOURCE)),
    (2, "scopeLogs", Message(&SCOPE_LOGS)),
    (3, "schemaUrl", Text),
]);
static SCOPE_LOGS: Schema = Schema(&[
    (1, "scope", Message(&SCOPE)),
    (2, "logRecords", Message(&LOG_RECORD)),
    (3, "schemaUrl", Text),
]);
static LOG_RECORD: Schema = Schema(&[
    (1, "timeUnixNano", Other(FIXED_64)),
    (2, "severityNumber", Other(VARINT)),
    (3, "severityText", Text),
    (5, "body", Message(&ANY_VALUE)),
    (6, "attributes", Message(&KEY_VALUE)),
    (7, "droppedAttributesCount", Other(VARINT)),
    (8, "flags", Other(FIXED_32)),
    (9, "traceId", Other(LENGTH)),
    (10, "spanId", Other(LENGTH)),
    (11, "observedTimeUnixNano", Other(FIXED_64)),
    (12, "eventName", Text),
]);
static RESOURCE: Schema = Schema(&[
    (1, "attributes", Message(&KEY_VALUE)),
    (2, "droppedAttributesCount", Other(VARINT)),
    (3, "entityRefs", Message(&ENTITY_REF)),
]);
static ENTITY_REF: Schema = Schema(&[
    (1, "schemaUrl", Text),
    (2, "type", Text),
    (3, "idKeys", Text),
    (4, "descriptionKeys", Text),
]);
static SCOPE: Schema = Schema(&[
    (1, "name", Text),
    (2, "version", Text),
    (3, "attributes", Message(&KEY_VALUE)),
    (4, "droppedAttributesCount", Other(VARINT)),
]);
static KEY_VALUE: Schema = Schema(&[(1, "key", Text), (2, "value", Message(&ANY_VALUE))]);
static ANY_VALUE: Schema = Schema(&[
    (1, "stringValue", Text),
    (2, "boolValue", Other(VARINT)),
    (3, "intValue", Other(VARINT)),
    (4, "doubleValue", Other(FIXED_64)),
    (5, "arrayValue", Message(&ARRAY)),
    (6, "kvlistValue", Message(&KEY_VALUE_LIST)),
    (7, "bytesValue", Other(LENGTH)),
]);
static ARRAY: Schema = Schema(&[(1, "values", Message(&ANY_VALUE))]);
static KEY_VALUE_LIST: Schema = Schema(&[(1, "values", Message(&KEY_VALUE))]);

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
        let key = varint(&mut rest)?;
        let (number, wire_type) = (key >> 3, key & 7);
        let length = match wire_type {
            VARINT => {
                let before = rest.len();
                let mut after = rest;
                varint(&mut after)?;
                before - after.len()
            }
            FIXED_64 => 8,
            LENGTH => usize::try_from(varint(&mut rest)?).ok()?,
            FIXED_32 => 4,
            _ => return None,
        };
        let value;
        (value, rest) = rest.split_at_checked(length)?;
        let known = schema.0.iter().find(|(known, ..)| *known == number);
        let as_sent = whole.get(..whole.len() - rest.len()).unwrap_or_default();
        let Some((_, name, field)) = known else {
            repaired.extend_from_slice(as_sent);
            continue;
        };
        let place = place.at(name);
        match field {
            Other(expected) if *expected == wire_type => repaired.extend_from_slice(as_sent),
            Text if wire_type == LENGTH => {
                let text = String::from_utf8_lossy(value);
                if text.as_bytes() != value {
                    place.note(|| format!("`{name}` is no UTF-8"));
                }
                write(key, text.as_bytes(), &mut repaired);
            }
            Message(_) if wire_type == LENGTH && depth >= MAX_DEPTH => {
                place.note(|| format!("`{name}` is nested too deep"));
            }
            Message(schema) if wire_type == LENGTH => match fields(schema, value, place, depth + 1) {
                Some(message) => write(key, &message, &mut repaired),
                None => place.note(|| format!("`{name}` is no message")),
            },
            _ => place.note(|| format!("`{name}` is of another type")),
        }
    }
    Some(repaired)
}

fn write(key: u64, value: &[u8], repaired: &mut Vec<u8>) {
    prost::encoding::encode_varint(key, repaired);
    prost::encoding::encode_varint(value.len() as u64, repaired);
    repaired.extend_from_slice(value);
}

fn varint(rest: &mut &[u8]) -> Option<u64> {
    prost::encoding::decode_varint(rest).ok()
}
