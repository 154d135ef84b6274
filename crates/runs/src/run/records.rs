//! The records and spans of a run of any size, each read from the file on demand: [`RecordStream`], [`SpanStream`].

use std::ops::Range;
use std::sync::Arc;

use crate::index::{LogIndex, RecordSource};
use crate::log::LineReader;
use crate::record_error::RecordError;
use tracer_format::loops::is_attempt;
use tracer_format::project::RecordHeader;
use tracer_format::project::{is_watched, mark_attempt};
use tracer_format::{EventType, Record, SpanId, SpanRecord};

/// The records of a run in the order of the projection, see [`spans_to_events`](crate::spans_to_events): as many as
/// the run has, in memory none.
///
/// It is part of a [`RunReader`](super::RunReader). As an iterator it begins with the first record, or with the one that
/// [`RecordStream::seek`] named. A clone is cheap: it shares the file and the index, and reads independently, on another
/// thread if it is sent there.
#[derive(Debug, Clone)]
pub struct RecordStream {
    index: Arc<LogIndex>,
    /// The source of each record.
    order: Arc<Vec<RecordSource>>,
    lines: LineReader,
    next: usize,
    /// The records of the root that was read last, by its place in the index.
    root: Option<(usize, Vec<Record>)>,
    /// The records of the attempts at a call that were found last, and the ID of the call.
    attempts: Option<(Range<usize>, String)>,
}

impl RecordStream {
    pub(super) fn new(index: LogIndex) -> Self {
        Self {
            order: Arc::new(index.in_order()),
            lines: index.lines(),
            index: Arc::new(index),
            next: 0,
            root: None,
            attempts: None,
        }
    }

    /// The index of the log.
    #[must_use]
    pub fn index(&self) -> &LogIndex {
        &self.index
    }

    /// The index of the log, to keep; `None` while a clone of the stream shares it.
    #[must_use]
    pub fn into_index(self) -> Option<LogIndex> {
        Arc::into_inner(self.index)
    }

    /// The source of the record with a number, from 0.
    #[must_use]
    pub fn source(&self, number: usize) -> Option<RecordSource> {
        self.order.get(number).copied()
    }

    /// Number of records in the run.
    #[must_use]
    pub fn record_count(&self) -> usize {
        self.order.len()
    }

    /// The spans that the records are made from, in the order in which they started.
    #[must_use]
    pub fn into_spans(self) -> SpanStream {
        SpanStream::new(self)
    }

    /// Header of the record with a number, from 0, without reading it; `None` behind the last one.
    #[must_use]
    pub fn header(&self, number: usize) -> Option<RecordHeader> {
        self.index.header(self.source(number)?)
    }

    /// The span whose own record has a number, from 0; `None` for a record that is promoted from a root, and behind the
    /// last one.
    ///
    /// # Errors
    ///
    /// [`RecordError`] when the file cannot be read, or is another one than it was.
    pub fn read_span_of(&mut self, number: usize) -> Result<Option<SpanRecord>, RecordError> {
        match self.source(number) {
            Some(RecordSource::Span(position)) => self.index.read_span_by(&mut self.lines, position as usize),
            Some(RecordSource::Promoted(_)) | None => Ok(None),
        }
    }

    /// Goes to a record by its number, from 0: it is the next one.
    pub fn seek(&mut self, number: usize) {
        self.next = number;
    }

    /// The record with a number, from 0; `None` behind the last one.
    ///
    /// # Errors
    ///
    /// [`RecordError`] when the file cannot be read, or is another one than it was.
    pub fn read_record(&mut self, number: usize) -> Result<Option<Record>, RecordError> {
        Ok(self.read_record_with_span(number)?.map(|(record, _)| record))
    }

    /// The record with a number, from 0, and its span where it is a span's own record; `None` behind the last one.
    ///
    /// # Errors
    ///
    /// [`RecordError`] when the file cannot be read, or is another one than it was.
    pub fn read_record_with_span(
        &mut self,
        number: usize,
    ) -> Result<Option<(Record, Option<SpanRecord>)>, RecordError> {
        let read = match self.source(number) {
            Some(RecordSource::Span(position)) => {
                let read = self.index.read_record_by(&mut self.lines, position as usize)?;
                read.map(|(record, span)| (record, Some(span)))
            }
            Some(RecordSource::Promoted(promoted)) => Some((self.promoted(promoted)?, None)),
            None => None,
        };
        let Some((mut record, span)) = read else {
            return Ok(None);
        };
        self.mark(number, &mut record)?;
        Ok(Some((record, span)))
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
                let Some(RecordSource::Span(position)) = self.source(next) else {
                    break;
                };
                let read = self.index.read_record_by(&mut self.lines, position as usize)?;
                let Some((tried, _)) = read else { break };
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

    /// The number of the next call behind a failed one, if it is of the same kind and nothing else comes between.
    fn next_of_the_kind(&self, number: usize) -> Option<usize> {
        let failed = self.header(number).filter(|header| header.outcome.is_failure())?;
        let mut behind = (number + 1..self.order.len()).filter_map(|next| Some((next, self.header(next)?)));
        let (next, header) = behind.find(|(_, header)| is_watched(header.event_type))?;
        (header.event_type == failed.event_type).then_some(next)
    }

    fn promoted(&mut self, promoted: u32) -> Result<Record, RecordError> {
        let Some(promoted) = self.index.promoted().nth(promoted as usize) else {
            return Err(RecordError::changed(0));
        };
        if self.root.as_ref().is_none_or(|(root, _)| *root != promoted.span) {
            self.root = Some((promoted.span, self.index.read_all_records(promoted.span)?));
        }
        let records = self.root.as_ref().map(|(_, records)| records);
        let record = records.and_then(|records| records.get(promoted.number as usize));
        let line = self.index.span(promoted.span).map_or(0, |root| root.line);
        record.cloned().ok_or_else(|| RecordError::changed(line))
    }
}

impl Iterator for RecordStream {
    type Item = Result<Record, RecordError>;

