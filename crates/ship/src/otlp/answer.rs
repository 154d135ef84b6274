//! Meaning of an endpoint's answer (OTLP 1, *OTLP/HTTP Response*).

use std::time::{Duration, SystemTime};

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceResponse;
use prost::Message;
use serde_json::Value;
use tracer_insight::text::one_line;

use crate::error::{RequestFailure, ShipError};

/// Characters of an endpoint's message that are quoted.
const MAX_MESSAGE_LENGTH: usize = 300;
/// The longest wait that an endpoint can ask for.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(3600);

/// Parts of an answer that decide.
#[derive(Debug, Default)]
pub(super) struct RawAnswer {
    pub(super) status: u16,
    pub(super) content_type: String,
    pub(super) retry_after: Option<String>,
    /// Host of the `Location`.
    pub(super) location: Option<String>,
    pub(super) body: Vec<u8>,
}

/// Consequence of an answer for the spans of the request.
#[derive(Debug)]
pub(super) enum Answer {
    /// The request was accepted; of its spans, `rejected` never will be.
    Accepted { rejected: u64, message: String },
    /// The request has too many bytes.
    TooLarge,
    /// The endpoint does not know the encoding.
    UnknownEncoding { message: String },
    /// The endpoint will never accept the request.
    Refused { message: String },
}

impl RawAnswer {
    pub(super) fn interpret(&self, now: SystemTime) -> Result<Answer, RequestFailure> {
        let status = self.status;
        let message = self.error_message();
        Err(match status {
            200..=299 => return self.accepted(),
            413 => return Ok(Answer::TooLarge),
            415 => return Ok(Answer::UnknownEncoding { message }),
            400 | 422 => {
                let message = self.reason();
                return Ok(Answer::Refused { message });
            }
            429 | 502..=504 => {
                let asked = self.retry_after.as_deref();
                let asked = asked.and_then(|text| retry_after(text, now));
                RequestFailure::Transient {
                    reason: self.reason(),
                    retry_after: asked.map(|asked| asked.min(MAX_RETRY_AFTER)),
                }
            }
            // The server does not say if the request may be repeated.
            408 | 500.. => RequestFailure::ServerError(ShipError::Status { status, message }),
            300..=399 => {
                let host = self.location.clone().unwrap_or_else(|| "nowhere".to_owned());
                ShipError::Redirected { host }.into()
            }
            401..=403 | 407 => ShipError::Unauthorized { status, message }.into(),
            404 | 405 => ShipError::NotOtlp { status, message }.into(),
            _ => ShipError::Status { status, message }.into(),
        })
    }

    fn is_json(&self) -> bool {
        self.content_type.contains("json")
    }

    fn is_page(&self) -> bool {
        self.content_type.contains("text/html")
    }

    fn accepted(&self) -> Result<Answer, RequestFailure> {
        if self.is_page() {
            // The start page of something else, or a form to log in.
            let (status, message) = (self.status, "a web page".to_owned());
            return Err(ShipError::NotOtlp { status, message }.into());
        }
        let (rejected, message) = if self.is_json() {
            partial_success_of_json(&self.body)
        } else {
            let response = ExportTraceServiceResponse::decode(self.body.as_slice()).unwrap_or_default();
            let partial = response.partial_success.unwrap_or_default();
            (partial.rejected_spans, partial.error_message)
        };
        Ok(Answer::Accepted {
            rejected: u64::try_from(rejected).unwrap_or(0),
            message: one_line(&message, MAX_MESSAGE_LENGTH),
        })
    }

    /// The status and the message, in one line.
    fn reason(&self) -> String {
        match self.error_message().as_str() {
            "" => format!("status {}", self.status),
            message => format!("status {}: {message}", self.status),
        }
    }

