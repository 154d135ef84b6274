//! One request and its answer, and the span that is recorded of it.

use std::time::SystemTime;

use axum::body::Bytes;
use serde_json::Value;
use tracer_insight::text::counted;
use tracer_sdk::format::names::{self, Name, event_keys, events};
use tracer_sdk::format::{SpanEvent, SpanId, SpanKind, SpanRecord, StatusCode, Timestamp, TraceId, Usage};
use tracer_sdk::guardrails::GuardrailExceeded;

use super::ProxyContext;
use super::budget::{BudgetRequest, BudgetUsage, Reservation};
use super::history::History;
use super::stream_usage::StreamUsage;
use crate::content_encoding::{Unpacked, unpacked};
use crate::exchange::{ExchangeEnd, ExchangeSink, FinishedExchange, IncomingRequest};
use tracer_providers::{
    Assembled, ModelApi, RequestFacts, ResponseFacts, assemble, form_fields, of_refusal, readable_text,
};

/// A request that went through the proxy, with copies of both bodies.
#[derive(Debug)]
pub(super) struct Exchange {
    pub(super) span_id: SpanId,
    /// The trace and the span that the client says it is in (W3C Trace Context).
    pub(super) sent_context: Option<(TraceId, SpanId)>,
    /// `User-Agent` of the client.
    pub(super) user_agent: String,
    pub(super) api: Option<ModelApi>,
    /// The API and the ID of the answer that is fetched again, where this is no request of its own.
    pub(super) asked_again: Option<(ModelApi, String)>,
    pub(super) provider: &'static str,
    /// The provider's segment of the proxy's path.
    pub(super) segment: &'static str,
    pub(super) server: String,
    pub(super) method: String,
    /// Behind the provider's segment, without the query: keys stand in queries.
    pub(super) path: String,
    /// The model that the client asked, where another one was asked instead.
    pub(super) client_model: Option<String>,
    /// As it came: it may hold a key.
    pub(super) query: Option<String>,
    /// As it came, compressed where the client compresses.
    pub(super) request: Bytes,
    /// Compression of the request.
    pub(super) request_encoding: String,
    pub(super) arrived: SystemTime,
    pub(super) status: Option<u16>,
    pub(super) content_type: String,
    pub(super) content_encoding: String,
    /// Headers of the answer that are no credentials.
    pub(super) headers: Vec<(String, String)>,
    /// As it was sent, compressed where the upstream compresses in spite of the request for identity.
    pub(super) response: Vec<u8>,
    /// The copy ends before the answer does: it would have become too large.
    pub(super) is_cut: bool,
    pub(super) first_byte: Option<SystemTime>,
    pub(super) ended: SystemTime,
    pub(super) end: ExchangeEnd,
    /// The answer was a recorded one.
    pub(super) is_replayed: bool,
    pub(super) stream_usage: StreamUsage,
    /// Its number among the calls of models that are kept next to the run.
    pub(super) call_number: Option<u64>,
    /// Its place within the limits of the recording.
    pub(super) reservation: Option<Reservation>,
    /// The limit that it was refused for: no provider got it.
    pub(super) refused_by: Option<GuardrailExceeded>,
    /// It waits for a place within the limits: no provider has got it.
    pub(super) is_held: bool,
}

impl Exchange {
    /// Takes the request that is forwarded instead of the client's.
    pub(super) fn replace_request(&mut self, path: Option<String>, body: Bytes) {
        let asked = self.model();
        self.request = body;
        self.request_encoding.clear();
        if let Some(path) = path {
            self.path = path;
        }
        self.client_model = asked.filter(|asked| self.model().is_some_and(|model| model != *asked));
    }

    /// The model that the request asks.
    pub(super) fn model(&self) -> Option<String> {
        let in_body = RequestFacts::from_body(&self.request_value()).model;
        in_body.or_else(|| Some(self.api?.model_in_path(&self.path)?.to_owned()))
    }

