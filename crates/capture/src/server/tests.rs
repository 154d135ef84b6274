//! The wire as senders see it: a real receiver on a free port, real requests.

use std::sync::Arc;
use std::time::Duration;

use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceRequest;
use opentelemetry_proto::tonic::collector::logs::v1::logs_service_client::LogsServiceClient;
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::collector::metrics::v1::metrics_service_client::MetricsServiceClient;
use opentelemetry_proto::tonic::collector::trace::v1::trace_service_client::TraceServiceClient;
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTraceServiceRequest, ExportTraceServiceResponse,
};
use opentelemetry_proto::tonic::logs::v1::{LogRecord, ResourceLogs, ScopeLogs};
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span};
use parking_lot::Mutex;
use prost::Message as _;
use reqwest::{RequestBuilder, Response};
use rstest::rstest;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tonic::codec::CompressionEncoding;
use tonic::transport::Channel;
use tonic::{Code, Request};

use super::*;
use crate::otlp::Encoding;
use crate::sink::{Accepted, OtlpSink, Refused};
use crate::tests::{gzip, zlib};

const JSON: &str = "application/json";
const PROTOBUF: &str = "application/x-protobuf";

type Answer = fn() -> Result<Accepted, Refused>;

/// Keeps what it takes, and answers what it was given to answer.
#[derive(Default)]
struct Kept {
    spans: Mutex<Vec<ResourceSpans>>,
    logs: Mutex<Vec<ResourceLogs>>,
    answer: Mutex<Option<Answer>>,
}

impl Kept {
    fn answering(answer: Answer) -> Arc<Self> {
        let kept = Self::default();
        *kept.answer.lock() = Some(answer);
        Arc::new(kept)
    }

    fn answer(&self) -> Result<Accepted, Refused> {
        match *self.answer.lock() {
            Some(answer) => answer(),
            None => Ok(Accepted::default()),
        }
    }

    fn span_names(&self) -> Vec<String> {
        let spans = self.spans.lock();
        let scopes = spans.iter().flat_map(|resource| &resource.scope_spans);
        scopes
            .flat_map(|scope| &scope.spans)
            .map(|span| span.name.clone())
            .collect()
    }

    fn log_count(&self) -> usize {
        self.logs.lock().len()
    }
}

impl OtlpSink for Kept {
    fn accept_spans(&self, spans: Vec<ResourceSpans>) -> Result<Accepted, Refused> {
        self.spans.lock().extend(spans);
        self.answer()
    }

    fn accept_logs(&self, logs: Vec<ResourceLogs>) -> Result<Accepted, Refused> {
        self.logs.lock().extend(logs);
        self.answer()
    }
}

fn started(sink: &Arc<Kept>) -> OtlpServer {
    OtlpServer::start(ServerOptions::default(), sink.clone()).unwrap()
}

/// A receiver that takes 1000 bytes at most.
fn started_small(sink: &Arc<Kept>) -> OtlpServer {
    let options = ServerOptions {
        max_request_bytes: 1000,
        ..ServerOptions::default()
    };
    OtlpServer::start(options, sink.clone()).unwrap()
}

/// Waits for the end of a receiver where tests may wait.
async fn ended(server: OtlpServer) -> ServerStatistics {
    tokio::task::spawn_blocking(move || server.shut_down(Duration::MAX))
        .await
        .unwrap()
}

fn client() -> reqwest::Client {
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::new()
}

fn post(server: &OtlpServer, path: &str) -> RequestBuilder {
    client().post(format!("{}{path}", server.http_endpoint()))
}

fn content_type(answer: &Response) -> &str {
    answer.headers()["content-type"].to_str().unwrap()
}

fn spans(name: &str) -> ExportTraceServiceRequest {
    let span = Span {
        trace_id: vec![1; 16],
        span_id: vec![2; 8],
        name: name.to_owned(),
        start_time_unix_nano: 5,
        ..Span::default()
    };
    let scope = ScopeSpans {
        spans: vec![span],
        ..ScopeSpans::default()
    };
    ExportTraceServiceRequest {
        resource_spans: vec![ResourceSpans {
            scope_spans: vec![scope],
            ..ResourceSpans::default()
        }],
    }
}

