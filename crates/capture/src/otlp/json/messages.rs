//! The messages of OTLP and their fields, as tables: the JSON's names of a field, the field, how it is read.

use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{
    AnyValue, ArrayValue, EntityRef, InstrumentationScope, KeyValue, KeyValueList,
};
use opentelemetry_proto::tonic::logs::v1::{LogRecord, ResourceLogs, ScopeLogs, SeverityNumber};
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::span::{Event, Link, SpanKind};
use opentelemetry_proto::tonic::trace::v1::status::StatusCode;
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span, Status};
use serde::de::{IgnoredAny, MapAccess, SeqAccess};

use super::values::{
    Bytes, EnumNames, EnumValue, FieldName, FromJson, Id, ProtoScalar, Time, Unsigned, Whole, read,
};
use crate::otlp::repairs::JsonField;

/// Reads an object field by field. Both spellings of a name count; unknown fields are ignored.
macro_rules! message {
    ($message:ty,
     $($field:ident: $reader:ty = $name:literal $(| $other:literal)*,)*) => {
        impl FromJson for $message {
            const EXPECTED: &'static str = "an object";
            const LIST_EXPECTED: &'static str = "a list of objects";

            fn from_object<'de, A: MapAccess<'de>>(place: JsonField<'_>, mut object: A) -> Result<Self, A::Error> {
                let mut message = Self::default();
                while let Some(key) = object.next_key_seed(FieldName)? {
                    match key.as_ref() {
                        $($name $(| $other)* => message.$field = read::<$reader, A>(&mut object, place.at($name))?.into(),)*
                        _ => {
                            object.next_value::<IgnoredAny>()?;
                        }
                    }
                }
                Ok(message)
            }
        }
    };
}

message! { ExportTraceServiceRequest,
    resource_spans: Vec<ResourceSpans> = "resourceSpans" | "resource_spans",
}

message! { ResourceSpans,
    resource: Option<Resource> = "resource",
    // The second spelling is that of 2021, before the libraries became scopes.
    scope_spans: Vec<ScopeSpans> = "scopeSpans" | "scope_spans" | "instrumentationLibrarySpans",
    schema_url: String = "schemaUrl" | "schema_url",
}

message! { ScopeSpans,
    scope: Option<InstrumentationScope> = "scope" | "instrumentationLibrary",
    spans: Vec<Span> = "spans",
    schema_url: String = "schemaUrl" | "schema_url",
}

message! { Span,
    trace_id: Id<16> = "traceId" | "trace_id",
    span_id: Id<8> = "spanId" | "span_id",
    trace_state: String = "traceState" | "trace_state",
    parent_span_id: Id<8> = "parentSpanId" | "parent_span_id",
    flags: Unsigned = "flags",
    name: String = "name",
    kind: EnumValue<SpanKind> = "kind",
    start_time_unix_nano: Time = "startTimeUnixNano" | "start_time_unix_nano",
    end_time_unix_nano: Time = "endTimeUnixNano" | "end_time_unix_nano",
    attributes: Vec<KeyValue> = "attributes",
    dropped_attributes_count: Unsigned = "droppedAttributesCount" | "dropped_attributes_count",
    events: Vec<Event> = "events",
    dropped_events_count: Unsigned = "droppedEventsCount" | "dropped_events_count",
    links: Vec<Link> = "links",
    dropped_links_count: Unsigned = "droppedLinksCount" | "dropped_links_count",
    status: Option<Status> = "status",
}

message! { Event,
    time_unix_nano: Time = "timeUnixNano" | "time_unix_nano",
    name: String = "name",
    attributes: Vec<KeyValue> = "attributes",
    dropped_attributes_count: Unsigned = "droppedAttributesCount" | "dropped_attributes_count",
}

message! { Link,
    trace_id: Id<16> = "traceId" | "trace_id",
    span_id: Id<8> = "spanId" | "span_id",
    trace_state: String = "traceState" | "trace_state",
    attributes: Vec<KeyValue> = "attributes",
    dropped_attributes_count: Unsigned = "droppedAttributesCount" | "dropped_attributes_count",
    flags: Unsigned = "flags",
}

message! { Status,
    message: String = "message",
    code: EnumValue<StatusCode> = "code",
}

message! { ExportLogsServiceRequest,
    resource_logs: Vec<ResourceLogs> = "resourceLogs" | "resource_logs",
}

