//! `spans.jsonl` at any size: one pass line by line, the IDs of its spans, and single lines read again by place.

mod ends;
mod id_table;
mod line_reader;
mod lines;
mod part;
mod problems;

pub(crate) use ends::end_problems;
pub(crate) use id_table::IdTable;
pub(crate) use line_reader::{LineReader, read_at};
pub(crate) use lines::{LineStart, LogLine, LogLines, MAX_LINE_BYTES};
pub use part::{LogPart, read_log_part};
pub(crate) use problems::Problems;
