//! [`LogIndex`]: a span log of any size, indexed so that a page can show every span and read the few that it needs;
//! extended, not read again, while the run is live.

mod columns;
mod price_column;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Read;
use std::io::{self, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::check::{self, Expectations, RootSpan, structure_problems};
use crate::file::{self, OpenError};
use crate::log::{IdTable, LineReader, LineStart, LogLine, LogLines, MAX_LINE_BYTES, Problems, read_at};
use crate::record_error::RecordError;
use columns::Columns;
use tracer_format::parse::{IndexedAttributes, Location, ParsedSpan, parse_span, read_span};
use tracer_format::project::{
    Ancestor, CallReport, Correlation, IndexEntry, JoinedCall, LinePlace, Rank, RecordHeader,
    ReportedArguments, SpanRole, SpanView, correlate, fill, may_be_reported_twice, needs_own_calls, outcome,
    project_span, promoted_type, span_type,
};
use tracer_format::{
    EventType, Outcome, Problem, ProblemCode, Record, RecordedStatus, SPANS_FILE, SpanId, SpanRecord,
    Timestamp, TraceId, Usage,
};
use tracer_sdk::prices::{CallCost, CallGroups, Prices, cost_at};

/// The types of calls.
const CALLS: [EventType; 2] = [EventType::LlmCall, EventType::ToolCall];

/// The spans of a log, in the order of the file. Spans of other runs, duplicates of an ID and lines that cannot be read are
/// left out.
#[derive(Debug)]
pub struct LogIndex {
    path: PathBuf,
    file: Option<Arc<File>>,
    /// The run's ID by its metadata.
    meta_trace_id: Option<TraceId>,
    /// The run's ID, by the log where nothing else says it.
    trace_id: Option<TraceId>,
    entries: Vec<IndexEntry>,
    columns: Columns,
    promoted: Vec<PromotedRecord>,
    /// Calls that may be recorded more than once; up to a position, with the needed ones of each of [`CALLS`] that this
    /// format's recorders made.
    calls: Vec<CallReport>,
    calls_end: usize,
    needs_own_calls: [bool; 2],
    correlation: Correlation,
    table: IdTable,
    /// Spans of other runs, those with the ID of an earlier one, and those with nothing readable but the identity.
    left_out: Vec<IndexEntry>,
    /// The problems of single lines, by line.
    problems: Problems,
    /// The first root.
    root: Option<RootSpan>,
    /// Times of spans that disagree.
    warnings: Problems,
    /// `true` when every line that is not blank holds a span.
    is_whole: bool,
    /// Bytes of a last line that is not whole yet.
    cut_tail: Option<u64>,
    /// True where there was a log to read.
    is_read: bool,
    /// Why the rest of the log could not be read.
    failure: Option<Problem>,
    end: LineStart,
    /// Hash of the last span's line: distinguishes a log that was overwritten from one that has grown.
    last_line: u64,
}

impl LogIndex {
    /// Reads the log of the run in a directory. `trace_id` is the run's, when it is known; of a run that is `running`
    /// a last line that is not whole yet is left for later. A log that is not there yet is an empty one.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or is no regular file.
    pub fn open(directory: &Path, trace_id: Option<TraceId>, running: bool) -> io::Result<Self> {
        let mut index = Self::empty(directory, trace_id);
        index.last_line = index.last_line_now()?;
        index.extend(running)?;
        Ok(index)
    }

    /// The same of a log that may not be readable: that is one of its [problems](Self::problems) then.
    #[must_use]
    pub fn read_any(directory: &Path, trace_id: Option<TraceId>, running: bool) -> Self {
        let mut index = Self::empty(directory, trace_id);
        index.last_line = index.last_line_now().unwrap_or_default();
        if let Err(error) = index.read_until(u64::MAX, running) {
            index.failure = Some(file::problem(SPANS_FILE, &error));
        }
        index
    }

    /// Reads as much of the log of a run as lies in its first `length` bytes.
    #[must_use]
    pub fn read_beginning(directory: &Path, trace_id: Option<TraceId>, length: u64) -> Self {
        let mut index = Self::empty(directory, trace_id);
        if let Err(error) = index.read_until(length, true) {
            index.failure = Some(file::problem(SPANS_FILE, &error));
        }
        index
    }

    /// The index of a log that has not been read yet.
    pub(crate) fn empty(directory: &Path, trace_id: Option<TraceId>) -> Self {
        Self {
            path: directory.join(SPANS_FILE),
            file: None,
            meta_trace_id: trace_id,
            trace_id,
            entries: Vec::new(),
            columns: Columns::default(),
            promoted: Vec::new(),
            calls: Vec::new(),
            calls_end: 0,
            needs_own_calls: [false; 2],
            correlation: Correlation::default(),
            table: IdTable::default(),
            left_out: Vec::new(),
            problems: Problems::default(),
            root: None,
            warnings: Problems::default(),
            is_whole: true,
            cut_tail: None,
            is_read: false,
            failure: None,
            end: LineStart::FILE,
            last_line: 0,
        }
    }

    /// Reads the lines that were added; `false` when it is another log, which has to be opened again.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or is no regular file.
    pub fn extend(&mut self, running: bool) -> io::Result<bool> {
        self.read_until(u64::MAX, running).map_err(io::Error::from)
    }

    /// The same up to an offset; what was read before an error is kept.
    fn read_until(&mut self, end: u64, running: bool) -> Result<bool, OpenError> {
        let mut file = match file::open(&self.path) {
            Ok(file) => file,
            Err(OpenError::Missing) => return Ok(self.file.is_none()),
            Err(error) => return Err(error),
        };
        let metadata = file.metadata()?;
        if let Some(before) = &self.file
            && (metadata.len() < self.end.offset
                || !file::is_same(&before.metadata()?, &metadata)
                || self.last_line_now()? != self.last_line)
        {
            return Ok(false);
        }
        let start = self.end.offset;
        file.seek(SeekFrom::Start(start))?;
        let length = metadata.len().min(end).saturating_sub(start);
        let read = self.read((&file).take(length), running);
        self.file = Some(Arc::new(file));
        if self.end.offset > start {
            self.find_calls();
            self.last_line = self.last_line_now()?;
        }
        Ok(read.map(|()| true)?)
    }

    fn last_line_now(&self) -> io::Result<u64> {
        let mut hasher = DefaultHasher::new();
        self.read_line(self.entries.len().wrapping_sub(1))?
            .hash(&mut hasher);
        Ok(hasher.finish())
    }

    /// Adds what a log holds behind the part that was read; of a run that is `running`, without a last line that is cut.
    fn read(&mut self, log: impl Read, running: bool) -> io::Result<()> {
        self.is_read = true;
        self.cut_tail = None;
        let mut lines = LogLines::starting_at(log, self.end);
        let read = loop {
            let line = match lines.next_line() {
                Ok(Some(line)) => line,
                Ok(None) => break Ok(()),
                Err(error) => {
                    self.is_whole = false;
                    break Err(error);
                }
            };
            if !self.add_line(&line, running) {
                // It is read again when the rest of it is there.
                self.cut_tail = line.bytes.map(|bytes| bytes.len() as u64);
                self.end = line.start;
                return Ok(());
            }
        };
        self.end = lines.position();
        read
    }

    /// Adds a line; `false` says that it is cut: its writer was stopped within it, or is within it now.
    fn add_line(&mut self, line: &LogLine<'_>, running: bool) -> bool {
        let number = line.start.line;
        let Some(bytes) = line.bytes else {
            self.is_whole = false;
            let most = MAX_LINE_BYTES / 1024 / 1024;
            let message = format!("is longer than {most} MiB, which is not read");
            let problem = Location::Line(number).problem(ProblemCode::InvalidValue, message);
            self.problems.push(number, problem);
            return true;
        };
        let mut problems = Vec::new();
        let reading = match read_span(bytes, number, &mut problems) {
            Ok(reading) => reading,
            Err(_) if running && !line.is_ended => return false,
            Err(error) => {
                self.is_whole = false;
                let problem = Location::Line(number).problem(ProblemCode::MalformedJson, error.to_string());
                self.problems.push(number, problem);
                return true;
            }
        };
        for problem in problems {
            self.problems.push(number, problem);
        }
        let Some(identity) = reading.identity else {
            self.is_whole = false;
            return true;
        };
        if let (Some(said), Some(recorded)) = (identity.trace_id, self.meta_trace_id)
            && said != recorded
        {
            self.problems
                .push_with(number, || Location::Line(number).foreign_span());
        }
        let place = LinePlace {
            offset: line.start.offset,
            // A line over the limit is a problem, above.
            length: u32::try_from(bytes.len()).unwrap_or(u32::MAX),
            line: number,
        };
        let Some(span) = reading.span else {
            self.left_out.push(IndexEntry::new(identity, place, None, false));
            return true;
        };
        let is_own = *self.trace_id.get_or_insert(span.trace_id) == span.trace_id;
        let header = span_header(&span);
        let position = self.entries.len();
        self.entries
            .push(IndexEntry::new(identity, place, Some(header), !is_own));
        let known = u32::try_from(position).unwrap_or(u32::MAX);
        let is_first = is_own && self.table.insert(&self.entries, known).is_none();
        if is_own {
            check::span_times(&span, number, &mut self.warnings);
            if span.parent_span_id.is_none() {
                self.root.get_or_insert(RootSpan {
                    start: header.instant,
                    status_code: span.status_code,
                });
            }
        }
        if !is_first {
            self.left_out.extend(self.entries.pop());
            return true;
        }
        if span.parent_span_id.is_none() {
            self.promoted.extend(promoted_records(&span, position));
        }
        if may_be_reported_twice(&span, header.event_type) {
            self.calls.extend(CallReport::of(&span, header.event_type, place));
        }
        self.columns.push(&span, header.event_type, bytes);
        true
    }

    /// Finds the calls that are recorded more than once, and makes those that repeat them spans of no type.
    fn find_calls(&mut self) {
        if self.calls.iter().all(CallReport::is_own_report) {
            return;
        }
        self.calls.sort_by_key(|call| call.place);
        let needed = CALLS.map(|event_type| needs_own_calls(&self.calls, event_type));
        if needed != self.needs_own_calls {
            (self.needs_own_calls, self.calls_end) = (needed, 0);
        }
        let begin = self
            .entries
            .get(self.calls_end)
            .map_or(u64::MAX, IndexEntry::line);
        let known = self.calls.partition_point(|call| call.place.line < begin);
        let mut known = self.calls.iter().skip(known).peekable();
        let mut more = Vec::new();
        let mut lines = self.lines();
        for (at, entry) in self.entries.iter().enumerate().skip(self.calls_end) {
            let is_known = known.next_if(|call| call.place.line == entry.line()).is_some();
            let is_needed = CALLS
                .into_iter()
                .zip(needed)
                .any(|of| of == (entry.stored_type(), true));
            if is_needed && !is_known {
                // One that can no longer be read is reported when it is read.
                let span = self.read_span_by(&mut lines, at).ok().flatten();
                more.extend(span.and_then(|span| CallReport::of(&span, entry.stored_type(), entry.place())));
            }
        }
        self.calls.append(&mut more);
        self.calls_end = self.entries.len();
        self.calls.sort_by_key(|call| call.place);
        let was_empty = self.correlation.is_empty();
        self.correlation = self.correlate();
        if was_empty && self.correlation.is_empty() {
            // Each report is a call of its own, and the columns have what its span says.
            return;
        }
        let joined: HashMap<u64, JoinedCall> = self.correlation.joined(&self.calls).collect();
        self.columns.prices_mut().part_all();
        for call in &self.calls {
            let Some(at) = entry_of_call(&self.entries, call) else {
                continue;
            };
            let role = self.correlation.role(call.place.line);
            let is_call = role == SpanRole::Itself;
            let joined = joined.get(&call.place.line);
            let outcome = joined.map_or(call.outcome, |joined| joined.outcome);
            if let Some(entry) = self.entries.get_mut(at) {
                entry.set(role, if is_call { outcome } else { call.span_outcome });
            }
            if let Some(took) = joined.and_then(|joined| joined.took) {
                self.columns.set_duration(at, took);
            }
            let none = Usage::default();
            let usage = joined.map_or(&call.usage, |joined| &joined.usage);
            if call.event_type != EventType::Unknown {
                self.columns.set_tokens(at, if is_call { usage } else { &none });
            }
            if call.event_type == EventType::LlmCall {
                let repeats = self.correlation.repeats_of(call.place.line).iter();
                let repeats: Vec<usize> = repeats.filter_map(|place| self.entry_at(place.line)).collect();
                let prices = self.columns.prices_mut();
                if !is_call {
                    prices.leave_out(at);
                } else if !repeats.is_empty() {
                    prices.join(at, &repeats, outcome.is_failure() && *usage == none);
                }
            }
        }
    }

    fn correlate(&self) -> Correlation {
        let mut lines = self.lines();
        let arguments = |place: LinePlace| {
            let bytes = lines.read(place).ok()?;
            parse_span(bytes).as_ref().map(ReportedArguments::of_span)
        };
        correlate(&self.calls, |span| self.ancestor(span), arguments)
    }

    /// Known facts of a span around a call.
    fn ancestor(&self, span: SpanId) -> Option<Ancestor> {
        self.entries.get(self.find(span)?).map(Ancestor::from)
    }

    /// The position of the span of a line.
    fn entry_at(&self, line: u64) -> Option<usize> {
        self.entries.binary_search_by_key(&line, IndexEntry::line).ok()
    }

    /// The index of a log that is in memory, whose lines cannot be read again.
    #[cfg(any(test, feature = "testing"))]
    pub(crate) fn of_bytes(log: &[u8], trace_id: Option<TraceId>, running: bool) -> Self {
        let mut index = Self::empty(Path::new(""), trace_id);
        // Memory can be read.
        let _ = index.read(log, running);
        index
    }

    /// Number of spans.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns whether there is no span.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Number of bytes that were read: the offset of the next line.
    #[must_use]
    pub fn bytes_read(&self) -> u64 {
        self.end.offset
    }

    /// Number of spans whose place nothing said: who recorded them took the one that fits.
    #[must_use]
    pub fn guessed_places(&self) -> u64 {
        let is_guess = |(at, entry): &(usize, &IndexEntry)| {
            self.correlation.is_placed_by_guess(entry.line())
                || self
                    .columns
                    .get(*at)
                    .is_some_and(|columns| columns.has(columns::PLACED_BY_GUESS))
                    && self.correlation.is_reported_once(entry.line())
        };
        self.entries.iter().enumerate().filter(is_guess).count() as u64
    }

    /// The span at a position; `None` behind the last one.
    #[must_use]
    pub fn span(&self, position: usize) -> Option<IndexedSpan> {
        let entry = self.entries.get(position)?;
        let columns = self.columns.get(position)?;
        Some(IndexedSpan {
            span_id: entry.span_id(),
            parent_span_id: self.correlation.parent_of(entry.line(), entry.parent_span_id()),
            start: entry.start(),
            duration_us: columns.duration(),
            event_type: entry.event_type(),
            outcome: entry.outcome(),
            is_leftover: entry.is_leftover(),
            is_joined: !self.correlation.repeats_of(entry.line()).is_empty(),
            is_open: columns.has(columns::OPEN),
            names_session: columns.has(columns::NAMES_SESSION),
            has_tags: columns.has(columns::HAS_TAGS),
            is_redacted: columns.has(columns::REDACTED),
            is_truncated: columns.has(columns::TRUNCATED),
            name: columns.name,
            signature: match entry.event_type() {
                EventType::Unknown => 0,
                _ => columns.signature,
            },
            tokens_in: columns.tokens_in(),
            tokens_out: columns.tokens_out(),
            tokens_total: columns.tokens_total(),
            line: entry.line(),
            offset: entry.place().offset,
        })
    }

    /// The tokens of the call of a span; none of any other span.
    #[must_use]
    pub fn usage(&self, position: usize) -> Usage {
        self.columns.usage(position)
    }

    /// Cost of each model call, by the position of its span.
    pub fn costs<'a>(&'a self, prices: &'a Prices) -> impl Iterator<Item = (usize, CallCost)> + 'a {
        let calls = self.columns.prices().priced(prices);
        calls.filter_map(|(position, price, is_replayed)| {
            self.entries.get(position)?;
            let usage = self.columns.usage(position);
            Some((position, cost_at(price, &usage, is_replayed)))
        })
    }

    /// The call that tries the one at a position again, the last that does, where the wire shows it.
    #[must_use]
    pub fn attempt_of(&self, position: usize) -> Option<SpanId> {
        self.correlation.attempt_of(self.entries.get(position)?.line())
    }

    /// The span that has the tokens of a call, of each other span that recorded the same call; `None` for any other span. Sent
    /// as they are stored, the tokens of such spans count twice. Of the spans of one call the first in the file that has
    /// tokens keeps them, whichever of them the projection takes for the call: a reader that sends spans while the run goes
    /// on cannot take back what it has sent.
    #[must_use]
    pub fn counted_in(&self, span_id: SpanId) -> Option<SpanId> {
        self.correlation.counted_in(span_id)
    }

    /// The spans that repeat a call, each with the call, both by their position.
    pub fn repeats(&self) -> impl Iterator<Item = (usize, usize)> {
        let repeats = self.correlation.repeats();
        repeats.filter_map(|(repeat, call)| Some((self.find(repeat)?, self.find(call)?)))
    }

    /// The position of the span with an ID.
    #[must_use]
    pub fn find(&self, span_id: SpanId) -> Option<usize> {
        if self.entries.is_empty() {
            return None;
        }
        let found = self.table.find(&self.entries, span_id)?;
        Some(found as usize)
    }

    /// The position of the first span whose line begins at an offset or behind it.
    #[must_use]
    pub fn place_from(&self, offset: u64) -> usize {
        self.entries
            .partition_point(|entry| entry.place().offset < offset)
    }

    /// Reads a part of the log as it is stored, at most `length` bytes.
    ///
    /// # Errors
    ///
    /// The file cannot be read.
    pub fn read_range(&self, offset: u64, length: u64) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        if let Some(file) = &self.file {
            read_at(file, offset, length, &mut bytes)?;
        }
        Ok(bytes)
    }

    /// The display name of a span: the model, the tool, or the span itself.
    #[must_use]
    pub fn name(&self, span: &IndexedSpan) -> &str {
        self.columns.name(span.name)
    }

    /// The names of all spans, by their numbers.
    pub fn names(&self) -> impl ExactSizeIterator<Item = &str> {
        self.columns.names()
    }

    /// The records that roots give in addition to their own, in the order of the file.
    pub fn promoted(&self) -> impl Iterator<Item = PromotedRecord> {
        self.promoted.iter().copied()
    }

    /// The line of a span as it is stored, without its newline; `None` behind the last span.
    ///
    /// # Errors
    ///
    /// The file cannot be read.
    pub fn read_line(&self, position: usize) -> io::Result<Option<Vec<u8>>> {
        let (Some(entry), Some(file)) = (self.entries.get(position), &self.file) else {
            return Ok(None);
        };
        let place = entry.place();
        let mut bytes = Vec::new();
        read_at(file, place.offset, u64::from(place.length), &mut bytes)?;
        Ok(Some(bytes))
    }

    /// Reads a span again; `None` behind the last one.
    ///
    /// # Errors
    ///
    /// [`RecordError`] when the file cannot be read, or is another one than it was.
    pub fn read_span(&self, position: usize) -> Result<Option<SpanRecord>, RecordError> {
        self.read_span_by(&mut self.lines(), position)
    }

    /// The same by a reader that has what follows in memory.
    pub(crate) fn read_span_by(
        &self,
        lines: &mut LineReader,
        position: usize,
    ) -> Result<Option<SpanRecord>, RecordError> {
        let Some(entry) = self.entries.get(position) else {
            return Ok(None);
        };
        let line = entry.line();
        let bytes = lines.read(entry.place()).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => RecordError::changed(line),
            _ => RecordError::failed(line, error),
        })?;
        parse_span(bytes)
            .filter(|span| span.span_id == entry.span_id() && span.parent_span_id == entry.parent_span_id())
            .map(Some)
            .ok_or_else(|| RecordError::changed(line))
    }

    /// Reads a span again, with its own record; `None` behind the last one. The record is that of the projection of the whole
    /// run, but that it does not say whether it is an attempt at a call.
    ///
    /// # Errors
    ///
    /// [`RecordError`] when the file cannot be read, or is another one than it was.
    pub fn read_record(&self, position: usize) -> Result<Option<(Record, SpanRecord)>, RecordError> {
        self.read_record_by(&mut self.lines(), position)
    }

    /// The same by a reader that has what follows in memory.
    pub(crate) fn read_record_by(
        &self,
        lines: &mut LineReader,
        position: usize,
    ) -> Result<Option<(Record, SpanRecord)>, RecordError> {
        let (Some(span), Some(entry)) = (self.read_span_by(lines, position)?, self.entries.get(position))
        else {
            return Ok(None);
        };
        let line = entry.line();
        let mut own = None;
        project_span(&span, |_, record| {
            own.get_or_insert(record);
        });
        let mut record = own.ok_or_else(|| RecordError::changed(line))?;
        for place in self.correlation.shape(&mut record, &span, line) {
            let at = self.entry_at(place.line);
            let other = at.map(|at| self.read_span_by(lines, at)).transpose()?;
            let other = other.flatten().ok_or_else(|| RecordError::changed(place.line))?;
            fill(&mut record, &span, &other);
        }
        Ok(Some((record, span)))
    }

    /// Reads the span at a position: its own record, and those that it promotes, in their order.
    ///
    /// # Errors
    ///
    /// [`RecordError`] when the file cannot be read, or is another one than it was.
    pub fn read_all_records(&self, position: usize) -> Result<Vec<Record>, RecordError> {
        let mut records = Vec::new();
        if let Some(span) = self.read_span(position)? {
            project_span(&span, |_, record| records.push(record));
        }
        Ok(records)
    }

    /// A reader of the lines of the log.
    pub(crate) fn lines(&self) -> LineReader {
        LineReader::new(self.file.clone())
    }

    /// The entries of the spans, in the order of the file.
    #[cfg(any(test, feature = "testing"))]
    pub(crate) fn entries(&self) -> &[IndexEntry] {
        &self.entries
    }

    /// The first root, and the times of spans that disagree.
    pub(crate) fn take_findings(&mut self) -> (Option<RootSpan>, Problems) {
        (self.root, std::mem::take(&mut self.warnings))
    }

    /// True where there was a log to read.
    pub(crate) fn is_read(&self) -> bool {
        self.is_read
    }

    /// The ID of the run, by the log where nothing else says it.
    pub(crate) fn trace_id(&self) -> Option<TraceId> {
        self.trace_id
    }

    /// Number of spans that can be read, whichever run they belong to.
    pub(crate) fn readable_spans(&self) -> usize {
        let others = self.left_out.iter().filter(|entry| entry.is_readable());
        self.entries.len() + others.count()
    }

    /// Bytes of a last line that is not whole yet.
    #[must_use]
    pub fn cut_tail(&self) -> Option<u64> {
        self.cut_tail
    }

    /// The model calls by what decides their price.
    pub(crate) fn call_groups(&self) -> CallGroups {
        let mut groups = CallGroups::default();
        for (position, key) in self.columns.prices().keys() {
            groups.add_call(key, &self.columns.usage(position));
        }
        groups
    }

    /// Number of records of each type.
    pub(crate) fn records_by_type(&self) -> BTreeMap<EventType, u64> {
        let mut counted = BTreeMap::new();
        let own = self.entries.iter().map(IndexEntry::event_type);
        for event_type in own.chain(self.promoted.iter().map(|promoted| promoted.event_type)) {
            *counted.entry(event_type).or_default() += 1;
        }
        counted
    }

    /// The tokens of all model calls, and of what else was asked of models.
    pub(crate) fn tokens(&self) -> Usage {
        let mut sum = Usage::default();
        for position in 0..self.entries.len() {
            sum.add(&self.columns.usage(position));
        }
        sum
    }

    /// Problems of the log, its lines and its spans together, by line, and the number of further problems. What has to
    /// be there depends on the recorded status of the run; `has_all_spans` is false where other processes may still
    /// record spans that others are nested in.
    #[must_use]
    pub fn problems(&self, status: Option<RecordedStatus>, has_all_spans: bool) -> (Vec<Problem>, u64) {
        let is_missing = !self.is_read && status != Some(RecordedStatus::Running);
        let missing = || file::problem(SPANS_FILE, &OpenError::Missing);
        let failure = self.failure.clone().or_else(|| is_missing.then(missing));
        let expected = Expectations {
            is_completed: failure.is_none() && status.is_some_and(RecordedStatus::is_completed),
            needs_parents: has_all_spans,
            is_whole: self.is_whole,
        };
        let mut problems = self.problems.clone();
        if self.left_out.is_empty() {
            problems.merge(structure_problems(&self.entries, expected));
        } else {
            let mut all = [&*self.entries, &*self.left_out].concat();
            all.sort_unstable_by_key(IndexEntry::line);
            problems.merge(structure_problems(&all, expected));
        }
        let (kept, more) = problems.into_parts();
        (failure.into_iter().chain(kept).collect(), more)
    }

    /// Problems of the lines of the log alone, by line, and the number of further problems.
    #[must_use]
    pub fn line_problems(&self) -> (Vec<Problem>, u64) {
        let (kept, more) = self.problems.clone().into_parts();
        (kept.collect(), more)
    }

    /// The source of each record in the order of the projection.
    #[must_use]
    pub fn in_order(&self) -> Vec<RecordSource> {
        type SortKey = (Timestamp, Rank, u64, u32);
        let spans = (0..).zip(&self.entries).map(|(position, entry)| {
            let rank = Rank::from_event_type(entry.event_type());
            let key: SortKey = (entry.start(), rank, entry.place().offset, 0);
            (key, RecordSource::Span(position))
        });
        let promoted = (0..).zip(&self.promoted).map(|(number, record)| {
            let rank = Rank::from_event_type(record.event_type);
            let offset = self
                .entries
                .get(record.span)
                .map_or(0, |root| root.place().offset);
            let key: SortKey = (record.instant, rank, offset, record.number);
            (key, RecordSource::Promoted(number))
        });
        let mut keyed: Vec<(SortKey, RecordSource)> = spans.chain(promoted).collect();
        // The stable sort finds what is in order already: nearly all of a log that was written as it happened.
        keyed.sort_by_key(|(key, _)| *key);
        keyed.into_iter().map(|(_, source)| source).collect()
    }

    /// The type of a record, its instant and its outcome.
    #[must_use]
    pub fn header(&self, source: RecordSource) -> Option<RecordHeader> {
        match source {
            RecordSource::Span(position) => self.entries.get(position as usize).map(IndexEntry::header),
            RecordSource::Promoted(number) => self.promoted.get(number as usize).map(|promoted| {
                let is_error = promoted.event_type == EventType::Error;
                let outcome = if is_error { Outcome::Failed } else { Outcome::Ok };
                RecordHeader::new(promoted.event_type, promoted.instant, outcome)
            }),
        }
    }
}

