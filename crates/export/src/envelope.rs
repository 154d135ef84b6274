//! The envelope of the specification: `{spec_version, run, events}` and no other key.

use std::io::Write;

use tracer_sdk::format::RunMeta;

use super::ExportError;
use super::lines::Lines;
use tracer_insight::json::Document;

/// One run in one file: its metadata and its projected records, and no other key.
#[derive(Debug, schemars::JsonSchema)]
#[schemars(extend("additionalProperties" = false))]
#[expect(dead_code, reason = "only the shape is wanted")]
pub struct Envelope {
    /// The version of the trace format.
    #[schemars(schema_with = "tracer_insight::schema::spec_version")]
    spec_version: String,
    /// The metadata of the run.
    run: RunMeta,
    /// The projected records, in their order.
    events: Vec<tracer_sdk::format::Record>,
}

/// Writes the document.
pub(crate) fn write(
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
