//! A file line by line, in one buffer that is used again, with line numbers that count blank lines.

use std::io::{self, BufRead};

/// The longest line that is read, in bytes. Our emitters write no line over 1 MiB, others have no limit; a file without
/// any newline must not fill the memory.
pub(super) const MAX_LINE_BYTES: usize = 128 * 1024 * 1024;

/// One line of a file, without its newline.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Line<'a> {
    /// From 1, blank lines counted.
    pub(super) number: u64,
    /// The bytes of the line; `None` when it is longer than the limit.
    pub(super) bytes: Option<&'a [u8]>,
    /// Whether a newline ends it; only the last line of a file may lack it.
    pub(super) is_ended: bool,
}

/// Reads lines.
#[derive(Debug)]
pub(super) struct Lines<R> {
    reader: R,
    buffer: Vec<u8>,
    number: u64,
    limit: usize,
}

impl<R: BufRead> Lines<R> {
    /// The lines of `reader`, each up to `limit` bytes.
    pub(super) fn new(reader: R, limit: usize) -> Self {
        Self {
            reader,
            buffer: Vec::new(),
            number: 0,
            limit,
        }
    }

    /// The next line that is not blank.
    pub(super) fn next_line(&mut self) -> io::Result<Option<Line<'_>>> {
        loop {
            self.buffer.clear();
            let (read, is_ended) = self.fill()?;
            if read == 0 {
                return Ok(None);
            }
            self.number += 1;
            if self.buffer.iter().any(|byte| !byte.is_ascii_whitespace()) {
                break Ok(Some(Line {
                    number: self.number,
                    bytes: (self.buffer.len() <= self.limit).then_some(self.buffer.as_slice()),
                    is_ended,
                }));
            }
        }
    }

    /// Fills the buffer with a line, at most one byte more than the limit of it; tells how many bytes the line has in
    /// the file and whether a newline ends it.
    fn fill(&mut self) -> io::Result<(u64, bool)> {
        let mut read = 0;
        loop {
            let available = match self.reader.fill_buf() {
                Ok(available) => available,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            if available.is_empty() {
                return Ok((read, false));
            }
            let newline = memchr::memchr(b'\n', available);
            let content = &available[..newline.unwrap_or(available.len())];
            let room = (self.limit + 1).saturating_sub(self.buffer.len());
            self.buffer.extend_from_slice(&content[..content.len().min(room)]);
            let consumed = newline.map_or(available.len(), |position| position + 1);
            self.reader.consume(consumed);
            read += consumed as u64;
            if newline.is_some() {
                return Ok((read, true));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &[u8], limit: usize) -> Vec<(u64, Option<Vec<u8>>, bool)> {
        // A small buffer, so that lines span several reads.
        let mut lines = Lines::new(io::BufReader::with_capacity(3, text), limit);
        let mut seen = Vec::new();
        while let Some(line) = lines.next_line().unwrap() {
            seen.push((line.number, line.bytes.map(<[u8]>::to_vec), line.is_ended));
        }
        seen
    }

    #[test]
    fn blank_lines_are_counted_and_not_given() {
        assert_eq!(
            read(b"\none\r\n \t\r\n\ntwo\n", 100),
            [
                (2, Some(b"one\r".to_vec()), true),
                (5, Some(b"two".to_vec()), true)
            ],
        );
        assert_eq!(read(b"", 100), []);
        assert_eq!(read(b"\n\n  ", 100), []);
    }

    #[test]
    fn a_last_line_without_newline_is_told() {
        assert_eq!(read(b"one\ntwo", 100)[1], (2, Some(b"two".to_vec()), false));
    }

    #[test]
    fn a_line_over_the_limit_is_skipped_without_holding_it() {
        assert_eq!(
            read(b"12345678\n1234567890\nnext\n", 8),
            [
                (1, Some(b"12345678".to_vec()), true),
                (2, None, true),
                (3, Some(b"next".to_vec()), true)
            ],
        );
        let mut lines = Lines::new(io::Cursor::new(vec![b'x'; 10_000]), 8);
        assert_eq!(
            lines.next_line().unwrap(),
            Some(Line {
                number: 1,
                bytes: None,
                is_ended: false
            })
        );
        assert_eq!(lines.buffer.len(), 9);
    }
}