    /// The message of a `google.rpc.Status`, or a plain text.
    fn error_message(&self) -> String {
        if self.is_page() {
            return String::new();
        }
        let message = if self.is_json() {
            message_of_json(&self.body)
        } else if self.content_type.contains("protobuf") {
            RpcStatus::decode(self.body.as_slice())
                .unwrap_or_default()
                .message
        } else {
            String::from_utf8_lossy(&self.body).into_owned()
        };
        one_line(message.trim(), MAX_MESSAGE_LENGTH)
    }
}

/// `google.rpc.Status`; only its message is used.
#[derive(Clone, PartialEq, Message)]
struct RpcStatus {
    #[prost(string, tag = "2")]
    message: String,
}

/// The value under the first of the names that is there.
fn field<'a>(object: &'a Value, names: [&str; 2]) -> Option<&'a Value> {
    names.iter().find_map(|name| object.get(name))
}

fn partial_success_of_json(body: &[u8]) -> (i64, String) {
    let answer: Value = serde_json::from_slice(body).unwrap_or_default();
    let Some(partial) = field(&answer, ["partialSuccess", "partial_success"]) else {
        return (0, String::new());
    };
    // The protocol has 64 bits as text.
    let rejected = field(partial, ["rejectedSpans", "rejected_spans"])
        .and_then(|value| value.as_i64().or_else(|| value.as_str()?.parse().ok()));
    let message = field(partial, ["errorMessage", "error_message"]).and_then(Value::as_str);
    (rejected.unwrap_or(0), message.unwrap_or_default().to_owned())
}

/// The message of an error as back ends write it: `message`, `error`, `detail`, or the `message` within `error`.
fn message_of_json(body: &[u8]) -> String {
    let answer: Value = serde_json::from_slice(body).unwrap_or_default();
    let error = answer.get("error");
    let candidates = [
        answer.get("message"),
        error.and_then(|error| error.get("message")),
        error,
        answer.get("detail"),
    ];
    let message = candidates.into_iter().flatten().find_map(Value::as_str);
    message.unwrap_or_default().to_owned()
}

