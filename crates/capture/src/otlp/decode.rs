//! A request of OTLP, from either encoding to the types of `opentelemetry-proto`.

use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::logs::v1::ResourceLogs;
use opentelemetry_proto::tonic::trace::v1::ResourceSpans;
use prost::Message;

use super::json::{self, JsonError};

/// How a request is written.
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

/// Decodes the request of `/v1/traces`. No bytes are a request without spans.
///
/// ```
/// use tracer_capture::otlp::{Encoding, decode_spans};
///
/// let body = br#"{"resourceSpans": [{"scopeSpans": [{"spans": [{
///     "traceId": "5B8EFFF798038103D269B633813FC60C", "span_id": "eee19b7ec3c1b174",
///     "name": "chat", "kind": "SPAN_KIND_CLIENT", "startTimeUnixNano": 1544712660000000000
/// }]}]}]}"#;
/// let spans = decode_spans(Encoding::Json, body)?;
/// let span = &spans[0].scope_spans[0].spans[0];
/// assert_eq!((span.name.as_str(), span.kind, span.span_id.len()), ("chat", 3, 8));
/// # Ok::<(), tracer_capture::otlp::DecodeError>(())
/// ```
///
/// # Errors
///
/// [`DecodeError`]: nothing of the request is usable, and sending it again does not help.
pub fn decode_spans(encoding: Encoding, body: &[u8]) -> Result<Vec<ResourceSpans>, DecodeError> {
    let decoded = match encoding {
        Encoding::Protobuf => ExportTraceServiceRequest::decode(body).map_err(DecodeError::from),
        Encoding::Json => json::read_spans(body).map_err(DecodeError::from),
    };
    // What is wrong is looked for only after it went wrong.
    let are_logs = || match encoding {
        Encoding::Protobuf => {
            ExportLogsServiceRequest::decode(body).is_ok_and(|request| has_records(&request))
        }
        Encoding::Json => json::has_key(body, &["resourceLogs", "resource_logs"]),
    };
    match decoded {
        Ok(request) if request.resource_spans.is_empty() && encoding == Encoding::Json && are_logs() => {
            Err(DecodeError::LogsAmongSpans)
        }
        Ok(request) => {
            let (spans, with_ids) = counts(&request.resource_spans);
            match spans {
                0 => Ok(request.resource_spans),
                _ if with_ids > 0 => Ok(request.resource_spans),
                _ if are_logs() => Err(DecodeError::LogsAmongSpans),
                _ => Err(DecodeError::NoIds(spans)),
            }
        }
        Err(_) if are_logs() => Err(DecodeError::LogsAmongSpans),
        Err(error) => Err(error),
    }
}

/// Decodes the request of `/v1/logs`. No bytes are a request without logs.
///
/// # Errors
///
/// [`DecodeError`]: nothing of the request is usable, and sending it again does not help.
pub fn decode_logs(encoding: Encoding, body: &[u8]) -> Result<Vec<ResourceLogs>, DecodeError> {
    let decoded = match encoding {
        Encoding::Protobuf => ExportLogsServiceRequest::decode(body).map_err(DecodeError::from),
        Encoding::Json => json::read_logs(body).map_err(DecodeError::from),
    };
    let are_spans = || match encoding {
        Encoding::Protobuf => {
            ExportTraceServiceRequest::decode(body).is_ok_and(|request| counts(&request.resource_spans).1 > 0)
        }
        Encoding::Json => json::has_key(body, &["resourceSpans", "resource_spans"]),
    };
    match decoded {
        Ok(request) if request.resource_logs.is_empty() && encoding == Encoding::Json && are_spans() => {
            Err(DecodeError::SpansAmongLogs)
        }
        Ok(request) => Ok(request.resource_logs),
        Err(_) if are_spans() => Err(DecodeError::SpansAmongLogs),
        Err(error) => Err(error),
    }
}

/// How many spans there are, and how many of them have IDs.
pub(super) fn counts(resource_spans: &[ResourceSpans]) -> (usize, usize) {
    let scopes = resource_spans.iter().flat_map(|resource| &resource.scope_spans);
    scopes
        .flat_map(|scope| &scope.spans)
        .fold((0, 0), |(all, with_ids), span| {
            let has_ids = span.trace_id.len() == 16 && span.span_id.len() == 8;
            (all + 1, with_ids + usize::from(has_ids))
        })
}

fn has_records(request: &ExportLogsServiceRequest) -> bool {
    let mut scopes = request
        .resource_logs
        .iter()
        .flat_map(|resource| &resource.scope_logs);
    scopes.any(|scope| !scope.log_records.is_empty())
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
            assert!(decode_spans(encoding, b"").unwrap().is_empty());
            assert!(decode_logs(encoding, b"").unwrap().is_empty());
        }
        assert!(decode_spans(Encoding::Json, b" {} ").unwrap().is_empty());
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
        assert_eq!(counts(&decoded), (2, 1));
    }
}
