//! The records of a run of any size, each read from the file when it is wanted.

use std::error::Error;
use std::fmt;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::line_reader::LineReader;
use super::log::{Entry, LinePlace};
use super::order::{Order, Source};
use super::project::{is_watched, mark_attempt, project_span};
use super::span::read_span;
use super::span_stream::SpanStream;
use crate::format::{EventType, Record, SPANS_FILE, SpanRecord, Timestamp};
use crate::loops::is_attempt;

/// What is known of a record without reading it.
///
/// ```
/// use tracer_sdk::format::EventType;
///
/// # let folder = tempfile::tempdir()?;
/// # let config = tracer_sdk::Config::new().data_dir(folder.path());
/// # let run = tracer_sdk::Run::new("example").config(&config).start();
/// # let directory = run.dir().unwrap();
/// # tracer_sdk::tool_call("search").error("out of reach").record()?;
/// # run.finish();
/// let records = tracer_sdk::read::stream_run(&directory)?.records;
/// // RUN_START, the call, RUN_END
/// let call = records.header(1).unwrap();
/// assert_eq!((call.event_type, call.is_failed), (EventType::ToolCall, true));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordHeader {
    /// What it tells about.
    pub event_type: EventType,
    /// When.
    pub instant: Timestamp,
    /// Whether it tells a failure: an error, or a span that failed.
    pub is_failed: bool,
}

/// The records of a run in the order of the projection, see [`spans_to_events`](super::spans_to_events): as many as
/// the run has, in memory none.
///
/// It is part of a [`StreamedRun`](super::StreamedRun), which has no problem, or of an
/// [`OutlinedRun`](super::OutlinedRun), where it gives what can be read. As an iterator it begins with the first record,
/// or with the one that it was put to by [`RecordStream::seek`].
///
/// A clone costs little: it shares the file and the index, and reads on its own, on another thread if it is sent there.
///
/// ```
/// # let (_folder, directory) = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/stored.rs"));
/// let records = tracer_sdk::read::stream_run(&directory)?.records;
/// let names: Result<Vec<String>, _> = records.map(|record| record.map(|record| record.name)).collect();
/// assert_eq!(names?, ["support-agent", "search", "support-agent"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct RecordStream {
    order: Arc<Order>,
    /// `None` when the run has no log.
    lines: Option<LineReader>,
    next: usize,
    /// The records of the root that was read last, for those that follow.
    root: Option<(LinePlace, Vec<Option<Record>>)>,
    /// The numbers of the attempts that were found last, and the call that they are at.
    attempts: Option<(Range<usize>, String)>,
}

impl RecordStream {
    pub(super) fn new(order: Order, file: Option<File>) -> Self {
        Self {
            order: Arc::new(order),
            lines: file.map(LineReader::new),
            next: 0,
            root: None,
            attempts: None,
        }
    }

