//! Table of the meanings of errors, by type and message.
//!
//! It is read from the top.

use tracer_sdk::format::ErrorPayload;

use crate::cause_kind::CauseKind;
use crate::text;

/// Bytes of a message that are searched.
const MAX_MESSAGE_BYTES: usize = 4_096;
/// Bytes before a status code in which a word says that it is one.
const BEFORE_A_STATUS: usize = 24;

/// Part that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FailedPart {
    Model,
    Tool,
    Program,
}

/// An error of this kind has one of these types, texts or status codes.
struct ErrorShape {
    kind: CauseKind,
    /// Part that the error belongs to; a program passes on the errors of both.
    part: Option<FailedPart>,
    /// Parts of the error's type, in lower case, without `_` and `-`.
    types: &'static [&'static str],
    /// Parts of its message, in lower case.
    texts: &'static [&'static str],
    /// HTTP status codes and codes of JSON-RPC.
    codes: &'static [&'static str],
}

const fn shape(
    kind: CauseKind,
    part: Option<FailedPart>,
    types: &'static [&'static str],
    texts: &'static [&'static str],
    codes: &'static [&'static str],
) -> ErrorShape {
    ErrorShape {
        kind,
        part,
        types,
        texts,
        codes,
    }
}

const MODEL: Option<FailedPart> = Some(FailedPart::Model);
const TOOL: Option<FailedPart> = Some(FailedPart::Tool);

/// The first that fits counts: providers put several of these under one status code.
const SHAPES: [ErrorShape; 13] = [
    shape(
        CauseKind::ContextLength,
        MODEL,
        &["contextlength", "contextwindow"],
        &[
            "context_length",
            "context length",
            "context window",
            "prompt is too long",
            "input is too long",
            "too many input tokens",
            "maximum number of tokens",
            "input token count",
            "request too large for model",
        ],
        &[],
    ),
    shape(
        CauseKind::Quota,
        MODEL,
        &["insufficientquota", "quotaexceeded", "billing"],
        &[
            "insufficient_quota",
            "exceeded your current quota",
            "credit balance",
            "billing",
            "payment required",
        ],
        &["402"],
    ),
    shape(
        CauseKind::RateLimit,
        None,
        &["ratelimit", "toomanyrequests", "throttl"],
        &[
            "rate limit",
            "rate_limit",
            "ratelimit",
            "too many requests",
            "resource_exhausted",
            "throttl",
        ],
        &["429"],
    ),
    shape(
        CauseKind::ContentFilter,
        MODEL,
        &["contentfilter", "contentpolicy", "safety"],
        &[
            "content_filter",
            "content filter",
            "content policy",
            "content_policy",
            "content management policy",
            "safety settings",
            "prohibited_content",
        ],
        &[],
    ),
    shape(
        CauseKind::Authentication,
        None,
        &[
            "authentication",
            "unauthorized",
            "unauthenticated",
            "invalidapikey",
        ],
        &[
            "invalid api key",
            "incorrect api key",
            "invalid_api_key",
            "invalid x-api-key",
            "api key not valid",
            "api key is missing",
            "missing api key",
            "unauthorized",
            "unauthenticated",
            "invalid bearer token",
            "token has expired",
        ],
        &["401"],
    ),
    shape(
        CauseKind::Permission,
        None,
        &["permission", "forbidden", "accessdenied"],
        &[
            "permission denied",
            "permission_denied",
            "forbidden",
            "access denied",
            "not authorized",
        ],
        &["403"],
    ),
    shape(
        CauseKind::ModelNotFound,
        MODEL,
        &["modelnotfound", "notfounderror"],
        &[
            "model_not_found",
            "model not found",
            "unknown model",
            "no model `",
            "is not a valid model",
            "no such model",
        ],
        &["404"],
    ),
    shape(
        CauseKind::ToolNotFound,
        TOOL,
        &["toolnotfound", "unknowntool", "nosuchtool", "invalidtool"],
        &[
            "unknown tool",
            "tool not found",
            "no such tool",
            "is not a valid tool",
            "no tool named",
            "tool does not exist",
            "method not found",
        ],
        &["-32601"],
    ),
    shape(
        CauseKind::WrongArguments,
        TOOL,
        &[
            "validation",
            "invalidargument",
            "toolinputparsing",
            "toolargument",
        ],
        &[
            "invalid argument",
            "invalid params",
            "invalid parameter",
            "invalid input for tool",
            "required positional argument",
            "unexpected keyword argument",
            "missing required",
            "is a required property",
            "missing field",
            "unknown field",
            "invalid type:",
            "validation error",
        ],
        &["-32602"],
    ),
    shape(
        CauseKind::Timeout,
        None,
        &["timeout", "timedout", "deadline", "elapsed"],
        &[
            "timed out",
            "timeout",
            "deadline exceeded",
            "deadline has elapsed",
            "etimedout",
        ],
        &["408", "504"],
    ),
    shape(
        CauseKind::Network,
        None,
        &[
            "connection",
            "connecterror",
            "network",
            "dnserror",
            "gaierror",
            "sslerror",
            "protocolerror",
        ],
        &[
            "connection error",
            "connection refused",
            "connection reset",
            "connection closed",
            "connection aborted",
            "econnrefused",
            "econnreset",
            "enotfound",
            "getaddrinfo",
            "name resolution",
            "dns error",
            "network is unreachable",
            "no route to host",
            "certificate",
            "socket hang up",
            "broken pipe",
            "error sending request",
            "fetch failed",
        ],
        &[],
    ),
    shape(
        CauseKind::ProviderError,
        MODEL,
        &[
            "overloaded",
            "internalserver",
            "serviceunavailable",
            "servererror",
            "badgateway",
        ],
        &[
            "overloaded",
            "internal server error",
            "service unavailable",
            "bad gateway",
            "server had an error",
        ],
        &["500", "502", "503", "529"],
    ),
    shape(
        CauseKind::InvalidRequest,
        MODEL,
        &["badrequest", "invalidrequest", "unprocessableentity"],
        &[
            "invalid_request_error",
            "bad request",
            "invalid request",
            "invalid_argument",
        ],
        &["400", "422"],
    ),
];