message! { ResourceLogs,
    resource: Option<Resource> = "resource",
    scope_logs: Vec<ScopeLogs> = "scopeLogs" | "scope_logs" | "instrumentationLibraryLogs",
    schema_url: String = "schemaUrl" | "schema_url",
}

message! { ScopeLogs,
    scope: Option<InstrumentationScope> = "scope" | "instrumentationLibrary",
    log_records: Vec<LogRecord> = "logRecords" | "log_records" | "logs",
    schema_url: String = "schemaUrl" | "schema_url",
}

message! { LogRecord,
    time_unix_nano: Time = "timeUnixNano" | "time_unix_nano",
    observed_time_unix_nano: Time = "observedTimeUnixNano" | "observed_time_unix_nano",
    severity_number: EnumValue<SeverityNumber> = "severityNumber" | "severity_number",
    severity_text: String = "severityText" | "severity_text",
    body: Option<AnyValue> = "body",
    attributes: Vec<KeyValue> = "attributes",
    dropped_attributes_count: Unsigned = "droppedAttributesCount" | "dropped_attributes_count",
    flags: Unsigned = "flags",
    trace_id: Id<16> = "traceId" | "trace_id",
    span_id: Id<8> = "spanId" | "span_id",
    event_name: String = "eventName" | "event_name",
}

message! { Resource,
    attributes: Vec<KeyValue> = "attributes",
    dropped_attributes_count: Unsigned = "droppedAttributesCount" | "dropped_attributes_count",
    entity_refs: Vec<EntityRef> = "entityRefs" | "entity_refs",
}

message! { EntityRef,
    schema_url: String = "schemaUrl" | "schema_url",
    r#type: String = "type",
    id_keys: Vec<String> = "idKeys" | "id_keys",
    description_keys: Vec<String> = "descriptionKeys" | "description_keys",
}

message! { InstrumentationScope,
    name: String = "name",
    version: String = "version",
    attributes: Vec<KeyValue> = "attributes",
    dropped_attributes_count: Unsigned = "droppedAttributesCount" | "dropped_attributes_count",
}

impl FromJson for KeyValue {
    const EXPECTED: &'static str = "an object with key and value";
    const LIST_EXPECTED: &'static str =
        r#"a list of objects such as {"key": "http.method", "value": {"stringValue": "GET"}}"#;

