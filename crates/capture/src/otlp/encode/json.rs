//! The protocol's messages as OTLP's JSON (OTLP 1, *JSON Protobuf Encoding*): IDs in hex, times and 64-bit numbers as
//! texts, enumerations as numbers, what is empty left out.

use std::io::{self, Write};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value as Any;
use opentelemetry_proto::tonic::common::v1::{AnyValue, InstrumentationScope, KeyValue};
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::span::{Event, Link};
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span, Status};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use tracer_insight::digest::hex;

/// Writes a request.
///
/// # Errors
///
/// The writer's own.
pub(crate) fn write_request(request: &ExportTraceServiceRequest, writer: &mut impl Write) -> io::Result<()> {
    tracer_insight::json::write(writer, &Request(request))
}

/// A span as OTLP's JSON.
///
/// ```
/// use opentelemetry_proto::tonic::trace::v1::Span;
/// use tracer_capture::otlp::encode::json::JsonSpan;
///
/// let span = Span { name: "search".to_owned(), trace_id: vec![0xab; 16], ..Span::default() };
/// let json = serde_json::to_value(JsonSpan(&span))?;
/// assert_eq!(json["traceId"], "ab".repeat(16));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct JsonSpan<'a>(pub &'a Span);

/// A resource as OTLP's JSON.
///
/// ```
/// use tracer_capture::otlp::encode::{json::JsonResource, resource};
///
/// let json = serde_json::to_value(JsonResource(&resource(None)))?;
/// assert_eq!(json["attributes"][0]["value"]["stringValue"], "tracer");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct JsonResource<'a>(pub &'a Resource);

/// An instrumentation scope as OTLP's JSON.
///
/// ```
/// use tracer_capture::otlp::encode::{json::JsonScope, scope};
///
/// assert_eq!(serde_json::to_value(JsonScope(&scope()))?["name"], "tracer");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct JsonScope<'a>(pub &'a InstrumentationScope);

struct Request<'a>(&'a ExportTraceServiceRequest);

impl Serialize for Request<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = ObjectWriter::begin(serializer)?;
        object.list("resourceSpans", &self.0.resource_spans, JsonResourceSpans)?;
        object.end()
    }
}

struct JsonResourceSpans<'a>(&'a ResourceSpans);

impl Serialize for JsonResourceSpans<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = ObjectWriter::begin(serializer)?;
        if let Some(resource) = &self.0.resource {
            object.field("resource", &JsonResource(resource))?;
        }
        object.list("scopeSpans", &self.0.scope_spans, JsonScopeSpans)?;
        object.text("schemaUrl", &self.0.schema_url)?;
        object.end()
    }
}

struct JsonScopeSpans<'a>(&'a ScopeSpans);

impl Serialize for JsonScopeSpans<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = ObjectWriter::begin(serializer)?;
        if let Some(scope) = &self.0.scope {
            object.field("scope", &JsonScope(scope))?;
        }
        object.list("spans", &self.0.spans, JsonSpan)?;
        object.text("schemaUrl", &self.0.schema_url)?;
        object.end()
    }
}

impl Serialize for JsonResource<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = ObjectWriter::begin(serializer)?;
        object.list("attributes", &self.0.attributes, JsonKeyValue)?;
        object.count("droppedAttributesCount", self.0.dropped_attributes_count)?;
        object.end()
    }
}

impl Serialize for JsonScope<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = ObjectWriter::begin(serializer)?;
        object.field("name", &self.0.name)?;
        object.text("version", &self.0.version)?;
        object.list_unless_empty("attributes", &self.0.attributes, JsonKeyValue)?;
        object.count("droppedAttributesCount", self.0.dropped_attributes_count)?;
        object.end()
    }
}

