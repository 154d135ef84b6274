//! The formats of `tracer export`: spans or records in, bytes out. Pure: no terminal, no clock, and no file but the one
//! that records are streamed from.
//!
//! Spans come in the order in which they started, so that a format can be written as the run is read.

pub mod chrome;
pub mod envelope;
pub mod folded;
pub mod html;
pub mod lines;
pub mod ndjson;
pub mod otlp;
pub mod pieces;
#[cfg(test)]
mod samples;
mod stacks;
mod tracks;

use std::io;

use tracer_sdk::read::RecordError;

/// Why an export stopped half-way.
#[derive(Debug)]
pub enum ExportError {
    /// The run cannot be read any further.
    Read(String),
    /// The output cannot be written.
    Write(io::Error),
}

impl From<RecordError> for ExportError {
    fn from(error: RecordError) -> Self {
        Self::Read(error.to_string())
    }
}

impl From<io::Error> for ExportError {
    fn from(error: io::Error) -> Self {
        Self::Write(error)
    }
}