    /// The request by what it may use at most.
    pub(super) fn budget_request(&self, api: ModelApi) -> BudgetRequest {
        let request = self.request_value();
        let at = |places: &[&str]| {
            let mut values = places.iter().filter_map(|place| request.pointer(place));
            values.find(|value| !value.is_null())
        };
        let answer = if api.is_service() {
            0
        } else {
            let answers = at(&ANSWERS).and_then(Value::as_u64).unwrap_or(1);
            let each = RequestFacts::from_body(&request).max_tokens;
            each.unwrap_or(UNSTATED_ANSWER).saturating_mul(answers)
        };
        let sent = self.request_bytes() / RESERVED_BYTES;
        // The referenced content is at the provider: it may be as long as an answer.
        let prompt = at(&REFERENCES).map_or(sent, |_| sent.max(UNSTATED_ANSWER));
        BudgetRequest {
            provider: self.provider,
            model: self.model().unwrap_or_else(|| "UNKNOWN".to_owned()),
            is_model_call: !api.is_service(),
            most: Usage::new(prompt, answer),
        }
    }

    /// The request as JSON, or as the text that it is.
    pub(super) fn request_value(&self) -> Value {
        match self.read_request() {
            Some(request) => form_fields(&request.bytes).unwrap_or_else(|| json_or_text(&request.bytes)),
            None => unread_body(&self.request, &self.request_encoding),
        }
    }

    /// The request as it was before it was compressed; none where that is not known here.
    fn read_request(&self) -> Option<Unpacked<'_>> {
        unpacked(&self.request_encoding, &self.request, MAX_UNPACKED_BYTES)
    }

    /// Length of the request before it was compressed; where it cannot be read, the most that it may be.
    fn request_bytes(&self) -> u64 {
        let packed = self.request.len() as u64;
        self.read_request()
            .map_or(packed * UNREAD_PACKING, |read| read.bytes.len() as u64)
    }

    /// The answer as it was before it was compressed; none where that is not known here.
    fn read_response(&self) -> Option<Unpacked<'_>> {
        unpacked(&self.content_encoding, &self.response, MAX_UNPACKED_BYTES)
    }

    /// Hands it over to what keeps exchanges, its bodies unpacked.
    pub(super) fn hand_over(&mut self, sink: &mut dyn ExchangeSink) {
        let request = self.read_request();
        let response = self.read_response();
        let number = sink.keep(&FinishedExchange {
            request: IncomingRequest {
                method: &self.method,
                provider: self.segment,
                path: &self.path,
                query: self.query.as_deref(),
                api: self.api,
                body: request.as_ref().map_or(&self.request, |request| &request.bytes),
            },
            arrived: self.arrived,
            status: self.status,
            headers: &self.headers,
            response: response.as_ref().map_or(&[], |response| &response.bytes),
            ended: self.ended,
            end: &self.end,
            is_cut: self.is_cut || response.as_ref().is_none_or(|response| response.is_cut),
            is_replayed: self.is_replayed,
            hides_usage: self.stream_usage == StreamUsage::Hidden,
        });
        self.call_number = number;
    }
}

impl Exchange {
    /// The span that the client says it is in, if it is of this run's trace.
    pub(super) fn parent_in(&self, context: &ProxyContext) -> Option<SpanId> {
        let (trace_id, span_id) = self.sent_context?;
        (trace_id == context.trace_id).then_some(span_id)
    }
}

/// Tokens of an answer that a request reserves when it sets no maximum.
const UNSTATED_ANSWER: u64 = 32_768;
/// Bytes of a body to a token: fewer than usual where tokens are reserved, as usual where the provider counted none.
const RESERVED_BYTES: u64 = 2;
const BYTES: u64 = 4;
/// Bytes to a byte of a compressed body that cannot be read.
const UNREAD_PACKING: u64 = 20;
/// The number of answers that a request asks for.
const ANSWERS: [&str; 3] = [
    "/n",
    "/generationConfig/candidateCount",
    "/request/generationConfig/candidateCount",
];
/// Members by which a request refers to content at the provider instead of sending it.
const REFERENCES: [&str; 5] = [
    "/previous_response_id",
    "/conversation",
    "/prompt/id",
    "/cachedContent",
    "/request/cachedContent",
];
/// The headers in which providers name a request.
const REQUEST_ID_HEADERS: [&str; 2] = ["request-id", "x-request-id"];
/// The class of the error of a call whose client hung up.
const ABORTED: &str = "aborted";
/// The most that is unpacked of an answer, in bytes.
const MAX_UNPACKED_BYTES: usize = 128 * 1024 * 1024;
/// Compression of an answer, or of a request, whose copy could not be read.
const UNREAD_ENCODING: &str = "tracer.unread_encoding";
const UNREAD_REQUEST_ENCODING: &str = "tracer.unread_request_encoding";
/// The one change of a request: the provider was asked for the tokens of a stream in the client's place.
const ASKED_USAGE: &str = "tracer.asked_usage";
/// The instrumentation scope of what the proxy saw.
const SCOPE: &str = "tracer.proxy";
const UPSTREAM_FAILED: &str = "upstream_failed";
const CUT_SHORT: &str = "cut_short";