impl Serialize for JsonSpan<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let span = self.0;
        let mut object = ObjectWriter::begin(serializer)?;
        object.field("traceId", &hex(&span.trace_id))?;
        object.field("spanId", &hex(&span.span_id))?;
        object.text("traceState", &span.trace_state)?;
        object.text("parentSpanId", &hex(&span.parent_span_id))?;
        object.count("flags", span.flags)?;
        object.field("name", &span.name)?;
        object.field("kind", &span.kind)?;
        object.field("startTimeUnixNano", &span.start_time_unix_nano.to_string())?;
        object.field("endTimeUnixNano", &span.end_time_unix_nano.to_string())?;
        object.list("attributes", &span.attributes, JsonKeyValue)?;
        object.count("droppedAttributesCount", span.dropped_attributes_count)?;
        object.list("events", &span.events, JsonEvent)?;
        object.count("droppedEventsCount", span.dropped_events_count)?;
        object.list_unless_empty("links", &span.links, JsonLink)?;
        object.count("droppedLinksCount", span.dropped_links_count)?;
        if let Some(status) = &span.status {
            object.field("status", &JsonStatus(status))?;
        }
        object.end()
    }
}

struct JsonEvent<'a>(&'a Event);

impl Serialize for JsonEvent<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = ObjectWriter::begin(serializer)?;
        object.field("timeUnixNano", &self.0.time_unix_nano.to_string())?;
        object.field("name", &self.0.name)?;
        object.list("attributes", &self.0.attributes, JsonKeyValue)?;
        object.count("droppedAttributesCount", self.0.dropped_attributes_count)?;
        object.end()
    }
}

struct JsonLink<'a>(&'a Link);

impl Serialize for JsonLink<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = ObjectWriter::begin(serializer)?;
        object.field("traceId", &hex(&self.0.trace_id))?;
        object.field("spanId", &hex(&self.0.span_id))?;
        object.text("traceState", &self.0.trace_state)?;
        object.list("attributes", &self.0.attributes, JsonKeyValue)?;
        object.count("droppedAttributesCount", self.0.dropped_attributes_count)?;
        object.count("flags", self.0.flags)?;
        object.end()
    }
}

struct JsonStatus<'a>(&'a Status);

impl Serialize for JsonStatus<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = ObjectWriter::begin(serializer)?;
        object.field("code", &self.0.code)?;
        object.text("message", &self.0.message)?;
        object.end()
    }
}

struct JsonKeyValue<'a>(&'a KeyValue);

impl Serialize for JsonKeyValue<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = ObjectWriter::begin(serializer)?;
        object.field("key", &self.0.key)?;
        let absent = AnyValue::default();
        object.field("value", &JsonAny(self.0.value.as_ref().unwrap_or(&absent)))?;
        object.end()
    }
}

/// A value under the name of its type.
struct JsonAny<'a>(&'a AnyValue);

impl Serialize for JsonAny<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = ObjectWriter::begin(serializer)?;
        match &self.0.value {
            // The indices point into a table of strings that traces do not have.
            None | Some(Any::StringValueStrindex(_)) => {}
            Some(Any::BoolValue(value)) => object.field("boolValue", value)?,
            Some(Any::StringValue(value)) => object.field("stringValue", value)?,
            // 64 bits do not fit the numbers of every JSON reader, so the protocol has them as text.
            Some(Any::IntValue(value)) => object.field("intValue", &value.to_string())?,
            Some(Any::DoubleValue(value)) if value.is_finite() => object.field("doubleValue", value)?,
            Some(Any::DoubleValue(value)) => object.field("doubleValue", not_finite(*value))?,
            Some(Any::BytesValue(bytes)) => object.field("bytesValue", &BASE64_STANDARD.encode(bytes))?,
            Some(Any::ArrayValue(list)) => {
                object.field("arrayValue", &JsonValues(&list.values, JsonAny))?;
            }
            Some(Any::KvlistValue(pairs)) => {
                object.field("kvlistValue", &JsonValues(&pairs.values, JsonKeyValue))?;
            }
        }
        object.end()
    }
}

/// The words of protobuf's JSON for numbers that JSON does not have.
fn not_finite(value: f64) -> &'static str {
    if value.is_nan() {
        "NaN"
    } else if value > 0.0 {
        "Infinity"
    } else {
        "-Infinity"
    }
}