/// The wait that a `Retry-After` asks for: seconds, or a date.
fn retry_after(text: &str, now: SystemTime) -> Option<Duration> {
    let text = text.trim();
    if let Ok(seconds) = text.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let date = httpdate::parse_http_date(text).ok()?;
    // A date that has passed asks for no wait.
    Some(date.duration_since(now).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use opentelemetry_proto::tonic::collector::trace::v1::ExportTracePartialSuccess;
    use rstest::rstest;

    use super::*;

    fn answer(status: u16, content_type: &str, body: &[u8]) -> Result<Answer, RequestFailure> {
        let raw = RawAnswer {
            status,
            content_type: content_type.to_owned(),
            retry_after: Some("3".to_owned()),
            location: Some("login.test".to_owned()),
            body: body.to_vec(),
        };
        raw.interpret(SystemTime::UNIX_EPOCH)
    }

    fn partial_protobuf() -> Vec<u8> {
        let partial_success = Some(ExportTracePartialSuccess {
            rejected_spans: 2,
            error_message: "too\nold".to_owned(),
        });
        ExportTraceServiceResponse { partial_success }.encode_to_vec()
    }

    #[rstest]
    #[case::empty("application/x-protobuf", b"", 0, "")]
    #[case::protobuf("application/x-protobuf", &partial_protobuf(), 2, "too old")]
    #[case::json(
        "application/json; charset=utf-8",
        br#"{"partialSuccess":{"rejectedSpans":"2","errorMessage":"x"}}"#,
        2,
        "x"
    )]
    #[case::snake("application/json", br#"{"partial_success":{"rejected_spans":1}}"#, 1, "")]
    #[case::negative("application/json", br#"{"partialSuccess":{"rejectedSpans":-1}}"#, 0, "")]
    #[case::null("application/json", br#"{"partialSuccess":null}"#, 0, "")]
    #[case::text("text/plain", b"OK", 0, "")]
    #[case::garbage("application/x-protobuf", b"\xff\xff\xff", 0, "")]
    #[case::cut("application/json", b"{", 0, "")]
    fn what_was_taken_is_taken(
        #[case] content_type: &str,
        #[case] body: &[u8],
        #[case] rejected: u64,
        #[case] message: &str,
    ) {
        let Ok(Answer::Accepted {
            rejected: of_answer,
            message: said,
        }) = answer(200, content_type, body)
        else {
            panic!("not taken");
        };
        assert_eq!((of_answer, said.as_str()), (rejected, message));
    }

    #[test]
    fn a_page_is_no_acknowledgement() {
        let answer = answer(200, "text/html; charset=utf-8", b"<html>");
        assert!(matches!(
            answer,
            Err(RequestFailure::Fatal(ShipError::NotOtlp { .. }))
        ));
    }

    #[rstest]
    #[case(429)]
    #[case(502)]
    #[case(503)]
    #[case(504)]
    fn an_overload_is_waited_out(#[case] status: u16) {
        let json = br#"{"message":"later"}"#;
        let Err(RequestFailure::Transient { reason, retry_after }) = answer(status, "application/json", json)
        else {
            panic!("not repeated");
        };
        assert_eq!(retry_after, Some(Duration::from_secs(3)));
        assert_eq!(reason, format!("status {status}: later"));
    }

    #[test]
    fn every_other_status_has_its_consequence() {
        let of = |status| answer(status, "text/plain", b"");
        assert!(matches!(of(400), Ok(Answer::Refused { .. })));
        assert!(matches!(of(422), Ok(Answer::Refused { .. })));
        assert!(matches!(of(413), Ok(Answer::TooLarge)));
        assert!(matches!(of(415), Ok(Answer::UnknownEncoding { .. })));
        assert!(matches!(of(408), Err(RequestFailure::ServerError(_))));
        assert!(matches!(of(500), Err(RequestFailure::ServerError(_))));
        for status in [301, 401, 402, 403, 404, 405, 407, 410, 418] {
            assert!(matches!(of(status), Err(RequestFailure::Fatal(_))), "{status}");
        }
    }

    #[rstest]
    #[case::json("application/json", br#"{"code":3,"message":"no spans"}"#, "no spans")]
    #[case::nested("application/json", br#"{"error":{"message":"no spans"}}"#, "no spans")]
    #[case::flat("application/json", br#"{"error":"no spans"}"#, "no spans")]
    #[case::detail("application/json", br#"{"detail":"no spans"}"#, "no spans")]
    #[case::text("text/plain", b" no\tspans\n", "no spans")]
    #[case::protobuf("application/x-protobuf", &[0x08, 3, 0x12, 8, b'n', b'o', b' ', b's', b'p', b'a', b'n', b's'], "no spans")]
    #[case::page("text/html", b"<html>", "")]
    #[case::garbage("application/x-protobuf", b"\xff", "")]
    fn the_reason_is_the_endpoints_message(
        #[case] content_type: &str,
        #[case] body: &[u8],
        #[case] expected: &str,
    ) {
        let Ok(Answer::Refused { message }) = answer(400, content_type, body) else {
            panic!("not refused");
        };
        let expected = if expected.is_empty() {
            "status 400".to_owned()
        } else {
            format!("status 400: {expected}")
        };
        assert_eq!(message, expected);
    }

    #[test]
    fn retry_after_is_seconds_or_a_date() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777);
        let after = |text| retry_after(text, now);
        assert_eq!(after(" 7 "), Some(Duration::from_secs(7)));
        assert_eq!(
            after("Sun, 06 Nov 1994 08:49:47 GMT"),
            Some(Duration::from_secs(10))
        );
        assert_eq!(after("Sun, 06 Nov 1994 08:00:00 GMT"), Some(Duration::ZERO));
        for text in ["", "soon", "-1", "1.5", "99999999999999999999"] {
            assert_eq!(after(text), None, "{text}");
        }
    }
}