/// The kind of an error, by its type, its message or a status code in it; `None` when these do not tell.
pub(super) fn error_kind(error: &ErrorPayload, part: FailedPart) -> Option<CauseKind> {
    let error_type = text::beginning(&error.error_type, MAX_MESSAGE_BYTES).to_lowercase();
    let error_type: String = error_type.chars().filter(|char| !"_- ".contains(*char)).collect();
    let message = text::beginning(&error.message, MAX_MESSAGE_BYTES).to_lowercase();
    let fits = |shape: &&ErrorShape| {
        let says = shape.texts.iter().any(|words| message.contains(words));
        match shape.part {
            // A program passes on the errors of its model calls; a type of its own may have the name of one.
            Some(own) if own != part => own == FailedPart::Model && part == FailedPart::Program && says,
            _ => {
                let has = |code: &&str| has_code(&message, code) || error_type == *code;
                says || shape.types.iter().any(|name| error_type.contains(name))
                    || shape.codes.iter().any(has)
            }
        }
    };
    // A type says more than a message, which may quote anything.
    let by_type = SHAPES.iter().filter(fits).find(|shape| {
        shape.types.iter().any(|name| error_type.contains(name)) && !has_closer_text(shape, &message)
    });
    by_type
        .or_else(|| SHAPES.iter().find(fits))
        .map(|shape| shape.kind)
}

/// Returns whether the message names what the type leaves open: providers give a `BadRequestError` for a prompt that is
/// too long, and a `RateLimitError` for a missing quota.
fn has_closer_text(shape: &ErrorShape, message: &str) -> bool {
    let closer: &[CauseKind] = match shape.kind {
        CauseKind::InvalidRequest => &[
            CauseKind::ContextLength,
            CauseKind::ContentFilter,
            CauseKind::Quota,
            CauseKind::ModelNotFound,
            CauseKind::Authentication,
        ],
        CauseKind::RateLimit => &[CauseKind::Quota, CauseKind::ContextLength],
        CauseKind::WrongArguments => &[CauseKind::ToolNotFound],
        CauseKind::Network => &[CauseKind::Timeout],
        CauseKind::ProviderError => &[CauseKind::ContextLength],
        _ => &[],
    };
    let is_named = |shape: &ErrorShape| shape.texts.iter().any(|words| message.contains(words));
    SHAPES
        .iter()
        .any(|shape| closer.contains(&shape.kind) && is_named(shape))
}