    fn from_object<'de, A: MapAccess<'de>>(place: JsonField<'_>, mut object: A) -> Result<Self, A::Error> {
        let mut member = Self::default();
        while let Some(key) = object.next_key_seed(FieldName)? {
            match key.as_ref() {
                "key" => member.key = read(&mut object, place.at("key"))?,
                "value" => member.value = read(&mut object, place.at("value"))?,
                _ => {
                    object.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(member)
    }

    /// The keys and their values, as they are in other formats than OTLP.
    fn list_from_object<'de, A: MapAccess<'de>>(
        place: JsonField<'_>,
        mut object: A,
    ) -> Result<Vec<Self>, A::Error> {
        place.mistyped("an object", Self::LIST_EXPECTED);
        let mut members = Vec::new();
        while let Some(key) = object.next_key_seed(FieldName)? {
            members.push(Self {
                key: key.into_owned(),
                value: read(&mut object, place.at("value"))?,
                ..Self::default()
            });
        }
        Ok(members)
    }
}

impl FromJson for AnyValue {
    const EXPECTED: &'static str = r#"an object such as {"stringValue": "text"}"#;
    const IS_NULL_KEPT: bool = true;

    /// A value without the object that names its type, as senders with encoders of their own write it.
    fn from_scalar(place: JsonField<'_>, scalar: &ProtoScalar<'_>) -> Option<Self> {
        let value = match scalar {
            ProtoScalar::Bool(value) => Value::BoolValue(*value),
            ProtoScalar::Signed(number) => Value::IntValue(*number),
            ProtoScalar::Unsigned(number) => match i64::try_from(*number) {
                Ok(number) => Value::IntValue(number),
                Err(_) => Value::DoubleValue(f64::from_scalar(place, scalar)?),
            },
            ProtoScalar::Float(number) => Value::DoubleValue(*number),
            ProtoScalar::Text(text) => Value::StringValue((*text).to_owned()),
        };
        Some(Self { value: Some(value) })
    }

    fn from_list<'de, A: SeqAccess<'de>>(place: JsonField<'_>, list: A) -> Result<Self, A::Error> {
        let values = Vec::from_list(place, list)?;
        Ok(Self {
            value: Some(Value::ArrayValue(ArrayValue { values })),
        })
    }

    fn from_object<'de, A: MapAccess<'de>>(place: JsonField<'_>, mut object: A) -> Result<Self, A::Error> {
        let mut value = None;
        let mut plain = Vec::new();
        while let Some(key) = object.next_key_seed(FieldName)? {
            let read = match key.as_ref() {
                "stringValue" | "string_value" => {
                    read::<Option<String>, A>(&mut object, place.at("stringValue"))?.map(Value::StringValue)
                }
                "boolValue" | "bool_value" => {
                    read::<Option<bool>, A>(&mut object, place.at("boolValue"))?.map(Value::BoolValue)
                }
                "intValue" | "int_value" => {
                    match read::<Option<Whole>, A>(&mut object, place.at("intValue"))? {
                        Some(Whole::Int(number)) => Some(Value::IntValue(number)),
                        Some(Whole::Double(number)) => Some(Value::DoubleValue(number)),
                        None => None,
                    }
                }
                "doubleValue" | "double_value" => {
                    read::<Option<f64>, A>(&mut object, place.at("doubleValue"))?.map(Value::DoubleValue)
                }
                "bytesValue" | "bytes_value" => {
                    read::<Option<Bytes>, A>(&mut object, place.at("bytesValue"))?
                        .map(|bytes| Value::BytesValue(bytes.0))
                }
                "arrayValue" | "array_value" => {
                    read::<Option<ArrayValue>, A>(&mut object, place.at("arrayValue"))?.map(Value::ArrayValue)
                }
                "kvlistValue" | "kvlist_value" => {
                    read::<Option<KeyValueList>, A>(&mut object, place.at("kvlistValue"))?
                        .map(Value::KvlistValue)
                }
                name if name.ends_with("Value") || name.ends_with("_value") => {
                    object.next_value::<IgnoredAny>()?;
                    None
                }
                _ => {
                    plain.push(KeyValue {
                        value: read(&mut object, place)?,
                        key: key.into_owned(),
                        ..KeyValue::default()
                    });
                    None
                }
            };
            // `null` in one of them does not take away what another one holds.
            value = read.or(value);
        }
        if value.is_none() && !plain.is_empty() {
            // An object without the one that names its type.
            place.mistyped("an object of another kind", Self::EXPECTED);
            value = Some(Value::KvlistValue(KeyValueList { values: plain }));
        }
        Ok(Self { value })
    }
}

/// The values of a list, within an object or as they are.
macro_rules! listed {
    ($message:ty) => {
        impl FromJson for $message {
            const EXPECTED: &'static str = r#"an object such as {"values": []}"#;

            fn from_list<'de, A: SeqAccess<'de>>(place: JsonField<'_>, list: A) -> Result<Self, A::Error> {
                let values = Vec::from_list(place, list)?;
                Ok(Self { values })
            }

            fn from_object<'de, A: MapAccess<'de>>(
                place: JsonField<'_>,
                mut object: A,
            ) -> Result<Self, A::Error> {
                let mut values = Vec::new();
                while let Some(key) = object.next_key_seed(FieldName)? {
                    match key.as_ref() {
                        "values" => values = read(&mut object, place.at("values"))?,
                        _ => {
                            object.next_value::<IgnoredAny>()?;
                        }
                    }
                }
                Ok(Self { values })
            }
        }
    };
}

listed!(ArrayValue);
listed!(KeyValueList);

impl EnumNames for SpanKind {
    const PREFIX: &'static str = "SPAN_KIND_";

    fn number(name: &str) -> Option<i32> {
        Self::from_str_name(name).map(|kind| kind as i32)
    }
}

impl EnumNames for StatusCode {
    const PREFIX: &'static str = "STATUS_CODE_";

    fn number(name: &str) -> Option<i32> {
        Self::from_str_name(name).map(|code| code as i32)
    }
}

impl EnumNames for SeverityNumber {
    const PREFIX: &'static str = "SEVERITY_NUMBER_";

    fn number(name: &str) -> Option<i32> {
        Self::from_str_name(name).map(|severity| severity as i32)
    }
}
