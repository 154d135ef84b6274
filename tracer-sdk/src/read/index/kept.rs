//! A [`LogIndex`] as it is kept beside the log: written once, and read back instead of the log as long as that is the same
//! file.
//!
//! It is written in [sections](super::sections), the first of which holds what must agree before the others are looked at: the
//! version, and the identity, size and times of the log.

use std::fs::File;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::Arc;

use super::columns::Columns;
use super::sections::{SectionReader, SectionWriter};
use super::{LogIndex, entry_of_call};
use crate::format::{EventType, Timestamp, TraceId};
use crate::read::file::{self, LogStamp};
use crate::read::log::{EntryBefore, IndexEntry, KeptBytes, LineStart, read_at};
use crate::read::project::{CallReport, KeptNames, RepeatableTypes};
use crate::read::run::Promoted;

/// The version of what is kept: changed with the layout, and with whatever an index holds of a span.
const VERSION: u64 = 8;
const MAGIC: &[u8; 8] = b"TRCINDEX";
/// What a kept index may have for each span, and beside them: an index that has more is not kept.
const MAX_BYTES_PER_SPAN: u64 = 64;
const MAX_OTHER_BYTES: u64 = 64 * 1024;
/// A span has at least its keys and its IDs.
const MIN_LINE_BYTES: u64 = 64;

impl LogIndex {
    /// Writes the index, for [`read_kept`](Self::read_kept) to read it instead of the log; `false` when it is not worth
    /// keeping or cannot be trusted later: the log has no whole last line, has changed since, or so shortly before it was
    /// read that another change might not show, or the index has more than 64 bytes for each span.
    ///
    /// ```
    /// use tracer_sdk::read::LogIndex;
    /// use tracer_sdk::testing::capture;
    ///
    /// let folder = tempfile::tempdir()?;
    /// let directory = capture(|| tracer_sdk::tool_call("search").record()).save(folder.path())?;
    /// std::thread::sleep(std::time::Duration::from_millis(400)); // the log has been as it is for a while
    /// let index = LogIndex::open(&directory, None, false)?;
    /// let mut kept = Vec::new();
    /// assert!(index.write_kept(&mut kept)?);
    ///
    /// let again = LogIndex::read_kept(&directory, None, kept.as_slice()).expect("the log is the same");
    /// assert_eq!(again.span(1), index.span(1));
    ///
    /// std::fs::write(directory.join("spans.jsonl"), "")?; // another log: the index of the old one is not believed
    /// assert!(LogIndex::read_kept(&directory, None, kept.as_slice()).is_none());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The log cannot be looked at, or the writer fails. What was written until then is no index.
    pub fn write_kept(&self, writer: &mut impl Write) -> io::Result<bool> {
        let (Some(file), Some(stamp)) = (&self.file, &self.stamp) else {
            return Ok(false);
        };
        let is_whole = self.end.offset == stamp.length() && self.ends_with_newline(file)?;
        if !is_whole || !stamp.is_settled() || !stamp.is_same(&LogStamp::of(&file.metadata()?)) {
            return Ok(false);
        }
        let most = MAX_BYTES_PER_SPAN * self.entries.len() as u64 + MAX_OTHER_BYTES;
        let mut sections = SectionWriter::new(writer, most);
        let header = sections.item()?;
        header.push_bytes(&self.key(stamp));
        header.push_number(self.entries.len() as u64);
        header.push_number(self.end.line);
        header.push_byte(u8::from(self.is_clean));
        header.push_hash(self.last_line);
        header.push_number(self.unreadable_lines);
        header.push_number(self.unreadable.len() as u64);
        for line in &self.unreadable {
            header.push_number(*line);
        }
        header.push_number(self.promoted.len() as u64);
        header.push_number(self.calls.len() as u64);
        sections.end()?;
        self.columns.write_kept_names(&mut sections)?;
        let mut before = EntryBefore::default();
        for (position, entry) in self.entries.iter().enumerate() {
            let bytes = sections.item()?;
            entry.write_kept(&before, bytes);
            self.columns.write_kept_span(position, bytes);
            before = entry.into();
        }
        sections.end()?;
        self.columns.write_kept_calls(&mut sections)?;
        for (position, promoted) in &self.promoted {
            let bytes = sections.item()?;
            bytes.push_number(*position as u64);
            bytes.push_number(u64::from(promoted.number));
            // Its place among all types: whoever gives one another place raises `VERSION`.
            bytes.push_number(promoted.event_type as u64);
            let (seconds, nanoseconds) = promoted.instant.to_parts();
            bytes.push_signed(seconds);
            bytes.push_number(u64::from(nanoseconds));
        }
        sections.end()?;
        let mut names = KeptNames::default();
        for call in &self.calls {
            let at = entry_of_call(&self.entries, call);
            let Some((at, entry)) = at.and_then(|at| Some((at, self.entries.get(at)?))) else {
                return Ok(false);
            };
            let bytes = sections.item()?;
            bytes.push_number(at as u64);
            call.write_kept(entry, &mut names, bytes);
        }
        sections.end()?;
        Ok(sections.is_within_limit())
    }

