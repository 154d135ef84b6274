//! A request of OTLP, from either encoding to the types of `opentelemetry-proto`.

use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::logs::v1::ResourceLogs;
use opentelemetry_proto::tonic::trace::v1::ResourceSpans;
use prost::Message;

use super::json::{self, JsonError};
use super::protobuf;
use super::repairs::Repairs;
use super::schema::{self, Schema};

/// Encoding of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Encoding {
    /// `application/x-protobuf`
    Protobuf,
    /// `application/json`
    Json,
}

impl Encoding {
    /// The encoding of a `Content-Type`; its parameters and its case do not count.
    ///
    /// ```
    /// use tracer_capture::otlp::Encoding;
    ///
    /// let encoding = Encoding::from_content_type("Application/JSON; charset=utf-8");
    /// assert_eq!(encoding, Some(Encoding::Json));
    /// assert_eq!(Encoding::from_content_type("text/plain"), None);
    /// ```
    pub fn from_content_type(content_type: &str) -> Option<Self> {
        let media_type = content_type.split(';').next().unwrap_or_default().trim();
        match media_type.to_ascii_lowercase().as_str() {
            "application/x-protobuf" | "application/protobuf" => Some(Self::Protobuf),
            "application/json" => Some(Self::Json),
            _ => None,
        }
    }

    /// The `Content-Type` of an answer.
    pub fn content_type(self) -> &'static str {
        match self {
            Self::Protobuf => "application/x-protobuf",
            Self::Json => "application/json",
        }
    }
}

/// Why a request cannot be read. Its text names places and types, never a value.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// The JSON is malformed, or a field is of the wrong type.
    #[error("the JSON is no OTLP request: {0}")]
    Json(#[from] JsonError),
    /// The protobuf is malformed.
    #[error("the protobuf is no OTLP request: {0}")]
    Protobuf(#[from] prost::DecodeError),
    /// The JSON is an object of another kind.
    #[error("the JSON is no OTLP request: it has neither resourceSpans nor resourceLogs")]
    Foreign,
    /// Logs came where spans are expected.
    #[error("the request holds logs, not spans: send logs to /v1/logs")]
    LogsAmongSpans,
    /// Spans came where logs are expected.
    #[error("the request holds spans, not logs: send spans to /v1/traces")]
    SpansAmongLogs,
    /// The field numbers of logs and metrics overlap with those of spans, and what they decode to has no IDs.
    #[error(
        "none of the {0} spans has a trace ID of 16 bytes and a span ID of 8: is this the path of another signal?"
    )]
    NoIds(usize),
}

/// A request: what it holds by resource, and what of it was repaired or left out.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct DecodedRequest<T> {
    /// The spans or the log records of each resource.
    pub resources: Vec<T>,
    /// Number of spans or log records.
    pub items: usize,
    /// Repairs of values that were not as OTLP writes them.
    pub repairs: Repairs,
}

/// Decodes the request of `/v1/traces`. No bytes are a request without spans. A value that is wrong costs itself alone.
///
/// ```
/// use tracer_capture::otlp::{Encoding, decode_spans};
///
/// let body = br#"{"resourceSpans": [{"scopeSpans": [{"spans": [{
///     "traceId": "5B8EFFF798038103D269B633813FC60C", "span_id": "eee19b7ec3c1b174",
///     "name": "chat", "kind": "SPAN_KIND_CLIENT", "startTimeUnixNano": 1544712660000000000
/// }]}]}]}"#;
/// let spans = decode_spans(Encoding::Json, body)?.resources;
/// let span = &spans[0].scope_spans[0].spans[0];
/// assert_eq!((span.name.as_str(), span.kind, span.span_id.len()), ("chat", 3, 8));
/// # Ok::<(), tracer_capture::otlp::DecodeError>(())
/// ```
///
/// # Errors
///
/// [`DecodeError`]: nothing of the request is usable, and sending it again does not help.
pub fn decode_spans(encoding: Encoding, body: &[u8]) -> Result<DecodedRequest<ResourceSpans>, DecodeError> {
    use {ExportLogsServiceRequest as Logs, ExportTraceServiceRequest as Spans};
    decode_request::<Spans, Logs>(encoding, body, DecodeError::LogsAmongSpans)
}

