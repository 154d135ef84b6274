//! Headers on their way through, and the few that are recorded.

use axum::http::{HeaderMap, HeaderName, header};

use crate::exchange::is_kept_header;
use crate::hop_by_hop::passed_on;

/// Headers that the request's own connection decides: the host, the length, and the encoding, which is identity so that
/// the copy can be read and the client gets the same bytes.
const DECIDED_HERE: [HeaderName; 4] = [
    header::HOST,
    header::CONTENT_LENGTH,
    header::ACCEPT_ENCODING,
    header::EXPECT,
];

/// The headers that are forwarded to the upstream.
pub(super) fn to_upstream(headers: &HeaderMap) -> HeaderMap {
    let mut passed = passed_on(headers, |name| DECIDED_HERE.contains(name));
    let identity = axum::http::HeaderValue::from_static("identity");
    passed.insert(header::ACCEPT_ENCODING, identity);
    passed
}

/// The headers that go back to the client.
pub(super) fn to_client(headers: &HeaderMap) -> HeaderMap {
    passed_on(headers, |_| false)
}

/// Returns whether the request is signed together with its host and path (AWS Signature Version 4).
pub(super) fn is_signed(headers: &HeaderMap) -> bool {
    text(headers, "authorization").is_some_and(|value| value.trim_start().starts_with("AWS4-"))
}

/// The headers of an answer that are kept, because they say something about it.
pub(super) fn kept(headers: &HeaderMap) -> Vec<(String, String)> {
    let kept = headers.iter().filter(|(name, _)| is_kept_header(name.as_str()));
    kept.filter_map(|(name, value)| Some((name.as_str().to_owned(), value.to_str().ok()?.to_owned())))
        .collect()
}

/// A header as text.
pub(super) fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn map(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        headers
    }

    #[test]
    fn credentials_pass_and_connections_do_not() {
        let request = map(&[
            ("host", "127.0.0.1:1"),
            ("authorization", "Bearer x"),
            ("connection", "close, x-hop"),
            ("x-hop", "1"),
            ("accept-encoding", "gzip"),
            ("expect", "100-continue"),
            ("anthropic-beta", "a"),
            ("anthropic-beta", "b"),
        ]);
        let passed = to_upstream(&request);
        let mut names: Vec<&str> = passed.keys().map(HeaderName::as_str).collect();
        names.sort_unstable();
        assert_eq!(names, ["accept-encoding", "anthropic-beta", "authorization"]);
        assert_eq!(passed["accept-encoding"], "identity");
        assert_eq!(passed.get_all("anthropic-beta").iter().count(), 2);
    }

    #[test]
    fn an_answer_keeps_its_own_headers() {
        let answer = map(&[
            ("content-type", "text/event-stream"),
            ("transfer-encoding", "chunked"),
            ("x-request-id", "r"),
        ]);
        let passed = to_client(&answer);
        assert!(passed.contains_key("x-request-id") && passed.contains_key("content-type"));
        assert!(!passed.contains_key("transfer-encoding"));
    }
}
