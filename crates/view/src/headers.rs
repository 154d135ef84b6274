//! Headers of every answer: they keep a browser within bounds.

use axum::http::{HeaderName, header};

/// Headers of every answer.
const HEADERS: [(HeaderName, &str); 6] = [
    (
        header::CONTENT_SECURITY_POLICY,
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; media-src data:; connect-src 'self'; base-uri 'none'; \
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

/// Headers for a browser that sends no `Sec-Fetch-Site`.
pub(super) fn all_headers() -> impl Iterator<Item = (HeaderName, &'static str)> {
    HEADERS.into_iter().chain([OPENER_POLICY])
}