    /// The index that was written of the log of the run in a directory; `None` when the log is not the same file with the
    /// same size and times any more, or when what was kept is damaged or of another version: the log has to be read then.
    ///
    /// ```
    /// use tracer_sdk::read::LogIndex;
    /// use tracer_sdk::testing::capture;
    ///
    /// let folder = tempfile::tempdir()?;
    /// let directory = capture(|| tracer_sdk::tool_call("search").record()).save(folder.path())?;
    /// assert!(LogIndex::read_kept(&directory, None, b"no index".as_slice()).is_none());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn read_kept(directory: &Path, trace_id: Option<TraceId>, kept: impl Read) -> Option<Self> {
        let mut index = Self::empty(directory, trace_id);
        let log = file::open(&index.path).ok()?;
        let stamp = LogStamp::of(&log.metadata().ok()?);
        let mut sections = SectionReader::new(kept);
        let (mut spans, mut promoted, mut calls, mut last_line) = (0, 0, 0, 0);
        sections.items(1, |cursor| {
            // The run's ID may not have been known, and then be that of the first span.
            let kept_key = cursor.bytes()?;
            let own = index.trace_id.or_else(|| kept_trace_id(kept_key));
            index.trace_id = own;
            if kept_key != index.key(&stamp) {
                return None;
            }
            spans = cursor.count()?;
            index.end = LineStart {
                offset: stamp.length(),
                line: cursor.number()?,
            };
            index.is_clean = cursor.byte()? == 1;
            last_line = cursor.hash()?;
            index.unreadable_lines = cursor.number()?;
            for _ in 0..cursor.count()? {
                index.unreadable.push(cursor.number()?);
            }
            promoted = cursor.count()?;
            calls = cursor.count()?;
            Some(())
        })?;
        if spans as u64 > stamp.length() / MIN_LINE_BYTES {
            return None;
        }
        index.read_kept_spans(&mut sections, spans)?;
        index.columns.read_kept_calls(&mut sections, spans)?;
        sections.items(promoted, |cursor| {
            let position = cursor.count()?;
            let number = cursor.small_number()?;
            let event_type = *EventType::ALL.get(cursor.count()?)?;
            let (seconds, nanoseconds) = (cursor.signed()?, cursor.small_number()?);
            let promoted = Promoted {
                instant: Timestamp::from_parts(seconds, nanoseconds.min(999_999_999)),
                place: index.entries.get(position)?.place(),
                number,
                event_type,
            };
            index.promoted.push((position, promoted));
            Some(())
        })?;
        let mut names = KeptNames::default();
        sections.items(calls, |cursor| {
            let entry = index.entries.get(cursor.count()?)?;
            index
                .calls
                .push(CallReport::read_kept(entry, &mut names, cursor)?);
            Some(())
        })?;
        index.stamp = Some(stamp);
        index.file = Some(Arc::new(log));
        index.last_line = last_line;
        index.find_correlation();
        // The times of a file can be set: its end must be what it was, too.
        let is_same = index.last_line_now().is_ok_and(|found| found == last_line);
        (is_same && sections.is_at_end()).then_some(index)
    }

    fn read_kept_spans(&mut self, sections: &mut SectionReader<impl Read>, spans: usize) -> Option<()> {
        self.columns = Columns::read_kept_names(sections)?;
        self.entries.try_reserve_exact(spans).ok()?;
        self.columns.reserve(spans)?;
        self.make_room(spans);
        let mut before = EntryBefore::default();
        sections.items(spans, |cursor| {
            let entry = IndexEntry::read_kept(&before, cursor)?;
            let place = entry.place();
            let is_within = place.offset.checked_add(u64::from(place.length))? <= self.end.offset;
            if !is_within || !entry.is_own() {
                return None;
            }
            self.columns.read_kept_span(cursor)?;
            before = EntryBefore::from(&entry);
            let position = u32::try_from(self.entries.len()).ok()?;
            self.entries.push(entry);
            self.table.insert(&self.entries, position).is_none().then_some(())
        })
    }

    /// What is known of calls that are recorded more than once follows from the calls.
    fn find_correlation(&mut self) {
        if self.calls.is_empty() {
            return;
        }
        self.repeatable = RepeatableTypes::of(self.calls.iter().map(|call| call.event_type));
        self.calls_end = self.entries.len();
        self.correlation = self.correlate();
    }

    /// What must be the same for a kept index to be believed.
    fn key(&self, stamp: &LogStamp) -> Vec<u8> {
        let mut bytes = KeptBytes::default();
        bytes.push_bytes(MAGIC);
        bytes.push_number(VERSION);
        bytes.push_byte(u8::from(cfg!(feature = "prices")));
        bytes.push_bytes(env!("CARGO_PKG_VERSION").as_bytes());
        // Hashes are kept: those of another standard library may be others.
        let mut probe = DefaultHasher::new();
        ("probe", VERSION).hash(&mut probe);
        bytes.push_hash(probe.finish());
        for number in stamp.numbers() {
            bytes.push_number(number);
        }
        // The last bytes: see `kept_trace_id`.
        bytes.push_byte(u8::from(self.trace_id.is_some()));
        let mut key = bytes.as_slice().to_vec();
        key.extend(self.trace_id.map_or([0; TRACE_ID_BYTES], TraceId::to_bytes));
        key
    }

    fn ends_with_newline(&self, file: &File) -> io::Result<bool> {
        let mut last = Vec::new();
        read_at(file, self.end.offset.saturating_sub(1), 1, &mut last)?;
        Ok(last == b"\n")
    }
}

const TRACE_ID_BYTES: usize = 16;

/// The run that a key names, which are its last bytes.
fn kept_trace_id(key: &[u8]) -> Option<TraceId> {
    let bytes = key.last_chunk::<TRACE_ID_BYTES>()?;
    TraceId::from_u128(u128::from_be_bytes(*bytes))
}