fn logs() -> ExportLogsServiceRequest {
    let scope = ScopeLogs {
        log_records: vec![LogRecord {
            time_unix_nano: 5,
            event_name: "gen_ai.choice".to_owned(),
            ..LogRecord::default()
        }],
        ..ScopeLogs::default()
    };
    ExportLogsServiceRequest {
        resource_logs: vec![ResourceLogs {
            scope_logs: vec![scope],
            ..ResourceLogs::default()
        }],
    }
}

fn json_spans(name: &str) -> String {
    serde_json::to_string(&spans(name)).unwrap()
}

#[rstest]
#[case::plain("/v1/traces")]
#[case::with_slash("/v1/traces/")]
#[case::behind_a_prefix("/collector/otlp/v1/traces")]
#[case::with_a_query("/v1/traces?key=1")]
#[tokio::test]
async fn spans_are_taken_under_every_path_of_theirs(#[case] path: &str) {
    let sink = Arc::default();
    let server = started(&sink);
    let request = post(&server, path).header("content-type", PROTOBUF);
    let answer = request.body(spans("chat").encode_to_vec()).send().await.unwrap();
    assert_eq!((answer.status().as_u16(), content_type(&answer)), (200, PROTOBUF));
    assert!(answer.bytes().await.unwrap().is_empty());
    assert_eq!(sink.span_names(), ["chat"]);
}

#[rstest]
#[case("application/json")]
#[case("application/json; charset=utf-8")]
#[case("Application/JSON;charset=UTF-8")]
#[tokio::test]
async fn json_is_answered_as_json(#[case] declared: &str) {
    let sink = Arc::default();
    let server = started(&sink);
    let request = post(&server, "/v1/traces").header("content-type", declared);
    let answer = request.body(json_spans("chat")).send().await.unwrap();
    assert_eq!((answer.status().as_u16(), content_type(&answer)), (200, JSON));
    assert_eq!(answer.text().await.unwrap(), "{}");
    assert_eq!(sink.span_names(), ["chat"]);
}

#[rstest]
#[case("application/x-protobuf; charset=utf-8")]
#[case("Application/X-Protobuf")]
#[tokio::test]
async fn protobuf_is_answered_as_protobuf(#[case] declared: &str) {
    let sink = Arc::default();
    let server = started(&sink);
    let request = post(&server, "/v1/traces").header("content-type", declared);
    let answer = request.body(spans("chat").encode_to_vec()).send().await.unwrap();
    assert_eq!((answer.status().as_u16(), content_type(&answer)), (200, PROTOBUF));
    assert_eq!(sink.span_names(), ["chat"]);
}

#[tokio::test]
async fn logs_are_taken_and_metrics_are_dropped() {
    let sink = Arc::default();
    let server = started(&sink);
    let request = post(&server, "/v1/logs").header("content-type", PROTOBUF);
    let answer = request.body(logs().encode_to_vec()).send().await.unwrap();
    assert_eq!(answer.status(), 200);
    // Even what is no request: an exporter whose metrics are refused repeats them.
    for body in ["", "{\"resourceMetrics\": []}", "no metrics"] {
        let request = post(&server, "/v1/metrics").header("content-type", JSON);
        let answer = request.body(body).send().await.unwrap();
        assert_eq!(
            (answer.status().as_u16(), answer.text().await.unwrap().as_str()),
            (200, "{}")
        );
    }
    assert_eq!(sink.log_count(), 1);
}

#[rstest]
#[case::gzip("gzip", gzip)]
#[case::gzip_in_capitals("GZIP", gzip)]
#[case::deflate("deflate", zlib)]
#[case::identity("identity", <[u8]>::to_vec)]
#[tokio::test]
async fn bodies_are_unpacked(#[case] name: &str, #[case] pack: fn(&[u8]) -> Vec<u8>) {
    let sink = Arc::default();
    let server = started(&sink);
    let request = post(&server, "/v1/traces")
        .header("content-type", JSON)
        .header("content-encoding", name)
        .body(pack(json_spans("packed").as_bytes()));
    assert_eq!(request.send().await.unwrap().status(), 200);
    assert_eq!(sink.span_names(), ["packed"]);
}

