//! The envelope of the specification: `{spec_version, run, events}` and no other key.

use std::io::Write;

use tracer_sdk::format::{Record, RunMeta};

use super::ExportError;
use crate::json::Document;

/// Writes the document.
pub fn write(
    meta: &RunMeta,
    records: impl IntoIterator<Item = Result<Record, ExportError>>,
    writer: &mut dyn Write,
) -> Result<(), ExportError> {
    let mut document = Document::begin(writer)?;
    document.field("run", meta)?;
    document.try_list("events", records)?;
    Ok(document.end()?)
}