    /// How many records the run has.
    ///
    /// ```
    /// # let (_folder, directory) = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/stored.rs"));
    /// let records = tracer_sdk::read::stream_run(&directory)?.records;
    /// assert_eq!(records.record_count(), 3);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn record_count(&self) -> usize {
        self.order.len()
    }

    /// The spans that the records are made from, in the order in which they started.
    ///
    /// ```
    /// # let (_folder, directory) = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/stored.rs"));
    /// let spans = tracer_sdk::read::stream_run(&directory)?.records.into_spans();
    /// assert_eq!(spans.span_count(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn into_spans(self) -> SpanStream {
        SpanStream::new(self)
    }

    pub(super) fn spans(&self) -> &[Entry] {
        self.order.spans()
    }

    /// What is known of the record with a number, from 0, without reading it; `None` behind the last one.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let config = tracer_sdk::Config::new().data_dir(folder.path());
    /// # let run = tracer_sdk::Run::new("example").config(&config).start();
    /// # let directory = run.dir().unwrap();
    /// # tracer_sdk::tool_call("search").error("out of reach").record()?;
    /// # run.finish();
    /// let records = tracer_sdk::read::stream_run(&directory)?.records;
    /// let failed = (0..records.record_count()).filter(|&number| records.header(number).unwrap().is_failed);
    /// assert_eq!(failed.collect::<Vec<_>>(), [1]);
    /// assert_eq!(records.header(3), None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn header(&self, number: usize) -> Option<RecordHeader> {
        self.order.get(number).map(|source| match source {
            Source::Span(entry) => RecordHeader {
                event_type: entry.event_type(),
                instant: entry.start(),
                is_failed: entry.is_failed(),
            },
            Source::Promoted(promoted) => RecordHeader {
                event_type: promoted.event_type,
                instant: promoted.instant,
                is_failed: promoted.event_type == EventType::Error,
            },
        })
    }

    /// The span whose own record has a number, from 0; `None` for a record that is promoted from a root, and behind the
    /// last one.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let config = tracer_sdk::Config::new().data_dir(folder.path());
    /// # let run = tracer_sdk::Run::new("example").config(&config).start();
    /// # let directory = run.dir().unwrap();
    /// # tracer_sdk::tool_call("search").error("out of reach").record()?;
    /// # run.finish();
    /// let mut records = tracer_sdk::read::stream_run(&directory)?.records;
    /// let span = records.span_of(1)?.unwrap();
    /// assert_eq!(span.name, "search");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`RecordError`] when the file cannot be read, or is another one than it was.
    pub fn span_of(&mut self, number: usize) -> Result<Option<SpanRecord>, RecordError> {
        match self.order.get(number) {
            Some(Source::Span(entry)) => {
                let entry = *entry;
                self.span(entry).map(Some)
            }
            Some(Source::Promoted(_)) | None => Ok(None),
        }
    }

    /// Goes to a record by its number, from 0: it is the next one.
    ///
    /// ```
    /// # let (_folder, directory) = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/stored.rs"));
    /// let mut records = tracer_sdk::read::stream_run(&directory)?.records;
    /// records.seek(1);
    /// assert_eq!(records.next().unwrap()?.name, "search");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn seek(&mut self, number: usize) {
        self.next = number;
    }

    /// The record with a number, from 0; `None` behind the last one.
    ///
    /// ```
    /// # let (_folder, directory) = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/stored.rs"));
    /// let mut records = tracer_sdk::read::stream_run(&directory)?.records;
    /// assert_eq!(records.record(1)?.unwrap().name, "search");
    /// assert_eq!(records.record(3)?, None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`RecordError`] when the file cannot be read, or is another one than it was.
    pub fn record(&mut self, number: usize) -> Result<Option<Record>, RecordError> {
        let mut record = self.unmarked(number)?;
        if let Some(record) = &mut record {
            self.mark(number, record)?;
        }
        Ok(record)
    }

    /// The record with a number, from 0, and its span where it is a span's own record; `None` behind the last one.
    ///
    /// ```
    /// # let (_folder, directory) = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/stored.rs"));
    /// let mut records = tracer_sdk::read::stream_run(&directory)?.records;
    /// let (record, span) = records.record_with_span(1)?.unwrap();
    /// assert_eq!((record.name, span.unwrap().name), ("search".to_owned(), "search".to_owned()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`RecordError`] when the file cannot be read, or is another one than it was.
    pub fn record_with_span(
        &mut self,
        number: usize,
    ) -> Result<Option<(Record, Option<SpanRecord>)>, RecordError> {
        let span = self.span_of(number)?;
        let mut record = match &span {
            Some(span) if !span.is_root() => {
                let mut own = None;
                project_span(span, |_, record| own = Some(record));
                own
            }
            _ => self.unmarked(number)?,
        };
        if let Some(record) = &mut record {
            self.mark(number, record)?;
        }
        Ok(record.map(|record| (record, span)))
    }

    /// The record with a number, which does not say yet whether it is an attempt.
    fn unmarked(&mut self, number: usize) -> Result<Option<Record>, RecordError> {
        match self.order.get(number) {
            None => Ok(None),
            Some(Source::Span(entry)) => {
                let entry = *entry;
                self.own_record(entry).map(Some)
            }
            Some(Source::Promoted(promoted)) => {
                let (place, number) = (promoted.place, promoted.number as usize);
                self.promoted(place, number).map(Some)
            }
        }
    }

    /// Says of an attempt at a call which call that is: the last of the calls that try again.
    fn mark(&mut self, number: usize, record: &mut Record) -> Result<(), RecordError> {
        if !matches!(record.event_type(), EventType::LlmCall | EventType::ToolCall) {
            return Ok(());
        }
        let is_known = |(numbers, _): &(Range<usize>, String)| numbers.contains(&number);
        if !self.attempts.as_ref().is_some_and(is_known) {
            let mut end = number;
            let mut call: Option<Record> = None;
            while let Some(next) = self.next_of_the_kind(end) {
                let Some(tried) = self.unmarked(next)? else { break };
                if !is_attempt(call.as_ref().unwrap_or(record), &tried) {
                    break;
                }
                call = Some(tried);
                end = next;
            }
            self.attempts = call.map(|call| (number..end, call.event_id));
        }
        if let Some((_, call)) = &self.attempts {
            mark_attempt(record, call);
        }
        Ok(())
    }

    /// The number of the next call behind a failed one, if it is of the same kind and nothing else stands between.
    fn next_of_the_kind(&self, number: usize) -> Option<usize> {
        let failed = self.header(number).filter(|header| header.is_failed)?;
        let mut behind = (number + 1..self.order.len()).filter_map(|next| Some((next, self.header(next)?)));
        let (next, header) = behind.find(|(_, header)| is_watched(header.event_type))?;
        (header.event_type == failed.event_type).then_some(next)
    }

    /// A span's own record.
    pub(super) fn own_record(&mut self, entry: Entry) -> Result<Record, RecordError> {
        let span = self.span(entry)?;
        let mut own = None;
        if span.is_root() {
            let records = self.root.insert((entry.place(), all_records(&span)));
            own = records.1.first_mut().and_then(Option::take);
        } else {
            project_span(&span, |_, record| own = Some(record));
        }
        own.ok_or_else(|| RecordError::changed(entry.line()))
    }

    fn promoted(&mut self, place: LinePlace, number: usize) -> Result<Record, RecordError> {
        for _ in 0..2 {
            if let Some((read, records)) = &mut self.root
                && *read == place
                && let Some(record) = records.get_mut(number).and_then(Option::take)
            {
                return Ok(record);
            }
            // Not read yet, or given already.
            let span = self.read(place)?;
            self.root = Some((place, all_records(&span)));
        }
        Err(RecordError::changed(place.line))
    }

    /// The span of an entry, which is still the one that the index was made from.
    pub(super) fn span(&mut self, entry: Entry) -> Result<SpanRecord, RecordError> {
        let span = self.read(entry.place())?;
        if span.span_id == entry.span_id() && span.parent_span_id == entry.parent_span_id() {
            Ok(span)
        } else {
            Err(RecordError::changed(entry.line()))
        }
    }

    fn read(&mut self, place: LinePlace) -> Result<SpanRecord, RecordError> {
        let changed = || RecordError::changed(place.line);
        let lines = self.lines.as_mut().ok_or_else(changed)?;
        let bytes = lines.read(place).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => changed(),
            _ => RecordError {
                line: place.line,
                cause: Some(error),
            },
        })?;
        let reading = read_span::<Map<String, Value>>(bytes, place.line, &mut Vec::new());
        let span = reading
            .ok()
            .and_then(|reading| reading.span)
            .ok_or_else(changed)?;
        Ok(span.into_record())
    }
}

