//! The receiver: OTLP over HTTP and gRPC, on this machine by default (capture, section 2).
//!
//! [`OtlpServer`] listens in threads of its own and hands what it decodes to an [`OtlpSink`](crate::OtlpSink). A request
//! is answered when the sink has it on the disk.

mod body;
mod forward;
mod grpc;
mod guard;
mod http;
mod intake;
mod lifetime;
mod listen;
mod options;
mod receiver;
mod refusal;
mod signal;
mod statistics;
mod status;

pub use self::lifetime::{OtlpServer, ServerError};
pub use self::options::{DEFAULT_MAX_REQUEST_BYTES, ServerOptions, Upstream};
pub use self::statistics::ServerStatistics;

#[cfg(test)]
mod tests;