#[rstest]
#[case::protobuf(PROTOBUF)]
#[case::json(JSON)]
#[tokio::test]
async fn an_empty_request_succeeds(#[case] declared: &str) {
    let sink = Arc::default();
    let server = started(&sink);
    for path in ["/v1/traces", "/v1/logs"] {
        let answer = post(&server, path)
            .header("content-type", declared)
            .send()
            .await
            .unwrap();
        assert_eq!(answer.status(), 200, "{path}");
    }
    assert!(sink.span_names().is_empty());
}

/// What is refused: path, headers, body, status, code of `google.rpc`, and a part of the message.
#[rstest]
#[case::wrong_path("/", &[("content-type", JSON)], b"{}", 404, 12, "/v1/traces")]
#[case::zipkin("/api/v2/spans", &[("content-type", JSON)], b"[]", 404, 12, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")]
#[case::profiles("/v1development/profiles", &[("content-type", JSON)], b"{}", 404, 12, "profiles")]
#[case::no_type("/v1/traces", &[], b"{}", 415, 3, "Content-Type")]
#[case::wrong_type("/v1/traces", &[("content-type", "text/plain")], b"{}", 415, 3, "Content-Type")]
#[case::zstd("/v1/traces", &[("content-type", JSON), ("content-encoding", "zstd")], b"{}", 415, 12, "gzip, deflate")]
#[case::twice_packed("/v1/traces", &[("content-type", JSON), ("content-encoding", "gzip, gzip")], b"{}", 415, 12, "gzip, deflate")]
#[case::no_json("/v1/traces", &[("content-type", JSON)], b"secret", 400, 3, "no OTLP request")]
#[case::torn_json("/v1/traces", &[("content-type", JSON)], b"{\"resourceSpans\": [", 400, 3, "no OTLP request")]
#[case::no_gzip("/v1/traces", &[("content-type", JSON), ("content-encoding", "gzip")], b"secret", 400, 3, "damaged")]
#[case::logs_to_traces("/v1/traces", &[("content-type", JSON)], b"{\"resourceLogs\": [{}]}", 400, 3, "/v1/logs")]
#[case::spans_to_logs("/v1/logs", &[("content-type", JSON)], b"{\"resourceSpans\": [{}]}", 400, 3, "/v1/traces")]
#[case::no_ids("/v1/traces", &[("content-type", JSON)], br#"{"resourceSpans": [{"scopeSpans": [{"spans": [{"name": "secret"}]}]}]}"#, 400, 3, "trace ID")]
#[case::attributes_as_object("/v1/traces", &[("content-type", JSON)], br#"{"resourceSpans": [{"resource": {"attributes": {"secret": 1}}}]}"#, 400, 3, "list of objects")]
#[case::origin("/v1/traces", &[("content-type", JSON), ("origin", "https://evil.example")], b"{}", 403, 7, "web page")]
#[case::origin_of_this_machine("/v1/traces", &[("content-type", JSON), ("origin", "http://localhost:3000")], b"{}", 403, 7, "web page")]
#[case::fetched_by_a_page("/v1/traces", &[("content-type", JSON), ("sec-fetch-site", "cross-site")], b"{}", 403, 7, "web page")]
#[case::other_host("/v1/traces", &[("content-type", JSON), ("host", "evil.example")], b"{}", 403, 7, "another host")]
#[tokio::test]
async fn what_is_refused_says_why(
    #[case] path: &str,
    #[case] headers: &[(&str, &str)],
    #[case] body: &'static [u8],
    #[case] status: u16,
    #[case] code: i64,
    #[case] part: &str,
) {
    let sink = Arc::default();
    let server = started(&sink);
    let request = headers
        .iter()
        .fold(post(&server, path), |request, (name, value)| {
            request.header(*name, *value)
        });
    let answer = request.body(body).send().await.unwrap();
    assert_eq!((answer.status().as_u16(), content_type(&answer)), (status, JSON));
    let status_body: serde_json::Value = answer.json().await.unwrap();
    let message = status_body["message"].as_str().unwrap();
    assert_eq!(status_body["code"], json!(code));
    assert!(message.contains(part), "{message}");
    assert!(!message.contains("secret"), "{message}");
    assert!(sink.span_names().is_empty());
    assert_eq!(ended(server).await.refused_requests, 1);
}