/// Returns whether a status code is in a message: a number of its own at its beginning, in brackets, or behind a word
/// that names it.
fn has_code(message: &str, code: &str) -> bool {
    const NAMES: [&str; 5] = ["http", "status", "code", "error", "answered"];
    let is_part = |char: Option<char>| char.is_some_and(|char| char.is_alphanumeric() || char == '_');
    message.match_indices(code).any(|(place, _)| {
        let (before, behind) = (text::beginning(message, place), &message[place + code.len()..]);
        if is_part(before.chars().next_back()) || is_part(behind.chars().next()) {
            return false;
        }
        let near = text::ending(before, BEFORE_A_STATUS);
        before.trim().is_empty()
            || before.ends_with(['(', '['])
            || NAMES.iter().any(|name| near.contains(name))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(error_type: &str, message: &str, part: FailedPart) -> Option<CauseKind> {
        let (error_type, message) = (error_type.to_owned(), message.to_owned());
        error_kind(
            &ErrorPayload {
                error_type,
                message,
                stack: None,
            },
            part,
        )
    }

    #[test]
    fn errors_of_providers_are_known() {
        let model = |error_type: &str, message: &str| kind(error_type, message, FailedPart::Model);
        let cases = [
            (
                "RateLimitError",
                "Error code: 429 - slow down",
                CauseKind::RateLimit,
            ),
            (
                "RateLimitError",
                "Error code: 429 - {'code': 'insufficient_quota'}",
                CauseKind::Quota,
            ),
            (
                "BadRequestError",
                "This model's maximum context length is 8192 tokens",
                CauseKind::ContextLength,
            ),
            (
                "invalid_request_error",
                "prompt is too long: 208310 tokens > 200000 maximum",
                CauseKind::ContextLength,
            ),
            (
                "AuthenticationError",
                "Incorrect API key provided: sk-x",
                CauseKind::Authentication,
            ),
            (
                "ClientError",
                "400 INVALID_ARGUMENT. API key not valid.",
                CauseKind::Authentication,
            ),
            (
                "NotFoundError",
                "The model `gpt-6` does not exist",
                CauseKind::ModelNotFound,
            ),
            (
                "ModelError",
                "the endpoint answered 404: there is no model `gpt-6`",
                CauseKind::ModelNotFound,
            ),
            ("overloaded_error", "Overloaded", CauseKind::ProviderError),
            ("HttpError", "status code 503", CauseKind::ProviderError),
            ("APITimeoutError", "Request timed out.", CauseKind::Timeout),
            ("APIConnectionError", "Connection error.", CauseKind::Network),
            (
                "reqwest::Error",
                "error sending request for url (http://127.0.0.1:1/)",
                CauseKind::Network,
            ),
            (
                "BadRequestError",
                "The response was filtered due to the content management policy",
                CauseKind::ContentFilter,
            ),
            (
                "BadRequestError",
                "Error code: 400 - unknown parameter",
                CauseKind::InvalidRequest,
            ),
        ];
        for (error_type, message, expected) in cases {
            assert_eq!(
                model(error_type, message),
                Some(expected),
                "{error_type}: {message}"
            );
        }
        assert_eq!(model("WeirdError", "it has 429 reasons"), None);
    }

    #[test]
    fn errors_of_tools_are_known() {
        let tool = |error_type: &str, message: &str| kind(error_type, message, FailedPart::Tool);
        let cases = [
            ("Error", "Unknown tool: serach", Some(CauseKind::ToolNotFound)),
            (
                "McpError",
                "MCP error -32602: bad",
                Some(CauseKind::WrongArguments),
            ),
            (
                "TypeError",
                "f() missing 1 required positional argument: 'x'",
                Some(CauseKind::WrongArguments),
            ),
            (
                "ValidationError",
                "1 validation error for Search",
                Some(CauseKind::WrongArguments),
            ),
            ("TimeoutError", "", Some(CauseKind::Timeout)),
            ("ConnectionRefusedError", "[Errno 111]", Some(CauseKind::Network)),
            ("HTTPError", "HTTP 429", Some(CauseKind::RateLimit)),
            ("ValueError", "order 404 has 500 items", None),
            ("FileNotFoundError", "No such file: model.bin", None),
        ];
        for (error_type, message, expected) in cases {
            assert_eq!(tool(error_type, message), expected, "{error_type}: {message}");
        }
    }
}
