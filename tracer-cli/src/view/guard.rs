//! Who may ask: the viewer's own page and local tools. Any web site can make a browser send requests to this machine, so
//! every request has to name this server as its host, and none may come from another origin.

use std::net::{IpAddr, SocketAddr};

use axum::extract::{Request, State};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Redirect, Response};

use super::answer::ApiError;
use super::viewer::Viewer;

/// What the page puts the token of this start into.
pub(super) const TOKEN_HEADER: &str = "x-tracer-token";
/// What a browser keeps the token in, where every request needs it.
const TOKEN_COOKIE: &str = "tracer-token";
const SEC_FETCH_SITE: &str = "sec-fetch-site";

/// What every answer carries.
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

/// Parts a page from the window that opened it.
const OPENER_POLICY: (HeaderName, &str) = (
    HeaderName::from_static("cross-origin-opener-policy"),
    "same-origin",
);

/// The hosts that a request may name, and the token of this start.
#[derive(Debug)]
pub(super) struct Guard {
    /// `name:port`, in lower case.
    hosts: Vec<String>,
    token: String,
    /// Whether reading needs the token too: the server is not on the loopback address.
    is_exposed: bool,
}

impl Guard {
    /// The guard of a server that listens on `address` and was told to use `host`.
    pub(super) fn new(address: SocketAddr, host: &str, token: String) -> Self {
        let port = address.port();
        let mut names = vec!["127.0.0.1".to_owned(), "localhost".to_owned(), "[::1]".to_owned()];
        names.push(bracketed(host));
        if !address.ip().is_unspecified() {
            names.push(bracketed(&address.ip().to_string()));
        }
        let mut hosts: Vec<String> = names
            .into_iter()
            .map(|name| format!("{}:{port}", name.to_ascii_lowercase()))
            .collect();
        if port == 80 {
            hosts.extend(
                hosts
                    .clone()
                    .iter()
                    .filter_map(|host| host.strip_suffix(":80").map(str::to_owned)),
            );
        }
        Self {
            hosts,
            token,
            is_exposed: !address.ip().is_loopback(),
        }
    }

    pub(super) fn token(&self) -> &str {
        &self.token
    }

    pub(super) fn is_exposed(&self) -> bool {
        self.is_exposed
    }

    fn is_host(&self, host: &str) -> bool {
        let host = host.to_ascii_lowercase();
        if self.hosts.contains(&host) {
            return true;
        }
        // Who knows the token was invited, whatever address this machine has for them; a name may be rebound.
        let address: Option<SocketAddr> = host.parse().ok();
        self.is_exposed && address.is_some_and(|address| Some(address.port()) == self.port())
    }

    fn port(&self) -> Option<u16> {
        self.hosts.first()?.rsplit(':').next()?.parse().ok()
    }

    /// Refuses a request that names another host or comes from another origin.
    fn check_origin(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), ApiError> {
        let foreign = || {
            ApiError::forbidden(
                "foreign_host",
                "the request names another host than this viewer; open the address that tracer view printed",
            )
        };
        let mut hosts = headers.get_all(header::HOST).iter();
        let (Some(host), None) = (hosts.next(), hosts.next()) else {
            return Err(foreign());
        };
        let named = [host.to_str().ok(), uri.authority().map(Authority::as_str)];
        let is_ours = host.to_str().is_ok() && named.into_iter().flatten().all(|host| self.is_host(host));
        if !is_ours {
            return Err(foreign());
        }
        let foreign_origin = || {
            ApiError::forbidden(
                "foreign_origin",
                "the request comes from another web site, and only the viewer's own page may ask",
            )
        };
        for origin in headers.get_all(header::ORIGIN) {
            let host = origin
                .to_str()
                .ok()
                .and_then(|origin| origin.strip_prefix("http://"));
            if !host.is_some_and(|host| self.is_host(host)) {
                return Err(foreign_origin());
            }
        }
        for site in headers.get_all(SEC_FETCH_SITE) {
            if site != "same-origin" && site != "none" {
                return Err(foreign_origin());
            }
        }
        Ok(())
    }

    /// Refuses a change without the token, and every request without it where the server is exposed.
    fn check_token(&self, method: &Method, headers: &HeaderMap) -> Result<(), ApiError> {
        let is_change = !matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS);
        let in_header = headers
            .get(TOKEN_HEADER)
            .is_some_and(|told| self.is_token(told.as_bytes()));
        if in_header || !is_change && !self.is_exposed {
            return Ok(());
        }
        // A browser sends a cookie by itself: it is enough to look, not to change.
        if !is_change && self.is_token_in_cookie(headers) {
            return Ok(());
        }
        Err(ApiError::forbidden(
            "token_needed",
            "this needs the token of this viewer, which its own page has; open the address that tracer view printed",
        ))
    }

    fn is_token_in_cookie(&self, headers: &HeaderMap) -> bool {
        let cookies = headers
            .get_all(header::COOKIE)
            .iter()
            .filter_map(|value| value.to_str().ok());
        cookies
            .flat_map(|cookies| cookies.split(';'))
            .filter_map(|cookie| cookie.trim().split_once('='))
            .any(|(name, value)| name == TOKEN_COOKIE && self.is_token(value.as_bytes()))
    }

    /// Compares without telling by its time how much is right.
    fn is_token(&self, told: &[u8]) -> bool {
        let token = self.token.as_bytes();
        let differing = token
            .iter()
            .zip(told)
            .fold(0, |differing, (one, other)| differing | (one ^ other));
        token.len() == told.len() && differing == 0
    }

    /// The address was opened with the token in it: it goes into a cookie and out of the address.
    fn invited(&self, request: &Request) -> Option<Response> {
        if !self.is_exposed || request.method() != Method::GET {
            return None;
        }
        let query = request.uri().query()?;
        let told = query.split('&').find_map(|pair| pair.strip_prefix("token="))?;
        if !self.is_token(told.as_bytes()) {
            return None;
        }
        let rest: Vec<&str> = query
            .split('&')
            .filter(|pair| !pair.starts_with("token="))
            .collect();
        let path = request.uri().path();
        // A path with two slashes in front would be another host.
        let path = format!("/{}", path.trim_start_matches('/'));
        let target = if rest.is_empty() {
            path
        } else {
            format!("{path}?{}", rest.join("&"))
        };
        let cookie = format!("{TOKEN_COOKIE}={}; HttpOnly; SameSite=Strict; Path=/", self.token);
        let mut response = Redirect::to(&target).into_response();
        response
            .headers_mut()
            .insert(header::SET_COOKIE, HeaderValue::from_str(&cookie).ok()?);
        Some(response)
    }
}

/// An address of the sixth version is written in brackets.
fn bracketed(host: &str) -> String {
    match host.trim_matches(['[', ']']).parse() {
        Ok(IpAddr::V6(address)) => format!("[{address}]"),
        _ => host.to_owned(),
    }
}

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
        Ok(()) => match guard.invited(&request) {
            Some(response) => response,
            None => match guard.check_token(request.method(), request.headers()) {
                Err(error) => error.into_response(),
                Ok(()) => next.run(request).await,
            },
        },
    };
    let headers = response.headers_mut();
    for (name, value) in &HEADERS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    if !is_ours {
        let (name, value) = OPENER_POLICY;
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
