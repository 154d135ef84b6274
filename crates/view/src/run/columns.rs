//! The rows of a run as columns of numbers: what a page needs of every row, in about sixty bytes for each.
//!
//! `docs/the-viewer.md` tells the layout.

use std::collections::HashMap;

use tracer_sdk::format::{EventType, Timestamp};

use super::open_run::OpenRun;
use tracer_insight::run_head::display_name;
use tracer_insight::run_steps::{RowSource, TimelineRow};
use tracer_insight::step_kind::StepKind;
use tracer_insight::step_order::NONE;
use tracer_insight::value_summary;

const MAGIC: &[u8; 8] = b"TRCCOL03";
const HEADER_BYTES: usize = 64;
const IN_FLIGHT_DURATION: f64 = -1.0;

const FAILED: u8 = 1;
const IN_FLIGHT: u8 = 2;
const EVIDENCE: u8 = 4;
const REDACTED: u8 = 8;
const TRUNCATED: u8 = 16;

/// The cells of one row.
#[derive(Debug, Clone, Copy)]
struct Cells {
    start_us: f64,
    /// Not a number: has none. -1: is in flight.
    duration_us: f64,
    name: u32,
    signature: u32,
    kind: StepKind,
    flags: u8,
    /// Input and output of a model call; 0 where neither is known.
    tokens: u32,
}

/// The names that rows are given, each once.
#[derive(Debug, Default)]
struct NameTable {
    names: Vec<String>,
    numbers: HashMap<String, u32>,
    /// The number here of each name of the index.
    of_index: Vec<u32>,
}

impl NameTable {
    /// The table with the names of the index, as they are shown.
    fn new(run: &OpenRun) -> Self {
        let mut table = Self::default();
        let of_index = run
            .steps
            .index
            .names()
            .map(value_summary::label)
            .collect::<Vec<String>>();
        table.of_index = of_index.into_iter().map(|name| table.number(name)).collect();
        table
    }

    fn number(&mut self, name: String) -> u32 {
        if let Some(number) = self.numbers.get(&name) {
            return *number;
        }
        let number = u32::try_from(self.names.len()).unwrap_or(u32::MAX);
        self.names.push(name.clone());
        self.numbers.insert(name, number);
        number
    }

    fn of_span(&mut self, name: u32, event_type: EventType) -> u32 {
        match StepKind::from(event_type).fixed_name() {
            Some(fixed) => self.number(fixed.to_owned()),
            None => self.of_index.get(name as usize).copied().unwrap_or_default(),
        }
    }
}

/// A number as the page counts: of microseconds, exact for 285 years.
#[expect(clippy::cast_precision_loss, reason = "exact below 2^53")]
pub(crate) fn microseconds(value: i64) -> f64 {
    value as f64
}

/// The columns of the rows from a number on.
pub(crate) fn encode(run: &OpenRun, first: usize) -> Vec<u8> {
    let rows = run.steps.timeline.rows.get(first..).unwrap_or_default();
    let started = run
        .steps
        .started()
        .unwrap_or(Timestamp::from_unix_microseconds(0));
    let mut names = NameTable::new(run);
    let mut columns = [8, 8, 4, 4, 4, 4, 4, 1, 1].map(|cell| Vec::<u8>::with_capacity(cell * rows.len()));
    for row in rows {
        let cells = cells(run, row, started, &mut names);
        let encoded: [&[u8]; 9] = [
            &cells.start_us.to_le_bytes(),
            &cells.duration_us.to_le_bytes(),
            &parent(row).to_le_bytes(),
            &row.number.to_le_bytes(),
            &cells.name.to_le_bytes(),
            &cells.signature.to_le_bytes(),
            &cells.tokens.to_le_bytes(),
            &[cells.kind as u8],
            &[cells.flags],
        ];
        for (column, cell) in columns.iter_mut().zip(encoded) {
            column.extend_from_slice(cell);
        }
    }
    let count = |length: usize| u32::try_from(length).unwrap_or(u32::MAX).to_le_bytes();
    let mut name_list = Vec::new();
    for name in &names.names {
        name_list.extend(count(name.len()));
        name_list.extend(name.as_bytes());
    }
    let size: usize = columns.iter().map(|column| column.len() + 8).sum();
    let mut bytes = Vec::with_capacity(HEADER_BYTES + size + name_list.len());
    bytes.extend(MAGIC);
    bytes.extend(count(rows.len()));
    bytes.extend(count(names.names.len()));
    bytes.extend(count(name_list.len()));
    bytes.extend(count(first));
    bytes.extend(microseconds(started.unix_microseconds()).to_le_bytes());
    let read = i64::try_from(run.steps.index.bytes_read()).unwrap_or(i64::MAX);
    bytes.extend(microseconds(read).to_le_bytes());
    bytes.resize(HEADER_BYTES, 0);
    for column in columns {
        bytes.extend_from_slice(&column);
        bytes.resize(bytes.len().next_multiple_of(8), 0);
    }
    bytes.append(&mut name_list);
    bytes
}

