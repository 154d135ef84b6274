//! Where the cells of the columns lie: column behind column, filled row by row.

use std::slice::IterMut;

use super::columns::{Cells, parent};
use super::timeline::Row;

/// How many bytes a cell of each column has.
const COLUMN_BYTES: [usize; 12] = [8, 8, 4, 4, 4, 4, 4, 2, 1, 1, 4, 4];

/// How many bytes a column has: the next one begins at a multiple of eight.
fn column_bytes(cell: usize, rows: usize) -> usize {
    (cell * rows).next_multiple_of(8)
}

/// How many bytes all columns have together.
pub(super) fn bytes_of_all(rows: usize) -> usize {
    COLUMN_BYTES
        .into_iter()
        .map(|cell| column_bytes(cell, rows))
        .sum()
}

/// The columns, each from its next cell on that is not filled.
pub(super) struct Columns<'a> {
    start: IterMut<'a, [u8; 8]>,
    duration: IterMut<'a, [u8; 8]>,
    parent: IterMut<'a, [u8; 4]>,
    number: IterMut<'a, [u8; 4]>,
    name: IterMut<'a, [u8; 4]>,
    line: IterMut<'a, [u8; 4]>,
    signature: IterMut<'a, [u8; 4]>,
    depth: IterMut<'a, [u8; 2]>,
    kind: IterMut<'a, [u8; 1]>,
    flags: IterMut<'a, [u8; 1]>,
    tokens_in: IterMut<'a, [u8; 4]>,
    tokens_out: IterMut<'a, [u8; 4]>,
}

impl<'a> Columns<'a> {
    /// The columns of some rows, one after the other as [`COLUMN_BYTES`] has them.
    pub(super) fn new(bytes: &'a mut [u8], rows: usize) -> Self {
        let mut rest = Rest(bytes);
        Self {
            start: rest.column(rows),
            duration: rest.column(rows),
            parent: rest.column(rows),
            number: rest.column(rows),
            name: rest.column(rows),
            line: rest.column(rows),
            signature: rest.column(rows),
            depth: rest.column(rows),
            kind: rest.column(rows),
            flags: rest.column(rows),
            tokens_in: rest.column(rows),
            tokens_out: rest.column(rows),
        }
    }

    /// Fills the next cell of every column.
    pub(super) fn push(&mut self, row: &Row, cells: &Cells) {
        put(&mut self.start, cells.start_us.to_le_bytes());
        put(&mut self.duration, cells.duration_us.to_le_bytes());
        put(&mut self.parent, parent(row).to_le_bytes());
        put(&mut self.number, row.number.to_le_bytes());
        put(&mut self.name, cells.name.to_le_bytes());
        put(&mut self.line, cells.line.to_le_bytes());
        put(&mut self.signature, cells.signature.to_le_bytes());
        put(&mut self.depth, row.depth.to_le_bytes());
        put(&mut self.kind, [cells.kind as u8]);
        put(&mut self.flags, [cells.flags]);
        put(&mut self.tokens_in, cells.tokens_in.to_le_bytes());
        put(&mut self.tokens_out, cells.tokens_out.to_le_bytes());
    }
}

/// The bytes that are no column yet.
struct Rest<'a>(&'a mut [u8]);

impl<'a> Rest<'a> {
    /// Takes a column from the beginning.
    fn column<const BYTES: usize>(&mut self, rows: usize) -> IterMut<'a, [u8; BYTES]> {
        let taken = self.0.split_off_mut(..column_bytes(BYTES, rows));
        taken.unwrap_or_default().as_chunks_mut().0.iter_mut()
    }
}

fn put<const BYTES: usize>(column: &mut IterMut<'_, [u8; BYTES]>, value: [u8; BYTES]) {
    if let Some(cell) = column.next() {
        *cell = value;
    }
}