    fn next(&mut self) -> Option<Self::Item> {
        let record = self.read_record(self.next).transpose()?;
        self.next += 1;
        Some(record)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.order.len().saturating_sub(self.next);
        (left, Some(left))
    }
}

/// The spans of a run in the order in which they started, in memory one at a time.
///
/// Made by [`RecordStream::into_spans`]. A clone costs little: it shares the file and the index, and reads on its own, on
/// another thread if it is sent there.
#[derive(Debug, Clone)]
pub struct SpanStream {
    records: RecordStream,
    /// The place of each span in the index.
    positions: Arc<Vec<usize>>,
    next: usize,
}

impl SpanStream {
    pub(super) fn new(records: RecordStream) -> Self {
        let position = |source: &RecordSource| match source {
            RecordSource::Span(position) => Some(*position as usize),
            RecordSource::Promoted(_) => None,
        };
        Self {
            positions: Arc::new(records.order.iter().filter_map(position).collect()),
            records,
            next: 0,
        }
    }

    /// The spans from a number on, counted from 0 in the order in which they started.
    #[must_use]
    pub fn starting_at(mut self, number: usize) -> Self {
        self.next = number;
        self
    }

    /// Number of spans in the run.
    #[must_use]
    pub fn span_count(&self) -> usize {
        self.positions.len()
    }

    /// The span that has the tokens of a call, of each other span that recorded the same call; `None` for any other span. Sent
    /// as they are stored, the tokens of such spans count twice. Of the spans of one call the first in the file that has
    /// tokens keeps them, whichever of them the projection takes for the call: a reader that sends spans while the run goes
    /// on cannot take back what it has sent.
    #[must_use]
    pub fn counted_in(&self, span_id: SpanId) -> Option<SpanId> {
        self.records.index.counted_in(span_id)
    }

    /// The span with a number, from 0; `None` behind the last one.
    ///
    /// # Errors
    ///
    /// [`RecordError`] when the file cannot be read, or is another one than it was.
    pub fn read_span(&mut self, number: usize) -> Result<Option<SpanRecord>, RecordError> {
        let Some(position) = self.positions.get(number) else {
            return Ok(None);
        };
        self.records
            .index
            .read_span_by(&mut self.records.lines, *position)
    }
}

impl SpanStream {
    /// The own record of the span with a number, from 0, as the projection of the whole run gives it but for whether it is an
    /// attempt at a call; `None` behind the last one.
    ///
    /// # Errors
    ///
    /// [`RecordError`] when the file cannot be read, or is another one than it was.
    pub fn read_record(&mut self, number: usize) -> Result<Option<Record>, RecordError> {
        let Some(position) = self.positions.get(number) else {
            return Ok(None);
        };
        let read = self
            .records
            .index
            .read_record_by(&mut self.records.lines, *position)?;
        Ok(read.map(|(record, _)| record))
    }
}

impl Iterator for SpanStream {
    type Item = Result<SpanRecord, RecordError>;

    fn next(&mut self) -> Option<Self::Item> {
        let span = self.read_span(self.next).transpose()?;
        self.next += 1;
        Some(span)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.span_count().saturating_sub(self.next);
        (left, Some(left))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{directory, meta, span};
    use crate::{RunReader, Strictness};
    use tracer_format::SPANS_FILE;

    fn records(directory: &std::path::Path) -> RecordStream {
        RunReader::open(directory, Strictness::Lenient).unwrap().records
    }

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

        let mut records = records(directory.path());
        let known: Vec<_> = (0..5)
            .filter_map(|number| records.header(number))
            .map(|header| (header.event_type, header.outcome.is_failure()))
            .collect();
        let expected = [
            (EventType::RunStart, true),
            (EventType::ToolCall, true),
            (EventType::Error, true),
            (EventType::RunEnd, false),
        ];
        assert_eq!(known, expected);
        let ends: Vec<bool> = (0..5)
            .map(|number| records.read_span_of(number).unwrap().is_some())
            .collect();
        assert_eq!(ends, [true, true, false, false, false]);
    }

    #[test]
    fn spans_come_in_the_order_in_which_they_started_and_not_in_that_of_the_file() {
        let (mut late, mut root) = (span(2, Some(1)), span(1, None));
        late["start_time"] = "2026-01-01T00:00:05Z".into();
        root["start_time"] = "2026-01-01T00:00:00Z".into();
        let directory = directory(&meta("running"), format!("{late}\n{root}\n"));
        let spans = records(directory.path()).into_spans();
        assert_eq!((spans.span_count(), spans.size_hint()), (2, (2, Some(2))));
        let roots: Vec<bool> = spans.map(|span| span.unwrap().is_root()).collect();
        assert_eq!(roots, [true, false]);
    }
}
