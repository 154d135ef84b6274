//! The Trace Event Format, which Perfetto and `chrome://tracing` open: one row for what happens one after the other,
//! further rows for what happens at once.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::{Value, json};
use tracer_runs::SpanStream;
use tracer_sdk::format::{Record, RunMeta, SpanId, SpanRecord, StoredTime, Timestamp};

use super::ExportError;
use super::pieces::{ExportChunk, Pieces};
use super::tracks::{Interval, Tracks};
use tracer_insight::json;

/// The format knows processes and threads; a run is one process, and its rows are the threads.
const PROCESS: u32 = 1;

/// A span as the format has it, but for its row.
#[derive(Debug)]
struct Bar {
    id: SpanId,
    parent: Option<SpanId>,
    interval: Interval,
    is_root: bool,
    /// The bar of the span itself.
    own: Option<ChromeEvent>,
    /// The instants within it.
    instants: Vec<ChromeEvent>,
}

impl Bar {
    /// A span that took no time would not be seen as a bar, and has no row.
    fn has_row(&self) -> bool {
        self.interval.start != self.interval.end || self.is_root
    }
}

/// Some spans.
#[derive(Debug, Default)]
pub(crate) struct Bars {
    bars: Vec<Bar>,
    bytes: usize,
}

impl ExportChunk for Bars {
    fn bytes(&self) -> usize {
        self.bytes
    }

    fn count(&self) -> usize {
        self.bars.len()
    }
}

impl Bars {
    /// Adds a span of a run that started at `zero`.
    fn push(&mut self, span: &SpanRecord, zero: Timestamp) -> io::Result<()> {
        let mut bar = Bar {
            id: span.span_id,
            parent: span.parent_span_id,
            interval: interval(span),
            is_root: span.is_root(),
            own: None,
            instants: Vec::new(),
        };
        for record in tracer_sdk::spans_to_events(std::slice::from_ref(span)) {
            if record.event_id == span.span_id.to_string() {
                let Interval { start, end } = bar.interval;
                bar.own = Some(if bar.has_row() {
                    ChromeEvent::of(
                        &record,
                        start.microseconds_since(zero),
                        Some(end.microseconds_since(start)),
                    )?
                } else {
                    ChromeEvent::of(&record, start.microseconds_since(zero), None)?
                });
            } else if record.parent_id.is_some() {
                let at = instant_of(&record).map_or(0, |at| at.microseconds_since(zero));
                bar.instants.push(ChromeEvent::of(&record, at, None)?);
            }
        }
        let events = bar.own.iter().chain(&bar.instants);
        self.bytes += size_of::<Bar>() + events.map(|event| event.text.len()).sum::<usize>();
        self.bars.push(bar);
        Ok(())
    }
}

/// The spans of a run, as [`write()`] takes them.
pub(crate) fn bars(meta: &RunMeta, spans: &SpanStream) -> io::Result<Pieces<Bars>> {
    let mut spans = spans.clone();
    let zero = meta.started_at.instant();
    Pieces::new(spans.span_count(), move |number, bars: &mut Bars| {
        if let Some(span) = spans.read_span(number)? {
            bars.push(&span, zero)?;
        }
        Ok(())
    })
}

/// Writes the document.
pub(crate) fn write(
    meta: &RunMeta,
    bars: impl IntoIterator<Item = Result<Bars, ExportError>>,
    writer: &mut dyn Write,
) -> Result<(), ExportError> {
    writer.write_all(b"{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n")?;
    let name = meta.run_name.as_deref().unwrap_or("run");
    ChromeEvent::named("process_name", name)?.write(0, writer)?;
    let mut rows = ChromeRows {
        tracks: Tracks::default(),
        writer,
    };
    // Those that start together wait for each other: the longest is the parent, and must be placed first.
    let mut together: Vec<Bar> = Vec::new();
    for bars in bars {
        for bar in bars?.bars {
            if together
                .first()
                .is_some_and(|first| first.interval.start != bar.interval.start)
            {
                rows.write(&mut together)?;
            }
            together.push(bar);
        }
    }
    rows.write(&mut together)?;
    let ChromeRows { tracks, writer } = rows;
    for track in 0..tracks.count().max(1) {
        let name = match track {
            0 => "run".to_owned(),
            _ => format!("at the same time {track}"),
        };
        writer.write_all(b",\n")?;
        ChromeEvent::named("thread_name", &name)?.write(track, writer)?;
    }
    writer.write_all(b"\n]}\n")?;
    Ok(())
}

