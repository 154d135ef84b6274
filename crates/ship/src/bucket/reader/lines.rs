//! The lines of an object of facts, one after the other, of any size and by any writer.

use std::io::{self, BufRead, BufReader, Cursor, Read};

use bytes::Bytes;
use tokio::sync::mpsc;
use tracer_catalog::{LineProblem, MAX_FACTS_LINE_BYTES, MirrorLine};

/// Bytes of all lines of an object: what goes beyond is a trap.
const MAX_FACTS_OBJECT_BYTES: u64 = 16 * 1024 * 1024 * 1024;

/// The content of an object.
pub(super) enum Body {
    Whole(Bytes),
    /// Of a large one, part after part; the sender goes away at its end.
    Parts(mpsc::Receiver<io::Result<Bytes>>),
}

impl Body {
    /// Calls `take` with each line. An error is one of the content: what was sent before it was taken.
    pub(super) fn lines<E: From<io::Error>>(
        self,
        mut take: impl FnMut(Result<MirrorLine, LineProblem>) -> Result<(), E>,
    ) -> Result<(), E> {
        let content: Box<dyn Read> = match self {
            Self::Whole(bytes) => Box::new(Cursor::new(bytes)),
            Self::Parts(parts) => Box::new(PartsReader {
                parts,
                current: Cursor::default(),
            }),
        };
        let mut content = BufReader::with_capacity(64 * 1024, content.take(MAX_FACTS_OBJECT_BYTES));
        let mut line = Vec::new();
        loop {
            line.clear();
            let most = MAX_FACTS_LINE_BYTES as u64 + 1;
            if content.by_ref().take(most).read_until(b'\n', &mut line)? == 0 {
                return Ok(());
            }
            if line.last() == Some(&b'\n') {
                line.pop();
            } else if line.len() > MAX_FACTS_LINE_BYTES {
                skip_line(&mut content)?;
            }
            if !line.is_empty() {
                take(MirrorLine::parse(&line))?;
            }
        }
    }
}

fn skip_line(content: &mut impl BufRead) -> io::Result<()> {
    loop {
        let buffer = content.fill_buf()?;
        let (used, is_end) = match buffer.iter().position(|byte| *byte == b'\n') {
            Some(end) => (end + 1, true),
            None => (buffer.len(), buffer.is_empty()),
        };
        content.consume(used);
        if is_end {
            return Ok(());
        }
    }
}

/// Parts as they arrive.
struct PartsReader {
    parts: mpsc::Receiver<io::Result<Bytes>>,
    current: Cursor<Bytes>,
}

impl Read for PartsReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let count = self.current.read(buffer)?;
            if count > 0 || buffer.is_empty() {
                return Ok(count);
            }
            match self.parts.blocking_recv() {
                None => return Ok(0),
                Some(part) => self.current = Cursor::new(part?),
            }
        }
    }
}
