//! Every odd encoding that senders use, and what is none.

use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::trace::v1::Span;
use rstest::rstest;

use crate::otlp::decode::decode;
use crate::otlp::{DecodeError, Encoding, Repairs, decode_spans, schema};

const TRACE_ID: [u8; 16] = [
    0x5b, 0x8e, 0xff, 0xf7, 0x98, 0x03, 0x81, 0x03, 0xd2, 0x69, 0xb6, 0x33, 0x81, 0x3f, 0xc6, 0x0c,
];
const SPAN_ID: [u8; 8] = [0xee, 0xe1, 0x9b, 0x7e, 0xc3, 0xc1, 0xb1, 0x74];

fn read_spans(body: &[u8]) -> Result<ExportTraceServiceRequest, DecodeError> {
    read(body).map(|(request, _)| request)
}

fn read_logs(body: &[u8]) -> Result<ExportLogsServiceRequest, DecodeError> {
    decode(&schema::LOGS, Encoding::Json, body).map(|(request, _)| request)
}

fn read(body: &[u8]) -> Result<(ExportTraceServiceRequest, Repairs), DecodeError> {
    decode(&schema::SPANS, Encoding::Json, body)
}

fn request(span: &str) -> String {
    format!(r#"{{"resourceSpans": [{{"scopeSpans": [{{"spans": [{span}]}}]}}]}}"#)
}

fn span(fields: &str) -> Span {
    let mut request = read_spans(request(&format!("{{{fields}}}")).as_bytes()).unwrap();
    request
        .resource_spans
        .remove(0)
        .scope_spans
        .remove(0)
        .spans
        .remove(0)
}

fn value(json: &str) -> Option<Value> {
    let mut attributes = span(&format!(r#""attributes": [{{"key": "k", "value": {json}}}]"#)).attributes;
    attributes.remove(0).value.and_then(|value| value.value)
}

#[rstest]
#[case::lower(r#""traceId": "5b8efff798038103d269b633813fc60c", "spanId": "eee19b7ec3c1b174""#)]
#[case::upper(r#""traceId": "5B8EFFF798038103D269B633813FC60C", "spanId": "EEE19B7EC3C1B174""#)]
#[case::snake(r#""trace_id": "5b8efff798038103d269b633813fc60c", "span_id": "eee19b7ec3c1b174""#)]
#[case::uuid(r#""traceId": "5b8efff7-9803-8103-d269-b633813fc60c", "spanId": "eee19b7e-c3c1b174""#)]
#[case::base64(r#""traceId": "W47/95gDgQPSabYzgT/GDA==", "spanId": "7uGbfsPBsXQ=""#)]
#[case::base64_of_addresses(r#""traceId": "W47_95gDgQPSabYzgT_GDA==", "spanId": "7uGbfsPBsXQ=""#)]
fn ids_are_hexadecimal_or_base64(#[case] fields: &str) {
    let span = span(fields);
    assert_eq!(
        (span.trace_id, span.span_id),
        (TRACE_ID.to_vec(), SPAN_ID.to_vec())
    );
}

#[rstest]
#[case::empty("", 0)]
#[case::odd("abc", 1)]
#[case::no_digits("zzzzzzzz", 1)]
#[case::of_another_length("eee19b", 3)]
fn no_text_of_another_kind_becomes_an_id(#[case] text: &str, #[case] length: usize) {
    let span = span(&format!(r#""parentSpanId": "{text}""#));
    assert_eq!(span.parent_span_id.len(), length);
}

#[test]
fn every_name_may_be_that_of_protobuf() {
    let spans = r#"{"resourceSpans": [{"schemaUrl": "u", "resource": {"droppedAttributesCount": 1}, "scopeSpans": [{
        "schemaUrl": "v", "spans": [{"traceId": "5b8efff798038103d269b633813fc60c", "spanId": "eee19b7ec3c1b174",
        "parentSpanId": "eee19b7ec3c1b175", "traceState": "a=b", "startTimeUnixNano": "1", "endTimeUnixNano": "2",
        "attributes": [{"key": "k", "value": {"kvlistValue": {"values": [{"key": "l", "value": {"arrayValue": {"values": [
            {"boolValue": true}, {"intValue": "1"}, {"doubleValue": 1.5}, {"bytesValue": "AAH/"}]}}}]}}}],
        "droppedAttributesCount": 1, "droppedEventsCount": 2, "droppedLinksCount": 3,
        "events": [{"timeUnixNano": "1", "name": "e", "droppedAttributesCount": 1}],
        "links": [{"traceId": "5b8efff798038103d269b633813fc60c", "spanId": "eee19b7ec3c1b174", "traceState": "a=b"}]}]}]}]}"#;
    let logs = r#"{"resourceLogs": [{"scopeLogs": [{"logRecords": [{"timeUnixNano": "1", "observedTimeUnixNano": "2",
        "severityNumber": 9, "severityText": "INFO", "eventName": "e", "body": {"stringValue": "b"},
        "traceId": "5b8efff798038103d269b633813fc60c", "spanId": "eee19b7ec3c1b174", "droppedAttributesCount": 1}]}]}]}"#;
    // Only names have both cases here.
    let with_underscores = |json: &str| {
        let words = json.split('"').map(|word| {
            let is_name = word.starts_with(|char: char| char.is_ascii_lowercase());
            let lower = |char: char| match char {
                'A'..='Z' if is_name => format!("_{}", char.to_ascii_lowercase()),
                char => char.to_string(),
            };
            word.chars().map(lower).collect::<String>()
        });
        words.collect::<Vec<_>>().join("\"")
    };
    assert!(with_underscores(spans).contains("\"start_time_unix_nano\""));
    assert_eq!(
        read_spans(spans.as_bytes()).unwrap(),
        read_spans(with_underscores(spans).as_bytes()).unwrap()
    );
    assert_eq!(
        read_logs(logs.as_bytes()).unwrap(),
        read_logs(with_underscores(logs).as_bytes()).unwrap()
    );
}

