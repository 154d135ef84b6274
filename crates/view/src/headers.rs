//! Headers of every answer: they keep a browser within bounds.

use axum::body::Bytes;
use axum::http::{HeaderName, StatusCode, header};

use super::answer::{ApiError, json_text};

/// Headers of every answer.
const HEADERS: [(HeaderName, &str); 6] = [
    (
        header::CONTENT_SECURITY_POLICY,
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; \
         form-action 'none'; frame-ancestors 'none'",
    ),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (
        HeaderName::from_static("cross-origin-resource-policy"),
        "same-origin",
    ),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::VARY, "origin, cookie"),
];

/// Separates a page from the window that opened it.
pub(super) const OPENER_POLICY: (HeaderName, &str) = (
    HeaderName::from_static("cross-origin-opener-policy"),
    "same-origin",
);

/// What keeps a browser within bounds that says nothing of where it asks from.
pub(super) fn all_headers() -> impl Iterator<Item = (HeaderName, &'static str)> {
    HEADERS.into_iter().chain([OPENER_POLICY])
}

/// The answer to what is no request, in the place of that of the HTTP library, whose status it has.
pub(super) fn refusal(answer: &[u8]) -> Bytes {
    let code = answer.get(b"HTTP/1.1 ".len()..).and_then(|rest| rest.get(..3));
    let status = code.and_then(|status| StatusCode::from_bytes(status).ok());
    let status = status.unwrap_or(StatusCode::BAD_REQUEST);
    let error = match status {
        StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE | StatusCode::URI_TOO_LONG => {
            ApiError::new(status, "too_large", "the head of the request is too large")
        }
        status => ApiError::new(status, "invalid_request", "this is no request that can be read"),
    };
    let body = json_text(&error.answer()).unwrap_or_default();
    let mut head = format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\ncache-control: no-store\r\n",
        body.len()
    );
    for (name, value) in all_headers() {
        head.extend([name.as_str(), ": ", value, "\r\n"]);
    }
    head.push_str("\r\n");
    Bytes::from([head.into_bytes(), body].concat())
}
