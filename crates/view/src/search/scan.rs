//! Going through a run for a query, a part at a time: no search keeps a thread for long.

use std::thread;
use std::time::{Duration, Instant};

use super::super::answer::ApiError;
use super::super::run::columns::cells_of;
use super::super::run::open_run::OpenRun;
use tracer_catalog::query::{StepColumns, StepQuery};
use tracer_insight::run_steps::{RowSource, TimelineRow};
use tracer_insight::step_kind::StepKind;
use tracer_insight::value_summary;

/// A search answers with what it has after this time.
const TIME_LIMIT: Duration = Duration::from_millis(200);
/// Bytes that each thread scans before results are combined.
const PARTITION_BYTES: u64 = 8 * 1024 * 1024;
/// Threads that scan the log.
const THREADS: u64 = 2;
/// Rows between two readings of the clock.
const ROWS_PER_CLOCK_CHECK: usize = 4096;

/// Matches in a part of a run.
#[derive(Debug, Default)]
pub(crate) struct PartMatches {
    /// The rows, sorted.
    pub(crate) hits: Vec<usize>,
    /// The `after` of the part that follows; null when the whole run was looked through.
    pub(crate) next: Option<u64>,
    /// True once the whole run was searched.
    pub(crate) done: bool,
}

/// Looks through a run from `after` on, for at most `limit` rows.
pub(crate) fn find(
    run: &OpenRun,
    query: &StepQuery,
    after: u64,
    limit: usize,
) -> Result<PartMatches, ApiError> {
    let deadline = Instant::now() + TIME_LIMIT;
    let mut found = if query.needs_content() {
        Scan {
            run,
            query,
            limit,
            found: PartMatches::default(),
        }
        .texts(after, deadline)?
    } else {
        columns(run, query, after, limit, deadline)
    };
    found.hits.sort_unstable();
    found.hits.dedup();
    found.done = found.next.is_none();
    Ok(found)
}

/// Rows that match by their columns; `after` counts rows.
fn columns(run: &OpenRun, query: &StepQuery, after: u64, limit: usize, deadline: Instant) -> PartMatches {
    let mut found = PartMatches::default();
    let first = usize::try_from(after).unwrap_or(usize::MAX);
    for (number, row) in run.steps.timeline.rows.iter().enumerate().skip(first) {
        let is_late = number % ROWS_PER_CLOCK_CHECK == 0 && number > first && Instant::now() > deadline;
        if found.hits.len() >= limit || is_late {
            found.next = Some(number as u64);
            break;
        }
        let name = run.row_name(row);
        if query.matches_columns(&cells_of(run, row).searched(&name)) == Some(true) {
            found.hits.push(number);
        }
    }
    found
}

impl OpenRun {
    /// The name of a row, without reading it.
    fn row_name(&self, row: &TimelineRow) -> String {
        match row.source {
            RowSource::Run => value_summary::label(self.name().unwrap_or_default()),
            RowSource::Span(position) => self
                .steps
                .index
                .span(position as usize)
                .map(|span| {
                    let name = StepKind::from(span.event_type).fixed_name();
                    name.unwrap_or_else(|| self.steps.index.name(&span)).to_owned()
                })
                .unwrap_or_default(),
            RowSource::Promoted(_) => self
                .steps
                .header(row)
                .and_then(|(event_type, _)| StepKind::from(event_type).fixed_name())
                .unwrap_or_default()
                .to_owned(),
            RowSource::InFlight(number) => self
                .steps
                .in_flight
                .get(number as usize)
                .map(|started| started.name.clone())
                .unwrap_or_default(),
        }
    }
}

/// Looking for a text: through the bytes of the log, then at the few records that may say it.
struct Scan<'a> {
    run: &'a OpenRun,
    query: &'a StepQuery,
    limit: usize,
    found: PartMatches,
}

