//! [`ReportTable`]: columns and cells of a report, which every surface renders.

use super::outcome::CheckOutcome;
use tracer_insight::marked_text::MarkedText;
use tracer_insight::table::Column;

/// A table of a report. On a terminal its last column has the room that is left.
#[derive(Debug)]
pub struct ReportTable {
    /// The columns.
    pub columns: Vec<Column>,
    /// The rows, each with a cell for each column.
    pub rows: Vec<ReportRow>,
    /// More rows, which are only counted.
    pub left_out: u64,
}

/// A row of a table.
#[derive(Debug)]
pub struct ReportRow {
    /// Its cells.
    pub cells: Vec<ReportCell>,
    /// More about its last cell, a line each.
    pub details: Vec<MarkedText>,
}

/// A cell of a table.
#[derive(Debug)]
pub enum ReportCell {
    /// An outcome, for which every surface has a sign.
    Outcome(CheckOutcome),
    /// Words and values.
    Text(MarkedText),
}

impl ReportTable {
    /// A table without rows.
    pub(crate) fn new(columns: impl IntoIterator<Item = Column>) -> Self {
        Self {
            columns: columns.into_iter().collect(),
            rows: Vec::new(),
            left_out: 0,
        }
    }

    /// Adds a row without details.
    pub(crate) fn push(&mut self, cells: impl IntoIterator<Item = ReportCell>) {
        self.rows.push(ReportRow {
            cells: cells.into_iter().collect(),
            details: Vec::new(),
        });
    }
}

impl From<CheckOutcome> for ReportCell {
    fn from(outcome: CheckOutcome) -> Self {
        Self::Outcome(outcome)
    }
}

impl From<MarkedText> for ReportCell {
    fn from(text: MarkedText) -> Self {
        Self::Text(text)
    }
}