/// The operation that asks again for an answer that is made in the background.
const FETCH_RESPONSE: &str = "fetch_response";
/// The class of the error of an answer that was cancelled.
const CANCELLED: &str = "Cancelled";

/// Statuses of a background answer before its end.
const UNFINISHED: [&str; 2] = ["queued", "in_progress"];

/// Content of an exchange once its bodies are read.
#[derive(Debug)]
pub(super) struct ModelCall {
    pub(super) request: Value,
    /// The conversation history in the request.
    pub(super) history: History,
    pub(super) answer: Assembled,
    pub(super) facts: ResponseFacts,
    /// Not all of the answer could be unpacked.
    is_cut: bool,
    /// Compressions of the bodies that could not be read.
    unread: Vec<(&'static str, String)>,
}

impl ModelCall {
    /// Reads the bodies of a model call, or of what asked again for its answer; `None` where that was not answered.
    pub(super) fn of(exchange: &Exchange) -> Option<(ModelApi, Self)> {
        if let Some(api) = exchange.api {
            return Some((api, Self::read(exchange, api)));
        }
        let (api, id) = exchange.asked_again.as_ref()?;
        let call = Self::read(exchange, *api);
        (call.facts.id.as_ref() == Some(id)).then_some((*api, call))
    }

    /// Reads the bodies of a model call.
    pub(super) fn read(exchange: &Exchange, api: ModelApi) -> Self {
        let response = exchange.read_response();
        let answer = response.as_ref().map_or(&[][..], |response| &response.bytes);
        let answer = assemble(api, &exchange.content_type, answer);
        let mut facts = ResponseFacts::from_answer(&answer);
        if is_refused(exchange) && facts.error.as_ref().is_none_or(|(_, message)| message.is_empty()) {
            facts.error = of_refusal(&answer.body);
        }
        let unread = [
            (UNREAD_ENCODING, response.is_none(), &exchange.content_encoding),
            (
                UNREAD_REQUEST_ENCODING,
                exchange.read_request().is_none(),
                &exchange.request_encoding,
            ),
        ];
        let unread = unread.into_iter().filter(|(_, is_unread, _)| *is_unread);
        let request = exchange.request_value();
        Self {
            history: if api.is_service() {
                History::default()
            } else {
                History::of(&request)
            },
            request,
            facts,
            is_cut: response.is_some_and(|response| response.is_cut),
            unread: unread.map(|(key, _, encoding)| (key, encoding.clone())).collect(),
            answer,
        }
    }

    /// Tokens that the call used, by the sizes of the texts where the provider did not count them all; `None` of one that the provider refused,
    /// or did not get.
    pub(super) fn used(&self, exchange: &Exchange, api: ModelApi) -> Option<BudgetUsage<'_>> {
        let model = self.facts.model.as_deref();
        if self.is_unfinished(exchange) {
            // Its tokens come with what asks again, if anything does.
            return Some(BudgetUsage {
                tokens: exchange.budget_request(api).most,
                model,
                is_estimate: true,
            });
        }
        let mut counted = self.facts.usage;
        let is_counted = [
            counted.total_tokens,
            counted.prompt_tokens,
            counted.completion_tokens,
        ]
        .iter()
        .any(Option::is_some);
        let was_refused = match exchange.status {
            Some(status) => status >= 400,
            None => matches!(exchange.end, ExchangeEnd::BrokenOff(_)),
        };
        if !is_counted && was_refused {
            return None;
        }
        // A stream that was left counted its answer when that began.
        let is_whole = is_counted && (self.answer.chunks == 0 || self.answer.is_complete);
        let answer = match &self.answer.body {
            body if is_whole || body.is_null() || api.has_binary_answer() => 0,
            body => body.to_string().len() as u64 / BYTES,
        };
        let tokens = match counted.completion_tokens.unwrap_or(0).max(answer) {
            _ if is_whole => counted,
            answer if is_counted => {
                counted.completion_tokens = Some(answer);
                counted.total_tokens = None;
                counted
            }
            answer => Usage::new(exchange.request_bytes() / BYTES, answer),
        };
        Some(BudgetUsage {
            tokens,
            model,
            is_estimate: !is_whole,
        })
    }

