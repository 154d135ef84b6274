//! Passing requests on: nothing is changed but what belongs to the connection and what asks for the tokens of a stream, and
//! nothing waits for what is recorded.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures_util::stream::{self, Stream, StreamExt};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use subtle::ConstantTimeEq as _;

use tracer_sdk::format::{SpanId, TraceId};

use super::budget::{CallBudget, refusal};
use super::exchange::Exchange;
use super::headers;
use super::providers::Route;
use super::recorder::{ExchangeReport, ReportSender};
use super::stream_usage::{StreamUsage, UsageFilter, UsageQuestion};
use crate::causes::innermost;
use crate::content_encoding::unpacked;
use crate::exchange::{ExchangeEnd, IncomingRequest, PreparedAnswer, RequestDecision, Responder};
use crate::runs::random_span_id;
use tracer_providers::{ModelApi, answer_asked_again, error_body};

/// The largest request that is passed on: it is held whole, because it is recorded.
const MAX_REQUEST_BYTES: usize = 256 * 1024 * 1024;
/// The most of an answer that is copied; the client gets all of it.
const MAX_COPY_BYTES: usize = 32 * 1024 * 1024;
/// The same of what is no model call.
const MAX_OTHER_COPY_BYTES: usize = 1024 * 1024;
/// Time-out for the connection to the upstream. Nothing else has a time-out here: clients have theirs.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Header with the reason for which a request was not passed on.
const REFUSAL_HEADER: &str = "x-tracer-refused";

#[derive(Clone)]
pub(super) struct Forwarder {
    /// None where no provider is ever asked.
    pub(super) client: Option<reqwest::Client>,
    pub(super) address: SocketAddr,
    pub(super) token: Arc<str>,
    pub(super) routes: Arc<[Route]>,
    pub(super) reports: ReportSender,
    pub(super) open_requests: Arc<AtomicU64>,
    /// Responder that may answer instead of the provider.
    pub(super) responder: Option<Arc<dyn Responder>>,
    pub(super) asks_for_usage: bool,
    pub(super) budget: Option<Arc<CallBudget>>,
}

impl Forwarder {
    pub(super) fn into_service(self) -> Router {
        Router::new().fallback(pass_on).with_state(self)
    }

    /// The provider and the rest of the path, if the request may be passed on.
    fn admit(&self, request: &HeaderMap, path: &str) -> Result<(Route, String), ForwardRefusal> {
        // A page in a browser can post here: it cannot know the token, and it cannot leave out its origin.
        let host = headers::text(request, "host").unwrap_or_default();
        let is_ours = host.parse() == Ok(self.address)
            || host.strip_prefix("localhost:").and_then(|port| port.parse().ok())
                == Some(self.address.port());
        if !is_ours || request.contains_key(header::ORIGIN) {
            return Err(ForwardRefusal::Foreign);
        }
        let behind = path.strip_prefix("/r/");
        let behind = behind.map(|rest| rest.split_once('/').unwrap_or((rest, "")));
        let (token, rest) = behind.ok_or_else(|| self.refused_path(path))?;
        // In a time that does not depend on how much is right.
        if !bool::from(token.as_bytes().ct_eq(self.token.as_bytes())) {
            return Err(ForwardRefusal::Foreign);
        }
        let mut routes = self.routes.iter();
        let found = routes.find_map(|route| Some((route.clone(), route.path_behind(rest)?)));
        found.ok_or_else(|| self.refused_path(&format!("/{rest}")))
    }

    fn refused_path(&self, path: &str) -> ForwardRefusal {
        let path = path.replace(&*self.token, "TOKEN");
        self.reports.send(ExchangeReport::RefusedPath(path));
        ForwardRefusal::Unknown
    }
}

pub(super) fn new_client() -> Result<reqwest::Client, reqwest::Error> {
    // TLS needs one provider of cryptography per process. Another part of the program may have chosen one first.
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder()
        .connect_timeout(CONNECT_TIMEOUT)
        // A redirect is the client's to follow.
        .redirect(reqwest::redirect::Policy::none())
        .build()
}

