//! The Trace Event Format, which Perfetto and `chrome://tracing` open: one row for what happens one after the other,
//! further rows for what happens at once.

use std::io::Write;

use serde::Serialize;
use serde_json::{Value, json};
use tracer_sdk::format::{Record, RunMeta, SpanId, SpanRecord, StoredTime, Timestamp};

use super::ExportError;
use super::lanes::{Interval, Lanes};
use crate::json;

/// The format knows processes and threads; a run is one process, and its rows are the threads.
const PROCESS: u32 = 1;

/// Writes the document.
pub fn write(
    meta: &RunMeta,
    spans: impl IntoIterator<Item = Result<SpanRecord, ExportError>>,
    writer: &mut dyn Write,
) -> Result<(), ExportError> {
    writer.write_all(b"{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n")?;
    let name = meta.run_name.as_deref().unwrap_or("run");
    json::write(writer, &named("process_name", 0, name))?;
    let mut rows = Rows {
        lanes: Lanes::default(),
        zero: meta.started_at.instant(),
        writer,
    };
    // Those that start together wait for each other: the longest is the parent, and must be placed first.
    let mut together: Vec<SpanRecord> = Vec::new();
    for span in spans {
        let span = span?;
        if together
            .first()
            .is_some_and(|first| first.start_time.instant() != span.start_time.instant())
        {
            rows.write(&mut together)?;
        }
        together.push(span);
    }
    rows.write(&mut together)?;
    let Rows { lanes, writer, .. } = rows;
    for lane in 0..lanes.count().max(1) {
        let name = match lane {
            0 => "run".to_owned(),
            _ => format!("at the same time {lane}"),
        };
        writer.write_all(b",\n")?;
        json::write(writer, &named("thread_name", lane, &name))?;
    }
    writer.write_all(b"\n]}\n")?;
    Ok(())
}

struct Rows<'a> {
    lanes: Lanes,
    /// What the times count from: the start of the run.
    zero: Timestamp,
    writer: &'a mut dyn Write,
}

impl Rows<'_> {
    /// Writes spans that start together.
    fn write(&mut self, together: &mut Vec<SpanRecord>) -> Result<(), ExportError> {
        // Stable, and the root before whatever lasts as long.
        together.sort_by_key(|span| (std::cmp::Reverse(interval(span).end), !span.is_root()));
        for span in together.drain(..) {
            let interval = interval(&span);
            for record in tracer_sdk::spans_to_events(std::slice::from_ref(&span)) {
                if record.event_id == span.span_id.to_string() {
                    let event = self.own_event(&span, interval, &record);
                    self.event(&event)?;
                } else if record.parent_id.is_some() {
                    let instant = instant_of(&record);
                    let event = self.instant(&record, Some(span.span_id), instant);
                    self.event(&event)?;
                }
            }
        }
        Ok(())
    }

    /// A span that took no time would not be seen as a bar.
    fn own_event(&mut self, span: &SpanRecord, interval: Interval, record: &Record) -> Event {
        if interval.start == interval.end && !span.is_root() {
            return self.instant(record, span.parent_span_id, Some(interval.start));
        }
        let lane = self.lanes.place(span.span_id, span.parent_span_id, interval);
        Event {
            duration: Some(interval.end.microseconds_since(interval.start)),
            ..self.told(record, "X", lane, Some(interval.start))
        }
    }

    fn instant(&self, record: &Record, beside: Option<SpanId>, at: Option<Timestamp>) -> Event {
        Event {
            scope: Some("t"),
            ..self.told(record, "i", self.lanes.lane_of(beside), at)
        }
    }

    fn told(&self, record: &Record, phase: &'static str, lane: usize, at: Option<Timestamp>) -> Event {
        Event {
            phase,
            name: record.name.clone(),
            category: record.event_type().as_str(),
            timestamp: at.map_or(0, |at| at.microseconds_since(self.zero)),
            duration: None,
            process: PROCESS,
            thread: lane,
            scope: None,
            arguments: json!({"event_id": record.event_id, "parent_id": record.parent_id, "payload": record.payload}),
        }
    }

    fn event(&mut self, event: &Event) -> Result<(), ExportError> {
        self.writer.write_all(b",\n")?;
        Ok(json::write(self.writer, event)?)
    }
}

fn interval(span: &SpanRecord) -> Interval {
    let start = span.start_time.instant();
    let end = span.end_time.as_ref().map_or(start, StoredTime::instant);
    Interval {
        start,
        end: end.max(start),
    }
}

fn instant_of(record: &Record) -> Option<Timestamp> {
    record.ts.parse().ok()
}

/// One entry, with the short keys of the format.
#[derive(Serialize)]
struct Event {
    #[serde(rename = "ph")]
    phase: &'static str,
    name: String,
    #[serde(rename = "cat")]
    category: &'static str,
    /// Microseconds from the start of the run.
    #[serde(rename = "ts")]
    timestamp: i64,
    #[serde(rename = "dur", skip_serializing_if = "Option::is_none")]
    duration: Option<i64>,
    #[serde(rename = "pid")]
    process: u32,
    #[serde(rename = "tid")]
    thread: usize,
    #[serde(rename = "s", skip_serializing_if = "Option::is_none")]
    scope: Option<&'static str>,
    #[serde(rename = "args")]
    arguments: Value,
}

/// What a process or a thread is called.
fn named(what: &'static str, thread: usize, name: &str) -> Event {
    Event {
        phase: "M",
        name: what.to_owned(),
        category: "__metadata",
        timestamp: 0,
        duration: None,
        process: PROCESS,
        thread,
        scope: None,
        arguments: json!({ "name": name }),
    }
}

#[cfg(test)]
mod tests {
    use super::super::samples;

    #[test]
    fn what_happens_at_once_has_rows_of_its_own_and_what_takes_no_time_is_an_instant() {
        let mut out = Vec::new();
        super::write(&samples::meta(), samples::run().into_iter().map(Ok), &mut out).unwrap();
        serde_json::from_slice::<serde_json::Value>(&out).unwrap();
        insta::assert_snapshot!(String::from_utf8(out).unwrap());
    }
}
