//! OpenTelemetry's protocol: spans and logs as the wire and files have them (capture, sections 2 and 7).

mod compression;
mod decode;
pub mod encode;
pub mod files;
mod json;
mod json_text;
mod protobuf;
mod repairs;
mod schema;

pub use compression::{Compression, DecompressError};
pub use decode::{DecodeError, DecodedRequest, Encoding, decode_logs, decode_spans};
pub use json::JsonError;
pub use repairs::Repairs;

#[cfg(test)]
mod official_examples_tests;
#[cfg(test)]
mod round_trip_tests;