impl Scan<'_> {
    /// `after` is an offset in the log.
    fn texts(mut self, after: u64, deadline: Instant) -> Result<PartMatches, ApiError> {
        if after == 0 {
            self.in_flight()?;
        }
        let end = self.run.steps.index.bytes_read();
        let mut offset = after;
        while offset < end {
            if self.found.hits.len() >= self.limit || (offset > after && Instant::now() > deadline) {
                self.found.next = Some(offset);
                break;
            }
            let (candidates, looked_to) = self.candidates(offset, end)?;
            offset = looked_to;
            for position in candidates {
                self.look_at(position)?;
                if self.found.hits.len() >= self.limit || Instant::now() > deadline {
                    // The next request checks the rest of this part.
                    let next = self.run.steps.index.span(position + 1).map(|span| span.offset);
                    self.found.next = next;
                    return Ok(self.found);
                }
            }
        }
        Ok(self.found)
    }

    /// Calls in flight are in no log.
    fn in_flight(&mut self) -> Result<(), ApiError> {
        for (number, row) in self.run.steps.timeline.rows.iter().enumerate() {
            if matches!(row.source, RowSource::InFlight(_)) {
                self.check(number)?;
            }
        }
        Ok(())
    }

    /// The spans in the next part of the log whose lines may say it, and where that part ends.
    fn candidates(&self, offset: u64, end: u64) -> Result<(Vec<usize>, u64), ApiError> {
        let index = &self.run.steps.index;
        let mut parts = Vec::new();
        let mut from = offset;
        for _ in 0..THREADS {
            // A part ends where a line begins.
            let next = index.place_from(from.saturating_add(PARTITION_BYTES));
            let to = index.span(next).map_or(end, |span| span.offset);
            if from < to {
                parts.push((from, to));
            }
            from = to;
        }
        let needle = self.query.needle().as_bytes();
        let look = |(from, to): (u64, u64)| -> std::io::Result<Vec<usize>> {
            let first = index.place_from(from);
            let last = index.place_from(to);
            if needle.is_empty() {
                return Ok((first..last).collect());
            }
            let mut bytes = index.read_range(from, to - from)?;
            bytes.make_ascii_lowercase();
            let mut found = Vec::new();
            for hit in memchr::memmem::find_iter(&bytes, needle) {
                // The line that begins last before the hit.
                let position = index.place_from(from + hit as u64 + 1).saturating_sub(1);
                if found.last() != Some(&position) {
                    found.push(position);
                }
            }
            Ok(found)
        };
        let looked: Vec<std::io::Result<Vec<usize>>> = thread::scope(|scope| {
            let mut parts = parts.into_iter();
            let own = parts.next();
            let others: Vec<_> = parts.map(|part| scope.spawn(move || look(part))).collect();
            let own = own.map(look);
            let others = others.into_iter().map(|other| {
                other
                    .join()
                    .unwrap_or_else(|_| Err(std::io::Error::other("the search failed")))
            });
            own.into_iter().chain(others).collect()
        });
        let mut candidates = Vec::new();
        for part in looked {
            candidates.extend(part.map_err(ApiError::unreadable)?);
        }
        Ok((candidates, from))
    }

    /// Checks the rows that a span gives.
    fn look_at(&mut self, position: usize) -> Result<(), ApiError> {
        let Some(row) = self.run.steps.timeline.row_of_span(position) else {
            return Ok(());
        };
        self.check(row)?;
        let is_root = self
            .run
            .steps
            .index
            .span(position)
            .is_some_and(|span| span.parent_span_id.is_none());
        if is_root {
            for (number, row) in self.run.steps.timeline.rows.iter().enumerate() {
                if let RowSource::Promoted(promoted) = row.source
                    && self
                        .run
                        .steps
                        .promoted
                        .get(promoted as usize)
                        .is_some_and(|record| record.span == position)
                {
                    self.check(number)?;
                }
            }
        }
        Ok(())
    }

    fn check(&mut self, number: usize) -> Result<(), ApiError> {
        let Some(row) = self.run.steps.timeline.get(number) else {
            return Ok(());
        };
        let name = self.run.row_name(row);
        let columns: StepColumns<'_> = cells_of(self.run, row).searched(&name);
        let is_hit = if let Some(matches) = self.query.matches_columns(&columns) {
            matches
        } else {
            let read = self.run.steps.read_row(row).map_err(ApiError::unreadable)?;
            read.is_some_and(|read| self.query.matches_content(&columns, &read.record))
        };
        if is_hit {
            self.found.hits.push(number);
        }
        Ok(())
    }
}
