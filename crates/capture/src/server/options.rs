//! Options of a receiver.

use std::net::{IpAddr, Ipv4Addr};

/// The largest request, in bytes after it is unpacked: 64 MiB.
pub const DEFAULT_MAX_REQUEST_BYTES: usize = 64 * 1024 * 1024;

/// Addresses and limits of a receiver. The default listens on this machine alone, on free ports.
#[derive(Debug, Clone)]
pub struct ServerOptions {
    /// The address to listen on. An address that other machines can reach needs a token; one is made when none is given.
    pub listen: IpAddr,
    /// The port of OTLP/HTTP; 0 is any free one.
    pub http_port: u16,
    /// The port of OTLP/gRPC; 0 is any free one, none leaves it out. Each port answers both protocols.
    pub grpc_port: Option<u16>,
    /// Token that every request has to carry, as `Authorization: Bearer TOKEN` or `x-tracer-token: TOKEN`.
    pub token: Option<String>,
    /// The largest request, in bytes after it is unpacked.
    pub max_request_bytes: usize,
    /// Upstream that gets a copy of everything that is accepted.
    pub upstream: Option<Upstream>,
}

impl Default for ServerOptions {
    fn default() -> Self {
        Self {
            listen: IpAddr::V4(Ipv4Addr::LOCALHOST),
            http_port: 0,
            grpc_port: Some(0),
            token: None,
            max_request_bytes: DEFAULT_MAX_REQUEST_BYTES,
            upstream: None,
        }
    }
}

/// An endpoint of OTLP/HTTP that gets a copy of what is accepted, as it was sent. It never delays the sender: what it does
/// not take in time is dropped and counted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Upstream {
    /// The address for spans; without one they are not passed on.
    pub traces: Option<String>,
    /// The address for logs.
    pub logs: Option<String>,
}
