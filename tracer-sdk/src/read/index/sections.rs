//! [`SectionWriter`] and [`SectionReader`]: items one after the other, in sections that are found out when they are damaged.
//!
//! A section has 64 KiB or one item, and before it its length and a checksum over it and all before it: a file that is torn,
//! or put together of two, does not agree, and little of it is in memory at once.

use std::hash::{DefaultHasher, Hasher};
use std::io::{self, Read, Write};

use crate::read::cancel;
use crate::read::log::{KeptBytes, KeptCursor};

/// A section that has more is closed.
const SECTION_BYTES: usize = 64 * 1024;
/// A longer section is none of ours: an item has a name of at most a line.
const MAX_SECTION_BYTES: usize = 256 * 1024 * 1024;

/// Writes items in sections.
pub(super) struct SectionWriter<'a, W> {
    writer: &'a mut W,
    section: KeptBytes,
    checksum: u64,
    left: u64,
    is_within_limit: bool,
}

impl<'a, W: Write> SectionWriter<'a, W> {
    pub(super) fn new(writer: &'a mut W, limit: u64) -> Self {
        Self {
            writer,
            section: KeptBytes::default(),
            checksum: 0,
            left: limit,
            is_within_limit: true,
        }
    }

    /// The bytes to add one item to.
    pub(super) fn item(&mut self) -> io::Result<&mut KeptBytes> {
        if self.section.len() >= SECTION_BYTES {
            self.end()?;
        }
        Ok(&mut self.section)
    }

    /// Ends a section: those who read are asked for items of one kind at a time.
    pub(super) fn end(&mut self) -> io::Result<()> {
        let bytes = self.section.as_slice();
        if bytes.is_empty() {
            return Ok(());
        }
        self.checksum = checksum(self.checksum, bytes);
        let length = (bytes.len() as u64).to_le_bytes();
        let all = (length.len() + size_of::<u64>() + bytes.len()) as u64;
        // What is too long is not written to its end.
        self.is_within_limit &= all <= self.left && bytes.len() <= MAX_SECTION_BYTES;
        self.left = self.left.saturating_sub(all);
        if self.is_within_limit {
            self.writer.write_all(&length)?;
            self.writer.write_all(&self.checksum.to_le_bytes())?;
            self.writer.write_all(bytes)?;
        }
        self.section.clear();
        Ok(())
    }

    /// Whether all that was added was written.
    pub(super) fn is_within_limit(&self) -> bool {
        self.is_within_limit
    }
}

/// Reads the items of sections.
pub(super) struct SectionReader<R> {
    reader: R,
    section: Vec<u8>,
    checksum: u64,
}

impl<R: Read> SectionReader<R> {
    pub(super) fn new(reader: R) -> Self {
        Self {
            reader,
            section: Vec::new(),
            checksum: 0,
        }
    }

    /// Reads this many items, from whole sections.
    pub(super) fn items(
        &mut self,
        count: usize,
        mut read: impl FnMut(&mut KeptCursor<'_>) -> Option<()>,
    ) -> Option<()> {
        let mut left = count;
        while left > 0 {
            self.next_section()?;
            let mut cursor = KeptCursor::new(&self.section);
            while !cursor.is_at_end() {
                left = left.checked_sub(1)?;
                read(&mut cursor)?;
            }
        }
        Some(())
    }

    fn next_section(&mut self) -> Option<()> {
        cancel::check_current().ok()?;
        let length = usize::try_from(self.number()?).ok()?;
        let expected = self.number()?;
        if length == 0 || length > MAX_SECTION_BYTES {
            return None;
        }
        self.section.clear();
        let read = (&mut self.reader)
            .take(length as u64)
            .read_to_end(&mut self.section);
        self.checksum = checksum(self.checksum, &self.section);
        (read.ok()? == length && self.checksum == expected).then_some(())
    }

    fn number(&mut self) -> Option<u64> {
        let mut bytes = [0; size_of::<u64>()];
        self.reader.read_exact(&mut bytes).ok()?;
        Some(u64::from_le_bytes(bytes))
    }

    /// Whether nothing follows.
    pub(super) fn is_at_end(&mut self) -> bool {
        matches!(self.reader.read(&mut [0]), Ok(0))
    }
}

/// Of a section and all before it.
fn checksum(before: u64, bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write_u64(before);
    hasher.write(bytes);
    hasher.finish()
}
