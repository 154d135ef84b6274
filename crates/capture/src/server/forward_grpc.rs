//! One request to an upstream that speaks OTLP/gRPC: a unary call, its message framed as it was sent.

use std::io;

use http_body_util::BodyExt as _;
use hyper::body::Bytes;
use hyper::header::{self, HeaderValue};
use hyper::{HeaderMap, Response};
use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use prost::Message as _;
use reqwest::Url;

use super::signal::Signal;
use crate::otlp::{Compression, DecompressError, Encoding, decode_logs, decode_spans};

/// A copy of a request that was accepted, however it came.
#[derive(Debug)]
pub(super) struct GrpcRequest {
    /// The address of the server.
    pub(super) address: String,
    pub(super) signal: Signal,
    /// What the sender says beside the message.
    pub(super) headers: HeaderMap,
    pub(super) encoding: Encoding,
    pub(super) compression: Compression,
    /// The message, as it is encoded and compressed.
    pub(super) body: Bytes,
}

impl GrpcRequest {
    /// Sends it; whether it was taken.
    pub(super) async fn send(self, client: &reqwest::Client) -> bool {
        let Some(url) = url(&self.address, self.signal) else {
            return false;
        };
        let Self {
            signal,
            mut headers,
            encoding,
            compression,
            body,
            ..
        } = self;
        let Ok((compression, message)) = protobuf(signal, encoding, compression, body) else {
            return false;
        };
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/grpc"));
        headers.insert(header::TE, HeaderValue::from_static("trailers"));
        if compression == Compression::Gzip {
            headers.insert("grpc-encoding", HeaderValue::from_static("gzip"));
        }
        let Some(framed) = framed(compression, &message) else {
            return false;
        };
        match client.post(url).headers(headers).body(framed).send().await {
            Ok(answer) => is_ok(answer).await,
            Err(_) => false,
        }
    }
}

/// The address of the call. Of the server's address only the host and the port count.
fn url(address: &str, signal: Signal) -> Option<Url> {
    let mut url: Url = address.parse().ok()?;
    url.set_path(match signal {
        Signal::Traces => "/opentelemetry.proto.collector.trace.v1.TraceService/Export",
        Signal::Logs => "/opentelemetry.proto.collector.logs.v1.LogsService/Export",
        Signal::Metrics => "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export",
    });
    url.set_query(None);
    url.set_fragment(None);
    Some(url)
}

/// The message as protobuf, plain or with gzip, which every server of gRPC unpacks.
fn protobuf(
    signal: Signal,
    encoding: Encoding,
    compression: Compression,
    body: Bytes,
) -> Result<(Compression, Bytes), io::Error> {
    if encoding == Encoding::Protobuf && compression != Compression::Deflate {
        return Ok((compression, body));
    }
    // The request was accepted: it is within the limits of the receiver.
    let unpacked: Result<_, DecompressError> = compression.unpack(&body, usize::MAX, |_| Ok(()));
    let mut plain = unpacked.map_err(io::Error::other)?;
    if encoding == Encoding::Json {
        plain = match signal {
            Signal::Traces => {
                let resource_spans = decode_spans(encoding, &plain)
                    .map_err(io::Error::other)?
                    .resources;
                ExportTraceServiceRequest { resource_spans }.encode_to_vec()
            }
            Signal::Logs => {
                let resource_logs = decode_logs(encoding, &plain).map_err(io::Error::other)?.resources;
                ExportLogsServiceRequest { resource_logs }.encode_to_vec()
            }
            // The receiver does not read metrics.
            Signal::Metrics => return Err(io::ErrorKind::Unsupported.into()),
        };
    }
    Ok((Compression::Identity, plain.into()))
}

/// The message behind its head: whether it is compressed, and its length.
fn framed(compression: Compression, message: &[u8]) -> Option<Vec<u8>> {
    let length = u32::try_from(message.len()).ok()?;
    let mut framed = vec![u8::from(compression != Compression::Identity)];
    framed.extend_from_slice(&length.to_be_bytes());
    framed.extend_from_slice(message);
    Some(framed)
}

/// Whether a call went well: its status is in the head of an answer without a message, else behind the message.
async fn is_ok(answer: reqwest::Response) -> bool {
    let ok = |headers: &HeaderMap| headers.get("grpc-status").map(|status| status.as_bytes() == b"0");
    if !answer.status().is_success() {
        return false;
    }
    if let Some(is_ok) = ok(answer.headers()) {
        return is_ok;
    }
    let mut body = Response::<reqwest::Body>::from(answer).into_body();
    while let Some(Ok(frame)) = body.frame().await {
        if let Some(is_ok) = frame.trailers_ref().and_then(ok) {
            return is_ok;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::otlp::packed::{raw_deflate, zlib};

    #[test]
    fn a_call_is_addressed_by_host_and_port() {
        let address = |base: &str| url(base, Signal::Logs).map(String::from);
        let expected = "http://up:4317/opentelemetry.proto.collector.logs.v1.LogsService/Export";
        for base in ["http://up:4317", "http://up:4317/", "http://up:4317/v1/logs?x#y"] {
            assert_eq!(address(base).as_deref(), Some(expected));
        }
        assert_eq!(address("nowhere"), None);
    }

    #[test]
    fn a_message_of_any_encoding_becomes_protobuf() {
        let json = Bytes::from_static(br#"{"resourceSpans":[{"schemaUrl":"x"}]}"#);
        let spans = decode_spans(Encoding::Json, &json).unwrap().resources;
        let expected = ExportTraceServiceRequest {
            resource_spans: spans,
        }
        .encode_to_vec();
        let (compression, message) =
            protobuf(Signal::Traces, Encoding::Json, Compression::Identity, json).unwrap();
        assert_eq!(
            (compression, message.as_ref()),
            (Compression::Identity, &*expected)
        );
        let sent = Bytes::from(expected);
        let (compression, message) = protobuf(
            Signal::Traces,
            Encoding::Protobuf,
            Compression::Gzip,
            sent.clone(),
        )
        .unwrap();
        assert_eq!((compression, message), (Compression::Gzip, sent.clone()));
        for compressed in [zlib(&sent), raw_deflate(&sent)] {
            let deflated = protobuf(
                Signal::Traces,
                Encoding::Protobuf,
                Compression::Deflate,
                compressed.into(),
            );
            assert_eq!(deflated.unwrap(), (Compression::Identity, sent.clone()));
        }
        let torn = Bytes::from_static(b"{");
        assert!(protobuf(Signal::Logs, Encoding::Json, Compression::Identity, torn).is_err());
        assert_eq!(framed(Compression::Gzip, b"ab").unwrap(), b"\x01\0\0\0\x02ab");
    }
}