#[tokio::test]
async fn errors_are_in_the_type_of_the_request() {
    let sink = Arc::default();
    let server = started(&sink);
    for body in [&b"\xff\xff\xff"[..], b"{}"] {
        let request = post(&server, "/v1/traces").header("content-type", PROTOBUF);
        let answer = request.body(body).send().await.unwrap();
        assert_eq!((answer.status().as_u16(), content_type(&answer)), (400, PROTOBUF));
        let status = status::GrpcStatus::decode(answer.bytes().await.unwrap()).unwrap();
        assert_eq!(status.code, 3);
        assert!(status.message.contains("no OTLP request"), "{}", status.message);
    }
}

#[tokio::test]
async fn only_post_is_otlp() {
    let sink = Arc::default();
    let server = started(&sink);
    let address = format!("{}/v1/traces", server.http_endpoint());
    for method in [
        reqwest::Method::GET,
        reqwest::Method::PUT,
        reqwest::Method::OPTIONS,
    ] {
        let answer = client().request(method, &address).send().await.unwrap();
        assert_eq!(answer.status(), 405);
        assert_eq!(answer.headers()["allow"], "POST");
        // No page of another origin learns that it may send.
        assert!(!answer.headers().contains_key("access-control-allow-origin"));
    }
}

#[rstest]
#[case::announced(vec![b'x'; 1001], "identity")]
#[case::far_above(vec![b'x'; 3_000_000], "identity")]
#[case::after_unpacking(gzip(&[b' '; 1001]), "gzip")]
#[tokio::test]
async fn what_is_too_large_is_413(#[case] body: Vec<u8>, #[case] encoding: &str) {
    let sink = Arc::default();
    let server = started_small(&sink);
    let request = post(&server, "/v1/traces")
        .header("content-type", JSON)
        .header("content-encoding", encoding);
    let answer = request.body(body).send().await.unwrap();
    assert_eq!(answer.status(), 413);
    let message = answer.text().await.unwrap();
    assert!(
        message.contains("1000 bytes") && message.contains("OTEL_BSP_MAX_EXPORT_BATCH_SIZE"),
        "{message}"
    );
    // The next one is taken.
    let request = post(&server, "/v1/traces").header("content-type", JSON);
    assert_eq!(request.body(gzip(b"")).send().await.unwrap().status(), 400);
    let request = post(&server, "/v1/traces").header("content-type", JSON);
    assert_eq!(
        request.body(json_spans("next")).send().await.unwrap().status(),
        200
    );
}

/// A request of a field that nobody knows, of this many bytes and zeros.
fn request_of(bytes: usize) -> Vec<u8> {
    // Field 15, and its length in four bytes.
    let mut request = vec![15 << 3 | 2];
    prost::encode_length_delimiter(bytes - 5, &mut request).unwrap();
    assert_eq!(request.len(), 5);
    request.resize(bytes, 0);
    request
}

#[tokio::test]
async fn a_request_has_64_mib_by_default_after_unpacking() {
    const LIMIT: usize = 67_108_864;
    assert_eq!(ServerOptions::default().max_request_bytes, LIMIT);
    let server = started(&Arc::default());
    for (bytes, status) in [(LIMIT, 200), (LIMIT + 1, 413)] {
        let request = post(&server, "/v1/traces")
            .header("content-type", PROTOBUF)
            .header("content-encoding", "gzip");
        let answer = request.body(gzip(&request_of(bytes))).send().await.unwrap();
        assert_eq!(answer.status(), status, "{bytes} bytes");
    }
}

#[rstest]
#[case::partial_success(|| Ok(Accepted { rejected: 1, message: Some("ü".repeat(5 << 20)) }))]
#[case::warning(|| Ok(Accepted { rejected: 0, message: Some("ü".repeat(5 << 20)) }))]
#[tokio::test]
async fn an_answer_has_4_mib_at_most(#[case] answer: Answer) {
    let server = started(&Kept::answering(answer));
    for (declared, body) in [
        (JSON, json_spans("long").into_bytes()),
        (PROTOBUF, spans("long").encode_to_vec()),
    ] {
        let request = post(&server, "/v1/traces").header("content-type", declared);
        let answer = request.body(body).send().await.unwrap();
        assert_eq!(answer.status(), 200);
        let body = answer.bytes().await.unwrap();
        assert!(body.len() <= 4 << 20, "{} bytes", body.len());
    }
    // The client of gRPC refuses answers of more than 4 MiB.
    let answer = TraceServiceClient::new(channel(&server).await)
        .export(spans("long"))
        .await
        .unwrap();
    let message = answer.into_inner().partial_success.unwrap().error_message;
    assert!(message.starts_with("üüü"));
}