#[rstest]
#[case::number("9", 9)]
#[case::text(r#""9""#, 9)]
#[case::name(r#""SEVERITY_NUMBER_INFO""#, 9)]
fn severities_are_numbers_or_names(#[case] json: &str, #[case] severity: i32) {
    let logs = format!(
        r#"{{"resourceLogs": [{{"scopeLogs": [{{"logRecords": [{{"severityNumber": {json}}}]}}]}}]}}"#
    );
    let request = read_logs(logs.as_bytes()).unwrap();
    assert_eq!(
        request.resource_logs[0].scope_logs[0].log_records[0].severity_number,
        severity
    );
}

#[rstest]
#[case::number("3", 3)]
#[case::text(r#""3""#, 3)]
#[case::name(r#""SPAN_KIND_CLIENT""#, 3)]
#[case::short_name(r#""client""#, 3)]
#[case::unknown_name(r#""SPAN_KIND_OF_TOMORROW""#, 0)]
#[case::null("null", 0)]
fn kinds_are_numbers_or_names(#[case] json: &str, #[case] kind: i32) {
    assert_eq!(span(&format!(r#""kind": {json}"#)).kind, kind);
}

#[rstest]
#[case::text(r#""1544712660300000001""#, 1_544_712_660_300_000_001)]
#[case::number("1544712660300000001", 1_544_712_660_300_000_001)]
#[case::floating("1.5e18", 1_500_000_000_000_000_000)]
#[case::largest(r#""18446744073709551615""#, u64::MAX)]
#[case::negative("-5", 0)]
#[case::null("null", 0)]
fn times_are_texts_or_numbers(#[case] json: &str, #[case] time: u64) {
    assert_eq!(
        span(&format!(r#""startTimeUnixNano": {json}"#)).start_time_unix_nano,
        time
    );
}

#[test]
fn a_count_of_minus_one_is_zero() {
    let span = span(r#""droppedAttributesCount": -1, "droppedEventsCount": "-1", "dropped_links_count": 7"#);
    let counts = (
        span.dropped_attributes_count,
        span.dropped_events_count,
        span.dropped_links_count,
    );
    assert_eq!(counts, (0, 0, 7));
}

#[rstest]
#[case::name(r#"{"code": "STATUS_CODE_ERROR", "message": "m"}"#, 2)]
#[case::number(r#"{"code": 2, "message": "m"}"#, 2)]
#[case::none(r#"{"message": "m"}"#, 0)]
fn statuses_are_read(#[case] json: &str, #[case] code: i32) {
    let status = span(&format!(r#""status": {json}"#)).status.unwrap();
    assert_eq!((status.code, status.message.as_str()), (code, "m"));
}

#[rstest]
#[case(r#"{"stringValue": "a"}"#, Some(Value::StringValue("a".to_owned())))]
#[case(r#"{"string_value": "a"}"#, Some(Value::StringValue("a".to_owned())))]
#[case(r#"{"boolValue": true}"#, Some(Value::BoolValue(true)))]
#[case(r#"{"intValue": "9223372036854775807"}"#, Some(Value::IntValue(i64::MAX)))]
#[case(r#"{"intValue": -7}"#, Some(Value::IntValue(-7)))]
#[case(r#"{"doubleValue": 1}"#, Some(Value::DoubleValue(1.0)))]
#[case(
    r#"{"doubleValue": "-Infinity"}"#,
    Some(Value::DoubleValue(f64::NEG_INFINITY))
)]
#[case(r#"{"doubleValue": "Infinity"}"#, Some(Value::DoubleValue(f64::INFINITY)))]
#[case(r#"{"bytesValue": "AAH/"}"#, Some(Value::BytesValue(vec![0, 1, 255])))]
#[case(r#"{"bytesValue": "AAH_"}"#, Some(Value::BytesValue(vec![0, 1, 255])))]
#[case(r#"{"stringValue": "a", "intValue": null}"#, Some(Value::StringValue("a".to_owned())))]
#[case(r#"{"tomorrowValue": {"deep": [1]}}"#, None)]
#[case("{}", None)]
#[case("null", None)]
#[case(r#""plain""#, Some(Value::StringValue("plain".to_owned())))]
#[case("12", Some(Value::IntValue(12)))]
fn values_have_the_name_of_their_type(#[case] json: &str, #[case] expected: Option<Value>) {
    assert_eq!(value(json), expected);
}

#[test]
fn not_a_number_is_a_number() {
    assert!(
        matches!(value(r#"{"doubleValue": "NaN"}"#), Some(Value::DoubleValue(number)) if number.is_nan())
    );
}

#[test]
fn lists_and_maps_nest() {
    let json = r#"{"kvlistValue": {"values": [{"key": "list", "value": {"arrayValue": {"values": [
        {"intValue": 1}, null, {"stringValue": "two"}]}}}]}}"#;
    let Some(Value::KvlistValue(map)) = value(json) else {
        panic!("no map")
    };
    let Some(Value::ArrayValue(list)) = map.values[0].value.clone().unwrap().value else {
        panic!("no list")
    };
    let values: Vec<_> = list.values.into_iter().map(|value| value.value).collect();
    let two = Some(Value::StringValue("two".to_owned()));
    assert_eq!(values, [Some(Value::IntValue(1)), None, two]);
}

#[test]
fn unknown_and_absent_fields_cost_nothing() {
    let span = span(
        r#""name": "n", "fieldOfTomorrow": {"a": [1, {}]}, "attributes": null, "events": [null], "status": null,
           "links": [], "parentSpanId": null"#,
    );
    assert_eq!(
        span,
        Span {
            name: "n".to_owned(),
            ..Span::default()
        }
    );
}

#[test]
fn half_a_character_does_not_cost_the_batch() {
    assert_eq!(span(r#""name": "cut \ud83d""#).name, "cut \u{fffd}");
    assert_eq!(span(r#""name": "whole \ud83d\ude00""#).name, "whole \u{1f600}");
}

#[test]
fn a_mark_before_the_document_is_ignored() {
    assert_eq!(
        read_spans(b"\xef\xbb\xbf{\"resourceSpans\": [{}]}")
            .unwrap()
            .resource_spans
            .len(),
        1
    );
}

#[test]
fn libraries_of_2021_are_scopes() {
    let body = br#"{"resourceSpans": [{"instrumentationLibrarySpans": [
        {"instrumentationLibrary": {"name": "lib"}, "spans": [{"name": "n"}]}]}]}"#;
    let request = read_spans(body).unwrap();
    let scope = &request.resource_spans[0].scope_spans[0];
    assert_eq!(
        (
            scope.scope.as_ref().unwrap().name.as_str(),
            scope.spans[0].name.as_str()
        ),
        ("lib", "n")
    );
}

/// What a span of these fields is read as, and what is said of it.
fn repaired(fields: &str) -> (Span, String) {
    let (mut request, repairs) = read(request(&format!("{{{fields}}}")).as_bytes()).unwrap();
    let said = if repairs.values == 0 {
        String::new()
    } else {
        repairs.to_string()
    };
    (
        request
            .resource_spans
            .remove(0)
            .scope_spans
            .remove(0)
            .spans
            .remove(0),
        said,
    )
}

#[rstest]
#[case::id_as_number(
    r#""traceId": 12"#,
    "`traceId` is a number, and must be a text of hexadecimal digits"
)]
#[case::name_as_list(r#""name": ["secret"]"#, "`name` is a list, and must be a text")]
#[case::time_as_day(
    r#""startTimeUnixNano": "2026-11-22""#,
    "`startTimeUnixNano` is a text, and must be a whole number or its text"
)]
#[case::status(r#""status": "secret""#, "`status` is a text, and must be an object")]
#[case::events(
    r#""events": {"secret": []}"#,
    "`events` is an object, and must be a list of objects"
)]
#[case::link(r#""links": ["secret"]"#, "`links` is a text, and must be an object")]
fn a_bad_value_costs_itself_alone(#[case] fields: &str, #[case] expected: &str) {
    let (span, said) = repaired(&format!(r#""traceState": "kept", {fields}"#));
    let rest = Span {
        trace_state: "kept".to_owned(),
        ..Span::default()
    };
    assert_eq!(span, rest);
    assert_eq!(said, format!("1 value was repaired or left out: {expected}"));
}

#[rstest]
#[case::bytes(r#"{"bytesValue": "secret!"}"#, None)]
#[case::boolean(r#"{"boolValue": "secret"}"#, None)]
#[case::beyond_64_bits(r#"{"intValue": "99999999999999999999999"}"#, Some(Value::DoubleValue(1e23)))]
#[case::number_beyond_64_bits(r#"{"intValue": 99999999999999999999999}"#, Some(Value::DoubleValue(1e23)))]
#[case::fraction(r#"{"intValue": 1.5}"#, Some(Value::DoubleValue(1.5)))]
#[case::infinity(r#"{"doubleValue": Infinity}"#, Some(Value::DoubleValue(f64::INFINITY)))]
#[case::too_large(r#"{"doubleValue": -1e999}"#, Some(Value::DoubleValue(f64::NEG_INFINITY)))]
#[case::text_as_number(r#"{"stringValue": 5}"#, Some(Value::StringValue("5".to_owned())))]
fn a_bad_attribute_costs_itself_alone(#[case] json: &str, #[case] expected: Option<Value>) {
    let (span, said) = repaired(&format!(
        r#""name": "n", "attributes": [{{"key": "k", "value": {json}}}, {{"key": "l", "value": {{"boolValue": true}}}}]"#
    ));
    let values: Vec<_> = span
        .attributes
        .into_iter()
        .map(|member| member.value.and_then(|value| value.value))
        .collect();
    assert_eq!(values, [expected, Some(Value::BoolValue(true))]);
    assert!(said.starts_with("1 value was repaired or left out: "), "{said}");
    assert!(!said.contains("secret"), "{said}");
}

#[test]
fn not_a_number_may_be_bare() {
    let (span, _) = repaired(r#""attributes": [{"key": "k", "value": {"doubleValue": NaN}}]"#);
    let value = span.attributes[0].value.clone().unwrap().value;
    assert!(
        matches!(value, Some(Value::DoubleValue(number)) if number.is_nan()),
        "{value:?}"
    );
}

#[test]
fn attributes_may_be_an_object() {
    let listed = span(
        r#""attributes": [{"key": "a", "value": {"intValue": 1}}, {"key": "b", "value": {"stringValue": "x"}},
        {"key": "c", "value": {"kvlistValue": {"values": [{"key": "d", "value": {"arrayValue": {"values": [{"boolValue": true}]}}}]}}}]"#,
    );
    let (span, said) = repaired(r#""attributes": {"a": 1, "b": {"stringValue": "x"}, "c": {"d": [true]}}"#);
    assert_eq!(span, listed);
    assert!(
        said.starts_with("2 values were repaired or left out; the first: `attributes` is an object"),
        "{said}"
    );
}

#[rstest]
#[case::utc("2026-09-21T14:13:20Z", 1_790_000_000_000_000_000)]
#[case::fraction("2026-09-21T14:13:20.123456Z", 1_790_000_000_123_456_000)]
#[case::offset("2026-09-21T16:13:20+02:00", 1_790_000_000_000_000_000)]
#[case::without_zone("2026-09-21T14:13:20", 1_790_000_000_000_000_000)]
#[case::blank("2026-09-21 14:13:20", 1_790_000_000_000_000_000)]
fn times_may_be_dates(#[case] date: &str, #[case] time: u64) {
    let (span, said) = repaired(&format!(r#""startTimeUnixNano": "{date}""#));
    assert_eq!(span.start_time_unix_nano, time);
    assert!(said.starts_with("1 value was repaired or left out: "), "{said}");
}

#[rstest]
#[case::text("secret")]
#[case::torn(r#"{"resourceSpans": [{"scopeSpans": [{"spans": [{"name": "secret"#)]
#[case::list("[]")]
#[case::number("12")]
#[case::two("{} {}")]
fn what_is_no_document_is_refused(#[case] body: &str) {
    let error = decode_spans(Encoding::Json, body.as_bytes())
        .unwrap_err()
        .to_string();
    assert!(!error.contains("secret"), "{error}");
}

#[test]
fn depth_has_a_limit_and_needs_no_stack() {
    let nested = |depth: usize| {
        let open = r#"{"arrayValue":{"values":["#.repeat(depth);
        let close = "]}}".repeat(depth);
        request(&format!(
            r#"{{"attributes": [{{"key": "k", "value": {open}{close}}}]}}"#
        ))
    };
    let depth_of = |body: String| {
        let (request, repairs) = read(body.as_bytes()).unwrap();
        let span = &request.resource_spans[0].scope_spans[0].spans[0];
        let (mut depth, mut value) = (0, span.attributes[0].value.clone());
        while let Some(Value::ArrayValue(list)) = value.and_then(|value| value.value) {
            depth += 1;
            value = list.values.first().cloned();
        }
        (depth, repairs.values)
    };
    assert_eq!(depth_of(nested(20)), (20, 0));
    // What is deeper is left out.
    assert_eq!(depth_of(nested(100_000)), (37, 1));
    assert!(decode_spans(Encoding::Json, "[".repeat(1_000_000).as_bytes()).is_err());
}