/// Decodes the request of `/v1/logs`. No bytes are a request without logs. A value that is wrong costs itself alone.
///
/// # Errors
///
/// [`DecodeError`]: nothing of the request is usable, and sending it again does not help.
pub fn decode_logs(encoding: Encoding, body: &[u8]) -> Result<DecodedRequest<ResourceLogs>, DecodeError> {
    use {ExportLogsServiceRequest as Logs, ExportTraceServiceRequest as Spans};
    decode_request::<Logs, Spans>(encoding, body, DecodeError::SpansAmongLogs)
}

/// The request of one signal.
trait SignalRequest: Message + Default {
    type Resource;
    const SCHEMA: &Schema;
    /// Number of spans or log records, and number of those that are none of another signal.
    fn counts(&self) -> (usize, usize);
    fn resources(self) -> Vec<Self::Resource>;
}

impl SignalRequest for ExportTraceServiceRequest {
    type Resource = ResourceSpans;
    const SCHEMA: &Schema = &schema::SPANS;

    fn counts(&self) -> (usize, usize) {
        counts(&self.resource_spans)
    }

    fn resources(self) -> Vec<ResourceSpans> {
        self.resource_spans
    }
}

impl SignalRequest for ExportLogsServiceRequest {
    type Resource = ResourceLogs;
    const SCHEMA: &Schema = &schema::LOGS;

    fn counts(&self) -> (usize, usize) {
        let scopes = self
            .resource_logs
            .iter()
            .flat_map(|resource| &resource.scope_logs);
        let records = scopes.map(|scope| scope.log_records.len()).sum();
        (records, records)
    }

    fn resources(self) -> Vec<ResourceLogs> {
        self.resource_logs
    }
}

/// Decodes a request of the signal `T`; one of the signal `O` came to the wrong path.
fn decode_request<T: SignalRequest, O: SignalRequest>(
    encoding: Encoding,
    body: &[u8],
    misplaced: DecodeError,
) -> Result<DecodedRequest<T::Resource>, DecodeError> {
    let decoded = decode::<T>(T::SCHEMA, encoding, body);
    let decoded = decoded.map(|(request, repairs)| (request.counts(), request, repairs));
    let is_whole = matches!(&decoded, Ok(((_, 1..), _, repairs)) if repairs.values == 0);
    // The reason is determined only after a failure.
    if !is_whole && is_request::<O>(encoding, body) {
        return Err(misplaced);
    }
    let ((items, usable), request, repairs) = decoded?;
    if usable == 0 {
        if items > 0 {
            return Err(DecodeError::NoIds(items));
        }
        if repairs.values > 0 {
            return Err(JsonError::of_repairs(repairs).into());
        }
        let keys = match encoding {
            Encoding::Json => json::keys(body),
            Encoding::Protobuf => Vec::new(),
        };
        if !keys.is_empty() && !T::SCHEMA.is_among(&keys) {
            return Err(DecodeError::Foreign);
        }
    }
    Ok(DecodedRequest {
        resources: request.resources(),
        items,
        repairs,
    })
}

fn is_request<T: SignalRequest>(encoding: Encoding, body: &[u8]) -> bool {
    match encoding {
        Encoding::Protobuf => T::decode(body).is_ok_and(|request| request.counts().1 > 0),
        Encoding::Json => T::SCHEMA.is_among(&json::keys(body)),
    }
}

/// A request by its table of fields, and what of it was repaired.
pub(super) fn decode<T: Message + Default>(
    schema: &'static Schema,
    encoding: Encoding,
    body: &[u8],
) -> Result<(T, Repairs), DecodeError> {
    match encoding {
        Encoding::Protobuf => decode_protobuf(schema, body),
        Encoding::Json => {
            let (message, before) = json::to_protobuf(schema, body)?;
            let (request, repairs) = decode_protobuf(schema, &message)?;
            Ok((request, before.and(repairs)))
        }
    }
}