    /// True of a stream that came to its end and brought no tokens.
    pub(super) fn lacks_tokens(&self, exchange: &Exchange) -> bool {
        self.answer.chunks > 0
            && self.facts.usage == Usage::default()
            && failure(exchange, self).is_none()
            && !self.is_unfinished(exchange)
    }

    /// True while the provider still makes the answer in the background, without its client.
    pub(super) fn is_unfinished(&self, exchange: &Exchange) -> bool {
        let status = self.status();
        let is_asked_so = |body: &Value| body["background"] == true;
        !is_refused(exchange)
            && status.is_some_and(|status| UNFINISHED.contains(&status))
            && (exchange.asked_again.is_some()
                || is_asked_so(&self.request)
                || is_asked_so(&self.answer.body)
                || status == Some("queued"))
    }

    fn status(&self) -> Option<&str> {
        self.answer.body["status"].as_str()
    }
}

/// Returns whether the status of an answer is an error.
fn is_refused(exchange: &Exchange) -> bool {
    exchange.status.is_some_and(|status| status >= 400)
}

/// A body as JSON, or as the text that it is; what is neither is named.
fn json_or_text(bytes: &[u8]) -> Value {
    if bytes.is_empty() {
        return Value::Null;
    }
    serde_json::from_slice(bytes).unwrap_or_else(|_| match readable_text(bytes) {
        Some(text) => Value::from(text),
        None => Value::from(format!(
            "({} that are no text)",
            counted(bytes.len() as u64, "byte")
        )),
    })
}

/// The text shown in place of a body of unknown compression.
fn unread_body(bytes: &[u8], encoding: &str) -> Value {
    let size = counted(bytes.len() as u64, "byte");
    format!("({size}, compressed as {encoding:?}, which is not read here)").into()
}

/// The span of a model call.
pub(super) fn model_span(
    context: &ProxyContext,
    exchange: &Exchange,
    api: ModelApi,
    call: &ModelCall,
    parent: SpanId,
) -> SpanRecord {
    let asked = RequestFacts::from_body(&call.request);
    let facts = &call.facts;
    let model = asked
        .model
        .as_deref()
        .or_else(|| api.model_in_path(&exchange.path))
        .or(facts.model.as_deref())
        .unwrap_or("UNKNOWN");
    let is_asked_first = exchange.asked_again.is_none();
    let (operation, name) = if is_asked_first {
        (api.operation(), format!("{} {model}", api.operation()))
    } else {
        (FETCH_RESPONSE, FETCH_RESPONSE.to_owned())
    };
    let mut span = base_span(context, exchange, parent, name);
    for (key, encoding) in &call.unread {
        span.set(*key, encoding.as_str());
    }
    span.set(names::OPERATION, operation);
    span.set(names::PROVIDER, exchange.provider);
    span.set(names::REQUEST_MODEL, model);
    span.set(names::TEMPERATURE, asked.temperature);
    span.set("gen_ai.request.top_p", asked.top_p);
    span.set("gen_ai.request.max_tokens", asked.max_tokens);
    if !api.is_service() && is_asked_first {
        span.set("gen_ai.request.stream", asked.stream || call.answer.chunks > 0);
    }
    let request_id = REQUEST_ID_HEADERS
        .iter()
        .find_map(|wanted| exchange.headers.iter().find(|(name, _)| name == wanted));
    span.set(names::REQUEST_ID, request_id.map(|(_, id)| id.as_str()));
    for (name, value) in facts.attributes() {
        span.set(name, value);
    }
    // A service that costs something and counts no tokens is charged all the same.
    if api.is_charged_service()
        && facts.usage == Usage::default()
        && facts.usage_not_counted.is_empty()
        && !is_refused(exchange)
    {
        span.set(names::USAGE_NOT_COUNTED, "request");
    }
    if call.answer.chunks > 0 {
        span.set(names::CHUNKS, call.answer.chunks);
        let first = exchange
            .first_byte
            .and_then(|first| first.duration_since(exchange.arrived).ok());
        span.set(
            names::TIME_TO_FIRST_CHUNK,
            first.map(|first| first.as_secs_f64() * 1_000.0),
        );
    }
    if let Some((class, message)) = failure(exchange, call) {
        set_failure(&mut span, &class, &message);
    }
    if is_asked_first {
        let prompt = content(events::PROMPT, exchange.arrived, &call.request);
        span.events.extend(prompt);
    }
    let has_answer = if call.is_unfinished(exchange) {
        has_output(exchange, &call.answer.body)
    } else {
        !has_only_an_error(exchange, call)
    };
    if has_answer && !api.has_binary_answer() {
        let response = content(events::RESPONSE, exchange.ended, &call.answer.body);
        span.events.extend(response);
    }
    span
}

