//! OTLP/HTTP: paths, types, status codes and answers (capture, section 2).

use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::http::request::Parts;
use hyper::{HeaderMap, Method, Request, Response, StatusCode, header};
use opentelemetry_proto::tonic::collector::logs::v1::{ExportLogsPartialSuccess, ExportLogsServiceResponse};
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceResponse;
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTracePartialSuccess, ExportTraceServiceResponse,
};
use prost::Message as _;
use serde_json::json;

use super::body;
use super::intake::ReadBody;
use super::receiver::{Receiver, ReplyBody};
use super::refusal::Refusal;
use super::signal::Signal;
use super::status::{GrpcStatus, bounded};
use crate::otlp::{Compression, Encoding};
use crate::sink::Accepted;

const SUPPORTED_COMPRESSION: &str = "gzip, deflate, identity";

/// Answers a request.
pub(super) async fn answer(request: Request<Incoming>, receiver: &Receiver) -> Response<ReplyBody> {
    let (parts, body) = request.into_parts();
    let declared = encoding(&parts.headers);
    match taken(&parts, body, declared, receiver).await {
        Ok((signal, encoding, accepted)) => success(signal, encoding, &accepted),
        Err(refusal) => {
            receiver.counters.count(|counts| counts.refused_requests += 1);
            failure(&refusal, declared.unwrap_or(Encoding::Json))
        }
    }
}

async fn taken(
    parts: &Parts,
    body: Incoming,
    declared: Option<Encoding>,
    receiver: &Receiver,
) -> Result<(Signal, Encoding, Accepted), Refusal> {
    let (signal, encoding, compression) = match admitted(parts, declared, receiver) {
        Ok(admitted) => admitted,
        Err(refusal) => {
            body::discard(body).await;
            return Err(refusal);
        }
    };
    let mut reservation = receiver.intake.budget.reservation();
    let bytes = body::read(body, receiver.intake.limit, 0, &mut reservation).await?;
    let sent = bytes.clone();
    let read = ReadBody {
        bytes,
        encoding,
        compression,
        reservation,
    };
    let accepted = receiver.intake.take(signal, read).await?;
    if let Some(forward) = &receiver.forward {
        forward.pass_on(signal, &parts.headers, sent);
    }
    Ok((signal, encoding, accepted))
}

/// Signal, encoding and compression from the head of a request, before its body is read.
fn admitted(
    parts: &Parts,
    declared: Option<Encoding>,
    receiver: &Receiver,
) -> Result<(Signal, Encoding, Compression), Refusal> {
    receiver.guard.check(&parts.uri, &parts.headers)?;
    let signal = signal(parts.uri.path())?;
    if parts.method != Method::POST {
        return Err(Refusal::NotPost);
    }
    let encoding = declared.ok_or(Refusal::UnknownType)?;
    let compression = compression(&parts.headers).ok_or(Refusal::UnknownCompression)?;
    Ok((signal, encoding, compression))
}

/// The signal of a path; a prefix, as proxies add it, and a slash at the end do not count.
fn signal(path: &str) -> Result<Signal, Refusal> {
    let path = path.trim_end_matches('/');
    if path.ends_with("/v1/traces") {
        Ok(Signal::Traces)
    } else if path.ends_with("/v1/logs") {
        Ok(Signal::Logs)
    } else if path.ends_with("/v1/metrics") {
        Ok(Signal::Metrics)
    } else if path.ends_with("/v1development/profiles") {
        Err(Refusal::Profiles)
    } else {
        Err(Refusal::NoSuchPath)
    }
}

fn encoding(headers: &HeaderMap) -> Option<Encoding> {
    Encoding::from_content_type(headers.get(header::CONTENT_TYPE)?.to_str().ok()?)
}

/// The compression that the head names; none when it is not supported.
fn compression(headers: &HeaderMap) -> Option<Compression> {
    let mut named = headers.get_all(header::CONTENT_ENCODING).iter();
    match (named.next(), named.next()) {
        (None, _) => Some(Compression::Identity),
        (Some(name), None) => Compression::from_name(name.to_str().ok()?),
        (Some(_), Some(_)) => None,
    }
}