fn decode_protobuf<T: Message + Default>(schema: &Schema, body: &[u8]) -> Result<(T, Repairs), DecodeError> {
    T::decode(body)
        .map(|request| (request, Repairs::default()))
        .or_else(|error| {
            let (repaired, repairs) = protobuf::repaired(schema, body).ok_or_else(|| error.clone())?;
            // An empty result is a failure: the first error gives the reason.
            match T::decode(repaired.as_slice()) {
                Ok(request) if request.encoded_len() > 0 => Ok((request, repairs)),
                _ => Err(error.into()),
            }
        })
}

/// Number of spans, and number of those with IDs.
pub(super) fn counts(resource_spans: &[ResourceSpans]) -> (usize, usize) {
    let scopes = resource_spans.iter().flat_map(|resource| &resource.scope_spans);
    scopes
        .flat_map(|scope| &scope.spans)
        .fold((0, 0), |(all, with_ids), span| {
            let has_ids = span.trace_id.len() == 16 && span.span_id.len() == 8;
            (all + 1, with_ids + usize::from(has_ids))
        })
}

#[cfg(test)]
mod tests {
    use opentelemetry_proto::tonic::common::v1::{AnyValue, any_value::Value};
    use opentelemetry_proto::tonic::logs::v1::{LogRecord, ScopeLogs};
    use opentelemetry_proto::tonic::trace::v1::{ScopeSpans, Span};

    use super::*;

    fn one_span() -> ExportTraceServiceRequest {
        let span = Span {
            trace_id: vec![1; 16],
            span_id: vec![2; 8],
            name: "chat".to_owned(),
            start_time_unix_nano: 5,
            ..Span::default()
        };
        ExportTraceServiceRequest {
            resource_spans: vec![ResourceSpans {
                scope_spans: vec![ScopeSpans {
                    spans: vec![span],
                    ..ScopeSpans::default()
                }],
                ..ResourceSpans::default()
            }],
        }
    }

    fn one_log(time: u64) -> ExportLogsServiceRequest {
        let record = LogRecord {
            time_unix_nano: time,
            body: Some(AnyValue {
                value: Some(Value::StringValue("text".to_owned())),
            }),
            ..LogRecord::default()
        };
        ExportLogsServiceRequest {
            resource_logs: vec![ResourceLogs {
                scope_logs: vec![ScopeLogs {
                    log_records: vec![record],
                    ..ScopeLogs::default()
                }],
                ..ResourceLogs::default()
            }],
        }
    }

    #[test]
    fn an_empty_body_is_an_empty_request() {
        for encoding in [Encoding::Protobuf, Encoding::Json] {
            assert_eq!(decode_spans(encoding, b"").unwrap(), DecodedRequest::default());
            assert_eq!(decode_logs(encoding, b"").unwrap(), DecodedRequest::default());
        }
        assert_eq!(
            decode_spans(Encoding::Json, b" {} ").unwrap(),
            DecodedRequest::default()
        );
    }