fn span_header(span: &ParsedSpan<'_, IndexedAttributes<'_>>) -> RecordHeader {
    let facts = span.facts();
    let event_type = span_type(span, &facts);
    RecordHeader::new(event_type, span.start_time.1, outcome(span, &facts, event_type))
}

/// The records that a root gives in addition to its own: those of its events, and the end of the run.
fn promoted_records<A>(root: &ParsedSpan<'_, A>, position: usize) -> impl Iterator<Item = PromotedRecord> {
    let events = root
        .events
        .iter()
        .filter_map(|event| Some((event.timestamp.1, promoted_type(&event.name)?.event_type())));
    let end = root.end_time.as_ref().map(|(_, end)| (*end, EventType::RunEnd));
    (1..)
        .zip(events.chain(end))
        .map(move |(number, (instant, event_type))| PromotedRecord {
            span: position,
            number,
            instant,
            event_type,
        })
}

/// The position of the span of a call.
fn entry_of_call(entries: &[IndexEntry], call: &CallReport) -> Option<usize> {
    let at = entries
        .binary_search_by_key(&call.place.line, IndexEntry::line)
        .ok()?;
    (entries.get(at)?.span_id() == call.span_id).then_some(at)
}

/// Known token shares of a model call: parts of its input and output, never in addition to them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct TokenShares {
    /// Input that the provider read from its cache.
    cache_read: Option<u64>,
    /// Input that the provider wrote to its cache.
    cache_write: Option<u64>,
    /// Output of reasoning.
    reasoning: Option<u64>,
}

