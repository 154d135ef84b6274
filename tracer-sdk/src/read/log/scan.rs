//! The scan of a log: from blocks to index entries, problems, and the result of a [`SpanVisitor`].

use std::collections::BTreeMap;
use std::io::{self, Read, Seek};
use std::thread;

use crate::process::Mutex;

use super::blocks::{Block, Blocks, LineStart, LogLine, MAX_LINE_BYTES};
use super::entry::{IndexEntry, LinePlace, RecordHeader};
use super::problems::Problems;
use crate::format::{ProblemCode, TraceId};
use crate::read::parse::{KeyAttributes, Location, ParsedSpan, ReadAttributes, read_span};

/// More threads than this do not make reading faster: the file has one disk under it.
const MAX_THREADS: usize = 8;

/// Collects something from the spans of a log. Each thread has a visitor for its block; they are put together in the
/// order of the file.
pub(crate) trait SpanVisitor: Default + Send {
    /// The attributes that are kept while a line is read.
    type Attributes<'a>: ReadAttributes<'a>;

    /// Visits a span that can be read, and gives its header for the index.
    fn visit(
        &mut self,
        span: ParsedSpan<'_, Self::Attributes<'_>>,
        place: LinePlace,
        is_foreign: bool,
    ) -> RecordHeader;

    /// Visits the line of the span that is visited next.
    fn visit_line(&mut self, _line: &[u8]) {}

    /// Adds the visitor of the block that follows.
    fn append(&mut self, following: Self);
}

/// The run whose log is scanned.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ScanOptions {
    /// The run's ID in `meta.json`, when it can be read.
    pub(crate) meta_trace_id: Option<TraceId>,
    /// The ID that the spans of the run have: that of `meta.json`, or else of the first span.
    pub(crate) own_trace_id: Option<TraceId>,
    /// Whether the last line may be cut short.
    pub(crate) is_running: bool,
}

/// The result of scanning a log, or a part of one.
#[derive(Debug)]
pub(crate) struct ScanResult<V> {
    /// Every span of which both IDs can be read, in the order of the file.
    pub(crate) entries: Vec<IndexEntry>,
    /// The problems of single lines.
    pub(crate) problems: Problems,
    /// The visitor of the spans that can be read.
    pub(crate) visitor: V,
    /// Number of spans that can be read.
    pub(crate) span_count: u64,
    /// Bytes of a last line that were left out, because a run that is still written was cut there.
    pub(crate) cut_tail: Option<u64>,
    /// Whether the place among the others could be read of every span.
    pub(crate) is_whole: bool,
    /// The ID that the spans of the run have, when it is known.
    pub(crate) own_trace_id: Option<TraceId>,
    /// Whether there was a log to read.
    pub(crate) is_read: bool,
    /// Where the next line would begin.
    pub(crate) end: LineStart,
    /// The error that ended reading before the end of the file.
    pub(crate) failure: Option<io::Error>,
}

impl<V: Default> Default for ScanResult<V> {
    fn default() -> Self {
        Self {
            entries: Vec::new(),
            problems: Problems::default(),
            visitor: V::default(),
            span_count: 0,
            cut_tail: None,
            is_whole: true,
            own_trace_id: None,
            is_read: false,
            end: LineStart::FILE,
            failure: None,
        }
    }
}

/// Reads a log from its beginning to its end.
pub(crate) fn scan<V: SpanVisitor>(log: impl Read + Send, options: ScanOptions) -> ScanResult<V> {
    scan_from(log, LineStart::FILE, options)
}

/// Reads the rest of a log, whose reader has been put to `start`, the beginning of a line.
pub(crate) fn scan_from<V: SpanVisitor>(
    log: impl Read + Send,
    start: LineStart,
    options: ScanOptions,
) -> ScanResult<V> {
    let source = Mutex::new(Blocks::starting_at(log, start));
    let merged = Mutex::new(Merged::default());
    let mut block = Block::default();
    let goes_on = read_block(&source, &merged, &mut block, options);
    if !goes_on || source.lock().is_at_end() {
        return finish(merged, source);
    }
    let threads = thread::available_parallelism().map_or(1, |threads| threads.get().min(MAX_THREADS));
    thread::scope(|scope| {
        for _ in 1..threads {
            // Without another thread, this one reads alone.
            let _ = thread::Builder::new().spawn_scoped(scope, || {
                let mut block = Block::default();
                while read_block(&source, &merged, &mut block, options) {}
            });
        }
        while read_block(&source, &merged, &mut block, options) {}
    });
    finish(merged, source)
}

/// The result, with the position where the file ended.
fn finish<V: SpanVisitor>(merged: Mutex<Merged<V>>, source: Mutex<Blocks<impl Read>>) -> ScanResult<V> {
    let mut whole = merged.into_inner().whole;
    whole.end = source.into_inner().position();
    whole
}

