//! Headers that concern one connection: what passes requests on never passes these on.

use axum::http::{HeaderMap, HeaderName, header};

const HOP_BY_HOP: [&str; 9] = [
    "connection",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// The headers that are passed on, without the hop-by-hop ones and those that `is_left_out`.
pub(crate) fn passed_on(headers: &HeaderMap, is_left_out: impl Fn(&HeaderName) -> bool) -> HeaderMap {
    let passed = headers
        .iter()
        .filter(|(name, _)| !is_hop_by_hop(headers, name) && !is_left_out(name));
    passed
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

/// Returns whether a header is hop-by-hop, by its name or because `Connection` lists it.
fn is_hop_by_hop(headers: &HeaderMap, name: &HeaderName) -> bool {
    let named = headers
        .get_all(header::CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok());
    HOP_BY_HOP.contains(&name.as_str())
        || named
            .flat_map(|value| value.split(','))
            .any(|listed| listed.trim().eq_ignore_ascii_case(name.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_that_connection_lists_concerns_one_connection() {
        let mut headers = HeaderMap::new();
        headers.insert(header::CONNECTION, "close, X-Session".parse().unwrap());
        let is = |name: &'static str| is_hop_by_hop(&headers, &HeaderName::from_static(name));
        assert!(is("x-session") && is("te") && is("proxy-authenticate"));
        assert!(!is("x-other") && !is("authorization"));
    }
}
