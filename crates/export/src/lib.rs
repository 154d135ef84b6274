//! One run as one file: spans or records in, bytes out. Pure: no terminal, no clock, and no file but the log that records
//! are streamed from.
//!
//! Spans come in the order in which they started, so that a format can be written as the run is read.

mod chrome;
pub mod envelope;
pub mod folded;
pub mod html;
mod lines;
mod ndjson;
mod otlp;
mod pieces;
#[cfg(test)]
mod samples;
mod stacks;
mod tracks;

use std::ffi::OsString;
use std::io::{self, Write};

use tracer_runs::{RecordError, RecordStream};
use tracer_sdk::format::RunMeta;
use tracer_sdk::redaction::Redaction;
use tracer_sdk::settings::Settings;

use crate::folded::Weight;
use crate::pieces::{ExportChunk, Pieces};

/// A format of all records or spans of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordFormat {
    /// One JSON document: `{spec_version, run, events}`.
    Envelope,
    /// One JSON event on each line.
    Ndjson,
    /// OpenTelemetry's file format, with the GenAI attributes.
    OtlpJson,
    /// The Trace Event Format.
    Chrome,
    /// Folded stacks.
    Folded(Weight),
}

/// Writes a run; `written` gets the number of items that were added to the file.
///
/// # Errors
///
/// [`ExportError`] when the log cannot be read to its end, or the output cannot be written.
pub fn write(
    format: RecordFormat,
    meta: &RunMeta,
    records: RecordStream,
    written: impl Fn(u64),
    writer: &mut dyn Write,
) -> Result<(), ExportError> {
    match format {
        RecordFormat::Envelope => {
            envelope::write(meta, counted(lines::of_records(&records)?, written), writer)
        }
        RecordFormat::Ndjson => ndjson::write(counted(lines::of_records(&records)?, written), writer),
        RecordFormat::OtlpJson => {
            let spans = otlp::lines(&records.into_spans())?;
            otlp::write(meta, counted(spans, written), writer)
        }
        RecordFormat::Chrome => {
            let spans = chrome::bars(meta, &records.into_spans())?;
            chrome::write(meta, counted(spans, written), writer)
        }
        RecordFormat::Folded(weight) => {
            let spans = folded::frames(weight, &records.into_spans())?;
            folded::write(counted(spans, written), writer)
        }
    }
}

/// Reports the size of each piece.
fn counted<P: ExportChunk>(
    pieces: Pieces<P>,
    written: impl Fn(u64),
) -> impl Iterator<Item = Result<P, ExportError>> {
    pieces.inspect(move |piece| {
        if let Ok(piece) = piece {
            written(piece.count() as u64);
        }
    })
}

/// The redaction of files that leave this machine: that of the settings and of the process's secret variables.
#[must_use]
pub fn process_redaction(settings: &Settings) -> Redaction {
    let text =
        |(name, value): (OsString, OsString)| Some((name.into_string().ok()?, value.into_string().ok()?));
    Redaction::new(settings, std::env::vars_os().filter_map(text))
}

/// Reason why an export stopped half-way.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The run cannot be read any further.
    #[error("{0}")]
    Read(String),
    /// The output cannot be written.
    #[error(transparent)]
    Write(io::Error),
}

impl ExportError {
    /// The same as an error of a writer.
    #[must_use]
    pub fn into_io(self) -> io::Error {
        match self {
            Self::Read(error) => io::Error::other(error),
            Self::Write(error) => error,
        }
    }
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
