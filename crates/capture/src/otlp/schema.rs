//! The messages of spans and logs as a table: each field's number, its name in JSON, and what it holds.

use opentelemetry_proto::tonic::logs::v1::SeverityNumber;
use opentelemetry_proto::tonic::trace::v1::span::SpanKind;
use opentelemetry_proto::tonic::trace::v1::status::StatusCode;
use prost::encoding::WireType;

/// The fields of a message. A field that has two names in JSON is there twice.
pub(super) struct Schema(pub(super) &'static [(u32, &'static str, Field)]);

/// The value of a field.
pub(super) enum Field {
    Text,
    Bytes,
    /// A number of bytes, in JSON as hexadecimal digits.
    Id(usize),
    Bool,
    Int,
    Double,
    Count,
    Flags,
    /// Nanoseconds after 1970.
    Time,
    /// A number, or one of the names that the function knows.
    Enum(fn(&str) -> Option<i32>),
    Message(&'static Schema),
    /// A message whose one field is a list.
    Values(&'static Schema),
    AnyValue,
    /// A list of keys and values.
    Attributes,
    List(&'static Field),
}

use Field::{
    AnyValue, Attributes, Bool, Bytes, Count, Double, Enum, Flags, Id, Int, List, Message, Text, Time, Values,
};

impl Schema {
    /// The field of a name in camel case or, as protobuf's files spell it, in snake case.
    pub(super) fn field(&self, name: &str) -> Option<&'static (u32, &'static str, Field)> {
        let letters = |name: &'static str| name.bytes().map(|byte| byte.to_ascii_lowercase());
        let exact = self.0.iter().find(|(_, known, _)| *known == name);
        exact.or_else(|| {
            let is_snake_case = name.contains('_');
            let lower = || name.bytes().filter(|byte| *byte != b'_');
            let mut fields = self.0.iter();
            is_snake_case.then(|| fields.find(|(_, known, _)| letters(known).eq(lower())))?
        })
    }

    /// Returns whether a document with these keys is of this kind.
    pub(super) fn is_among(&self, keys: &[String]) -> bool {
        keys.iter().any(|key| self.field(key).is_some())
    }
}

impl Field {
    /// The message that the field holds, once or in a list.
    pub(super) fn message(&self) -> Option<&'static Schema> {
        match self {
            Message(schema) | Values(schema) => Some(schema),
            AnyValue => Some(&ANY_VALUE),
            Attributes => Some(&KEY_VALUE),
            List(field) => field.message(),
            _ => None,
        }
    }

    pub(super) fn is_text(&self) -> bool {
        matches!(self, Text | List(Text))
    }

    pub(super) fn wire_type(&self) -> WireType {
        match self {
            Bool | Int | Count | Enum(_) => WireType::Varint,
            Double | Time => WireType::SixtyFourBit,
            Flags => WireType::ThirtyTwoBit,
            _ => WireType::LengthDelimited,
        }
    }

    /// Expected type, for the note on a value of another type.
    pub(super) fn expected(&self) -> &'static str {
        match self {
            Text => "a text",
            Bytes => "a text in base64",
            Id(_) => "a text of hexadecimal digits",
            Bool => "true or false",
            Int => "a whole number of 64 bits",
            Double => "a number",
            Count | Flags | Time => "a whole number or its text",
            Enum(_) => "a number or a name",
            Message(_) => "an object",
            Values(_) => r#"an object such as {"values": []}"#,
            AnyValue => r#"an object such as {"stringValue": "text"}"#,
            Attributes => {
                r#"a list of objects such as {"key": "http.method", "value": {"stringValue": "GET"}}"#
            }
            List(Message(_)) => "a list of objects",
            List(_) => "a list",
        }
    }
}

fn kind(name: &str) -> Option<i32> {
    let kind =
        SpanKind::from_str_name(name).or_else(|| SpanKind::from_str_name(&format!("SPAN_KIND_{name}")));
    kind.map(|kind| kind as i32)
}

fn status_code(name: &str) -> Option<i32> {
    let code =
        StatusCode::from_str_name(name).or_else(|| StatusCode::from_str_name(&format!("STATUS_CODE_{name}")));
    code.map(|code| code as i32)
}

fn severity(name: &str) -> Option<i32> {
    let severity = SeverityNumber::from_str_name(name)
        .or_else(|| SeverityNumber::from_str_name(&format!("SEVERITY_NUMBER_{name}")));
    severity.map(|severity| severity as i32)
}

pub(super) static SPANS: Schema = Schema(&[(1, "resourceSpans", List(&Message(&RESOURCE_SPANS)))]);
/// No run needs what is in them.
pub(super) static METRICS: Schema = Schema(&[(1, "resourceMetrics", Bytes)]);
pub(super) static LOGS: Schema = Schema(&[(1, "resourceLogs", List(&Message(&RESOURCE_LOGS)))]);

