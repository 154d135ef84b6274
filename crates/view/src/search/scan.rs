//! Going through a run for a query, a part at a time: no search keeps a thread for long.

use std::time::{Duration, Instant};

use super::super::answer::ApiError;
use super::super::run::open_run::OpenRun;
use tracer_catalog::StepScan;
use tracer_catalog::query::{StepColumns, StepQuery};

/// A search answers with what it has after this time.
const TIME_LIMIT: Duration = Duration::from_millis(200);
/// Bytes that are scanned before the clock is read: two threads share them.
const PARTITION_BYTES: u64 = 16 * 1024 * 1024;

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

/// Looks through a run from `after` on, an offset in its log, for at most `limit` rows.
pub(crate) fn find(
    run: &OpenRun,
    query: &StepQuery,
    after: u64,
    limit: usize,
) -> Result<PartMatches, ApiError> {
    let deadline = Instant::now() + TIME_LIMIT;
    let scan = StepScan::new(&run.steps, query);
    let mut found = PartMatches::default();
    if after == 0 {
        for row in &scan.unlogged {
            check(run, query, *row, &mut found.hits)?;
        }
    }
    let index = &run.steps.index;
    let (end, mut from, mut is_over) = (index.bytes_read(), after, false);
    while from < end && !is_over {
        // A part ends where a line begins.
        let next = index.place_from(from.saturating_add(PARTITION_BYTES));
        let mut next = index.span(next).map_or(end, |span| span.offset);
        for place in scan.candidates(from, next).map_err(ApiError::unreadable)? {
            for row in scan.rows(place) {
                check(run, query, row, &mut found.hits)?;
            }
            is_over = found.hits.len() >= limit || Instant::now() > deadline;
            if is_over {
                // The next request checks the rest of this part.
                next = index.span(place + 1).map_or(end, |span| span.offset);
                break;
            }
        }
        is_over |= Instant::now() > deadline;
        from = next;
    }
    found.next = (from < end).then_some(from);
    found.hits.sort_unstable();
    found.hits.dedup();
    found.done = found.next.is_none();
    Ok(found)
}

/// Adds a row if it matches; its record is read where its columns leave that open.
fn check(run: &OpenRun, query: &StepQuery, number: usize, hits: &mut Vec<usize>) -> Result<(), ApiError> {
    let Some(row) = run.steps.timeline.get(number) else {
        return Ok(());
    };
    let columns = StepColumns::of(&run.steps, row);
    let mut matches = query.matches(&columns, None);
    if matches.is_none() {
        let read = run.steps.read_row(row).map_err(ApiError::unreadable)?;
        matches = read.and_then(|read| query.matches(&columns, Some(&read.record)));
    }
    if matches == Some(true) {
        hits.push(number);
    }
    Ok(())
}
