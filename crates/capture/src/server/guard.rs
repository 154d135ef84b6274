//! Senders that the receiver admits: local programs, and holders of the token.
//!
//! Any web site can make a browser send requests to this machine, so a request must name this machine as its host, and
//! none may come from a page.

use std::net::IpAddr;

use hyper::header::{self, HeaderValue};
use hyper::{HeaderMap, Uri};
use subtle::ConstantTimeEq as _;

use super::refusal::Refusal;
use crate::loopback;

/// Header for the token, for senders that need `Authorization` for an upstream.
pub(super) const TOKEN_HEADER: &str = "x-tracer-token";
const SEC_FETCH_SITE: &str = "sec-fetch-site";

/// Names of this machine that no other party can make a browser resolve: those of the container runtimes.
const RUNTIME_NAMES: [&str; 3] = [
    "host.docker.internal",
    "gateway.docker.internal",
    "host.containers.internal",
];

/// The rule of a receiver.
#[derive(Debug)]
pub(super) struct ReceiverGuard {
    listen: IpAddr,
    token: Option<String>,
}

impl ReceiverGuard {
    pub(super) fn new(listen: IpAddr, token: Option<String>) -> Self {
        Self { listen, token }
    }

    /// Refuses what comes from a page, names another host, or lacks the token.
    pub(super) fn check(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), Refusal> {
        // Exporters send no origin; browsers always do, with the one exception that the second header shows.
        if headers.contains_key(header::ORIGIN) {
            return Err(Refusal::FromPage("Origin"));
        }
        if headers.get_all(SEC_FETCH_SITE).iter().any(|site| site != "none") {
            return Err(Refusal::FromPage("Sec-Fetch-Site"));
        }
        match &self.token {
            // A sender that knows the token was invited, by whichever name it knows this machine.
            Some(token) if !is_sent(token, headers) => Err(Refusal::NoToken),
            Some(_) => Ok(()),
            None if self.names_this_machine(uri, headers) => Ok(()),
            None => Err(Refusal::ForeignHost),
        }
    }

    fn names_this_machine(&self, uri: &Uri, headers: &HeaderMap) -> bool {
        let mut hosts = headers.get_all(header::HOST).iter();
        let in_header = match (hosts.next(), hosts.next()) {
            (None, _) => None,
            (Some(host), None) => match host.to_str() {
                Ok(host) => Some(host),
                Err(_) => return false,
            },
            (Some(_), Some(_)) => return false,
        };
        // HTTP/2 has it in the address.
        let in_address = uri.authority().map(hyper::http::uri::Authority::as_str);
        let mut named = in_header.into_iter().chain(in_address).peekable();
        named.peek().is_some() && named.all(|host| self.is_own(host))
    }

    fn is_own(&self, host: &str) -> bool {
        let name = without_port(host).to_ascii_lowercase();
        loopback::is_loopback_host(&name)
            || RUNTIME_NAMES.contains(&name.as_str())
            || loopback::address_of(&name) == Some(self.listen.to_canonical())
    }
}

/// The host of `host:port`. The port does not count: a forwarded port is another one, and no browser is fooled by it.
fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        // The text behind the last colon of a bare IPv6 address is no port.
        Some((name, port)) if is_port(port) && (!name.contains(':') || name.ends_with(']')) => name,
        _ => host,
    }
}

fn is_port(text: &str) -> bool {
    text.len() <= 5 && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_sent(token: &str, headers: &HeaderMap) -> bool {
    let bearer = headers.get_all(header::AUTHORIZATION).iter().filter_map(|value| {
        let (scheme, token) = value.to_str().ok()?.split_once(' ')?;
        scheme
            .eq_ignore_ascii_case("bearer")
            .then(|| token.trim().as_bytes())
    });
    let own = headers.get_all(TOKEN_HEADER).iter().map(HeaderValue::as_bytes);
    // In a time that does not depend on how much is right.
    bearer.chain(own).any(|sent| sent.ct_eq(token.as_bytes()).into())
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(*name, value.parse().unwrap());
        }
        headers
    }

    fn local() -> ReceiverGuard {
        ReceiverGuard::new(IpAddr::V4(Ipv4Addr::LOCALHOST), None)
    }

    #[test]
    fn names_of_this_machine_pass() {
        let hosts = [
            "127.0.0.1:4318",
            "127.0.0.1",
            "localhost:9",
            "LOCALHOST:4318",
            "[::1]:4318",
            "[::1]",
            "127.8.8.8:1",
            "otlp.localhost:4318",
            "host.docker.internal:4318",
        ];
        for host in hosts {
            let checked = local().check(&Uri::from_static("/v1/traces"), &headers(&[("host", host)]));
            assert!(checked.is_ok(), "{host}");
        }
    }

    #[test]
    fn other_hosts_are_refused() {
        let hosts = [
            "evil.example:4318",
            "192.168.1.5:4318",
            "localhost.evil.example",
            "127.0.0.1.evil.example:4318",
            "",
            "0.0.0.0:4318",
            "[::1",
            "evil.example:127.0.0.1",
            "127.0.0.1:4318@evil.example",
        ];
        for host in hosts {
            let checked = local().check(&Uri::from_static("/v1/traces"), &headers(&[("host", host)]));
            assert!(matches!(checked, Err(Refusal::ForeignHost)), "{host}");
        }
        let none = local().check(&Uri::from_static("/v1/traces"), &HeaderMap::new());
        assert!(matches!(none, Err(Refusal::ForeignHost)));
        let two = headers(&[("host", "localhost"), ("host", "evil.example")]);
        assert!(local().check(&Uri::from_static("/"), &two).is_err());
        let absolute = Uri::from_static("http://evil.example/v1/traces");
        assert!(
            local()
                .check(&absolute, &headers(&[("host", "localhost")]))
                .is_err()
        );
    }

    #[test]
    fn pages_are_refused_even_with_the_token() {
        let guard = ReceiverGuard::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), Some("secret".to_owned()));
        for (name, value) in [
            ("origin", "http://localhost:3000"),
            ("origin", "null"),
            ("sec-fetch-site", "cross-site"),
        ] {
            let headers = headers(&[("host", "localhost"), ("x-tracer-token", "secret"), (name, value)]);
            let checked = guard.check(&Uri::from_static("/"), &headers);
            assert!(matches!(checked, Err(Refusal::FromPage(_))), "{name}: {value}");
        }
    }

    #[test]
    fn a_token_invites_under_any_name() {
        let guard = ReceiverGuard::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), Some("secret".to_owned()));
        let uri = Uri::from_static("/");
        let right = [
            ("authorization", "Bearer secret"),
            ("authorization", "bearer  secret"),
            ("x-tracer-token", "secret"),
        ];
        for header in right {
            assert!(
                guard
                    .check(&uri, &headers(&[("host", "tracer:4318"), header]))
                    .is_ok()
            );
        }
        let wrong = [
            ("authorization", "Bearer secre"),
            ("authorization", "secret"),
            ("x-tracer-token", ""),
        ];
        for header in wrong {
            let checked = guard.check(&uri, &headers(&[("host", "localhost"), header]));
            assert!(matches!(checked, Err(Refusal::NoToken)));
        }
    }
}