    #[test]
    fn the_path_of_another_signal_is_named() {
        for time in [0, 5] {
            let logs = one_log(time).encode_to_vec();
            let error = decode_spans(Encoding::Protobuf, &logs).unwrap_err();
            assert!(matches!(error, DecodeError::LogsAmongSpans), "{error}");
        }
        let spans = one_span().encode_to_vec();
        assert!(matches!(
            decode_logs(Encoding::Protobuf, &spans),
            Err(DecodeError::SpansAmongLogs)
        ));
        assert!(matches!(
            decode_spans(Encoding::Json, br#"{"resourceLogs": [{}]}"#),
            Err(DecodeError::LogsAmongSpans)
        ));
        assert!(matches!(
            decode_logs(Encoding::Json, br#"{"resource_spans": [{}]}"#),
            Err(DecodeError::SpansAmongLogs)
        ));
    }

    #[test]
    fn spans_all_without_ids_are_refused() {
        let body = br#"{"resourceSpans": [{"scopeSpans": [{"spans": [{"name": "a"}, {"name": "b"}]}]}]}"#;
        let error = decode_spans(Encoding::Json, body).unwrap_err();
        assert!(matches!(error, DecodeError::NoIds(2)), "{error}");
    }

    #[test]
    fn one_span_without_ids_does_not_cost_the_others() {
        let mut request = one_span();
        let spans = &mut request.resource_spans[0].scope_spans[0].spans;
        spans.push(Span::default());
        let decoded = decode_spans(Encoding::Protobuf, &request.encode_to_vec()).unwrap();
        assert_eq!(counts(&decoded.resources), (2, 1));
    }

    #[test]
    fn an_object_of_another_kind_is_refused() {
        for body in [
            r#"{"hello": "world"}"#,
            r#"{"spans": []}"#,
            r#"{"resourceMetrics": []}"#,
            "[1, 2]",
            r#""text""#,
        ] {
            assert!(decode_spans(Encoding::Json, body.as_bytes()).is_err(), "{body}");
            assert!(decode_logs(Encoding::Json, body.as_bytes()).is_err(), "{body}");
        }
        for body in [r#"{"resourceSpans": []}"#, r#"{"resource_spans": null}"#] {
            assert_eq!(
                decode_spans(Encoding::Json, body.as_bytes()).unwrap(),
                DecodedRequest::default()
            );
        }
    }

    #[test]
    fn a_text_without_utf8_costs_itself() {
        let mut request = one_span();
        let span = &mut request.resource_spans[0].scope_spans[0].spans[0];
        span.name = "a@@b".to_owned();
        span.attributes
            .push(opentelemetry_proto::tonic::common::v1::KeyValue {
                key: "note".to_owned(),
                value: Some(AnyValue {
                    value: Some(Value::StringValue("c@@d".repeat(100))),
                }),
                ..Default::default()
            });
        let mut body = request.encode_to_vec();
        for position in 0..body.len() - 1 {
            if body[position..].starts_with(b"@@") {
                body[position] = 0xff;
                body[position + 1] = b'-';
            }
        }
        assert!(ExportTraceServiceRequest::decode(body.as_slice()).is_err());
        let decoded = decode_spans(Encoding::Protobuf, &body).unwrap();
        let span = &decoded.resources[0].scope_spans[0].spans[0];
        assert_eq!(
            (span.name.as_str(), span.span_id.as_slice()),
            ("a\u{fffd}-b", &[2; 8][..])
        );
        let note = Value::StringValue("c\u{fffd}-d".repeat(100));
        assert_eq!(span.attributes[0].value.clone().unwrap().value, Some(note));
        assert_eq!(
            decoded.repairs.to_string(),
            "2 values were repaired or left out; the first: `name` is no UTF-8"
        );
    }

    #[test]
    fn what_is_nested_too_deep_costs_itself() {
        let mut value = AnyValue {
            value: Some(Value::BoolValue(true)),
        };
        for _ in 0..1000 {
            let values = vec![value];
            let array = opentelemetry_proto::tonic::common::v1::ArrayValue { values };
            value = AnyValue {
                value: Some(Value::ArrayValue(array)),
            };
        }
        let mut request = one_span();
        request.resource_spans[0].scope_spans[0].spans[0].attributes.push(
            opentelemetry_proto::tonic::common::v1::KeyValue {
                key: "deep".to_owned(),
                value: Some(value),
                ..Default::default()
            },
        );
        let decoded = decode_spans(Encoding::Protobuf, &request.encode_to_vec()).unwrap();
        assert_eq!((counts(&decoded.resources), decoded.repairs.values), ((1, 1), 1));
    }

    #[test]
    fn a_field_of_another_type_costs_itself() {
        let mut request = one_span();
        request.resource_spans[0].scope_spans[0].spans[0].name.clear();
        let spans = &mut request.resource_spans[0].scope_spans[0].spans;
        let mut span = spans.remove(0).encode_to_vec();
        // The name, field 5, as a number.
        span.extend([0x28, 7]);
        let wrap = |message: &[u8], tag: u8| [&[tag, u8::try_from(message.len()).unwrap()], message].concat();
        let body = wrap(&wrap(&wrap(&span, 0x12), 0x12), 0x0a);
        let decoded = decode_spans(Encoding::Protobuf, &body).unwrap();
        assert_eq!(counts(&decoded.resources), (1, 1));
        assert_eq!(
            decoded.repairs.to_string(),
            "1 value was repaired or left out: `name` is of another type"
        );
    }
}