/// The run that the first span that can be read belongs to; the file is then at its beginning again.
pub(crate) fn first_trace_id(log: &mut (impl Read + Seek)) -> io::Result<Option<TraceId>> {
    let mut blocks = Blocks::new(&mut *log);
    let mut block = Block::default();
    let mut found = None;
    while found.is_none() && blocks.next_into(&mut block)? {
        found = block.lines().find_map(|line| {
            let reading = read_span::<KeyAttributes<'_>>(line.bytes?, line.number, &mut Vec::new());
            Some(reading.ok()?.span?.trace_id)
        });
    }
    log.rewind()?;
    Ok(found)
}

/// Reads the next block, if there is one.
fn read_block<V: SpanVisitor>(
    source: &Mutex<Blocks<impl Read>>,
    merged: &Mutex<Merged<V>>,
    block: &mut Block,
    options: ScanOptions,
) -> bool {
    let taken = source.lock().next_into(block);
    match taken {
        Ok(true) => {
            let mut part = ScanResult::default();
            for line in block.lines() {
                part.read_line(&line, options);
            }
            merged.lock().put(block.number, part);
            true
        }
        Ok(false) => false,
        Err(error) => {
            let whole = &mut merged.lock().whole;
            whole.is_whole = false;
            whole.failure = Some(error);
            false
        }
    }
}

/// Parts, put together in the order of their blocks.
#[derive(Debug, Default)]
struct Merged<V> {
    whole: ScanResult<V>,
    /// The number of the block that comes next.
    next: u64,
    /// Parts that were read before their turn, at most one for each thread.
    waiting: BTreeMap<u64, ScanResult<V>>,
}

impl<V: SpanVisitor> Merged<V> {
    fn put(&mut self, number: u64, part: ScanResult<V>) {
        self.waiting.insert(number, part);
        while let Some(part) = self.waiting.remove(&self.next) {
            self.whole.append(part);
            self.next += 1;
        }
    }
}

impl<V> ScanResult<V> {
    /// The same with a part of what the visitor holds, and the rest of that.
    pub(crate) fn divided<Part, Rest>(
        self,
        divide: impl FnOnce(V) -> (Part, Rest),
    ) -> (ScanResult<Part>, Rest) {
        let (visitor, rest) = divide(self.visitor);
        let result = ScanResult {
            entries: self.entries,
            problems: self.problems,
            visitor,
            span_count: self.span_count,
            cut_tail: self.cut_tail,
            is_whole: self.is_whole,
            own_trace_id: self.own_trace_id,
            is_read: self.is_read,
            end: self.end,
            failure: self.failure,
        };
        (result, rest)
    }
}

impl<V: SpanVisitor> ScanResult<V> {
    fn append(&mut self, part: Self) {
        self.entries.extend(part.entries);
        self.problems.append(part.problems);
        self.visitor.append(part.visitor);
        self.span_count += part.span_count;
        self.cut_tail = part.cut_tail;
        self.is_whole &= part.is_whole;
    }

    fn read_line(&mut self, line: &LogLine<'_>, options: ScanOptions) {
        let number = line.number;
        let Some(bytes) = line.bytes else {
            self.is_whole = false;
            let message = format!(
                "is longer than {} MiB, which is not read",
                MAX_LINE_BYTES / 1024 / 1024
            );
            let problem = Location::Line(number).problem(ProblemCode::InvalidValue, message);
            self.problems.push(number, problem);
            return;
        };
        let mut problems = Vec::new();
        match read_span(bytes, number, &mut problems) {
            Ok(reading) => {
                let Some(identity) = reading.identity else {
                    self.is_whole = false;
                    self.add(number, problems);
                    return;
                };
                let place = LinePlace {
                    offset: line.offset,
                    // A line over the limit is a problem, above.
                    length: u32::try_from(bytes.len()).unwrap_or(u32::MAX),
                    line: number,
                };
                self.add(number, problems);
                if let (Some(own), Some(recorded)) = (identity.trace_id, options.meta_trace_id)
                    && own != recorded
                {
                    self.problems
                        .push_with(number, || Location::Line(number).foreign_span());
                }
                let is_foreign = identity.trace_id != options.own_trace_id;
                let header = reading.span.map(|span| {
                    self.span_count += 1;
                    self.visitor.visit_line(bytes);
                    self.visitor.visit(span, place, is_foreign)
                });
                self.entries
                    .push(IndexEntry::new(identity, place, header, is_foreign));
            }
            // The writer was stopped within its last line, or is within it now.
            Err(_) if options.is_running && !line.is_ended => self.cut_tail = Some(bytes.len() as u64),
            Err(error) => {
                self.is_whole = false;
                let problem = Location::Line(number).problem(ProblemCode::MalformedJson, error.to_string());
                self.problems.push(number, problem);
            }
        }
    }

    fn add(&mut self, number: u64, problems: Vec<crate::format::Problem>) {
        for problem in problems {
            self.problems.push(number, problem);
        }
    }
}