#[test]
fn the_text_of_an_answer_is_bounded() {
    assert_eq!(status::bounded("short"), "short");
    assert_eq!(status::bounded(&"ü".repeat(5000)).len(), 4096);
    assert_eq!(status::bounded(&format!("x{}", "ü".repeat(5000))).len(), 4095);
    let refusal = refusal::Refusal::Malformed("x".repeat(5 << 20));
    for encoding in [Encoding::Json, Encoding::Protobuf] {
        assert!(status::GrpcStatus::of(&refusal).encode_as(encoding).len() < 5000);
    }
}

#[tokio::test]
async fn a_chunked_body_needs_no_length_and_has_a_limit() {
    let sink = Arc::default();
    let server = started_small(&sink);
    let send = async |body: String| {
        let address = server.http_endpoint().replace("http://", "");
        let mut stream = TcpStream::connect(&address).await.unwrap();
        let head = format!(
            "POST /v1/traces HTTP/1.1\r\nHost: {address}\r\nContent-Type: {JSON}\r\nTransfer-Encoding: chunked\r\n\
             Connection: close\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        for part in body.as_bytes().chunks(7) {
            let head = format!("{:x}\r\n", part.len());
            stream
                .write_all(&[head.as_bytes(), part, b"\r\n"].concat())
                .await
                .unwrap();
        }
        stream.write_all(b"0\r\n\r\n").await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer
    };
    assert!(send(json_spans("chunked")).await.starts_with("HTTP/1.1 200"));
    assert!(send(" ".repeat(1001)).await.starts_with("HTTP/1.1 413"));
    assert_eq!(sink.span_names(), ["chunked"]);
}

#[tokio::test(start_paused = true)]
async fn a_body_that_does_not_arrive_is_given_up() {
    // The time of the test is not that of the receiver's threads: the function is called here, with the paused clock.
    use http_body_util::BodyExt as _;
    use hyper::service::service_fn;
    use hyper_util::rt::TokioIo;

    let (mut sender, receiver) = tokio::io::duplex(64 * 1024);
    let service = service_fn(|request: hyper::Request<hyper::body::Incoming>| async {
        let budget = body::Budget::new(1000);
        let mut reservation = budget.reservation();
        let read = body::read(request.into_body(), 1000, 0, &mut reservation).await;
        assert!(matches!(read, Err(refusal::Refusal::TooSlow)));
        let body = http_body_util::Full::new(hyper::body::Bytes::from("slow")).boxed();
        Ok::<_, std::convert::Infallible>(hyper::Response::new(body))
    });
    let serving = tokio::spawn(
        hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(receiver), service),
    );
    sender
        .write_all(b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\nfive ")
        .await
        .unwrap();
    let mut answer = [0; 15];
    sender.read_exact(&mut answer).await.unwrap();
    assert_eq!(&answer, b"HTTP/1.1 200 OK");
    serving.abort();
}

#[tokio::test]
async fn memory_for_bodies_has_a_limit() {
    let budget = body::Budget::new(100);
    let mut first = budget.reservation();
    let mut second = budget.reservation();
    assert!(first.grow(60).is_ok());
    assert!(second.grow(40).is_ok());
    assert!(matches!(second.grow(1), Err(refusal::Refusal::Busy { .. })));
    drop(first);
    assert!(second.grow(60).is_ok());
}

#[rstest]
#[case::json(JSON)]
#[case::protobuf(PROTOBUF)]
#[tokio::test]
async fn partial_success_is_a_200(#[case] declared: &str) {
    let sink = Kept::answering(|| {
        Ok(Accepted {
            rejected: 3,
            message: Some("3 spans without a trace ID".to_owned()),
        })
    });
    let server = started(&sink);
    let body = if declared == JSON {
        json_spans("partial").into_bytes()
    } else {
        spans("partial").encode_to_vec()
    };
    let request = post(&server, "/v1/traces").header("content-type", declared);
    let answer = request.body(body).send().await.unwrap();
    assert_eq!(answer.status(), 200);
    let body = answer.bytes().await.unwrap();
    if declared == JSON {
        let partial =
            json!({"partialSuccess": {"rejectedSpans": "3", "errorMessage": "3 spans without a trace ID"}});
        assert_eq!(
            serde_json::from_slice::<serde_json::Value>(&body).unwrap(),
            partial
        );
    } else {
        let partial = ExportTraceServiceResponse::decode(body)
            .unwrap()
            .partial_success
            .unwrap();
        assert_eq!(partial.rejected_spans, 3);
    }
    assert_eq!(ended(server).await.rejected_items, 3);
}

