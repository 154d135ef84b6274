//! A property of both directions: what is encoded is decoded to the same, in either encoding, however it is spelled.

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{
    AnyValue, ArrayValue, InstrumentationScope, KeyValue, KeyValueList,
};
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::span::{Event, Link};
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span, Status};
use proptest::prelude::*;
use prost::Message as _;
use serde_json::Value as Json;

use super::{Encoding, decode_spans};

fn any_value() -> impl Strategy<Value = AnyValue> {
    let leaf = prop_oneof![
        ".{0,12}".prop_map(Value::StringValue),
        any::<bool>().prop_map(Value::BoolValue),
        any::<i64>().prop_map(Value::IntValue),
        any::<f64>()
            .prop_filter("what is stored is JSON, which has no other numbers", |number| {
                number.is_finite()
            })
            .prop_map(Value::DoubleValue),
        prop::collection::vec(any::<u8>(), 0..9).prop_map(Value::BytesValue),
    ];
    let leaf = prop::option::weighted(0.9, leaf).prop_map(|value| AnyValue { value });
    leaf.prop_recursive(4, 16, 4, |inner| {
        let list = prop::collection::vec(inner.clone(), 0..4);
        let map = prop::collection::vec((".{0,6}", inner).prop_map(pair), 0..4);
        prop_oneof![
            list.prop_map(|values| Value::ArrayValue(ArrayValue { values })),
            map.prop_map(|values| Value::KvlistValue(KeyValueList { values })),
        ]
        .prop_map(|value| AnyValue { value: Some(value) })
    })
}

fn pair((key, value): (String, AnyValue)) -> KeyValue {
    KeyValue {
        key,
        value: Some(value),
        ..KeyValue::default()
    }
}

fn attributes() -> impl Strategy<Value = Vec<KeyValue>> {
    prop::collection::vec((".{0,8}", any_value()).prop_map(pair), 0..4)
}

fn id(length: usize) -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(any::<u8>(), length)
}

fn event() -> impl Strategy<Value = Event> {
    (any::<u64>(), ".{0,8}", attributes(), any::<u32>()).prop_map(
        |(time_unix_nano, name, attributes, dropped_attributes_count)| Event {
            time_unix_nano,
            name,
            attributes,
            dropped_attributes_count,
        },
    )
}

fn link() -> impl Strategy<Value = Link> {
    (id(16), id(8), ".{0,4}", attributes(), any::<u32>()).prop_map(
        |(trace_id, span_id, trace_state, attributes, flags)| Link {
            trace_id,
            span_id,
            trace_state,
            attributes,
            flags,
            dropped_attributes_count: 1,
        },
    )
}

prop_compose! {
    fn span()(
        trace_id in id(16),
        span_id in id(8),
        parent_span_id in prop_oneof![Just(Vec::new()), id(8)],
        (name, trace_state) in (".{0,12}", ".{0,4}"),
        (kind, flags) in (0..6_i32, any::<u32>()),
        (start_time_unix_nano, end_time_unix_nano) in any::<(u64, u64)>(),
        attributes in attributes(),
        dropped in any::<[u32; 3]>(),
        events in prop::collection::vec(event(), 0..3),
        links in prop::collection::vec(link(), 0..3),
        status in prop::option::of((0..3_i32, ".{0,8}")),
    ) -> Span {
        let [dropped_attributes_count, dropped_events_count, dropped_links_count] = dropped;
        Span {
            trace_id, span_id, parent_span_id, name, trace_state, kind, flags,
            start_time_unix_nano, end_time_unix_nano, attributes, dropped_attributes_count,
            events, dropped_events_count, links, dropped_links_count,
            status: status.map(|(code, message)| Status { code, message }),
        }
    }
}

