//! Requests for models and their answers as plain data: what the proxy hands over when an exchange has ended, and what may
//! answer a request instead of the provider.

use std::time::{Duration, SystemTime};

use axum::body::Bytes;
use serde_json::Value;

use tracer_providers::ModelApi;

/// A request that has come in whole, before it is passed on.
#[derive(Debug, Clone, Copy)]
pub struct IncomingRequest<'a> {
    /// The method, in capital letters.
    pub method: &'a str,
    /// The provider whose clients this path of the proxy belongs to: `openai`.
    pub provider: &'a str,
    /// The path behind the provider's own segment: `/v1/chat/completions`.
    pub path: &'a str,
    /// The query, which may hold a key.
    pub query: Option<&'a str>,
    /// The API, if it is a call of a model.
    pub api: Option<ModelApi>,
    /// The body.
    pub body: &'a [u8],
}

/// An answer that is given without asking the provider.
#[derive(Debug, Clone, Default)]
pub struct PreparedAnswer {
    /// The status code.
    pub status: u16,
    /// The headers.
    pub headers: Vec<(String, String)>,
    /// The body, in the chunks that it is written in.
    pub chunks: Vec<Bytes>,
    /// `true` when the connection breaks off behind the last chunk, as the recorded one did.
    pub breaks_off: bool,
    /// `true` when it was recorded earlier; `false` for an answer of our own, such as an error.
    pub is_replayed: bool,
    /// `true` when the event of a stream with nothing but tokens is withheld from the client, as it was when recorded.
    pub hides_usage: bool,
    /// Delay before the status, in which nothing is sent.
    pub delay: Duration,
}

impl PreparedAnswer {
    /// An error of our own as a JSON document, with a further header.
    pub(crate) fn of_error(status: u16, body: &Value, header: Option<(&str, &str)>) -> Self {
        let pairs = std::iter::once(("content-type", "application/json")).chain(header);
        Self {
            status,
            headers: pairs
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .collect(),
            chunks: vec![Bytes::from(body.to_string())],
            ..Self::default()
        }
    }
}

/// Header of an error that clients do not try again.
pub(crate) const NO_RETRY: (&str, &str) = ("x-should-retry", "false");

/// A request that is forwarded to the provider in place of the one that the client sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedRequest {
    /// The path behind the provider's own segment, if it is another one.
    pub path: Option<String>,
    /// The body.
    pub body: Vec<u8>,
}

/// Decision about a request.
#[derive(Debug)]
pub enum RequestDecision {
    /// It is forwarded to the provider unchanged.
    PassOn,
    /// It is forwarded to the provider changed.
    PassOnAs(ChangedRequest),
    /// It is answered here.
    Answer(PreparedAnswer),
}

/// Decides whether a request is forwarded to the provider. Called by many threads at once; slow work belongs elsewhere.
pub trait Responder: std::fmt::Debug + Send + Sync + 'static {
    /// Decides about this request.
    fn respond(&self, request: &IncomingRequest<'_>) -> RequestDecision;
}

/// End of an exchange.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExchangeEnd {
    /// The answer came to its end.
    Whole,
    /// The client hung up before that.
    ClientGone,
    /// The provider could not be reached, or broke off: why, in words that hold no content.
    BrokenOff(String),
}

/// A request that went through the proxy, and its answer.
#[derive(Debug, Clone, Copy)]
pub struct FinishedExchange<'a> {
    /// The request.
    pub request: IncomingRequest<'a>,
    /// When it had arrived.
    pub arrived: SystemTime,
    /// The status code; `None` when there was no answer.
    pub status: Option<u16>,
    /// Headers of the answer that say something about it: never a credential.
    pub headers: &'a [(String, String)],
    /// The body of the answer.
    pub response: &'a [u8],
    /// When the answer had ended.
    pub ended: SystemTime,
    /// End of the exchange.
    pub end: &'a ExchangeEnd,
    /// Parts of the bodies are missing: they were too large.
    pub is_cut: bool,
    /// The answer was a recorded one.
    pub is_replayed: bool,
    /// The event of a stream with nothing but tokens was withheld from the client.
    pub hides_usage: bool,
}

/// Sink for finished exchanges. Called by the one thread that records, after the client has its answer.
pub trait ExchangeSink: std::fmt::Debug + Send + 'static {
    /// Keeps an exchange. Returns the number of the call, from 1, among the calls of models that are kept next to the
    /// run; `None` when it is not kept there, or is no call of a model.
    fn keep(&mut self, exchange: &FinishedExchange<'_>) -> Option<u64>;
}

/// Headers of answers that are kept.
const KEPT_HEADERS: [&str; 11] = [
    "cache-control",
    "content-type",
    "openai-processing-ms",
    "openai-version",
    "request-id",
    "retry-after",
    "retry-after-ms",
    "warning",
    "x-accel-buffering",
    "x-request-id",
    "x-should-retry",
];
/// Name prefixes of further headers that are kept.
const KEPT_PREFIXES: [&str; 2] = ["anthropic-ratelimit-", "x-ratelimit-"];

/// Returns whether a header of an answer is kept, and may be replayed; `name` is in small letters.
#[must_use]
pub(crate) fn is_kept_header(name: &str) -> bool {
    KEPT_HEADERS.contains(&name) || KEPT_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

/// Query parameters that define the request; others may be keys.
const KEPT_PARAMETERS: [&str; 4] = ["alt", "api-version", "beta", "stream"];

/// The parameters of a query that are no credentials, in alphabetical order.
#[must_use]
pub(crate) fn kept_query(query: &str) -> String {
    let mut kept: Vec<&str> = query
        .split('&')
        .filter(|pair| KEPT_PARAMETERS.contains(&pair.split('=').next().unwrap_or_default()))
        .collect();
    kept.sort_unstable();
    kept.join("&")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_and_identities_are_not_kept() {
        for name in ["content-type", "x-ratelimit-remaining-tokens"] {
            assert!(is_kept_header(name), "{name}");
        }
        for name in ["set-cookie", "openai-organization"] {
            assert!(!is_kept_header(name), "{name}");
        }
        assert_eq!(kept_query("key=AIza&alt=sse"), "alt=sse");
    }
}
