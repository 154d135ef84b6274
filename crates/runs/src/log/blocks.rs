//! A file in blocks of whole lines, each with the number of its first line.

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
    /// Its number, from 1.
    pub(crate) line: u64,
}

impl LineStart {
    /// The beginning of a file.
    pub(crate) const FILE: Self = Self { offset: 0, line: 1 };
}

/// One block of a file.
#[derive(Debug, Default)]
pub(super) struct Block {
    /// Offset of the block in the file, in bytes.
    offset: u64,
    /// The number of its first line, from 1.
    first_line: u64,
    /// Whole lines; the last one may lack its newline at the end of the file.
    bytes: Vec<u8>,
    /// The longest line that is given.
    limit: usize,
    /// Set when the block is one line over the limit, whose bytes are not there: whether a newline ends it.
    overlong: Option<bool>,
}

/// One line of a file, without its newline.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct LogLine<'a> {
    /// From 1, blank lines counted.
    pub(super) number: u64,
    /// Offset in the file, in bytes.
    pub(super) offset: u64,
    /// The bytes of the line; `None` when it is longer than the limit.
    pub(super) bytes: Option<&'a [u8]>,
    /// `true` when a newline ends it; only the last line of a file may lack it.
    pub(super) is_ended: bool,
}

impl Block {
    /// The lines of the block that are not blank.
    pub(super) fn lines(&self) -> impl Iterator<Item = LogLine<'_>> {
        let overlong = self.overlong.map(|is_ended| LogLine {
            number: self.first_line,
            offset: self.offset,
            bytes: None,
            is_ended,
        });
        let mut start = 0;
        let mut number = self.first_line;
        let whole = std::iter::from_fn(move || {
            loop {
                let rest = self.bytes.get(start..).filter(|rest| !rest.is_empty())?;
                let newline = memchr::memchr(b'\n', rest);
                let bytes = rest.get(..newline.unwrap_or(rest.len()))?;
                let line = LogLine {
                    number,
                    offset: self.offset + start as u64,
                    bytes: Some(bytes).filter(|bytes| bytes.len() <= self.limit),
                    is_ended: newline.is_some(),
                };
                number += 1;
                start += bytes.len() + 1;
                if bytes.iter().any(|byte| !byte.is_ascii_whitespace()) {
                    return Some(line);
                }
            }
        });
        overlong.into_iter().chain(whole)
    }
}

/// Cuts a file into blocks.
#[derive(Debug)]
pub(super) struct Blocks<R> {
    reader: R,
    token: Option<CancelToken>,
    limit: usize,
    block_bytes: usize,
    /// The beginning of a line whose end was not in the last block.
    carried: Vec<u8>,
    is_at_end: bool,
    /// Bytes of lines over the limit that may still be skipped.
    skipped_left: u64,
    offset: u64,
    line: u64,
}

impl<R: Read> Blocks<R> {
    /// The blocks of `reader`, with lines up to the limit.
    pub(super) fn new(reader: R) -> Self {
        Self::with_sizes(reader, MAX_LINE_BYTES, BLOCK_BYTES)
    }

    /// Blocks of a file whose reader has been put to the beginning of a line.
    pub(super) fn starting_at(reader: R, start: LineStart) -> Self {
        Self {
            offset: start.offset,
            line: start.line,
            ..Self::new(reader)
        }
    }

    fn with_sizes(reader: R, limit: usize, block_bytes: usize) -> Self {
        Self {
            reader,
            token: CancelToken::current(),
            limit,
            block_bytes,
            carried: Vec::new(),
            is_at_end: false,
            skipped_left: MAX_SKIPPED_BYTES,
            offset: 0,
            line: 1,
        }
    }

    /// Start position of the next block.
    pub(super) fn position(&self) -> LineStart {
        LineStart {
            offset: self.offset,
            line: self.line,
        }
    }

    /// Fills a block, which may have been used before; `false` at the end of the file.
    pub(super) fn next_into(&mut self, block: &mut Block) -> io::Result<bool> {
        let bytes = &mut block.bytes;
        bytes.clear();
        // A line of many megabytes is rare: its room is given back.
        bytes.shrink_to(4 * self.block_bytes);
        bytes.append(&mut self.carried);
        block.overlong = None;
        let mut searched = 0;
        let end = loop {
            if let Some(newline) = bytes.get(searched..).and_then(|new| memchr::memrchr(b'\n', new)) {
                break searched + newline + 1;
            }
            if self.is_at_end {
                break bytes.len();
            }
            searched = bytes.len();
            if searched > self.limit {
                return self.skip_line(block).map(|()| true);
            }
            self.read(bytes)?;
        };
        if let Some(rest) = bytes.get(end..) {
            self.carried.extend_from_slice(rest);
        }
        bytes.truncate(end);
        if bytes.is_empty() {
            return Ok(false);
        }
        let length = bytes.len() as u64;
        let lines = memchr::memchr_iter(b'\n', bytes).count() as u64;
        self.place(block, length, lines);
        Ok(true)
    }

    fn read(&mut self, bytes: &mut Vec<u8>) -> io::Result<()> {
        cancel::check(self.token.as_ref())?;
        bytes.reserve(self.block_bytes);
        let read = (&mut self.reader)
            .take(self.block_bytes as u64)
            .read_to_end(bytes)?;
        self.is_at_end |= read < self.block_bytes;
        Ok(())
    }

    /// Passes over the rest of a line that is too long; its beginning is in the block.
    fn skip_line(&mut self, block: &mut Block) -> io::Result<()> {
        let mut length = block.bytes.len() as u64;
        block.bytes.clear();
        block.bytes.shrink_to(4 * self.block_bytes);
        while !self.is_at_end {
            self.skipped_left = self
                .skipped_left
                .checked_sub(self.block_bytes as u64)
                .ok_or_else(|| {
                    let most = MAX_SKIPPED_BYTES / 1024 / 1024;
                    io::Error::other(format!("more than {most} MiB of it are lines that are too long"))
                })?;
            self.read(&mut block.bytes)?;
            if let Some(newline) = memchr::memchr(b'\n', &block.bytes) {
                length += newline as u64 + 1;
                block.overlong = Some(true);
                self.carried.extend(block.bytes.drain(..).skip(newline + 1));
                break;
            }
            length += block.bytes.len() as u64;
            block.bytes.clear();
        }
        block.overlong.get_or_insert(false);
        self.place(block, length, 1);
        Ok(())
    }

    fn place(&mut self, block: &mut Block, length: u64, lines: u64) {
        block.limit = self.limit;
        block.offset = self.offset;
        block.first_line = self.line;
        self.offset += length;
        self.line += lines;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    type Seen = (u64, u64, Option<Vec<u8>>, bool);

    fn read(text: &[u8], limit: usize, block_bytes: usize) -> Vec<Seen> {
        let mut blocks = Blocks::with_sizes(text, limit, block_bytes);
        let mut block = Block::default();
        let mut seen = Vec::new();
        while blocks.next_into(&mut block).unwrap() {
            assert!(block.bytes.len() <= limit + 2 * block_bytes);
            seen.extend(block.lines().map(|line| {
                (
                    line.number,
                    line.offset,
                    line.bytes.map(<[u8]>::to_vec),
                    line.is_ended,
                )
            }));
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