/// The span of an exchange with no API that is known: without content.
pub(super) fn plain_span(context: &ProxyContext, exchange: &Exchange, parent: SpanId) -> SpanRecord {
    let name = format!("{} {}", exchange.method, exchange.path);
    let mut span = base_span(context, exchange, parent, name);
    span.set("http.request.method", exchange.method.as_str());
    span.set("url.path", exchange.path.as_str());
    match (&exchange.end, exchange.status) {
        (ExchangeEnd::Whole, Some(status)) if status < 400 => {}
        (end, status) => {
            let (class, message) = failure_of_end(end, status);
            set_failure(&mut span, &class, &message);
        }
    }
    span
}

fn base_span(context: &ProxyContext, exchange: &Exchange, parent: SpanId, name: String) -> SpanRecord {
    let mut times = (nanoseconds(exchange.arrived), nanoseconds(exchange.ended));
    if exchange.refused_by.is_some() {
        // A call that was never made takes no time: readers know it by that.
        times.1 = times.0;
    }
    let mut span = context.span(exchange.span_id, Some(parent), name, times);
    span.kind = SpanKind::Client;
    span.set("server.address", exchange.server.as_str());
    span.set("http.response.status_code", exchange.status);
    let is_asked_for = exchange.stream_usage != StreamUsage::Untouched && !exchange.is_replayed;
    let is_cut = exchange.is_cut && exchange.api.is_some();
    span.set("tracer.copy_cut", is_cut.then_some(true));
    span.set(names::REPLAYED, exchange.is_replayed.then_some(true));
    span.set(ASKED_USAGE, is_asked_for.then_some(true));
    span.set(names::CLIENT_MODEL, exchange.client_model.as_deref());
    span.set(names::CALL_NUMBER, exchange.call_number);
    span
}

impl ProxyContext {
    /// A span within the run, from and to these nanoseconds after 1970; it says that the proxy saw it.
    pub(super) fn span(
        &self,
        span_id: SpanId,
        parent: Option<SpanId>,
        name: String,
        (start, end): (u64, u64),
    ) -> SpanRecord {
        let times = (
            Timestamp::from_unix_nanoseconds(start),
            Timestamp::from_unix_nanoseconds(end.max(start)),
        );
        let mut span = SpanRecord::new(self.trace_id, span_id, parent, name, times);
        span.set("otel.scope.name", SCOPE);
        span.set(names::SOURCE, "proxy");
        span
    }
}

