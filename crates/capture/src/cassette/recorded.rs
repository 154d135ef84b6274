//! An exchange as a cassette holds it.

use std::time::Duration;

use axum::body::Bytes;
use serde_json::Value;
use serde_json::value::RawValue;

use super::frames::{Framing, Json, StreamFrame};
use crate::exchange::PreparedAnswer;
use tracer_providers::ModelApi;

/// A request and its answer, without credentials.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct RecordedExchange {
    /// Its number, from 1.
    pub number: u64,
    /// The API; `None` for what is no call of a model, such as a list of models.
    pub api: Option<ModelApi>,
    /// The segment of the proxy's path that leads to the provider: `openai`.
    pub provider: String,
    /// The method.
    pub method: String,
    /// The path, behind the provider's segment.
    pub path: String,
    /// Query parameters that define the request.
    pub query: String,
    /// The body of the request, redacted; `None` of what is neither JSON nor a form.
    pub request: Option<Value>,
    /// The answer.
    pub response: RecordedResponse,
    /// Places in which recording replaced a secret, in words of this format: `response.frames[3].delta.text`.
    pub replaced: Vec<String>,
    /// `true` when it answers any number of requests.
    pub repeats: bool,
}

/// An answer.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct RecordedResponse {
    /// The status code.
    pub status: u16,
    /// The headers that are kept.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: RecordedBody,
    /// `true` when the answer broke off.
    pub breaks_off: bool,
    /// `true` when the answer was not kept whole, so that it cannot be replayed.
    pub is_cut: bool,
    /// `true` when the proxy asked for the event with nothing but tokens, and withheld it from the client.
    pub hides_usage: bool,
}

/// The body of an answer.
#[derive(Debug, Clone)]
pub enum RecordedBody {
    /// An object or an array in one line.
    Json(Json),
    /// Text.
    Text(String),
    /// Bytes that are no text.
    Bytes(Vec<u8>),
    /// A stream.
    Stream {
        /// Framing of the body.
        framing: Framing,
        /// Its frames.
        frames: Vec<StreamFrame>,
    },
}

impl RecordedBody {
    /// The body as it was sent.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        match self {
            Self::Json(json) => json.get().as_bytes().to_vec(),
            Self::Text(text) => text.clone().into_bytes(),
            Self::Bytes(bytes) => bytes.clone(),
            Self::Stream { frames, .. } => frames.iter().flat_map(StreamFrame::bytes).collect(),
        }
    }
}

impl RecordedResponse {
    /// Whole answer without headers.
    pub(super) fn new(status: u16, body: RecordedBody) -> Self {
        Self {
            status,
            headers: Vec::new(),
            body,
            breaks_off: false,
            is_cut: false,
            hides_usage: false,
        }
    }

    /// The value of a header; `name` is in small letters.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }
}

impl RecordedExchange {
    /// The answer to give again, at once.
    #[must_use]
    pub fn answer(&self) -> PreparedAnswer {
        let chunks = match &self.response.body {
            RecordedBody::Stream { frames, .. } => {
                frames.iter().map(|frame| Bytes::from(frame.bytes())).collect()
            }
            body => vec![Bytes::from(body.bytes())],
        };
        PreparedAnswer {
            status: self.response.status,
            headers: self.response.headers.clone(),
            chunks,
            breaks_off: self.response.breaks_off,
            is_replayed: true,
            hides_usage: self.response.hides_usage,
            delay: Duration::ZERO,
        }
    }

    /// The model that was asked, if the request names one.
    #[must_use]
    pub fn model(&self) -> Option<&str> {
        let in_body = self.request.as_ref().and_then(|body| body["model"].as_str());
        in_body.or_else(|| self.api?.model_in_path(&self.path))
    }

    /// Returns whether the answer contains this text anywhere.
    pub(super) fn answer_contains(&self, text: &str) -> bool {
        let raw = |json: &RawValue| json.get().contains(text);
        match &self.response.body {
            RecordedBody::Json(json) => raw(json),
            RecordedBody::Text(body) => body.contains(text),
            RecordedBody::Bytes(_) => false,
            RecordedBody::Stream { frames, .. } => frames.iter().any(|frame| match frame {
                StreamFrame::Text(body) => body.contains(text),
                frame => frame.json().is_some_and(|json| raw(json)),
            }),
        }
    }
}
