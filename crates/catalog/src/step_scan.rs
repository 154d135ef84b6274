//! [`StepScan`]: the rows of an opened run that may match a query, found through the bytes of its log.

use std::collections::BTreeMap;
use std::io;

use memchr::memmem::Finder;
use rayon::prelude::*;
use tracer_insight::run_steps::{RowSource, RunSteps};

use crate::query::StepQuery;

/// Bytes that a thread searches at once: all threads have such a block in memory.
const BLOCK_BYTES: u64 = 1024 * 1024;

/// The rows of an opened run that may match a query: those whose lines hold its longest text, whatever the case there.
#[derive(Debug)]
pub struct StepScan<'a> {
    steps: &'a RunSteps,
    query: &'a StepQuery,
    /// The rows that are in no line of the log: the run itself, and calls in flight.
    pub unlogged: Vec<usize>,
    /// The rows of what is promoted from a span, by the place of the span.
    promoted: BTreeMap<usize, Vec<usize>>,
}

impl<'a> StepScan<'a> {
    /// A scan of a run.
    #[must_use]
    pub fn new(steps: &'a RunSteps, query: &'a StepQuery) -> Self {
        let (mut unlogged, mut promoted) = (Vec::new(), BTreeMap::<usize, Vec<usize>>::new());
        for (row, item) in steps.timeline.rows.iter().enumerate() {
            match item.source {
                RowSource::Span(_) => {}
                RowSource::Run | RowSource::InFlight(_) => unlogged.push(row),
                RowSource::Promoted(number) => {
                    if let Some(record) = steps.promoted.get(number as usize) {
                        promoted.entry(record.span).or_default().push(row);
                    }
                }
            }
        }
        Self {
            steps,
            query,
            unlogged,
            promoted,
        }
    }

    /// The places of the spans that may match, of those whose lines begin between two offsets in the log.
    ///
    /// # Errors
    ///
    /// The log cannot be read.
    pub fn candidates(&self, from: u64, to: u64) -> io::Result<Vec<usize>> {
        let index = &self.steps.index;
        let Some(needle) = self.query.needle() else {
            return Ok((index.place_from(from)..index.place_from(to)).collect());
        };
        let finder = Finder::new(needle);
        let mut blocks = Vec::new();
        let mut start = from;
        while start < to {
            // A block ends where a line begins.
            let next = index.place_from(start.saturating_add(BLOCK_BYTES));
            let end = index.span(next).map_or(to, |span| span.offset.min(to));
            blocks.push((start, end));
            start = end;
        }
        let search = |(start, end): (u64, u64)| -> io::Result<Vec<usize>> {
            let mut bytes = index.read_range(start, end - start)?;
            bytes.make_ascii_lowercase();
            // The line that begins last before the hit.
            let hits = finder.find_iter(&bytes);
            let mut places: Vec<usize> = hits
                .filter_map(|hit| index.place_from(start + hit as u64 + 1).checked_sub(1))
                .collect();
            places.dedup();
            Ok(places)
        };
        let found: io::Result<Vec<Vec<usize>>> = blocks.into_par_iter().map(search).collect();
        Ok(found?.concat())
    }

    /// The rows that the span at a place gives.
    pub fn rows(&self, place: usize) -> impl Iterator<Item = usize> {
        let promoted = self.promoted.get(&place).into_iter().flatten().copied();
        self.steps.timeline.row_of_span(place).into_iter().chain(promoted)
    }
}
