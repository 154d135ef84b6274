//! OpenTelemetry's file format: one `ExportTraceServiceRequest` as OTLP's JSON, written span by span.

use std::io::{self, Write};

use tracer_capture::otlp::encode;
use tracer_runs::SpanStream;
use tracer_sdk::format::RunMeta;

use super::ExportError;
use super::lines::Lines;
use super::pieces::Pieces;
use tracer_insight::json;

/// The spans of a run, as [`write()`] takes them.
pub(crate) fn lines(spans: &SpanStream) -> io::Result<Pieces<Lines>> {
    let mut spans = spans.clone();
    Pieces::new(spans.span_count(), move |number, lines: &mut Lines| {
        if let Some(span) = spans.read_span(number)? {
            let span = match spans.counted_in(span.span_id) {
                Some(call) => encode::repeated_span(span, call),
                None => encode::span(span),
            };
            lines.push(&span)?;
        }
        Ok(())
    })
}

/// Writes the request, with the spans in the order in which they come.
pub(crate) fn write(
    meta: &RunMeta,
    spans: impl IntoIterator<Item = Result<Lines, ExportError>>,
    writer: &mut dyn Write,
) -> Result<(), ExportError> {
    writer.write_all(b"{\"resourceSpans\":[{\"resource\":")?;
    json::write(writer, &encode::resource(meta.run_name.as_deref()))?;
    writer.write_all(b",\"scopeSpans\":[{\"scope\":")?;
    json::write(writer, &encode::scope())?;
    writer.write_all(b",\"spans\":[")?;
    let mut separator: &[u8] = b"\n";
    for lines in spans {
        for line in lines?.iter() {
            writer.write_all(separator)?;
            writer.write_all(line)?;
            separator = b",\n";
        }
    }
    writer.write_all(b"]}]}]}\n")?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::super::samples;
    use super::*;

    #[test]
    fn a_run_is_one_request_with_the_attributes_that_viewers_expect() {
        let mut lines = Lines::default();
        for span in samples::run() {
            lines.push(&encode::span(span)).unwrap();
        }
        let mut out = Vec::new();
        super::write(&samples::meta(), [Ok(lines)], &mut out).unwrap();
        let request: Value = serde_json::from_slice(&out).unwrap();
        insta::assert_snapshot!(serde_json::to_string_pretty(&request).unwrap());
    }

    #[test]
    fn a_run_without_spans_or_name_is_a_request_all_the_same() {
        let mut meta = samples::meta();
        meta.run_name = None;
        let mut out = Vec::new();
        super::write(&meta, [], &mut out).unwrap();
        let request: Value = serde_json::from_slice(&out).unwrap();
        let resource = &request["resourceSpans"][0];
        assert_eq!(
            resource["resource"]["attributes"][0]["value"]["stringValue"],
            "tracer"
        );
        assert_eq!(resource["scopeSpans"][0]["spans"], Value::Array(Vec::new()));
    }
}