/// Why a request is not passed on.
#[derive(Debug, Clone, Copy)]
enum ForwardRefusal {
    Foreign,
    Unknown,
    WebSocket,
    Signed,
    TooLarge,
    Unreadable,
}

impl IntoResponse for ForwardRefusal {
    fn into_response(self) -> Response {
        let (status, reason) = match self {
            Self::Foreign => (
                StatusCode::FORBIDDEN,
                "only programs that tracer gave this address may use the proxy",
            ),
            Self::Unknown => (StatusCode::NOT_FOUND, "no provider has this path"),
            Self::WebSocket => (
                StatusCode::UPGRADE_REQUIRED,
                "WebSockets cannot be recorded; use the HTTP API, or leave out the proxy (tracer record --no-proxy)",
            ),
            Self::Signed => (
                StatusCode::MISDIRECTED_REQUEST,
                "the request is signed for the provider's own address, as Bedrock's are, and would be refused there; leave \
                 out the proxy, and record OpenTelemetry",
            ),
            Self::TooLarge => (
                StatusCode::PAYLOAD_TOO_LARGE,
                "the request is larger than 256 MiB",
            ),
            Self::Unreadable => (StatusCode::BAD_REQUEST, "the request broke off"),
        };
        (status, [(REFUSAL_HEADER, reason)], reason).into_response()
    }
}

/// Asks for a recorded answer, off the runtime's threads: a request that none matches is compared with hundreds. `None`
/// after a panic there.
async fn respond(
    responder: &Arc<dyn Responder>,
    head: &Parts,
    route: &Route,
    path: &str,
    api: Option<ModelApi>,
    encoding: &str,
    body: &Bytes,
) -> Option<RequestDecision> {
    let responder = Arc::clone(responder);
    let (method, provider) = (head.method.to_string(), route.provider.segment);
    let (path, query) = (path.to_owned(), head.uri.query().map(str::to_owned));
    let (encoding, body) = (encoding.to_owned(), body.clone());
    let deciding = tokio::task::spawn_blocking(move || {
        let read = unpacked(&encoding, &body, MAX_REQUEST_BYTES);
        responder.respond(&IncomingRequest {
            method: &method,
            provider,
            path: &path,
            query: query.as_deref(),
            api,
            body: read.as_ref().map_or(&body, |read| &read.bytes),
        })
    });
    deciding.await.ok()
}