#[tokio::test]
async fn a_warning_is_a_message_with_nothing_rejected() {
    let sink = Kept::answering(|| {
        Ok(Accepted {
            rejected: 0,
            message: Some("stored, and 1 span came without a parent".to_owned()),
        })
    });
    let server = started(&sink);
    let request = post(&server, "/v1/logs").header("content-type", JSON);
    let body = r#"{"resourceLogs": [{"scopeLogs": [{"logRecords": [{}]}]}]}"#;
    let answer: serde_json::Value = request.body(body).send().await.unwrap().json().await.unwrap();
    assert_eq!(answer["partialSuccess"]["rejectedLogRecords"], "0");
}

#[rstest]
#[case::busy(|| Err(Refused::Busy { retry_after: Duration::from_millis(1500) }), "2")]
#[case::busy_for_a_moment(|| Err(Refused::Busy { retry_after: Duration::ZERO }), "1")]
#[case::full_disk(|| Err(Refused::Storage(std::io::ErrorKind::StorageFull.into())), "5")]
#[tokio::test]
async fn what_cannot_be_written_is_sent_again(#[case] answer: Answer, #[case] retry_after: &str) {
    let sink = Kept::answering(answer);
    let server = started(&sink);
    let request = post(&server, "/v1/traces").header("content-type", PROTOBUF);
    let answer = request.body(spans("again").encode_to_vec()).send().await.unwrap();
    assert_eq!(answer.status(), 503);
    assert_eq!(answer.headers()["retry-after"], retry_after);
}

#[tokio::test]
async fn a_token_is_wanted_where_one_is_set() {
    let sink: Arc<Kept> = Arc::default();
    let options = ServerOptions {
        token: Some("right".to_owned()),
        ..ServerOptions::default()
    };
    let server = OtlpServer::start(options, sink.clone()).unwrap();
    let send = async |name: &'static str, value: &'static str| {
        let request = post(&server, "/v1/traces")
            .header("content-type", JSON)
            .header(name, value);
        request
            .body(json_spans("token"))
            .send()
            .await
            .unwrap()
            .status()
            .as_u16()
    };
    assert_eq!(send("x-other", "right").await, 401);
    assert_eq!(send("authorization", "Bearer wrong").await, 401);
    assert_eq!(send("authorization", "Bearer right").await, 200);
    assert_eq!(send("x-tracer-token", "right").await, 200);
    assert_eq!(sink.span_names().len(), 2);
}

#[test]
fn another_address_than_this_machines_makes_a_token() {
    let sink: Arc<Kept> = Arc::default();
    let exposed = ServerOptions {
        listen: "0.0.0.0".parse().unwrap(),
        ..ServerOptions::default()
    };
    let server = OtlpServer::start(exposed, sink.clone()).unwrap();
    assert!(server.token().is_some_and(|token| token.len() == 32));
    assert!(server.http_endpoint().starts_with("http://127.0.0.1:"));
    assert!(started(&sink).token().is_none());
}

#[test]
fn a_taken_port_is_named() {
    let sink: Arc<Kept> = Arc::default();
    let first = started(&sink);
    let port: u16 = first.http_endpoint().rsplit_once(':').unwrap().1.parse().unwrap();
    let options = ServerOptions {
        grpc_port: Some(port),
        ..ServerOptions::default()
    };
    let error = OtlpServer::start(options, sink).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("another program listens on 127.0.0.1:{port} (OTLP/gRPC)")
    );
}

async fn channel(server: &OtlpServer) -> Channel {
    let endpoint = Channel::from_shared(server.grpc_endpoint().unwrap()).unwrap();
    endpoint.connect().await.unwrap()
}

