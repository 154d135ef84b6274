//! A file that is written while it is read: where its last whole line ends, and whether it is still the same file.

use std::fs::{File, Metadata};
use std::io;

use super::line_reader::read_at;
use super::log::MAX_LINE_BYTES;

/// Where the last whole line ends, at or behind `start`.
pub(super) fn whole_lines_end(file: &File, start: u64, length: u64) -> io::Result<u64> {
    const STEP: u64 = 64 * 1024;
    let mut end = length;
    let mut bytes = Vec::new();
    while end > start {
        if length - end > MAX_LINE_BYTES as u64 {
            return Err(io::Error::other("its last line is longer than any that is read"));
        }
        let from = end.saturating_sub(STEP).max(start);
        read_at(file, from, end - from, &mut bytes)?;
        if let Some(newline) = memchr::memrchr(b'\n', &bytes) {
            return Ok(from + newline as u64 + 1);
        }
        end = from;
    }
    Ok(start)
}

/// Whether both are one file.
pub(super) fn is_same(before: &Metadata, after: &Metadata) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        before.dev() == after.dev() && before.ino() == after.ino()
    }
    #[cfg(not(unix))]
    {
        before.created().ok() == after.created().ok()
    }
}