prop_compose! {
    fn request()(
        spans in prop::collection::vec(span(), 0..4),
        resource in prop::option::of(attributes()),
        scope in prop::option::of((".{0,6}", ".{0,6}", attributes())),
        schema_url in ".{0,6}",
    ) -> ExportTraceServiceRequest {
        let scope_spans = ScopeSpans {
            scope: scope.map(|(name, version, attributes)| InstrumentationScope {
                name, version, attributes, dropped_attributes_count: 2,
            }),
            spans,
            schema_url: schema_url.clone(),
        };
        let resource_spans = ResourceSpans {
            resource: resource.map(|attributes| Resource { attributes, ..Resource::default() }),
            scope_spans: vec![scope_spans],
            schema_url,
        };
        ExportTraceServiceRequest { resource_spans: vec![resource_spans] }
    }
}

/// The names of all fields of a document.
fn all_names(json: &Json) -> Box<dyn Iterator<Item = &String> + '_> {
    match json {
        Json::Object(fields) => Box::new(fields.keys().chain(fields.values().flat_map(all_names))),
        Json::Array(values) => Box::new(values.iter().flat_map(all_names)),
        _ => Box::new(std::iter::empty()),
    }
}

/// The same document as another sender spells it: snake case, IDs in upper case, numbers for texts of numbers.
fn respelled(json: Json) -> Json {
    match json {
        Json::Object(fields) => fields
            .into_iter()
            .flat_map(|(key, value)| {
                let value = match (key.as_str(), value) {
                    ("traceId" | "spanId" | "parentSpanId", Json::String(id)) => {
                        Json::String(id.to_uppercase())
                    }
                    ("startTimeUnixNano" | "endTimeUnixNano" | "timeUnixNano", Json::String(time)) => {
                        Json::Number(time.parse::<u64>().unwrap().into())
                    }
                    ("intValue", Json::String(number)) => Json::Number(number.parse::<i64>().unwrap().into()),
                    // What a key holds is no field.
                    ("key", value) => value,
                    (_, value) => respelled(value),
                };
                let unknown = (format!("{key}OfTomorrow"), Json::from(vec![Json::Null]));
                [unknown, (snake_case(&key), value)]
            })
            .collect(),
        Json::Array(values) => values.into_iter().map(respelled).collect(),
        other => other,
    }
}

fn snake_case(key: &str) -> String {
    key.chars().fold(String::new(), |mut name, letter| {
        if letter.is_ascii_uppercase() {
            name.push('_');
        }
        name.push(letter.to_ascii_lowercase());
        name
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn json_and_protobuf_hold_the_same(request in request()) {
        let protobuf = request.encode_to_vec();
        prop_assert_eq!(&decode_spans(Encoding::Protobuf, &protobuf).unwrap().resources, &request.resource_spans);
        let json = serde_json::to_vec(&request).unwrap();
        prop_assert_eq!(&decode_spans(Encoding::Json, &json).unwrap().resources, &request.resource_spans);
        let json: Json = serde_json::from_slice(&json).unwrap();
        prop_assert!(all_names(&json).all(|name| !name.contains('_')), "a name is not in lowerCamelCase");
        let respelled = respelled(json).to_string();
        prop_assert_eq!(&decode_spans(Encoding::Json, respelled.as_bytes()).unwrap().resources, &request.resource_spans);
    }

    #[test]
    fn no_bytes_make_the_decoders_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        for encoding in [Encoding::Protobuf, Encoding::Json] {
            let _ = decode_spans(encoding, &bytes);
            let _ = super::decode_logs(encoding, &bytes);
        }
        let _ = super::files::OtlpFile::new(&bytes[..]).count();
    }

    #[test]
    fn a_damaged_byte_never_makes_them_panic(request in request(), position in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let json = serde_json::to_vec(&request).unwrap();
        for (encoding, mut body) in [(Encoding::Json, json), (Encoding::Protobuf, request.encode_to_vec())] {
            let position = position.index(body.len());
            body[position] = byte;
            let _ = decode_spans(encoding, &body);
            let _ = super::files::OtlpFile::new(&body[..]).count();
        }
    }
}