/// Why a model call failed, if it did.
fn failure(exchange: &Exchange, call: &ModelCall) -> Option<(String, String)> {
    if let Some(exceeded) = &exchange.refused_by {
        return Some((exceeded.error_type().to_owned(), exceeded.to_string()));
    }
    if let Some((class, message)) = &call.facts.error {
        let class = match exchange.status {
            Some(status) if status >= 400 && class == "error" => status.to_string(),
            _ => class.clone(),
        };
        return Some((class, message.clone()));
    }
    if call.is_unfinished(exchange) {
        return None;
    }
    match call.status() {
        Some("cancelled") => return Some((CANCELLED.to_owned(), "the answer was cancelled".to_owned())),
        Some("failed") => return Some(("failed".to_owned(), "the answer failed".to_owned())),
        _ => {}
    }
    match (&exchange.end, exchange.status) {
        (ExchangeEnd::Whole, Some(status)) if status < 400 => {
            let is_copy_cut = exchange.is_cut || call.is_cut;
            let is_cut_short = !call.answer.is_complete && call.answer.chunks > 0 && !is_copy_cut;
            is_cut_short.then(|| {
                (
                    CUT_SHORT.to_owned(),
                    "the stream ended before its last event".to_owned(),
                )
            })
        }
        // A stream whose end has come is whole, even if the client closed the connection then.
        (ExchangeEnd::ClientGone, Some(status))
            if status < 400 && call.answer.chunks > 0 && call.answer.is_complete =>
        {
            None
        }
        (end, status) => Some(failure_of_end(end, status)),
    }
}

fn failure_of_end(end: &ExchangeEnd, status: Option<u16>) -> (String, String) {
    match (end, status) {
        // A refusal whose body the client left is that refusal.
        (ExchangeEnd::ClientGone, Some(status)) if status >= 400 => {
            (status.to_string(), format!("HTTP status {status}"))
        }
        (ExchangeEnd::ClientGone, _) => (ABORTED.to_owned(), "the client hung up".to_owned()),
        (ExchangeEnd::BrokenOff(reason), _) => (UPSTREAM_FAILED.to_owned(), reason.clone()),
        (ExchangeEnd::Whole, Some(status)) => (status.to_string(), format!("HTTP status {status}")),
        (ExchangeEnd::Whole, None) => (UPSTREAM_FAILED.to_owned(), "no answer".to_owned()),
    }
}

/// An error body is in the span's error already.
fn has_only_an_error(exchange: &Exchange, call: &ModelCall) -> bool {
    let has_error = call.facts.error.is_some();
    call.answer.body.is_null() || (has_error && !has_output(exchange, &call.answer.body))
}

/// True if a body has any part of a model's answer.
fn has_output(exchange: &Exchange, body: &Value) -> bool {
    [
        "choices",
        "content",
        "output",
        "candidates",
        "message",
        "outputs",
        "steps",
        "response",
    ]
    .iter()
    .any(|key| match body.get(*key) {
        Some(Value::Array(items)) => !items.is_empty(),
        // The message of an error is a text.
        Some(Value::String(text)) => !text.is_empty() && !is_refused(exchange),
        Some(value) => !value.is_null(),
        None => false,
    })
}

pub(super) fn set_failure(span: &mut SpanRecord, class: &str, message: &str) {
    span.set(names::ERROR_TYPE, class);
    span.set(names::ERROR_MESSAGE, message);
    message.clone_into(&mut span.status_description);
    span.status_code = StatusCode::Error;
}

fn error_class(span: &SpanRecord) -> Option<&str> {
    span.attributes.get(names::ERROR_TYPE.written())?.as_str()
}

/// True if the span of a call says that it failed, and was not just left.
pub(super) fn has_failed(span: &SpanRecord) -> bool {
    span.status_code == StatusCode::Error && error_class(span) != Some(CANCELLED)
}

/// True if the span of a call says that its client left.
pub(super) fn is_left(span: &SpanRecord) -> bool {
    error_class(span) == Some(ABORTED)
}

/// Says of a request that its client left while it made the same one elsewhere that it was cancelled; true of such a one.
pub(super) fn abandon(span: &mut SpanRecord) -> bool {
    let is_left = is_left(span);
    if is_left {
        span.set(names::ERROR_TYPE, CANCELLED);
    }
    is_left
}

/// A prompt or an answer as the format has it: JSON text that says that it is JSON.
fn content(name: Name, time: SystemTime, value: &Value) -> Option<SpanEvent> {
    let event = SpanEvent::new(name, Timestamp::from_unix_nanoseconds(nanoseconds(time)));
    match value {
        Value::Null => None,
        Value::String(text) => Some(event.with(event_keys::CONTENT, text.as_str())),
        value => {
            let event = event.with(event_keys::CONTENT, value.to_string());
            Some(event.with(event_keys::FORMAT, event_keys::FORMAT_JSON))
        }
    }
}

/// Nanoseconds after 1970.
pub(super) fn nanoseconds(time: SystemTime) -> u64 {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}
