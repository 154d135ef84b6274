//! The middleware that admits a request or refuses it.

use axum::extract::{Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::guard::SEC_FETCH_SITE;
use super::headers::{OPENER_POLICY, all_headers};
use super::viewer::Viewer;

/// Lets a request pass or refuses it; either way the answer carries the headers that keep a browser within bounds.
pub(super) async fn check(State(viewer): State<Viewer>, request: Request, next: Next) -> Response {
    let guard = viewer.guard();
    let checked = guard.check_origin(request.uri(), request.headers());
    // A browser that says where a request comes from got past the check because no other site asked, so no other site holds the
    // window; parting it all the same costs such a browser another process for each page, a sixth of what it takes to show one.
    let is_ours = checked.is_ok() && request.headers().contains_key(SEC_FETCH_SITE);
    let mut response = match checked {
        Err(error) => error.into_response(),
        Ok(()) => match guard.invited(&request) {
            Some(response) => response,
            None => match guard.check_token(request.method(), request.headers()) {
                Err(error) => error.into_response(),
                Ok(()) => next.run(request).await,
            },
        },
    };
    let status = response.status();
    let headers = response.headers_mut();
    for (name, value) in all_headers().filter(|(name, _)| !is_ours || *name != OPENER_POLICY.0) {
        headers.insert(name, HeaderValue::from_static(value));
    }
    if !headers.contains_key(header::CACHE_CONTROL) {
        let is_versioned = headers.contains_key(header::ETAG) || status != StatusCode::OK;
        let cached = HeaderValue::from_static(if is_versioned { "no-cache" } else { "no-store" });
        headers.insert(header::CACHE_CONTROL, cached);
    }
    response
}