impl Iterator for RecordStream {
    type Item = Result<Record, RecordError>;

    fn next(&mut self) -> Option<Self::Item> {
        let record = self.record(self.next).transpose()?;
        self.next += 1;
        Some(record)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.order.len().saturating_sub(self.next);
        (left, Some(left))
    }
}

fn all_records(span: &SpanRecord) -> Vec<Option<Record>> {
    let mut records = Vec::new();
    project_span(span, |_, record| records.push(Some(record)));
    records
}

/// A record cannot be read again: the file fails, or it is no longer what it was when the run was opened.
///
/// ```
/// # let (_folder, directory) = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/stored.rs"));
/// let mut run = tracer_sdk::read::stream_run(&directory)?;
/// std::fs::write(directory.join("spans.jsonl"), "")?; // somebody else has written to it
/// assert!(run.records.record(1).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct RecordError {
    line: u64,
    /// What the system says; `None` when the file has changed.
    cause: Option<io::Error>,
}

impl RecordError {
    pub(super) fn changed(line: u64) -> Self {
        Self { line, cause: None }
    }

    pub(super) fn failed(line: u64, cause: io::Error) -> Self {
        Self {
            line,
            cause: Some(cause),
        }
    }

    /// The line of the span log that holds the record.
    ///
    /// ```
    /// # let (_folder, directory) = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/stored.rs"));
    /// let mut run = tracer_sdk::read::stream_run(&directory)?;
    /// std::fs::write(directory.join("spans.jsonl"), "")?;
    /// let error = run.records.record(1).unwrap_err(); // the call, which stood in the first line
    /// assert_eq!(error.line(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn line(&self) -> u64 {
        self.line
    }
}