async fn pass_on(State(forwarder): State<Forwarder>, request: Request) -> Result<Response, ForwardRefusal> {
    let arrived = SystemTime::now();
    let (head, body) = request.into_parts();
    let path = head.uri.path().to_owned();
    let (route, rest) = forwarder.admit(&head.headers, &path)?;
    let mut url = route.target(&rest, head.uri.query());
    // As clients of Bedrock write the version of a model.
    let rest = &*rest.replace("%3A", ":").replace("%3a", ":");
    if head.headers.contains_key(header::UPGRADE) {
        let path = format!("{}{rest}", route.provider.segment);
        forwarder.reports.send(ExchangeReport::RefusedUpgrade(path));
        return Err(ForwardRefusal::WebSocket);
    }
    if headers::is_signed(&head.headers) {
        forwarder.reports.send(ExchangeReport::RefusedSigned);
        return Err(ForwardRefusal::Signed);
    }
    forwarder.reports.has_room().await;
    let body = match Limited::new(body, MAX_REQUEST_BYTES).collect().await {
        Ok(body) => body.to_bytes(),
        Err(error) if error.is::<LengthLimitError>() => return Err(ForwardRefusal::TooLarge),
        Err(_) => return Err(ForwardRefusal::Unreadable),
    };
    let api = (head.method == axum::http::Method::POST)
        .then(|| ModelApi::from_path(rest))
        .flatten();
    let asked_again = answer_asked_again(head.method.as_str(), rest).map(|(api, id)| (api, id.to_owned()));
    let is_kept = api.is_some() || body.len() <= MAX_OTHER_COPY_BYTES;
    let is_head = head.method == axum::http::Method::HEAD;
    let request_encoding = headers::text(&head.headers, "content-encoding")
        .unwrap_or_default()
        .to_owned();
    let mut passed = headers::to_upstream(&head.headers);
    forwarder.open_requests.fetch_add(1, Ordering::Relaxed);
    let mut copy = ExchangeCopy {
        open_requests: Arc::clone(&forwarder.open_requests),
        reports: forwarder.reports.clone(),
        left: None,
        filter: None,
        exchange: Some(Box::new(Exchange {
            span_id: random_span_id(),
            sent_context: sent_context(&head.headers),
            user_agent: headers::text(&head.headers, "user-agent")
                .unwrap_or_default()
                .to_owned(),
            api,
            asked_again,
            provider: route.provider.name,
            segment: route.provider.segment,
            server: url.host_str().unwrap_or_default().to_owned(),
            method: head.method.to_string(),
            path: rest.to_owned(),
            query: head.uri.query().map(str::to_owned),
            request: if is_kept { body.clone() } else { Bytes::new() },
            request_encoding: request_encoding.clone(),
            arrived,
            status: None,
            content_type: String::new(),
            content_encoding: String::new(),
            headers: Vec::new(),
            response: Vec::new(),
            is_cut: !is_kept,
            first_byte: None,
            ended: arrived,
            end: ExchangeEnd::ClientGone,
            is_replayed: false,
            stream_usage: StreamUsage::default(),
            call_number: None,
            client_model: None,
            reservation: None,
            refused_by: None,
            is_held: false,
        })),
    };
    let decision = match &forwarder.responder {
        Some(responder) => {
            let decided = respond(responder, &head, &route, rest, api, &request_encoding, &body).await;
            let Some(decision) = decided else {
                let reason = "the recorded answers could not be read";
                copy.end(ExchangeEnd::BrokenOff(reason.to_owned()));
                return Ok(bad_gateway(reason));
            };
            Some(decision)
        }
        None => None,
    };
    let body = match decision {
        Some(RequestDecision::Answer(answer)) => {
            // A client that hangs up meanwhile drops this future, and the copy with it.
            tokio::time::sleep(answer.delay).await;
            return Ok(answered(answer, copy));
        }
        Some(RequestDecision::PassOnAs(changed)) => {
            if let Some(path) = &changed.path {
                url = route.target(path, head.uri.query());
            }
            passed.remove(header::CONTENT_ENCODING);
            let body = Bytes::from(changed.body);
            // The recording has this request.
            copy.change(|exchange| exchange.replace_request(changed.path, body.clone()));
            body
        }
        Some(RequestDecision::PassOn) | None => body,
    };
    let Some(client) = &forwarder.client else {
        let reason = "no provider is asked in a replay";
        copy.end(ExchangeEnd::BrokenOff(reason.to_owned()));
        return Ok(bad_gateway(reason));
    };
    if let Err(refusal) = copy.reserve(forwarder.budget.as_ref()).await {
        return Ok(answered(refusal, copy));
    }
    let question = forwarder
        .asks_for_usage
        .then(|| UsageQuestion::new(api, &url, &passed, &body));
    let body = match question.flatten() {
        Some(question) => {
            copy.change(|exchange| exchange.stream_usage = question.usage);
            question.body
        }
        None => body,
    };
    let request = client.request(head.method, url).headers(passed).body(body);
    // From here to the end of the answer a client that hangs up drops this future or the body: the upstream request is
    // dropped with it, and so is the copy, which reports what came until then.
    let answer = match request.send().await {
        Ok(answer) => answer,
        Err(error) => {
            let reason = reason(&error);
            copy.end(ExchangeEnd::BrokenOff(reason.clone()));
            return Ok(bad_gateway(&reason));
        }
    };
    let status = answer.status();
    let mut answered_headers = headers::to_client(answer.headers());
    let is_empty = is_head || matches!(status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED);
    copy.begin(
        status.as_u16(),
        headers::kept(answer.headers()),
        headers::text(answer.headers(), "content-encoding").unwrap_or_default(),
        if is_empty {
            Some(0)
        } else {
            answer.content_length()
        },
    );
    if copy.filter.is_some() {
        answered_headers.remove(header::CONTENT_LENGTH);
    }
    let chunks = stream::unfold(answer, |mut answer| async move {
        let chunk = answer.chunk().await.map_err(|error| reason(&error)).transpose()?;
        Some((chunk, answer))
    });
    let mut response = Response::new(recorded_body(chunks, copy));
    *response.status_mut() = status;
    *response.headers_mut() = answered_headers;
    Ok(response)
}