impl TokenShares {
    fn of(usage: &Usage) -> Option<Self> {
        let shares = Self {
            cache_read: usage.cache_read_tokens,
            cache_write: usage.cache_write_tokens,
            reasoning: usage.reasoning_tokens,
        };
        (shares != Self::default()).then_some(shares)
    }
}

/// A span as the index knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub struct IndexedSpan {
    /// Its ID.
    pub span_id: SpanId,
    /// The span that it is nested in; `None` for a root.
    pub parent_span_id: Option<SpanId>,
    /// The instant of its start.
    pub start: Timestamp,
    /// Its duration in microseconds: from its times, else from its whole milliseconds.
    pub duration_us: Option<u64>,
    /// The type of its record.
    pub event_type: EventType,
    /// Its outcome.
    pub outcome: Outcome,
    /// `true` when it is no step, see [`Record::is_leftover`].
    pub is_leftover: bool,
    /// True where other spans report the same call: its record has what they say.
    pub is_joined: bool,
    /// `true` when it has no end.
    pub is_open: bool,
    /// True where it has an attribute that names a [session](tracer_format::names::SESSION).
    pub names_session: bool,
    /// True where it has tags, or another run's metadata.
    pub has_tags: bool,
    /// `true` when a value in it was redacted.
    pub is_redacted: bool,
    /// `true` when a value in it was truncated.
    pub is_truncated: bool,
    /// The number of its name, which [`LogIndex::name`](super::LogIndex::name) gives.
    pub name: u32,
    /// Equal for calls of one kind and name with the same arguments; 0 for what is no call, state or error.
    pub signature: u32,
    /// Tokens of the prompt, of a model call that says so.
    pub tokens_in: Option<u32>,
    /// Tokens of the answer, of a model call that says so.
    pub tokens_out: Option<u32>,
    /// All tokens of a model call, as reported or as the sum of the parts.
    pub tokens_total: Option<u32>,
    /// Its line in the log, from 1.
    pub line: u64,
    /// The offset of its line, in bytes.
    pub offset: u64,
}

/// The source of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum RecordSource {
    /// The span at a place of the index.
    Span(u32),
    /// The promoted record with a number, from 0: see [`LogIndex::promoted`].
    Promoted(u32),
}

/// A record that a root gives in addition to its own: that of an event, or the end of the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct PromotedRecord {
    /// The place of the root in the index.
    pub span: usize,
    /// Its number among the records that the root gives, where the root's own has 0.
    pub number: u32,
    /// The instant of the record.
    pub instant: Timestamp,
    /// The type of its record.
    pub event_type: EventType,
}
