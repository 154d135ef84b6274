//! OTLP/gRPC: the unary call `Export` of three services. A unary call is one framed message, so it is read by the function
//! that reads a body of HTTP, and the same limits hold; statuses are tonic's.

use http_body_util::{BodyExt as _, Empty, Full};
use hyper::body::{Bytes, Incoming};
use hyper::http::request::Parts;
use hyper::{HeaderMap, Method, Request, Response, header};
use prost::Message as _;

use super::body;
use super::http::protobuf_success;
use super::intake::ReadBody;
use super::receiver::{Receiver, ReplyBody};
use super::refusal::Refusal;
use super::signal::Signal;
use super::status::{GrpcStatus, bounded};
use crate::otlp::{Compression, Encoding};
use crate::sink::Accepted;

const CONTENT_TYPE: &str = "application/grpc";
const ENCODING: &str = "grpc-encoding";
const ACCEPT_ENCODING: &str = "grpc-accept-encoding";
/// The flag of compression and the length, before a message.
const FRAME_HEAD_BYTES: usize = 5;

/// Returns whether a request is a gRPC call.
pub(super) fn is_grpc(headers: &HeaderMap) -> bool {
    let content_type = headers.get(header::CONTENT_TYPE);
    content_type.is_some_and(|content_type| content_type.as_bytes().starts_with(CONTENT_TYPE.as_bytes()))
}

/// Answers a call.
pub(super) async fn answer(request: Request<Incoming>, receiver: &Receiver) -> Response<ReplyBody> {
    let (parts, body) = request.into_parts();
    match taken(&parts, body, receiver).await {
        Ok((signal, accepted)) => success(signal, &accepted),
        Err(refusal) => {
            receiver.counters.count(|counts| counts.refused_requests += 1);
            failure(&refusal)
        }
    }
}

async fn taken(parts: &Parts, body: Incoming, receiver: &Receiver) -> Result<(Signal, Accepted), Refusal> {
    let (signal, compression) = match admitted(parts, receiver) {
        Ok(admitted) => admitted,
        Err(refusal) => {
            body::discard(body).await;
            return Err(refusal);
        }
    };
    let limit = receiver.intake.limit;
    let mut reservation = receiver.intake.budget.reservation();
    let framed = body::read(body, limit, FRAME_HEAD_BYTES, &mut reservation).await?;
    let (is_compressed, message) = message(&framed)?;
    if message.len() > limit {
        return Err(Refusal::TooLarge { limit });
    }
    let compression = if is_compressed {
        compression
    } else {
        Compression::Identity
    };
    let read = ReadBody {
        bytes: message,
        encoding: Encoding::Protobuf,
        compression,
        reservation,
    };
    let accepted = receiver.intake.take(signal, read).await?;
    // Upstreams get copies over HTTP alone, of what came over HTTP.
    if receiver
        .forward
        .as_ref()
        .is_some_and(|forward| forward.address(signal).is_some())
    {
        receiver
            .counters
            .count(|counts| counts.unforwarded_grpc_requests += 1);
    }
    Ok((signal, accepted))
}

fn admitted(parts: &Parts, receiver: &Receiver) -> Result<(Signal, Compression), Refusal> {
    receiver.guard.check(&parts.uri, &parts.headers)?;
    if parts.method != Method::POST {
        return Err(Refusal::NotPost);
    }
    let signal = match parts.uri.path() {
        "/opentelemetry.proto.collector.trace.v1.TraceService/Export" => Signal::Traces,
        "/opentelemetry.proto.collector.logs.v1.LogsService/Export" => Signal::Logs,
        "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export" => Signal::Metrics,
        _ => return Err(Refusal::NoSuchPath),
    };
    let compression = match parts.headers.get(ENCODING) {
        None => Some(Compression::Identity),
        Some(name) => name.to_str().ok().and_then(Compression::from_name),
    };
    Ok((signal, compression.ok_or(Refusal::UnknownCompression)?))
}

/// The one message of a unary call, and whether it is compressed.
fn message(framed: &Bytes) -> Result<(bool, Bytes), Refusal> {
    let malformed = || Refusal::Malformed("the body is not one message of gRPC".to_owned());
    let [flag @ (0 | 1), a, b, c, d, ..] = framed.as_ref() else {
        return Err(malformed());
    };
    let length = u32::from_be_bytes([*a, *b, *c, *d]);
    let message = framed.slice(FRAME_HEAD_BYTES..);
    if usize::try_from(length).ok() != Some(message.len()) {
        return Err(malformed());
    }
    Ok((*flag == 1, message))
}

fn success(signal: Signal, accepted: &Accepted) -> Response<ReplyBody> {
    let message = protobuf_success(signal, accepted);
    let mut framed = vec![0];
    // An answer is far below 4 GiB: its message is of this program.
    framed.extend_from_slice(&u32::try_from(message.len()).unwrap_or(0).to_be_bytes());
    framed.extend_from_slice(&message);
    let mut trailers = HeaderMap::new();
    trailers.insert(tonic::Status::GRPC_STATUS, header::HeaderValue::from_static("0"));
    let body = Full::new(Bytes::from(framed)).with_trailers(std::future::ready(Some(Ok(trailers))));
    let mut response = Response::new(body.boxed_unsync());
    let headers = response.headers_mut();
    headers.insert(
        header::CONTENT_TYPE,
        header::HeaderValue::from_static(CONTENT_TYPE),
    );
    headers.insert(ACCEPT_ENCODING, supported());
    response
}

/// A refused call: nothing but its head.
fn failure(refusal: &Refusal) -> Response<ReplyBody> {
    let details = match refusal.retry_after() {
        Some(_) => Bytes::from(GrpcStatus::of(refusal).encode_to_vec()),
        None => Bytes::new(),
    };
    let status = tonic::Status::with_details(refusal.code(), bounded(&refusal.to_string()), details);
    let mut response = status.into_http::<Empty<Bytes>>();
    response.headers_mut().insert(ACCEPT_ENCODING, supported());
    response.map(Empty::boxed_unsync)
}

fn supported() -> header::HeaderValue {
    header::HeaderValue::from_static("identity,gzip,deflate")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_as_long_as_its_head_says() {
        let framed = |bytes: &'static [u8]| message(&Bytes::from_static(bytes)).ok();
        assert_eq!(framed(b"\0\0\0\0\0"), Some((false, Bytes::new())));
        assert_eq!(
            framed(b"\x01\0\0\0\x02ab"),
            Some((true, Bytes::from_static(b"ab")))
        );
        for torn in [
            &b""[..],
            b"\0\0\0\0",
            b"\0\0\0\0\x03ab",
            b"\0\0\0\0\x01ab",
            b"\x02\0\0\0\0",
            b"\0\xff\xff\xff\xffab",
        ] {
            assert_eq!(framed(torn), None);
        }
    }
}
