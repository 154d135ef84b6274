//! The envelope of the specification: `{spec_version, run, events}` and no other key.

use std::io::Write;

use tracer_sdk::format::RunMeta;

use super::ExportError;
use super::lines::Lines;
use crate::json::Document;

/// Writes the document.
pub fn write(
    meta: &RunMeta,
    records: impl IntoIterator<Item = Result<Lines, ExportError>>,
    writer: &mut dyn Write,
) -> Result<(), ExportError> {
    let mut document = Document::begin(writer)?;
    document.field("run", meta)?;
    let mut events = document.begin_list("events")?;
    for lines in records {
        for line in lines?.iter() {
            events.item(|writer| writer.write_all(line))?;
        }
    }
    events.end()?;
    Ok(document.end()?)
}
