//! A context bill as a table: cost, tokens and times of each block, the costliest first, then the sums.

use crate::terminal::layout::{Table, indented};
use tracer_insight::context_bill::{COLUMNS, ContextBill};
use tracer_insight::line::{Line, Tone};
use tracer_insight::table::Column;

/// Order in which columns go when there is no room.
const DROPPED: [Option<u8>; COLUMNS.len()] = [None, None, Some(1), Some(2), None, Some(3)];
/// The names distinguish the blocks, so a column goes rather than that they get less.
const MIN_NAME_COLUMNS: usize = 30;

/// The bill in lines of at most `width` columns.
pub fn lines(bill: &ContextBill, width: usize) -> Vec<Line> {
    let columns = COLUMNS.iter().zip(DROPPED);
    let columns: Vec<Column> = columns
        .map(|(heading, dropped)| Column::number(heading, dropped))
        .collect();
    let mut table = Table::new(&columns);
    for block in &bill.blocks {
        table.push(
            block
                .cells
                .iter()
                .map(|cell| Line::of(cell, Tone::Plain))
                .collect(),
        );
    }
    let mut lines = Vec::new();
    if !bill.blocks.is_empty() {
        let names = bill.blocks.iter();
        let names = names.map(|block| Line::of(&block.name, Tone::Strong));
        lines = table.lines(width, MIN_NAME_COLUMNS, "BLOCK", names);
        lines.push(Line::new());
    }
    lines.extend(indented(&bill.summary, 0, width, Tone::Strong));
    lines.extend(
        bill.notes
            .iter()
            .flat_map(|note| indented(note, 2, width, Tone::Muted)),
    );
    lines
}
