//! Blocks to index entries, problems and whatever a visitor makes of the spans.

use std::collections::BTreeMap;
use std::io::{self, Read, Seek};
use std::thread;

use crate::process::Mutex;

use super::super::fields::Place;
use super::super::span::{Outline, ReadAttributes, Span, read_span};
use super::blocks::{Block, Blocks, Line, LineStart, MAX_LINE_BYTES};
use super::index::{Entry, Known, LinePlace};
use super::problems::Problems;
use crate::format::{ProblemCode, TraceId};

/// More threads than this do not make reading faster: the file has one disk under it.
const MAX_THREADS: usize = 8;

/// What is made of the spans of a log. Each thread has one for its block, and they are put together in the order of
/// the file.
pub(in super::super) trait Visit: Default + Send {
    /// What is kept of attributes while a line is read.
    type Attributes<'a>: ReadAttributes<'a>;

    /// Takes a span that can be read; tells what the index is to know of it.
    fn visit(&mut self, span: Span<'_, Self::Attributes<'_>>, place: LinePlace, is_foreign: bool) -> Known;

    /// Sees the line of the span that is visited next.
    fn look(&mut self, _line: &[u8]) {}

    /// Adds what comes from the block that follows.
    fn append(&mut self, following: Self);
}

/// What is known of a run before its log is read.
#[derive(Debug, Clone, Copy)]
pub(in super::super) struct Expected {
    /// The run's ID in `meta.json`, when it can be read.
    pub(in super::super) told: Option<TraceId>,
    /// The ID that the spans of the run have: the one that is told, or else that of the first span.
    pub(in super::super) own: Option<TraceId>,
    /// Whether the last line may be cut short.
    pub(in super::super) is_running: bool,
}

/// What was found in a log, or in a part of one.
#[derive(Debug)]
pub(in super::super) struct Scanned<V> {
    /// Every span of which both IDs can be read, in the order of the file.
    pub(in super::super) entries: Vec<Entry>,
    /// What is wrong with single lines.
    pub(in super::super) problems: Problems,
    /// What the visitor made of the spans that can be read.
    pub(in super::super) visitor: V,
    /// How many spans can be read.
    pub(in super::super) span_count: u64,
    /// How many bytes of a last line were left out, because a run that is still written was cut there.
    pub(in super::super) cut_tail: Option<u64>,
    /// Whether where it stands is known of every span.
    pub(in super::super) is_whole: bool,
    /// The ID that the spans of the run have, when it is known.
    pub(in super::super) own_trace_id: Option<TraceId>,
    /// Whether there was a log to read.
    pub(in super::super) is_read: bool,
    /// Where the next line would begin.
    pub(in super::super) end: LineStart,
    /// Why reading ended before the end of the file.
    pub(in super::super) failure: Option<io::Error>,
}

