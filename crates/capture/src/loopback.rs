//! Which hosts are this machine and nothing else.

use std::net::IpAddr;

/// Returns whether a host, without its port, is this machine's loopback: an address, `localhost`, or a name below it,
/// which is reserved.
///
/// ```
/// use tracer_capture::is_loopback_host;
///
/// assert!(is_loopback_host("localhost") && is_loopback_host("[::1]") && is_loopback_host("127.0.0.2"));
/// assert!(!is_loopback_host("192.168.0.1") && !is_loopback_host("localhost.example.test"));
/// ```
#[must_use]
pub fn is_loopback_host(host: &str) -> bool {
    let name = host.to_ascii_lowercase();
    let is_reserved = name == "localhost" || name.ends_with(".localhost");
    is_reserved || address_of(host).is_some_and(|address| address.is_loopback())
}

/// The address that a host is, in brackets or without; `None` of a name. `::ffff:127.0.0.1` is `127.0.0.1`.
pub(crate) fn address_of(host: &str) -> Option<IpAddr> {
    let bare = host
        .strip_prefix('[')
        .and_then(|host| host.strip_suffix(']'))
        .unwrap_or(host);
    let address: IpAddr = bare.parse().ok()?;
    Some(address.to_canonical())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_machine_is_its_loopback() {
        for host in [
            "localhost",
            "LocalHost",
            "otlp.localhost",
            "127.0.0.1",
            "127.8.8.8",
            "::1",
            "[::1]",
            "[::ffff:127.0.0.1]",
        ] {
            assert!(is_loopback_host(host), "{host}");
        }
        for host in [
            "",
            "0.0.0.0",
            "192.168.1.5",
            "[::1",
            "::1]",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "notlocalhost",
        ] {
            assert!(!is_loopback_host(host), "{host}");
        }
    }
}
