//! Columns that fit: aligned by spaces, dropped in a fixed order when there is no room, never wrapped; and text that is
//! wrapped and indented.

use tracer_gate::words::table::{ReportCell, ReportTable};
use tracer_insight::line::{Line, Tone};
use tracer_insight::table::Column;
use tracer_insight::text;

/// Between two columns.
const GAP: usize = 2;

/// A table of fixed columns; after them comes one more cell that takes whatever room is left.
#[derive(Debug)]
pub struct Table<'a> {
    columns: &'a [Column],
    rows: Vec<Vec<Line>>,
}

/// A table with its columns chosen for a width.
#[derive(Debug)]
pub struct Arranged<'a> {
    columns: &'a [Column],
    /// The width of each column; `None` for a dropped one.
    widths: Vec<Option<usize>>,
    width: usize,
}

impl<'a> Table<'a> {
    /// A table without rows.
    pub fn new(columns: &'a [Column]) -> Self {
        Self {
            columns,
            rows: Vec::new(),
        }
    }

    /// Adds the fixed cells of a row.
    pub fn push(&mut self, cells: Vec<Line>) {
        self.rows.push(cells);
    }

    /// The fixed cells of every row.
    pub fn rows(&self) -> &[Vec<Line>] {
        &self.rows
    }

    /// The heading and the rows in lines of at most `width` columns, with `last_cells` at their ends, for which at least `least`
    /// columns are left.
    pub fn lines(
        &self,
        width: usize,
        least: usize,
        last_heading: &str,
        last_cells: impl IntoIterator<Item = Line>,
    ) -> Vec<Line> {
        let arranged = self.arrange(width, least);
        let rows = self.rows.iter().zip(last_cells);
        let rows = rows.map(|(cells, last)| arranged.line(cells, last));
        std::iter::once(arranged.heading(last_heading))
            .chain(rows)
            .collect()
    }

    /// Chooses the columns for `width`, so that at least `least` columns are left for the last cell.
    pub fn arrange(&self, width: usize, least: usize) -> Arranged<'a> {
        let widest = |index: usize, column: &Column| {
            let cells = self.rows.iter().filter_map(|row| row.get(index)).map(Line::width);
            cells.chain([text::width(column.heading)]).max().unwrap_or(0)
        };
        let mut arranged = Arranged {
            columns: self.columns,
            widths: self
                .columns
                .iter()
                .enumerate()
                .map(|(index, column)| Some(widest(index, column)))
                .collect(),
            width,
        };
        let mut order: Vec<(u8, usize)> = self
            .columns
            .iter()
            .enumerate()
            .filter_map(|(index, column)| Some((column.dropped?, index)))
            .collect();
        order.sort_unstable();
        for (_, index) in order {
            if arranged.room() >= least {
                break;
            }
            if let Some(width) = arranged.widths.get_mut(index) {
                *width = None;
            }
        }
        arranged
    }
}

impl Arranged<'_> {
    /// Number of columns that the last cell has.
    pub fn room(&self) -> usize {
        self.width.saturating_sub(self.indent(self.columns.len()))
    }

    /// Start of the column with this index.
    pub fn indent(&self, index: usize) -> usize {
        self.widths
            .iter()
            .take(index)
            .flatten()
            .map(|width| width + GAP)
            .sum()
    }

    /// The headings.
    pub fn heading(&self, last: &str) -> Line {
        let cells: Vec<Line> = self
            .columns
            .iter()
            .map(|column| Line::of(column.heading.to_uppercase(), Tone::Muted))
            .collect();
        self.line(&cells, Line::of(last, Tone::Muted))
    }

    /// A row.
    pub fn line(&self, cells: &[Line], last: Line) -> Line {
        let mut line = Line::new();
        for ((cell, column), width) in cells.iter().zip(self.columns).zip(&self.widths) {
            let Some(width) = width else { continue };
            let padding = width.saturating_sub(cell.width());
            if column.is_number {
                line = line.space(padding);
            }
            line.append(cell.clone());
            if !column.is_number {
                line = line.space(padding);
            }
            line = line.space(GAP);
        }
        line.append(last);
        line.fitted(self.width)
    }
}

/// The heading of a report's table, and the lines of each row; at least `least` columns are left for the last column.
pub fn report_table(table: &ReportTable, width: usize, least: usize) -> (Line, Vec<Vec<Line>>) {
    let (last_heading, columns) = match table.columns.split_last() {
        Some((flexible, columns)) => (flexible.heading, columns),
        None => ("", &[][..]),
    };
    let mut laid_out = Table::new(columns);
    let mut last_cells = Vec::new();
    for row in &table.rows {
        let cells = row.cells.iter().map(|cell| match cell {
            ReportCell::Outcome(outcome) => Line::of(outcome.sign(), outcome.tone()),
            ReportCell::Text(text) => text.line(),
        });
        let mut cells: Vec<Line> = cells.collect();
        last_cells.push(cells.pop().unwrap_or_default());
        laid_out.push(cells);
    }
    let arranged = laid_out.arrange(width, least);
    let indent = (arranged.indent(columns.len()) + 2).min(width / 2);
    let rows = laid_out.rows().iter().zip(last_cells).zip(&table.rows);
    let rows = rows.map(|((cells, last), row)| {
        let details = row.details.iter();
        let details = details.flat_map(|detail| indented(&detail.text(), indent, width, Tone::Muted));
        std::iter::once(arranged.line(cells, last))
            .chain(details)
            .collect()
    });
    let left_out = (table.left_out > 0).then(|| {
        let more = format!("… and {} more", text::counted(table.left_out, "row"));
        vec![Line::of(more, Tone::Muted).fitted(width)]
    });
    (
        arranged.heading(&last_heading.to_uppercase()),
        rows.chain(left_out).collect(),
    )
}

/// A text as indented lines that fit `width`.
pub fn indented(text: &str, indent: usize, width: usize, tone: Tone) -> Vec<Line> {
    text::wrap(text, width.saturating_sub(indent))
        .into_iter()
        .map(|line| Line::new().space(indent).with(line, tone).fitted(width))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLUMNS: [Column; 3] = [
        Column::text("ID", None),
        Column::number("TOKENS", Some(2)),
        Column::number("COST", Some(1)),
    ];

    fn at(width: usize) -> [String; 2] {
        let mut table = Table::new(&COLUMNS);
        table.push(["a1", "90", "$1"].map(|text| Line::of(text, Tone::Plain)).into());
        let arranged = table.arrange(width, 10);
        let row = arranged.line(&table.rows()[0], Line::of("support-agent", Tone::Plain));
        [arranged.heading("RUN").text(), row.text()]
    }

    #[test]
    fn columns_go_in_their_order_and_the_last_cell_is_cut() {
        assert_eq!(
            at(40),
            ["ID  TOKENS  COST  RUN", "a1      90    $1  support-agent"]
        );
        assert_eq!(at(24), ["ID  TOKENS  RUN", "a1      90  support-age…"]);
        assert_eq!(at(16), ["ID  RUN", "a1  support-age…"]);
        assert_eq!(at(6), ["ID  R…", "a1  s…"]);
    }
}