struct ChromeRows<'a> {
    tracks: Tracks,
    writer: &'a mut dyn Write,
}

impl ChromeRows<'_> {
    /// Writes spans that start together.
    fn write(&mut self, together: &mut Vec<Bar>) -> io::Result<()> {
        // Stable, and the root before whatever lasts as long.
        together.sort_by_key(|bar| (std::cmp::Reverse(bar.interval.end), !bar.is_root));
        for bar in together.drain(..) {
            if let Some(event) = &bar.own {
                let track = if bar.has_row() {
                    self.tracks.place(bar.id, bar.parent, bar.interval)
                } else {
                    self.tracks.track_of(bar.parent)
                };
                self.event(event, track)?;
            }
            for event in &bar.instants {
                let track = self.tracks.track_of(Some(bar.id));
                self.event(event, track)?;
            }
        }
        Ok(())
    }

    fn event(&mut self, event: &ChromeEvent, track: usize) -> io::Result<()> {
        self.writer.write_all(b",\n")?;
        event.write(track, self.writer)
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

/// One entry as JSON, but for the number of its row.
#[derive(Debug)]
struct ChromeEvent {
    text: Vec<u8>,
    /// The place of that number.
    lane_at: usize,
}

impl ChromeEvent {
    /// A bar with its microseconds, or an instant.
    fn of(record: &Record, timestamp: i64, duration: Option<i64>) -> io::Result<Self> {
        let beginning = RowStart {
            phase: if duration.is_some() { "X" } else { "i" },
            name: &record.name,
            category: record.event_type().as_str(),
            timestamp,
            duration,
            process: PROCESS,
        };
        let ending = RowEnd {
            scope: duration.is_none().then_some("t"),
            arguments: json!({"event_id": record.event_id, "parent_id": record.parent_id, "payload": record.payload}),
        };
        Self::with(&beginning, &ending)
    }

    /// The name of a process or a thread.
    fn named(what: &'static str, name: &str) -> io::Result<Self> {
        let beginning = RowStart {
            phase: "M",
            name: what,
            category: "__metadata",
            timestamp: 0,
            duration: None,
            process: PROCESS,
        };
        let ending = RowEnd {
            scope: None,
            arguments: json!({ "name": name }),
        };
        Self::with(&beginning, &ending)
    }

    fn with(beginning: &RowStart<'_>, ending: &RowEnd) -> io::Result<Self> {
        // Two objects become one: `{…,"tid":` and `,…}`.
        let mut text = Vec::with_capacity(1024);
        json::write(&mut text, beginning)?;
        text.pop();
        text.extend_from_slice(b",\"tid\":");
        let lane_at = text.len();
        json::write(&mut text, ending)?;
        if let Some(brace) = text.get_mut(lane_at) {
            *brace = b',';
        }
        Ok(Self { text, lane_at })
    }

    fn write(&self, track: usize, writer: &mut dyn Write) -> io::Result<()> {
        let (beginning, ending) = self.text.split_at(self.lane_at);
        writer.write_all(beginning)?;
        write!(writer, "{track}")?;
        writer.write_all(ending)
    }
}

/// The text before the row, with the short keys of the format.
#[derive(Serialize)]
struct RowStart<'a> {
    #[serde(rename = "ph")]
    phase: &'static str,
    name: &'a str,
    #[serde(rename = "cat")]
    category: &'static str,
    /// Microseconds from the start of the run.
    #[serde(rename = "ts")]
    timestamp: i64,
    #[serde(rename = "dur", skip_serializing_if = "Option::is_none")]
    duration: Option<i64>,
    #[serde(rename = "pid")]
    process: u32,
}

/// The text behind it.
#[derive(Serialize)]
struct RowEnd {
    #[serde(rename = "s", skip_serializing_if = "Option::is_none")]
    scope: Option<&'static str>,
    #[serde(rename = "args")]
    arguments: Value,
}

#[cfg(test)]
mod tests {
    use super::super::samples;
    use super::*;

    #[test]
    fn what_happens_at_once_has_rows_of_its_own_and_what_takes_no_time_is_an_instant() {
        let meta = samples::meta();
        let mut bars = Bars::default();
        for span in samples::run() {
            bars.push(&span, meta.started_at.instant()).unwrap();
        }
        let mut out = Vec::new();
        write(&meta, [Ok(bars)], &mut out).unwrap();
        serde_json::from_slice::<serde_json::Value>(&out).unwrap();
        insta::assert_snapshot!(String::from_utf8(out).unwrap());
    }
}
