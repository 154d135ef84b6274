//! OpenTelemetry's file format: one `ExportTraceServiceRequest` as JSON (OTLP 1, *JSON Protobuf Encoding*): IDs in hex,
//! times as texts of nanoseconds, enumerations as numbers.

use std::io::{self, Write};

use serde::{Serialize, Serializer};
use tracer_sdk::format::{RunMeta, SpanEvent, SpanId, SpanKind, SpanRecord, StatusCode, StoredTime, TraceId};
use tracer_sdk::read::SpanStream;

use super::lines::Lines;
use super::otlp_attributes::{self, Attributes};
use super::pieces::Pieces;
use super::{ExportError, own_record};
use tracer_insight::json;

/// Name of the service when the run has none.
const UNNAMED_SERVICE: &str = "tracer";

/// The spans of a run, as [`write()`] takes them.
pub fn lines(spans: &SpanStream) -> io::Result<Pieces<Lines>> {
    let mut spans = spans.clone();
    Pieces::new(spans.span_count(), move |number, lines: &mut Lines| {
        if let Some(span) = spans.span(number)? {
            lines.push(&Span::of(span))?;
        }
        Ok(())
    })
}

/// Writes the request, with the spans in the order in which they come.
pub fn write(
    meta: &RunMeta,
    spans: impl IntoIterator<Item = Result<Lines, ExportError>>,
    writer: &mut dyn Write,
) -> Result<(), ExportError> {
    let service = meta
        .run_name
        .as_deref()
        .filter(|name| !name.is_empty())
        .unwrap_or(UNNAMED_SERVICE);
    writer.write_all(b"{\"resourceSpans\":[{\"resource\":{\"attributes\":")?;
    json::write(writer, &otlp_attributes::of_resource(service))?;
    writer.write_all(b"},\"scopeSpans\":[{\"scope\":{\"name\":\"tracer\",\"version\":")?;
    json::write(writer, &env!("CARGO_PKG_VERSION"))?;
    writer.write_all(b"},\"spans\":[")?;
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

/// A span as the protocol has it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Span {
    trace_id: TraceId,
    #[serde(rename = "spanId")]
    id: SpanId,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent_span_id: Option<SpanId>,
    name: String,
    kind: u8,
    start_time_unix_nano: UnixNanoseconds,
    end_time_unix_nano: UnixNanoseconds,
    attributes: Attributes,
    events: Vec<Event>,
    status: Status,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Event {
    time_unix_nano: UnixNanoseconds,
    name: String,
    attributes: Attributes,
}

#[derive(Serialize)]
struct Status {
    code: u8,
    #[serde(skip_serializing_if = "String::is_empty")]
    message: String,
}

impl Span {
    fn of(span: SpanRecord) -> Self {
        let start = UnixNanoseconds::of(&span.start_time);
        let record = own_record(&span);
        Self {
            trace_id: span.trace_id,
            id: span.span_id,
            parent_span_id: span.parent_span_id,
            kind: kind(span.kind),
            start_time_unix_nano: start,
            // The protocol has no span without an end: one that has none took no time that is known.
            end_time_unix_nano: span.end_time.as_ref().map_or(start, UnixNanoseconds::of),
            attributes: otlp_attributes::of_span(&span.name, span.attributes, record.as_ref()),
            events: span.events.into_iter().map(Event::of).collect(),
            status: Status {
                code: status(span.status_code),
                message: span.status_description,
            },
            name: span.name,
        }
    }
}

impl Event {
    fn of(event: SpanEvent) -> Self {
        Self {
            time_unix_nano: UnixNanoseconds::of(&event.timestamp),
            attributes: otlp_attributes::of_event(&event.name, event.attributes),
            name: event.name,
        }
    }
}

/// Nanoseconds after 1970; the protocol has none before.
#[derive(Clone, Copy)]
struct UnixNanoseconds(u128);

impl UnixNanoseconds {
    fn of(time: &StoredTime) -> Self {
        let microseconds = u128::try_from(time.instant().unix_microseconds()).unwrap_or(0);
        Self(microseconds * 1_000)
    }
}

impl Serialize for UnixNanoseconds {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

const fn kind(kind: SpanKind) -> u8 {
    match kind {
        SpanKind::Internal => 1,
        SpanKind::Server => 2,
        SpanKind::Client => 3,
        SpanKind::Producer => 4,
        SpanKind::Consumer => 5,
    }
}

const fn status(status: StatusCode) -> u8 {
    match status {
        StatusCode::Unset => 0,
        StatusCode::Ok => 1,
        StatusCode::Error => 2,
    }
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
            lines.push(&Span::of(span)).unwrap();
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
