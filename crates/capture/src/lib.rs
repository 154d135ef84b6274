//! Recording without code changes.
//!
//! Spans and logs that other programs send become runs, and runs are sent on (`docs/spec/capture.md`).
//!
//! OTLP comes in over HTTP and gRPC, or from files; [`OtlpSink`] and [`SpanSink`] are the seam between the wire and the runs.

pub mod cassette;
mod cause;
pub mod causes;
mod content_encoding;
pub mod doctor;
pub mod exchange;
mod hop_by_hop;
mod loopback;
pub mod otlp;
pub mod proxy;
pub mod record;
pub mod runs;
pub mod server;
pub mod sessions;
mod sink;
mod small_file;
#[cfg(test)]
mod tests;

pub use loopback::is_loopback_host;
pub use sink::{Accepted, OtlpSink, Refused, SpanSink};
