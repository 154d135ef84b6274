//! One pass over `spans.jsonl` at any size: line by line, every span validated and given to a visitor, and of each no
//! more kept than an index entry.
//!
//! The file is read in blocks by as many threads as there are processors; what they find is put together in the order
//! of the file, so that the result is that of one thread.

mod blocks;
mod index;
mod problems;
mod scan;

pub(super) use blocks::{LineStart, MAX_LINE_BYTES};
pub(super) use index::{Entry, IdTable, Known, LinePlace};
pub(super) use problems::Problems;
pub(super) use scan::{Expected, Scanned, Visit, first_trace_id, scan, scan_from};
