//! The middleware that admits a request or refuses it.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::connection::Connection;
use super::guard::SEC_FETCH_SITE;
use super::headers::{OPENER_POLICY, all_headers};
use super::viewer::Viewer;

/// Lets a request pass or answers it with what is wrong with it; either way the answer carries the headers that keep a
/// browser within bounds.
pub(super) async fn check(State(viewer): State<Viewer>, request: Request, next: Next) -> Response {
    let guard = viewer.guard();
    let checked = guard.check_origin(request.uri(), request.headers());
    // A browser that says where a request comes from got past the check because no other site asked, so no other site holds the
    // window; parting it all the same costs such a browser another process for each page, a sixth of what it takes to show one.
    let is_ours = checked.is_ok() && request.headers().contains_key(SEC_FETCH_SITE);
    let mut response = match checked {
        Err(error) => error.into_response(),
        Ok(()) => {
            if let Some(response) = guard.invited(&request) {
                response
            } else {
                let connection = request.extensions().get::<Arc<Connection>>().cloned();
                let passes = guard.check_token(request.method(), request.headers(), connection);
                match passes.await {
                    Err(error) => error.into_response(),
                    Ok(()) => next.run(request).await,
                }
            }
        }
    };
    let headers = response.headers_mut();
    for (name, value) in all_headers().filter(|(name, _)| !is_ours || *name != OPENER_POLICY.0) {
        headers.insert(name, HeaderValue::from_static(value));
    }
    if !headers.contains_key(header::CACHE_CONTROL) {
        let asked_again = HeaderValue::from_static("no-cache");
        headers.insert(header::CACHE_CONTROL, asked_again);
    }
    if response.status() == StatusCode::OK && response.headers().get(header::ETAG).is_none() {
        let never = HeaderValue::from_static("no-store");
        response.headers_mut().insert(header::CACHE_CONTROL, never);
    }
    response
}
