//! A log line by line, each with its place, of any length up to a limit and in memory a block at a time.

use std::io::{self, Read};

use crate::cancel::{self, CancelToken};

/// The longest line that is read, in bytes. Our emitters write no line over 1 MiB, others have no limit; a file without
/// any newline must not fill the memory.
pub(crate) const MAX_LINE_BYTES: usize = 128 * 1024 * 1024;

/// Total size of overlong lines that are skipped in one file before it is given up, in bytes: a sparse file of any size
/// costs nothing to make.
const MAX_SKIPPED_BYTES: u64 = 2 * MAX_LINE_BYTES as u64;

/// Size of one read, in bytes: small enough that what comes of it stays in the processor's caches, and its memory in
/// the allocator's hands.
const BLOCK_BYTES: usize = 256 * 1024;

/// Start position of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LineStart {
    /// The offset of its first byte.
    pub(crate) offset: u64,
    /// Its number, from 1, blank lines counted.
    pub(crate) line: u64,
}

impl LineStart {
    /// The beginning of a file.
    pub(crate) const FILE: Self = Self { offset: 0, line: 1 };
}

/// One line of a file, without its newline.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct LogLine<'a> {
    pub(crate) start: LineStart,
    /// The bytes of the line; `None` when it is longer than the limit.
    pub(crate) bytes: Option<&'a [u8]>,
    /// `true` when a newline ends it; only the last line of a file may lack it.
    pub(crate) is_ended: bool,
}

/// Reads the lines of a file.
#[derive(Debug)]
pub(crate) struct LogLines<R> {
    reader: R,
    token: Option<CancelToken>,
    limit: usize,
    block_bytes: usize,
    /// Bytes that were read; those before `given` belong to lines that were given.
    buffer: Vec<u8>,
    given: usize,
    is_at_end: bool,
    /// Bytes of lines over the limit that may still be skipped.
    skipped_left: u64,
    next: LineStart,
}

impl<R: Read> LogLines<R> {
    /// The lines of a file whose reader has been put to the beginning of one.
    pub(crate) fn starting_at(reader: R, start: LineStart) -> Self {
        Self::with_sizes(reader, start, MAX_LINE_BYTES, BLOCK_BYTES)
    }

    fn with_sizes(reader: R, next: LineStart, limit: usize, block_bytes: usize) -> Self {
        Self {
            reader,
            token: CancelToken::current(),
            limit,
            block_bytes,
            buffer: Vec::new(),
            given: 0,
            is_at_end: false,
            skipped_left: MAX_SKIPPED_BYTES,
            next,
        }
    }

    /// Start position of the next line.
    pub(crate) fn position(&self) -> LineStart {
        self.next
    }

