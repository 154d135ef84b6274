//! Who may ask: the viewer's own page and local tools. Any web site can make a browser send requests to this machine, so
//! every request has to name this server as its host, and none may come from another origin. Any user of this machine can
//! connect to it, so reading needs the token, too, unless the connection is that of the user who started the viewer.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use axum::extract::Request;
use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderValue, Method, Uri, header};
use axum::response::{IntoResponse, Redirect, Response};
use subtle::ConstantTimeEq as _;

use super::answer::ApiError;
use super::connection::Connection;
use super::options::Options;

/// Header in which the page sends the token of this start.
const TOKEN_HEADER: &str = "x-tracer-token";
/// Cookie with the token, where reading needs it; the port follows, because all ports of a host share cookies.
const TOKEN_COOKIE: &str = "tracer-token-";
pub(super) const SEC_FETCH_SITE: &str = "sec-fetch-site";

/// The hosts that a request may name, and the token of this start.
#[derive(Debug)]
pub(super) struct ViewerGuard {
    /// `name:port`, in lower case.
    hosts: Vec<String>,
    token: String,
    port: u16,
    /// Whether reading always needs the token too: the server is not on the loopback address.
    is_exposed: bool,
    /// Whether the address that is printed holds the token.
    is_token_shown: bool,
}

impl ViewerGuard {
    /// The guard of a server that listens on `address`; `are_owners_known` says whether the system shows whose connections
    /// are.
    pub(super) fn new(address: SocketAddr, options: &Options, are_owners_known: bool, token: String) -> Self {
        let port = address.port();
        let mut names = vec!["127.0.0.1".to_owned(), "localhost".to_owned(), "[::1]".to_owned()];
        names.push(bracketed(&options.host));
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
        let is_exposed = !address.ip().is_loopback();
        Self {
            hosts,
            token,
            port,
            is_exposed,
            is_token_shown: is_exposed || options.with_token || !are_owners_known || is_windows_outside(),
        }
    }

    pub(super) fn token(&self) -> &str {
        &self.token
    }

    pub(super) fn is_exposed(&self) -> bool {
        self.is_exposed
    }

    pub(super) fn is_token_shown(&self) -> bool {
        self.is_token_shown
    }

    fn is_host(&self, host: &str) -> bool {
        let host = host.to_ascii_lowercase();
        if self.hosts.contains(&host) {
            return true;
        }
        // Who knows the token was invited, whatever address this machine has for them; a name may be rebound.
        let address: Option<SocketAddr> = host.parse().ok();
        self.is_exposed && address.is_some_and(|address| address.port() == self.port)
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

    /// Refuses a change without the token, and reading without it by whom the viewer does not belong to.
    pub(super) async fn check_token(
        &self,
        method: &Method,
        headers: &HeaderMap,
        connection: Option<Arc<Connection>>,
    ) -> Result<(), ApiError> {
        let is_change = !matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS);
        let in_header = headers
            .get(TOKEN_HEADER)
            .is_some_and(|token| self.is_token(token.as_bytes()));
        // A browser sends a cookie by itself: it is enough to look, not to change.
        if in_header || !is_change && self.is_token_in_cookie(headers) {
            return Ok(());
        }
        if let Some(connection) = connection.filter(|_| !is_change && !self.is_exposed)
            && connection.is_own().await
        {
            return Ok(());
        }
        Err(ApiError::forbidden(
            "token_needed",
            "this needs the token of this viewer: for changes, on another address than this machine's own, and for whom it cannot \
             tell to be the user who started it; open the address that tracer view printed, or start it with --with-token and open \
             that one",
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

/// Whether this is a Linux within Windows: a browser there reaches it through a program of the system, which is another user's.
fn is_windows_outside() -> bool {
    cfg!(target_os = "linux") && std::env::var_os("WSL_DISTRO_NAME").is_some()
}

/// An address of the sixth version is written in brackets.
fn bracketed(host: &str) -> String {
    match host.trim_matches(['[', ']']).parse() {
        Ok(IpAddr::V6(address)) => format!("[{address}]"),
        _ => host.to_owned(),
    }
}