/// The body that a client gets of these chunks, and the copy of it. A broken answer is passed on as a broken one: a clean end
/// would be taken for a whole answer.
fn recorded_body(
    chunks: impl Stream<Item = Result<Bytes, String>> + Send + 'static,
    copy: ExchangeCopy,
) -> Body {
    let state = (Box::pin(chunks.fuse()), copy, None::<String>);
    Body::from_stream(stream::unfold(
        state,
        |(mut chunks, mut copy, broken)| async move {
            if let Some(reason) = broken {
                // Lets the chunks before the error be written out first.
                tokio::task::yield_now().await;
                return Some((Err(std::io::Error::other(reason)), (chunks, copy, None)));
            }
            let (passed, broken) = match chunks.next().await {
                Some(Ok(chunk)) => (copy.add(chunk), None),
                Some(Err(reason)) => {
                    copy.end(ExchangeEnd::BrokenOff(reason.clone()));
                    (copy.rest(), Some(reason))
                }
                None => {
                    copy.end(ExchangeEnd::Whole);
                    let rest = copy.rest();
                    return (!rest.is_empty()).then_some((Ok(rest), (chunks, copy, None)));
                }
            };
            Some((Ok(passed), (chunks, copy, broken)))
        },
    ))
}

/// An answer that was prepared, and the copy of it.
fn answered(answer: PreparedAnswer, mut copy: ExchangeCopy) -> Response {
    let length = (!answer.breaks_off).then(|| answer.chunks.iter().map(|chunk| chunk.len() as u64).sum());
    copy.change(|exchange| {
        exchange.is_replayed = answer.is_replayed;
        if answer.hides_usage {
            exchange.stream_usage = StreamUsage::Hidden;
        }
    });
    copy.begin(answer.status, answer.headers.clone(), "", length);
    let chunks = stream::iter(answer.chunks.into_iter().map(Ok));
    let broken = answer
        .breaks_off
        .then(|| Err("the answer broke off, as the recorded one did".to_owned()));
    let mut response = Response::new(recorded_body(chunks.chain(stream::iter(broken)), copy));
    *response.status_mut() = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::BAD_GATEWAY);
    for (name, value) in answer.headers {
        if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::try_from(value)) {
            response.headers_mut().append(name, value);
        }
    }
    response
}

/// The trace and the span that the client says it is in (W3C Trace Context).
fn sent_context(request: &HeaderMap) -> Option<(TraceId, SpanId)> {
    let parts: Vec<&str> = headers::text(request, "traceparent")?.trim().split('-').collect();
    let [_, trace, span, ..] = parts.as_slice() else {
        return None;
    };
    Some((trace.parse().ok()?, span.parse().ok()?))
}

/// Description of the failure, with its innermost cause and without the address, which may hold a key.
fn reason(error: &reqwest::Error) -> String {
    let words = match error {
        error if error.is_connect() => "the provider cannot be reached",
        error if error.is_timeout() => "the provider did not answer in time",
        error if error.is_body() || error.is_decode() => "the answer broke off",
        _ => "the request failed",
    };
    match innermost(error) {
        Some(innermost) => format!("{words}: {innermost}"),
        None => words.to_owned(),
    }
}

fn bad_gateway(reason: &str) -> Response {
    let status = StatusCode::BAD_GATEWAY;
    let body = error_body(
        None,
        status.as_u16(),
        "upstream_failed",
        &format!("tracer: {reason}"),
    );
    (status, axum::Json(body)).into_response()
}