#[tokio::test]
async fn grpc_takes_all_three_signals() {
    let sink: Arc<Kept> = Arc::default();
    let server = started(&sink);
    let channel = channel(&server).await;
    let mut traces = TraceServiceClient::new(channel.clone());
    let answer = traces.export(spans("over grpc")).await.unwrap();
    assert_eq!(answer.into_inner().partial_success, None);
    LogsServiceClient::new(channel.clone())
        .export(logs())
        .await
        .unwrap();
    let metrics = ExportMetricsServiceRequest::default();
    MetricsServiceClient::new(channel).export(metrics).await.unwrap();
    assert_eq!(
        (sink.span_names(), sink.log_count()),
        (vec!["over grpc".to_owned()], 1)
    );
}

#[tokio::test]
async fn grpc_unpacks_gzip_within_the_limit() {
    let sink: Arc<Kept> = Arc::default();
    let server = started_small(&sink);
    let mut traces =
        TraceServiceClient::new(channel(&server).await).send_compressed(CompressionEncoding::Gzip);
    traces.export(spans("packed")).await.unwrap();
    // Small on the wire, large afterwards.
    let status = traces.export(spans(&"n".repeat(2000))).await.unwrap_err();
    assert_eq!(status.code(), Code::ResourceExhausted);
    let mut plain = TraceServiceClient::new(channel(&server).await);
    let status = plain.export(spans(&"n".repeat(200_000))).await.unwrap_err();
    assert_eq!(status.code(), Code::ResourceExhausted);
    assert!(status.message().contains("1000 bytes"), "{}", status.message());
    assert_eq!(sink.span_names(), ["packed"]);
}

#[rstest]
#[case::busy(|| Err(Refused::Busy { retry_after: Duration::from_millis(1500) }), 1, 500_000_000)]
#[case::full_disk(|| Err(Refused::Storage(std::io::ErrorKind::StorageFull.into())), 5, 0)]
#[tokio::test]
async fn grpc_says_when_to_send_again(#[case] answer: Answer, #[case] seconds: u8, #[case] nanos: u32) {
    let sink = Kept::answering(answer);
    let server = started(&sink);
    let mut traces = TraceServiceClient::new(channel(&server).await);
    let refused = traces.export(spans("again")).await.unwrap_err();
    assert_eq!(refused.code(), Code::Unavailable);
    let details = status::GrpcStatus::decode(refused.details()).unwrap().details;
    assert_eq!(details[0].type_url, "type.googleapis.com/google.rpc.RetryInfo");
    // RetryInfo {1: Duration {1: seconds, 2: nanos}}
    let mut delay = vec![0x08, seconds];
    if nanos > 0 {
        delay.push(0x10);
        prost::encode_length_delimiter(usize::try_from(nanos).unwrap(), &mut delay).unwrap();
    }
    let head = [0x0a, u8::try_from(delay.len()).unwrap()];
    assert_eq!(details[0].value, [&head[..], &delay].concat());
}

#[tokio::test]
async fn grpc_partial_success_is_a_success() {
    let sink = Kept::answering(|| {
        Ok(Accepted {
            rejected: 1,
            message: None,
        })
    });
    let server = started(&sink);
    let answer = TraceServiceClient::new(channel(&server).await)
        .export(spans("one"))
        .await
        .unwrap();
    assert_eq!(answer.into_inner().partial_success.unwrap().rejected_spans, 1);
}

#[tokio::test]
async fn grpc_refuses_what_http_refuses() {
    let sink: Arc<Kept> = Arc::default();
    let server = started(&sink);
    let mut traces = TraceServiceClient::new(channel(&server).await);
    let mut from_page = Request::new(spans("page"));
    from_page
        .metadata_mut()
        .insert("origin", "http://evil.example".parse().unwrap());
    assert_eq!(
        traces.export(from_page).await.unwrap_err().code(),
        Code::PermissionDenied
    );

    let origin = Channel::from_shared(server.grpc_endpoint().unwrap())
        .unwrap()
        .origin("http://evil.example:4317".parse().unwrap());
    let mut other_host = TraceServiceClient::new(origin.connect().await.unwrap());
    let status = other_host.export(spans("host")).await.unwrap_err();
    assert_eq!(status.code(), Code::PermissionDenied);

    let mut logs_as_spans = TraceServiceClient::new(channel(&server).await);
    let no_ids = ExportTraceServiceRequest {
        resource_spans: vec![ResourceSpans {
            scope_spans: vec![ScopeSpans {
                spans: vec![Span::default()],
                ..ScopeSpans::default()
            }],
            ..ResourceSpans::default()
        }],
    };
    let status = logs_as_spans.export(no_ids).await.unwrap_err();
    assert_eq!(status.code(), Code::InvalidArgument);
    assert!(sink.span_names().is_empty());
}