    /// The next line that is not blank; `None` at the end of the file.
    pub(crate) fn next_line(&mut self) -> io::Result<Option<LogLine<'_>>> {
        let (start, place, is_ended) = loop {
            let start = self.next;
            let (length, is_ended) = self.pass_line()?;
            if length == 0 && !is_ended {
                return Ok(None);
            }
            self.next.offset += length + u64::from(is_ended);
            self.next.line += u64::from(is_ended);
            let end = self.given - usize::from(is_ended);
            let length = usize::try_from(length)
                .ok()
                .filter(|length| *length <= self.limit);
            let place = length.map(|length| end - length..end);
            let bytes = place.clone().and_then(|place| self.buffer.get(place));
            if !bytes.is_some_and(|bytes| bytes.trim_ascii().is_empty()) {
                break (start, place, is_ended);
            }
        };
        Ok(Some(LogLine {
            start,
            bytes: place.and_then(|place| self.buffer.get(place)),
            is_ended,
        }))
    }

    /// Passes over one line; its length, and whether a newline ends it. One over the limit is not held.
    fn pass_line(&mut self) -> io::Result<(u64, bool)> {
        let (mut skipped, mut searched) = (0, 0);
        loop {
            let rest = self.buffer.get(self.given..).unwrap_or_default();
            let newline = memchr::memchr(b'\n', rest.get(searched..).unwrap_or_default());
            let length = newline.map_or(rest.len(), |newline| searched + newline);
            if newline.is_some() || self.is_at_end {
                self.given += length + usize::from(newline.is_some());
                return Ok((skipped + length as u64, newline.is_some()));
            }
            searched = length;
            if skipped > 0 || length > self.limit {
                let left = self.skipped_left.checked_sub(self.block_bytes as u64);
                self.skipped_left = left.ok_or_else(|| {
                    let most = MAX_SKIPPED_BYTES / 1024 / 1024;
                    io::Error::other(format!("more than {most} MiB of it are lines that are too long"))
                })?;
                skipped += length as u64;
                self.given += length;
                searched = 0;
            }
            self.read_block()?;
        }
    }

    /// Reads on, in the place of what was given.
    fn read_block(&mut self) -> io::Result<()> {
        cancel::check(self.token.as_ref())?;
        if self.given > 0 {
            self.buffer.drain(..self.given);
            self.given = 0;
            // A line of many megabytes is rare: its room is given back.
            self.buffer.shrink_to(4 * self.block_bytes);
        }
        self.buffer.reserve(self.block_bytes);
        let read = (&mut self.reader)
            .take(self.block_bytes as u64)
            .read_to_end(&mut self.buffer)?;
        self.is_at_end |= read < self.block_bytes;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    type Seen = (u64, u64, Option<Vec<u8>>, bool);

    fn read(text: &[u8], limit: usize, block_bytes: usize) -> Vec<Seen> {
        let mut lines = LogLines::with_sizes(text, LineStart::FILE, limit, block_bytes);
        let mut seen = Vec::new();
        while let Some(line) = lines.next_line().unwrap() {
            let LineStart { offset, line: number } = line.start;
            seen.push((number, offset, line.bytes.map(<[u8]>::to_vec), line.is_ended));
            assert!(lines.buffer.len() <= limit + 2 * block_bytes);
        }
        seen
    }

    #[test]
    fn blank_lines_are_counted_and_not_given() {
        assert_eq!(
            read(b"\none\r\n \t\r\n\ntwo\n", 100, 3),
            [
                (2, 1, Some(b"one\r".to_vec()), true),
                (5, 11, Some(b"two".to_vec()), true)
            ],
        );
        assert_eq!(read(b"", 100, 3), []);
        assert_eq!(read(b"\n\n  ", 100, 3), []);
    }

    #[test]
    fn a_last_line_without_newline_is_marked() {
        assert_eq!(read(b"one\ntwo", 100, 3)[1], (2, 4, Some(b"two".to_vec()), false));
    }

    #[test]
    fn a_line_over_the_limit_is_skipped_without_holding_it() {
        assert_eq!(
            read(b"12345678\n123456789\nnext\n", 8, 3),
            [
                (1, 0, Some(b"12345678".to_vec()), true),
                (2, 9, None, true),
                (3, 19, Some(b"next".to_vec()), true)
            ],
        );
        assert_eq!(read(&[b'x'; 10_000], 8, 3), [(1, 0, None, false)]);
    }

    proptest! {
        #[test]
        fn however_a_file_is_cut_its_lines_are_the_same(
            text in prop::collection::vec(prop::sample::select(b"a \r\n\n".as_slice()), 0..60),
            block_bytes in 1usize..20,
        ) {
            let mut offset = 0;
            let expected: Vec<Seen> = (1..)
                .zip(text.split_inclusive(|byte| *byte == b'\n'))
                .filter_map(|(number, line)| {
                    let start = offset;
                    offset += line.len() as u64;
                    let bytes = line.strip_suffix(b"\n").unwrap_or(line).to_vec();
                    bytes
                        .iter()
                        .any(|byte| !byte.is_ascii_whitespace())
                        .then_some((number, start, Some(bytes), line.ends_with(b"\n")))
                })
                .collect();
            prop_assert_eq!(read(&text, 1_000, block_bytes), expected);
        }
    }
}
