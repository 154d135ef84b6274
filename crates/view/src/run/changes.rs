//! What has changed in the rows of a run since a part of its log was read: a live page gets these rows and no others.

use serde::Serialize;

use super::columns::{Cells, cells_of, parent};
use super::open_run::OpenRun;
use super::row::RowText;
use crate::answer::ApiError;
use tracer_insight::run_steps::{RowSource, TimelineRow};
use tracer_insight::step_order::NONE;

/// With more changed rows the page requests the columns again.
const MAX_CHANGED_ROWS: usize = 500;

/// The rows that have changed.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Changes {
    /// The version of the run that these rows are of.
    version: String,
    /// How many rows there are now.
    row_count: usize,
    /// All rows from here on are replaced by `rows`.
    from: usize,
    rows: Vec<ChangedRow>,
    /// The first row, when the root has ended.
    root: Option<ChangedRow>,
    /// Whether there are too many to be sent: the columns have to be asked for again.
    reload: bool,
}

/// A row as the columns and the texts have it.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct ChangedRow {
    /// -1 for none.
    parent_row: i32,
    number: u32,
    depth: u16,
    start_us: f64,
    /// Null: has none; -1: is in flight.
    duration_us: Option<f64>,
    line: u32,
    signature: u32,
    /// As in the columns.
    flags: u8,
    /// Null: not known.
    tokens_in: Option<u32>,
    tokens_out: Option<u32>,
    text: RowText,
}

impl OpenRun {
    /// What has changed since the log was read up to `offset`; what is in flight counts as changed. `None` when nothing
    /// has.
    pub(crate) fn changes(&self, offset: u64) -> Result<Option<Changes>, ApiError> {
        let is_new = |row: &TimelineRow| {
            let span = self
                .position_of(row)
                .and_then(|position| self.steps.index.span(position));
            matches!(row.source, RowSource::InFlight(_)) || span.is_some_and(|span| span.offset >= offset)
        };
        let rows = &self.steps.timeline.rows;
        let is_root_new = rows.first().is_some_and(|row| row.number == 0 && is_new(row));
        let behind_root = usize::from(rows.first().is_some_and(|row| row.number == 0));
        let first_new = rows.iter().skip(behind_root).position(is_new);
        let mut from = first_new.map_or(rows.len(), |position| position + behind_root);
        // With the root, what is nested in nothing that is there goes behind all that is nested in the root.
        let is_any_outside = rows.iter().skip(behind_root).any(|row| row.parent == NONE);
        if is_root_new && is_any_outside || self.was_any_moved(is_new) {
            from = behind_root;
        }
        if !is_root_new && from == rows.len() && offset == self.steps.index.bytes_read() {
            return Ok(None);
        }
        let reload = rows.len() - from > MAX_CHANGED_ROWS;
        let tail = if reload { rows.len() } else { from };
        let changed = rows.iter().enumerate().skip(tail);
        let root = rows.first().filter(|_| is_root_new);
        Ok(Some(Changes {
            version: self.version(),
            row_count: rows.len(),
            from,
            rows: changed
                .map(|(number, row)| self.changed_row(number, row))
                .collect::<Result<_, _>>()?,
            root: root.map(|row| self.changed_row(0, row)).transpose()?,
            reload,
        }))
    }

    /// Whether a row that was there before is now further down: in a new row which comes after it in time, or is nested
    /// in one that does. Only a clock that was set back gives such rows.
    fn was_any_moved(&self, is_new: impl Fn(&TimelineRow) -> bool) -> bool {
        // Of each row: the last in time of it and what it is nested in, and the same of the nearest new row that it is in.
        let mut lasts: Vec<(u32, u32)> = Vec::with_capacity(self.steps.timeline.rows.len());
        for row in &self.steps.timeline.rows {
            let above = row.parent as usize;
            let (last_above, under_new) = lasts.get(above).copied().unwrap_or_default();
            let is_in_new = self.steps.timeline.get(above).is_some_and(&is_new);
            let under_new = if is_in_new { last_above } else { under_new };
            if under_new > row.number && !is_new(row) {
                return true;
            }
            lasts.push((last_above.max(row.number), under_new));
        }
        false
    }

    fn changed_row(&self, number: usize, row: &TimelineRow) -> Result<ChangedRow, ApiError> {
        let Cells {
            start_us,
            duration_us,
            line,
            signature,
            flags,
            tokens_in,
            tokens_out,
            ..
        } = cells_of(self, row);
        let known = |tokens: u32| (tokens != u32::MAX).then_some(tokens);
        Ok(ChangedRow {
            parent_row: parent(row),
            number: row.number,
            depth: row.depth,
            start_us,
            duration_us: (!duration_us.is_nan()).then_some(duration_us),
            line,
            signature,
            flags,
            tokens_in: known(tokens_in),
            tokens_out: known(tokens_out),
            text: self.row_text(number, row).map_err(ApiError::unreadable)?,
        })
    }
}