#[tokio::test]
async fn both_ports_speak_both_protocols() {
    let sink: Arc<Kept> = Arc::default();
    let server = started(&sink);
    let endpoint = Channel::from_shared(server.http_endpoint()).unwrap();
    let mut traces = TraceServiceClient::new(endpoint.connect().await.unwrap());
    traces.export(spans("grpc on the port of http")).await.unwrap();
    let request = client()
        .post(format!("{}/v1/traces", server.grpc_endpoint().unwrap()))
        .header("content-type", PROTOBUF);
    let answer = request
        .body(spans("http on the port of grpc").encode_to_vec())
        .send()
        .await
        .unwrap();
    assert_eq!(answer.status(), 200);
    assert_eq!(sink.span_names().len(), 2);
}

/// The upstream below a base address.
fn below(base: &str) -> Upstream {
    let address = |signal: &str| Some(format!("{base}/v1/{signal}"));
    Upstream {
        traces: address("traces"),
        logs: address("logs"),
    }
}

#[tokio::test]
async fn what_is_accepted_reaches_the_upstream_as_it_was_sent() {
    let far = Arc::default();
    let upstream_server = started(&far);
    let near: Arc<Kept> = Arc::default();
    let options = ServerOptions {
        upstream: Some(below(&upstream_server.http_endpoint())),
        ..ServerOptions::default()
    };
    let server = OtlpServer::start(options, near.clone()).unwrap();
    let request = post(&server, "/v1/traces")
        .header("content-type", JSON)
        .header("content-encoding", "gzip");
    let sent = request
        .body(gzip(json_spans("over http").as_bytes()))
        .send()
        .await
        .unwrap();
    assert_eq!(sent.status(), 200);
    let mut traces = TraceServiceClient::new(channel(&server).await);
    traces.export(spans("over grpc")).await.unwrap();
    let refused = post(&server, "/v1/traces")
        .header("content-type", JSON)
        .body("no")
        .send()
        .await
        .unwrap();
    assert_eq!(refused.status(), 400);
    // Requests by gRPC are kept here, and counted by themselves: the upstream has refused nothing.
    let statistics = ended(server).await;
    assert_eq!(statistics.unforwarded_grpc_requests, 1);
    assert_eq!(statistics.unforwarded_requests, 0);
    assert_eq!(far.span_names(), ["over http"]);
    assert_eq!(near.span_names(), ["over http", "over grpc"]);
}

#[tokio::test]
async fn an_upstream_that_is_gone_costs_the_sender_nothing() {
    let sink: Arc<Kept> = Arc::default();
    // A port that nobody listens on any more.
    let gone = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let options = ServerOptions {
        upstream: Some(below(&format!("http://{gone}"))),
        ..ServerOptions::default()
    };
    let server = OtlpServer::start(options, sink.clone()).unwrap();
    let request = post(&server, "/v1/traces").header("content-type", PROTOBUF);
    let answer = request.body(spans("kept").encode_to_vec()).send().await.unwrap();
    assert_eq!(answer.status(), 200);
    assert_eq!(ended(server).await.unforwarded_requests, 1);
    assert_eq!(sink.span_names(), ["kept"]);
}

#[tokio::test]
async fn an_end_waits_for_what_is_under_way() {
    let sink = Kept::answering(|| {
        std::thread::sleep(Duration::from_millis(300));
        Ok(Accepted::default())
    });
    let server = started(&sink);
    let request = post(&server, "/v1/traces").header("content-type", PROTOBUF);
    let sending = tokio::spawn(request.body(spans("late").encode_to_vec()).send());
    while sink.span_names().is_empty() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    ended(server).await;
    assert_eq!(sending.await.unwrap().unwrap().status(), 200);
}