impl fmt::Display for RecordError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.cause {
            Some(cause) => write!(formatter, "{SPANS_FILE}:{} cannot be read: {cause}", self.line),
            None => write!(
                formatter,
                "{SPANS_FILE}:{} has changed while it was read; try again",
                self.line
            ),
        }
    }
}

impl Error for RecordError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.cause.as_ref().map(|cause| cause as &(dyn Error + 'static))
    }
}

#[cfg(test)]
mod tests {
    use super::super::outline_run;
    use super::*;

    #[test]
    fn what_is_known_without_reading_and_the_span_behind_a_record() {
        let directory = tempfile::tempdir().unwrap();
        let span = |id: &str, parent: &str, second: u32, rest: &str| {
            format!(
                r#"{{"trace_id":"10000000000000000000000000000001","span_id":"{id}","parent_span_id":{parent},"name":"x","kind":"INTERNAL","start_time":"2026-01-01T00:00:0{second}Z","end_time":"2026-01-01T00:00:09.000321Z","duration_ms":1,"status_description":"",{rest}}}"#
            ) + "\n"
        };
        let failed = r#""attributes":{"tracer.tool_name":"search"},"events":[],"status_code":"ERROR""#;
        let exception = r#""attributes":{},"events":[{"name":"exception","timestamp":"2026-01-01T00:00:08Z","attributes":{"exception.type":"E","exception.message":"m"}}],"status_code":"ERROR""#;
        let log = span("3333333333333333", "\"1111111111111111\"", 2, failed)
            + &span("1111111111111111", "null", 1, exception);
        std::fs::write(directory.path().join(SPANS_FILE), log).unwrap();

        let mut records = outline_run(directory.path()).unwrap().records;
        let known: Vec<_> = (0..5)
            .filter_map(|number| records.header(number))
            .map(|header| (header.event_type, header.is_failed))
            .collect();
        let expected = [
            (EventType::RunStart, true),
            (EventType::ToolCall, true),
            (EventType::Error, true),
            (EventType::RunEnd, false),
        ];
        assert_eq!(known, expected);
        let ends: Vec<bool> = (0..5)
            .map(|number| records.span_of(number).unwrap().is_some())
            .collect();
        assert_eq!(ends, [true, true, false, false, false]);
    }
}
