//! `spans.jsonl` at any size: one pass with a visitor, an index entry per span, and single lines read again by place.

mod blocks;
mod ends;
mod id_table;
mod line_reader;
mod part;
mod problems;
mod scan;

pub(crate) use blocks::LineStart;
pub(crate) use ends::end_problems;
pub(crate) use id_table::IdTable;
pub(crate) use line_reader::{LineReader, read_at};
pub use part::{LogPart, read_log_part};
pub(crate) use problems::Problems;
pub(crate) use scan::{ScanOptions, SpanVisitor, first_trace_id, scan_from};