/// The copy of an exchange, which is reported when it ends, however it ends.
struct ExchangeCopy {
    open_requests: Arc<AtomicU64>,
    reports: ReportSender,
    exchange: Option<Box<Exchange>>,
    /// Filter for the event that the client does not expect.
    filter: Option<UsageFilter>,
    /// Number of bytes of the answer that are missing, where its length is known.
    left: Option<u64>,
}

impl ExchangeCopy {
    fn begin(
        &mut self,
        status: u16,
        headers: Vec<(String, String)>,
        content_encoding: &str,
        length: Option<u64>,
    ) {
        self.left = length;
        if let Some(exchange) = &mut self.exchange {
            exchange.status = Some(status);
            content_encoding.clone_into(&mut exchange.content_encoding);
            let content_type = headers.iter().find(|(name, _)| name == "content-type");
            exchange.content_type = content_type.map(|(_, value)| value.clone()).unwrap_or_default();
            exchange.headers = headers;
            if exchange.stream_usage == StreamUsage::Hidden {
                let is_stream = exchange.content_type.contains("event-stream") && content_encoding.is_empty();
                if is_stream && status < 300 {
                    self.filter = Some(UsageFilter::default());
                } else {
                    exchange.stream_usage = StreamUsage::Asked;
                }
            }
        }
    }

    /// Changes the exchange, unless it has ended.
    fn change(&mut self, change: impl FnOnce(&mut Exchange)) {
        if let Some(exchange) = &mut self.exchange {
            change(exchange);
        }
    }

    /// Waits for a place within the limits of the recording; the error is the answer to a call that gets none.
    async fn reserve(&mut self, budget: Option<&Arc<CallBudget>>) -> Result<(), PreparedAnswer> {
        let (Some(budget), Some(exchange)) = (budget, &mut self.exchange) else {
            return Ok(());
        };
        let Some(api) = exchange.api else { return Ok(()) };
        // A client that hangs up meanwhile drops this future.
        exchange.is_held = true;
        let admitted = Arc::clone(budget).admit(exchange.budget_request(api)).await;
        exchange.is_held = false;
        match admitted {
            Ok(reservation) => {
                exchange.reservation = Some(reservation);
                Ok(())
            }
            Err(exceeded) => {
                let answer = refusal(api, &exceeded);
                exchange.refused_by = Some(exceeded);
                Err(answer)
            }
        }
    }

    /// Copies a chunk, and returns the part of it for the client.
    fn add(&mut self, chunk: Bytes) -> Bytes {
        self.copy(&chunk);
        match &mut self.filter {
            Some(filter) => filter.pass(&chunk),
            None => chunk,
        }
    }

    /// The remaining part of the answer for the client, after its end.
    fn rest(&mut self) -> Bytes {
        self.filter.as_mut().map(UsageFilter::rest).unwrap_or_default()
    }

    fn copy(&mut self, chunk: &[u8]) {
        self.left = self.left.map(|left| left.saturating_sub(chunk.len() as u64));
        let Some(exchange) = &mut self.exchange else {
            return;
        };
        exchange.first_byte.get_or_insert_with(SystemTime::now);
        let most = if exchange.api.is_some() || exchange.asked_again.is_some() {
            MAX_COPY_BYTES
        } else {
            MAX_OTHER_COPY_BYTES
        };
        let room = most - exchange.response.len();
        exchange.is_cut |= chunk.len() > room;
        exchange
            .response
            .extend_from_slice(chunk.get(..chunk.len().min(room)).unwrap_or_default());
    }

    fn end(&mut self, end: ExchangeEnd) {
        if let Some(mut exchange) = self.exchange.take() {
            exchange.ended = SystemTime::now();
            exchange.end = end;
            self.reports.send(ExchangeReport::Exchange(exchange));
            self.open_requests.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

impl Drop for ExchangeCopy {
    fn drop(&mut self) {
        // Of an answer whose length is known the server asks for no more than that, and never sees its end.
        let is_whole = self.left == Some(0);
        self.end(if is_whole {
            ExchangeEnd::Whole
        } else {
            ExchangeEnd::ClientGone
        });
    }
}