fn success(signal: Signal, encoding: Encoding, accepted: &Accepted) -> Response<ReplyBody> {
    let body = match encoding {
        Encoding::Protobuf => protobuf_success(signal, accepted),
        Encoding::Json => json_success(signal, accepted).to_string().into_bytes(),
    };
    respond(StatusCode::OK, encoding, body)
}

/// The answer of a service, which both protocols send. Rejected 0 with a message is a warning.
pub(super) fn protobuf_success(signal: Signal, accepted: &Accepted) -> Vec<u8> {
    let rejected = i64::try_from(accepted.rejected).unwrap_or(i64::MAX);
    let is_whole = rejected == 0 && accepted.message.is_none();
    let error_message = bounded(accepted.message.as_deref().unwrap_or_default());
    match signal {
        Signal::Traces => ExportTraceServiceResponse {
            partial_success: (!is_whole).then_some(ExportTracePartialSuccess {
                rejected_spans: rejected,
                error_message,
            }),
        }
        .encode_to_vec(),
        Signal::Logs => ExportLogsServiceResponse {
            partial_success: (!is_whole).then_some(ExportLogsPartialSuccess {
                rejected_log_records: rejected,
                error_message,
            }),
        }
        .encode_to_vec(),
        Signal::Metrics => ExportMetricsServiceResponse::default().encode_to_vec(),
    }
}

fn json_success(signal: Signal, accepted: &Accepted) -> serde_json::Value {
    if accepted.rejected == 0 && accepted.message.is_none() {
        return json!({});
    }
    let rejected = if signal == Signal::Traces {
        "rejectedSpans"
    } else {
        "rejectedLogRecords"
    };
    let message = bounded(accepted.message.as_deref().unwrap_or_default());
    // The JSON of protobuf writes 64 bits as a text.
    json!({"partialSuccess": {rejected: accepted.rejected.to_string(), "errorMessage": message}})
}

fn failure(refusal: &Refusal, encoding: Encoding) -> Response<ReplyBody> {
    let body = GrpcStatus::of(refusal).encode_as(encoding);
    let mut response = respond(refusal.http(), encoding, body);
    let headers = response.headers_mut();
    if let Some(retry_after) = refusal.retry_after() {
        // Whole seconds, and never "at once".
        let seconds = retry_after.as_secs() + u64::from(retry_after.subsec_nanos() > 0);
        headers.insert(header::RETRY_AFTER, seconds.max(1).into());
    }
    match refusal {
        Refusal::NotPost => {
            headers.insert(header::ALLOW, header::HeaderValue::from_static("POST"));
        }
        Refusal::UnknownCompression => {
            let supported = header::HeaderValue::from_static(SUPPORTED_COMPRESSION);
            headers.insert(header::ACCEPT_ENCODING, supported);
        }
        Refusal::NoToken => {
            headers.insert(
                header::WWW_AUTHENTICATE,
                header::HeaderValue::from_static("Bearer"),
            );
        }
        Refusal::TooSlow | Refusal::Aborted => {
            headers.insert(header::CONNECTION, header::HeaderValue::from_static("close"));
        }
        _ => {}
    }
    response
}

fn respond(status: StatusCode, encoding: Encoding, body: Vec<u8>) -> Response<ReplyBody> {
    let mut response = Response::new(Full::new(Bytes::from(body)).boxed_unsync());
    *response.status_mut() = status;
    let content_type = header::HeaderValue::from_static(encoding.content_type());
    response.headers_mut().insert(header::CONTENT_TYPE, content_type);
    // A page that opens the address must not take the answer for a page.
    let nosniff = header::HeaderValue::from_static("nosniff");
    response
        .headers_mut()
        .insert(header::X_CONTENT_TYPE_OPTIONS, nosniff);
    response
}