static RESOURCE_SPANS: Schema = Schema(&[
    (1, "resource", Message(&RESOURCE)),
    (2, "scopeSpans", List(&Message(&SCOPE_SPANS))),
    // The spelling of 2021, before the libraries became scopes; so below.
    (2, "instrumentationLibrarySpans", List(&Message(&SCOPE_SPANS))),
    (3, "schemaUrl", Text),
]);
static SCOPE_SPANS: Schema = Schema(&[
    (1, "scope", Message(&SCOPE)),
    (1, "instrumentationLibrary", Message(&SCOPE)),
    (2, "spans", List(&Message(&SPAN))),
    (3, "schemaUrl", Text),
]);
static SPAN: Schema = Schema(&[
    (1, "traceId", Id(16)),
    (2, "spanId", Id(8)),
    (3, "traceState", Text),
    (4, "parentSpanId", Id(8)),
    (5, "name", Text),
    (6, "kind", Enum(kind)),
    (7, "startTimeUnixNano", Time),
    (8, "endTimeUnixNano", Time),
    (9, "attributes", Attributes),
    (10, "droppedAttributesCount", Count),
    (11, "events", List(&Message(&EVENT))),
    (12, "droppedEventsCount", Count),
    (13, "links", List(&Message(&LINK))),
    (14, "droppedLinksCount", Count),
    (15, "status", Message(&STATUS)),
    (16, "flags", Flags),
]);
static EVENT: Schema = Schema(&[
    (1, "timeUnixNano", Time),
    (2, "name", Text),
    (3, "attributes", Attributes),
    (4, "droppedAttributesCount", Count),
]);
static LINK: Schema = Schema(&[
    (1, "traceId", Id(16)),
    (2, "spanId", Id(8)),
    (3, "traceState", Text),
    (4, "attributes", Attributes),
    (5, "droppedAttributesCount", Count),
    (6, "flags", Flags),
]);
static STATUS: Schema = Schema(&[(2, "message", Text), (3, "code", Enum(status_code))]);
static RESOURCE_LOGS: Schema = Schema(&[
    (1, "resource", Message(&RESOURCE)),
    (2, "scopeLogs", List(&Message(&SCOPE_LOGS))),
    (2, "instrumentationLibraryLogs", List(&Message(&SCOPE_LOGS))),
    (3, "schemaUrl", Text),
]);
static SCOPE_LOGS: Schema = Schema(&[
    (1, "scope", Message(&SCOPE)),
    (1, "instrumentationLibrary", Message(&SCOPE)),
    (2, "logRecords", List(&Message(&LOG_RECORD))),
    (2, "logs", List(&Message(&LOG_RECORD))),
    (3, "schemaUrl", Text),
]);
static LOG_RECORD: Schema = Schema(&[
    (1, "timeUnixNano", Time),
    (2, "severityNumber", Enum(severity)),
    (3, "severityText", Text),
    (5, "body", AnyValue),
    (6, "attributes", Attributes),
    (7, "droppedAttributesCount", Count),
    (8, "flags", Flags),
    (9, "traceId", Id(16)),
    (10, "spanId", Id(8)),
    (11, "observedTimeUnixNano", Time),
    (12, "eventName", Text),
]);
static RESOURCE: Schema = Schema(&[
    (1, "attributes", Attributes),
    (2, "droppedAttributesCount", Count),
    (3, "entityRefs", List(&Message(&ENTITY_REF))),
]);
static ENTITY_REF: Schema = Schema(&[
    (1, "schemaUrl", Text),
    (2, "type", Text),
    (3, "idKeys", List(&Text)),
    (4, "descriptionKeys", List(&Text)),
]);
static SCOPE: Schema = Schema(&[
    (1, "name", Text),
    (2, "version", Text),
    (3, "attributes", Attributes),
    (4, "droppedAttributesCount", Count),
]);
pub(super) static KEY_VALUE: Schema = Schema(&[(1, "key", Text), (2, "value", AnyValue)]);
pub(super) static ANY_VALUE: Schema = Schema(&[
    (1, "stringValue", Text),
    (2, "boolValue", Bool),
    (3, "intValue", Int),
    (4, "doubleValue", Double),
    (5, "arrayValue", Values(&ARRAY)),
    (6, "kvlistValue", Values(&KEY_VALUE_LIST)),
    (7, "bytesValue", Bytes),
]);
pub(super) static ARRAY: Schema = Schema(&[(1, "values", List(&AnyValue))]);
static KEY_VALUE_LIST: Schema = Schema(&[(1, "values", Attributes)]);
