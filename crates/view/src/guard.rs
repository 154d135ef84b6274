//! Access to the viewer: its own page, and programs that know the token of this start.
//!
//! Any web site can make a browser send requests to this machine, so every request has to name this machine as its host, and
//! none may come from another origin. Any user of this machine can connect to it, so reading needs the token too: the printed
//! address holds it, and opening that address puts it into a cookie.

use axum::extract::Request;
use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderValue, Method, Uri, header};
use axum::response::{IntoResponse, Redirect, Response};
use std::net::{IpAddr, SocketAddr};
use subtle::ConstantTimeEq as _;

use super::answer::ApiError;
use super::options::Options;

/// Header in which the page sends the token of this start.
const TOKEN_HEADER: &str = "x-tracer-token";
/// Cookie with the token; the port follows, because all ports of a host share cookies.
const TOKEN_COOKIE: &str = "tracer-token-";
pub(super) const SEC_FETCH_SITE: &str = "sec-fetch-site";

/// The hosts that a request may name, and the token of this start.
#[derive(Debug)]
pub(super) struct ViewerGuard {
    /// Names, in lower case and without a port: a tunnel has a port of its own.
    hosts: Vec<String>,
    token: String,
    port: u16,
    /// Other machines can reach it.
    is_exposed: bool,
}

impl ViewerGuard {
    /// The guard of a server that listens on `address`.
    pub(super) fn new(address: SocketAddr, options: &Options, token: String) -> Self {
        let own = [options.host.as_str(), &address.ip().to_string()]
            .map(|name| bracketed(name).to_ascii_lowercase());
        let loopback = ["127.0.0.1", "localhost", "[::1]"].map(str::to_owned);
        Self {
            hosts: own
                .into_iter()
                .filter(|_| !address.ip().is_unspecified())
                .chain(loopback)
                .collect(),
            token,
            port: address.port(),
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
        let (name, port) = match host.rsplit_once(':') {
            Some((name, port)) if !port.ends_with(']') => (name, port),
            _ => (host.as_str(), "80"),
        };
        // An exposed viewer is reached by any address that this machine has; a name may be rebound.
        let is_address = || name.trim_matches(['[', ']']).parse::<IpAddr>().is_ok();
        port.parse::<u16>().is_ok()
            && (self.hosts.iter().any(|known| known == name) || self.is_exposed && is_address())
    }

    /// Refuses a request that names another host or comes from another origin.
    pub(super) fn check_origin(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), ApiError> {
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
        let Some(host) = host
            .to_str()
            .ok()
            .filter(|_| named.into_iter().flatten().all(|host| self.is_host(host)))
        else {
            return Err(foreign());
        };
        let foreign_origin = || {
            ApiError::forbidden(
                "foreign_origin",
                "the request comes from another web site, and only the viewer's own page may ask",
            )
        };
        for origin in headers.get_all(header::ORIGIN) {
            // Another port of this machine is another web site.
            let origin = origin
                .to_str()
                .ok()
                .and_then(|origin| origin.strip_prefix("http://"));
            if !origin.is_some_and(|origin| origin.eq_ignore_ascii_case(host)) {
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

    /// Refuses a change whose header lacks the token, and reading without it in header or cookie.
    pub(super) fn check_token(&self, method: &Method, headers: &HeaderMap) -> Result<(), ApiError> {
        let is_change = !matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS);
        let in_header = headers
            .get(TOKEN_HEADER)
            .is_some_and(|token| self.is_token(token.as_bytes()));
        // A browser sends a cookie by itself: it is enough to read, not to change.
        if in_header || !is_change && self.is_token_in_cookie(headers) {
            return Ok(());
        }
        Err(ApiError::forbidden(
            "token_needed",
            "this needs the token of this viewer: open the address that tracer view printed when it started; programs send the token \
             in the header X-Tracer-Token",
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
            .any(|(name, value)| {
                let port = name.strip_prefix(TOKEN_COOKIE);
                port == Some(self.port.to_string().as_str()) && self.is_token(value.as_bytes())
            })
    }

    /// Compares in a time that does not depend on how much is right.
    fn is_token(&self, candidate: &[u8]) -> bool {
        self.token.as_bytes().ct_eq(candidate).into()
    }

    /// The address was opened with the token in it: it goes into a cookie and out of the address.
    pub(super) fn invited(&self, request: &Request) -> Option<Response> {
        if request.method() != Method::GET {
            return None;
        }
        let query = request.uri().query()?;
        let token = query.split('&').find_map(|pair| pair.strip_prefix("token="))?;
        if !self.is_token(token.as_bytes()) {
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
        let cookie = format!(
            "{TOKEN_COOKIE}{}={}; HttpOnly; SameSite=Strict; Path=/",
            self.port, self.token
        );
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
