//! The scan of a log: from blocks to index entries, problems, and the result of a [`SpanVisitor`].

use std::io::{self, Read, Seek};

use super::blocks::{Block, Blocks, LineStart, LogLine, MAX_LINE_BYTES};
use super::problems::Problems;
use tracer_format::parse::{KeyAttributes, Location, ParsedSpan, read_span};
use tracer_format::project::{IndexEntry, LinePlace, RecordHeader};
use tracer_format::{ProblemCode, TraceId};

/// Collects something from the spans of a log, in the order of the file.
pub(crate) trait SpanVisitor: Default {
    /// The attributes that are kept while a line is read.
    type Attributes<'a>: serde::Deserialize<'a>;

    /// Visits a span that can be read, and gives its header for the index.
    fn visit(
        &mut self,
        span: ParsedSpan<'_, Self::Attributes<'_>>,
        place: LinePlace,
        is_foreign: bool,
    ) -> RecordHeader;

    /// Visits the line of the span that is visited next.
    fn visit_line(&mut self, _line: &[u8]) {}
}

/// The run whose log is scanned.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ScanOptions {
    /// The run's ID in `meta.json`, when it can be read.
    pub(crate) meta_trace_id: Option<TraceId>,
    /// The ID that the spans of the run have: that of `meta.json`, or else of the first span.
    pub(crate) own_trace_id: Option<TraceId>,
    /// `true` when the last line may be cut short.
    pub(crate) is_running: bool,
}

/// The result of scanning a log, or a part of one.
#[derive(Debug)]
pub(crate) struct ScanResult<V> {
    /// Every span whose IDs can both be read, in the order of the file.
    pub(crate) entries: Vec<IndexEntry>,
    /// The problems of single lines.
    pub(crate) problems: Problems,
    /// The visitor of the spans that can be read.
    pub(crate) visitor: V,
    /// Bytes of a last line that were left out, because a run that is still written was cut there.
    pub(crate) cut_tail: Option<u64>,
    /// Start position of that line.
    cut_at: Option<LineStart>,
    /// `true` when the IDs of every span could be read.
    pub(crate) is_whole: bool,
    /// Start position of the next line.
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
            cut_tail: None,
            cut_at: None,
            is_whole: true,
            end: LineStart::FILE,
            failure: None,
        }
    }
}

/// Reads the rest of a log, whose reader has been put to `start`, the beginning of a line.
pub(crate) fn scan_from<V: SpanVisitor>(
    log: impl Read,
    start: LineStart,
    options: ScanOptions,
) -> ScanResult<V> {
    let mut blocks = Blocks::starting_at(log, start);
    let mut block = Block::default();
    let mut scanned = ScanResult::default();
    loop {
        match blocks.next_into(&mut block) {
            Ok(true) => block.lines().for_each(|line| scanned.read_line(&line, options)),
            Ok(false) => break,
            Err(error) => {
                scanned.is_whole = false;
                scanned.failure = Some(error);
                break;
            }
        }
    }
    // A line that was cut is read again when the rest of it is there.
    scanned.end = scanned.cut_at.unwrap_or_else(|| blocks.position());
    scanned
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

impl<V: SpanVisitor> ScanResult<V> {
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
                    self.visitor.visit_line(bytes);
                    self.visitor.visit(span, place, is_foreign)
                });
                self.entries
                    .push(IndexEntry::new(identity, place, header, is_foreign));
            }
            // The writer was stopped within its last line, or is within it now.
            Err(_) if options.is_running && !line.is_ended => {
                self.cut_tail = Some(bytes.len() as u64);
                self.cut_at = Some(LineStart {
                    offset: line.offset,
                    line: number,
                });
            }
            Err(error) => {
                self.is_whole = false;
                let problem = Location::Line(number).problem(ProblemCode::MalformedJson, error.to_string());
                self.problems.push(number, problem);
            }
        }
    }

    fn add(&mut self, number: u64, problems: Vec<tracer_format::Problem>) {
        for problem in problems {
            self.problems.push(number, problem);
        }
    }
}