/// The row that a row is nested in, -1 for none.
fn parent(row: &TimelineRow) -> i32 {
    match row.parent {
        NONE => -1,
        parent => i32::try_from(parent).unwrap_or(-1),
    }
}

fn cells(run: &OpenRun, row: &TimelineRow, started: Timestamp, names: &mut NameTable) -> Cells {
    let since_start = |instant: Timestamp| microseconds(instant.microseconds_since(started));
    let mut cells = Cells {
        start_us: 0.0,
        duration_us: f64::NAN,
        name: 0,
        signature: 0,
        kind: StepKind::Span,
        flags: if run.steps.is_evidence(row) { EVIDENCE } else { 0 },
        tokens: 0,
    };
    match row.source {
        RowSource::Run => {
            cells.kind = StepKind::Run;
            cells.name = names.number(display_name(run.name()));
            if run.steps.status.is_open() {
                cells.duration_us = IN_FLIGHT_DURATION;
                cells.flags |= IN_FLIGHT;
            }
        }
        RowSource::Span(position) => {
            let Some(span) = run.steps.index.span(position as usize) else {
                return cells;
            };
            cells.start_us = since_start(span.start);
            cells.kind = StepKind::from(span.event_type);
            cells.name = names.of_span(span.name, span.event_type);
            cells.signature = span.signature;
            cells.tokens = span
                .tokens_in
                .unwrap_or(0)
                .saturating_add(span.tokens_out.unwrap_or(0));
            let duration = span.duration_us.and_then(|duration| i64::try_from(duration).ok());
            cells.duration_us = match duration {
                _ if span.is_open => IN_FLIGHT_DURATION,
                Some(duration) => microseconds(duration),
                None => f64::NAN,
            };
            let is_failed = span.outcome.is_failure() || span.event_type == EventType::Error;
            for (is_so, flag) in [
                (is_failed, FAILED),
                (span.is_open, IN_FLIGHT),
                (span.is_redacted, REDACTED),
                (span.is_truncated, TRUNCATED),
            ] {
                cells.flags |= if is_so { flag } else { 0 };
            }
        }
        RowSource::Promoted(number) => {
            let Some(record) = run.steps.promoted.get(number as usize) else {
                return cells;
            };
            cells.start_us = since_start(record.instant);
            cells.kind = StepKind::from(record.event_type);
            cells.name = names.of_span(0, record.event_type);
            if record.event_type == EventType::Error {
                cells.flags |= FAILED;
            }
        }
        RowSource::InFlight(number) => {
            let Some(started) = run.steps.in_flight.get(number as usize) else {
                return cells;
            };
            cells.start_us = since_start(started.start_time.instant());
            cells.duration_us = IN_FLIGHT_DURATION;
            cells.kind = StepKind::from(started.event_type);
            cells.name = names.number(value_summary::label(&started.name));
            cells.flags |= IN_FLIGHT;
        }
    }
    cells
}