/// A list as the object that protobuf makes of it.
struct JsonValues<'a, Item, As>(&'a [Item], fn(&'a Item) -> As);

impl<Item, As: Serialize> Serialize for JsonValues<'_, Item, As> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = ObjectWriter::begin(serializer)?;
        object.list("values", self.0, self.1)?;
        object.end()
    }
}

/// An object whose fields are written one by one.
struct ObjectWriter<S: Serializer>(S::SerializeMap);

impl<S: Serializer> ObjectWriter<S> {
    fn begin(serializer: S) -> Result<Self, S::Error> {
        serializer.serialize_map(None).map(Self)
    }

    fn field(&mut self, name: &str, value: &(impl Serialize + ?Sized)) -> Result<(), S::Error> {
        self.0.serialize_entry(name, value)
    }

    /// A text, unless it is empty.
    fn text(&mut self, name: &str, value: &str) -> Result<(), S::Error> {
        if value.is_empty() {
            return Ok(());
        }
        self.field(name, value)
    }

    /// A number, unless it is 0.
    fn count(&mut self, name: &str, value: u32) -> Result<(), S::Error> {
        if value == 0 {
            return Ok(());
        }
        self.field(name, &value)
    }

    fn list<'a, Item, As: Serialize>(
        &mut self,
        name: &str,
        items: &'a [Item],
        wrapped: fn(&'a Item) -> As,
    ) -> Result<(), S::Error> {
        self.field(name, &ListAs(items, wrapped))
    }

    fn list_unless_empty<'a, Item, As: Serialize>(
        &mut self,
        name: &str,
        items: &'a [Item],
        wrapped: fn(&'a Item) -> As,
    ) -> Result<(), S::Error> {
        if items.is_empty() {
            return Ok(());
        }
        self.list(name, items, wrapped)
    }

    fn end(self) -> Result<S::Ok, S::Error> {
        self.0.end()
    }
}

struct ListAs<'a, Item, As>(&'a [Item], fn(&'a Item) -> As);

impl<Item, As: Serialize> Serialize for ListAs<'_, Item, As> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(self.1))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::values::key_value;
    use super::*;

    fn written(value: &Value) -> Value {
        let pair = key_value("key".to_owned(), value.clone());
        serde_json::to_value(JsonKeyValue(&pair)).unwrap()["value"].clone()
    }

    #[test]
    fn a_value_has_the_name_of_its_type() {
        for (value, expected) in [
            (json!("a"), json!({"stringValue": "a"})),
            (json!(true), json!({"boolValue": true})),
            (json!(-7), json!({"intValue": "-7"})),
            (json!(0.5), json!({"doubleValue": 0.5})),
            (
                json!(u64::MAX),
                json!({"doubleValue": 18_446_744_073_709_551_615.0}),
            ),
            (json!(null), json!({})),
            (
                json!(["a", 1]),
                json!({"arrayValue": {"values": [{"stringValue": "a"}, {"intValue": "1"}]}}),
            ),
            (
                json!({"k": [null]}),
                json!({"kvlistValue": {"values": [{"key": "k", "value": {"arrayValue": {"values": [{}]}}}]}}),
            ),
        ] {
            assert_eq!(written(&value), expected, "{value}");
        }
    }

    #[test]
    fn numbers_that_json_lacks_are_words_and_bytes_are_base64() {
        let json = |value: Any| serde_json::to_value(JsonAny(&AnyValue { value: Some(value) })).unwrap();
        assert_eq!(json(Any::DoubleValue(f64::NAN)), json!({"doubleValue": "NaN"}));
        assert_eq!(
            json(Any::DoubleValue(f64::NEG_INFINITY)),
            json!({"doubleValue": "-Infinity"})
        );
        assert_eq!(json(Any::BytesValue(vec![0, 255])), json!({"bytesValue": "AP8="}));
    }
}
