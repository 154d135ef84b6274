//! The protocol's serving side: routes, checks, errors, token counts.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use axum::body::Bytes;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde_json::{Value, json};

use super::{API_KEY, MODEL, Reply, reply_to};
use crate::model::{
    ChatRequest, ErrorDetail, ErrorResponse, FunctionCall, Message, Role, TokenUsage, ToolCall,
};

/// How long the stand-in takes for each token that it writes: about as long as a fast model.
const TIME_PER_TOKEN: Duration = Duration::from_millis(1);

/// Answers and tool calls are numbered through, as long as the process lives.
static LAST_NUMBER: AtomicU64 = AtomicU64::new(0);

/// The endpoints of the protocol that an agent uses.
pub(super) fn routes() -> Router {
    let not_allowed = || async {
        refusal(
            StatusCode::METHOD_NOT_ALLOWED,
            "this URL does not take this method",
            None,
            None,
        )
    };
    let unknown = || async {
        refusal(
            StatusCode::NOT_FOUND,
            "there is no such URL; see /v1/chat/completions",
            None,
            Some("unknown_url"),
        )
    };
    Router::new()
        .route("/v1/chat/completions", post(complete).fallback(not_allowed))
        .route("/v1/models", get(models).fallback(not_allowed))
        .fallback(unknown)
}

async fn models(headers: HeaderMap) -> Result<Json<Value>, Refusal> {
    check_key(&headers)?;
    Ok(Json(
        json!({"object": "list", "data": [{"id": MODEL, "object": "model", "owned_by": "tracer-examples"}]}),
    ))
}

async fn complete(headers: HeaderMap, body: Bytes) -> Result<Json<Value>, Refusal> {
    check_key(&headers)?;
    let request = understood(&body)?;
    let reply = reply_to(&request);
    let usage = usage(&request, &reply);
    tokio::time::sleep(TIME_PER_TOKEN * u32::try_from(usage.completion_tokens).unwrap_or(u32::MAX)).await;

    let (message, finish_reason) = match reply {
        Reply::Answer(text) => (Message::assistant(text), "stop"),
        Reply::Call { tool, arguments } => (tool_call(tool, &arguments), "tool_calls"),
    };
    let created = SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default()
        .as_secs();
    Ok(Json(json!({
        "id": next_id("chatcmpl"),
        "object": "chat.completion",
        "created": created,
        "model": MODEL,
        "choices": [{"index": 0, "message": message, "finish_reason": finish_reason}],
        "usage": usage,
    })))
}

fn tool_call(tool: &str, arguments: &Value) -> Message {
    let function = FunctionCall {
        name: tool.to_owned(),
        arguments: arguments.to_string(),
    };
    let call = ToolCall {
        id: next_id("call"),
        kind: "function".to_owned(),
        function,
    };
    Message {
        role: Role::Assistant,
        content: None,
        tool_calls: vec![call],
        tool_call_id: None,
    }
}

fn next_id(prefix: &str) -> String {
    format!("{prefix}-{}", LAST_NUMBER.fetch_add(1, Ordering::Relaxed) + 1)
}

/// Four characters are about one token: the usual rule of thumb for English.
fn tokens(characters: usize) -> u64 {
    u64::try_from(characters.div_ceil(4)).unwrap_or(u64::MAX)
}

fn usage(request: &ChatRequest, reply: &Reply) -> TokenUsage {
    let length_of = |value: &Value| value.to_string().chars().count();
    let prompt_tokens = tokens(length_of(&json!(request.messages)) + length_of(&json!(request.tools)));
    let completion_tokens = tokens(match reply {
        Reply::Answer(text) => text.chars().count(),
        Reply::Call { tool, arguments } => tool.len() + length_of(arguments),
    });
    TokenUsage {
        prompt_tokens,
        completion_tokens,
        total_tokens: prompt_tokens + completion_tokens,
    }
}

/// The request, when it is one that can be answered.
fn understood(body: &[u8]) -> Result<ChatRequest, Refusal> {
    let bad = |message: &str, param| refusal(StatusCode::BAD_REQUEST, message, param, None);
    let request: ChatRequest = serde_json::from_slice(body)
        .map_err(|error| bad(&format!("the body is not understood: {error}"), None))?;
    if request.model != MODEL {
        let message = format!("there is no model `{}`; there is `{MODEL}`", request.model);
        return Err(refusal(
            StatusCode::NOT_FOUND,
            &message,
            Some("model"),
            Some("model_not_found"),
        ));
    }
    if request.messages.is_empty() {
        return Err(bad("there must be at least one message", Some("messages")));
    }
    if request.stream {
        return Err(bad("answers are not streamed here", Some("stream")));
    }
    // Each call must have been answered before the model is asked again, and nothing else may be.
    let mut open: Vec<&str> = Vec::new();
    for message in &request.messages {
        if let Some(answered) = &message.tool_call_id {
            let Some(place) = open.iter().position(|id| id == answered) else {
                return Err(bad("a tool message answers no call before it", Some("messages")));
            };
            open.remove(place);
        } else if message.role == Role::Tool {
            return Err(bad("a tool message needs a tool_call_id", Some("messages")));
        } else if !open.is_empty() {
            break;
        }
        open.extend(message.tool_calls.iter().map(|call| call.id.as_str()));
    }
    if open.is_empty() {
        Ok(request)
    } else {
        Err(bad(
            "every tool call must be followed by a tool message that answers it",
            Some("messages"),
        ))
    }
}

fn check_key(headers: &HeaderMap) -> Result<(), Refusal> {
    let given = headers
        .get(header::AUTHORIZATION)
        .and_then(|value| value.to_str().ok());
    if given.and_then(|value| value.strip_prefix("Bearer ")) == Some(API_KEY) {
        return Ok(());
    }
    let message = "the API key is missing or wrong; send it as `Authorization: Bearer …`";
    Err(refusal(
        StatusCode::UNAUTHORIZED,
        message,
        None,
        Some("invalid_api_key"),
    ))
}

/// An error as the protocol words it.
struct Refusal {
    status: StatusCode,
    body: ErrorResponse,
}

fn refusal(status: StatusCode, message: &str, param: Option<&str>, code: Option<&str>) -> Refusal {
    let error = ErrorDetail {
        message: message.to_owned(),
        kind: Some("invalid_request_error".to_owned()),
        param: param.map(str::to_owned),
        code: code.map(str::to_owned),
    };
    Refusal {
        status,
        body: ErrorResponse { error },
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        (self.status, Json(self.body)).into_response()
    }
}