impl<V: Default> Default for Scanned<V> {
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
pub(in super::super) fn scan<V: Visit>(log: impl Read + Send, expected: Expected) -> Scanned<V> {
    scan_from(log, LineStart::FILE, expected)
}

/// Reads the rest of a log, whose reader has been put to `start`, the beginning of a line.
pub(in super::super) fn scan_from<V: Visit>(
    log: impl Read + Send,
    start: LineStart,
    expected: Expected,
) -> Scanned<V> {
    let source = Mutex::new(Blocks::starting_at(log, start));
    let merged = Mutex::new(Merged::default());
    let mut block = Block::default();
    let goes_on = read_block(&source, &merged, &mut block, expected);
    if !goes_on || source.lock().is_at_end() {
        return ended(merged, source);
    }
    let threads = thread::available_parallelism().map_or(1, |threads| threads.get().min(MAX_THREADS));
    thread::scope(|scope| {
        for _ in 1..threads {
            // Without another thread, this one reads alone.
            let _ = thread::Builder::new().spawn_scoped(scope, || {
                let mut block = Block::default();
                while read_block(&source, &merged, &mut block, expected) {}
            });
        }
        while read_block(&source, &merged, &mut block, expected) {}
    });
    ended(merged, source)
}

/// What was found, and where the file ended.
fn ended<V: Visit>(merged: Mutex<Merged<V>>, source: Mutex<Blocks<impl Read>>) -> Scanned<V> {
    let mut whole = merged.into_inner().whole;
    whole.end = source.into_inner().position();
    whole
}

/// The run that the first span that can be read belongs to; the file is then at its beginning again.
pub(in super::super) fn first_trace_id(log: &mut (impl Read + Seek)) -> io::Result<Option<TraceId>> {
    let mut blocks = Blocks::new(&mut *log);
    let mut block = Block::default();
    let mut found = None;
    while found.is_none() && blocks.next_into(&mut block)? {
        found = block.lines().find_map(|line| {
            let reading = read_span::<Outline<'_>>(line.bytes?, line.number, &mut Vec::new());
            Some(reading.ok()?.span?.trace_id)
        });
    }
    log.rewind()?;
    Ok(found)
}

/// Reads the next block, if there is one.
fn read_block<V: Visit>(
    source: &Mutex<Blocks<impl Read>>,
    merged: &Mutex<Merged<V>>,
    block: &mut Block,
    expected: Expected,
) -> bool {
    let taken = source.lock().next_into(block);
    match taken {
        Ok(true) => {
            let mut part = Scanned::default();
            for line in block.lines() {
                part.read_line(&line, expected);
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
#[derive(Debug)]
struct Merged<V> {
    whole: Scanned<V>,
    /// The number of the block that comes next.
    next: u64,
    /// Parts that were read before their turn, at most one for each thread.
    waiting: BTreeMap<u64, Scanned<V>>,
}

impl<V: Default> Default for Merged<V> {
    fn default() -> Self {
        Self {
            whole: Scanned::default(),
            next: 0,
            waiting: BTreeMap::new(),
        }
    }
}

impl<V: Visit> Merged<V> {
    fn put(&mut self, number: u64, part: Scanned<V>) {
        self.waiting.insert(number, part);
        while let Some(part) = self.waiting.remove(&self.next) {
            self.whole.append(part);
            self.next += 1;
        }
    }
}

impl<V: Visit> Scanned<V> {
    fn append(&mut self, part: Self) {
        self.entries.extend(part.entries);
        self.problems.append(part.problems);
        self.visitor.append(part.visitor);
        self.span_count += part.span_count;
        self.cut_tail = part.cut_tail;
        self.is_whole &= part.is_whole;
    }

    fn read_line(&mut self, line: &Line<'_>, expected: Expected) {
        let number = line.number;
        let Some(bytes) = line.bytes else {
            self.is_whole = false;
            let message = format!(
                "is longer than {} MiB, which is not read",
                MAX_LINE_BYTES / 1024 / 1024
            );
            let problem = Place::Line(number).problem(ProblemCode::InvalidValue, message);
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
                    // A line over the limit was told before.
                    length: u32::try_from(bytes.len()).unwrap_or(u32::MAX),
                    line: number,
                };
                self.add(number, problems);
                if let (Some(said), Some(told)) = (identity.trace_id, expected.told)
                    && said != told
                {
                    self.problems.push_with(number, || {
                        Place::Line(number).field_problem(
                            "trace_id",
                            ProblemCode::TraceIdMismatch,
                            "is not the trace_id of meta.json; a run directory holds the spans of one run",
                        )
                    });
                }
                let is_foreign = identity.trace_id != expected.own;
                let known = reading.span.map(|span| {
                    self.span_count += 1;
                    self.visitor.look(bytes);
                    self.visitor.visit(span, place, is_foreign)
                });
                self.entries.push(Entry::new(identity, place, known, is_foreign));
            }
            // The writer was stopped within its last line, or is within it now.
            Err(_) if expected.is_running && !line.is_ended => self.cut_tail = Some(bytes.len() as u64),
            Err(error) => {
                self.is_whole = false;
                let problem = Place::Line(number).problem(ProblemCode::MalformedJson, error.to_string());
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
