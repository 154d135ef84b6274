//! Records of a transcript: one line after the other, bounded, each with its number.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use serde_json::Value;

/// The largest record, in bytes.
const MAX_RECORD_BYTES: u64 = 64 * 1024 * 1024;

/// The largest transcript, in bytes.
const MAX_FILE_BYTES: u64 = 64 * 1024 * 1024 * 1024;

/// Reason why a line of a transcript is no record.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum UnreadableLine {
    #[error("line {line}: not JSON at column {column}")]
    NotJson { line: u64, column: usize },
    #[error("line {line}: larger than {MAX_RECORD_BYTES} bytes")]
    TooLarge { line: u64 },
    #[error("line {line}: the last line is cut short")]
    CutShort { line: u64 },
}

/// The records of a file. A last line that is still being written is none, and no problem yet.
pub(super) struct TranscriptLines<R> {
    reader: R,
    line: u64,
    buffer: Vec<u8>,
    /// The last line, where it was cut short.
    pub(super) torn: Option<UnreadableLine>,
}

impl TranscriptLines<BufReader<File>> {
    /// Opens a file; pipes and devices are none.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let file = tracer_runs::open_input(path, MAX_FILE_BYTES)?;
        Ok(Self::new(BufReader::new(file)))
    }
}

impl<R: BufRead> TranscriptLines<R> {
    pub(super) fn new(reader: R) -> Self {
        Self {
            reader,
            line: 0,
            buffer: Vec::new(),
            torn: None,
        }
    }

    fn record(&mut self) -> io::Result<Option<Result<Value, UnreadableLine>>> {
        loop {
            self.buffer.clear();
            // One large line must not keep its memory for ever.
            self.buffer.shrink_to(1024 * 1024);
            self.line += 1;
            let line = self.line;
            let mut limited = (&mut self.reader).take(MAX_RECORD_BYTES + 1);
            if limited.read_until(b'\n', &mut self.buffer)? == 0 {
                return Ok(None);
            }
            let is_whole = self.buffer.ends_with(b"\n");
            if self.buffer.len() as u64 > MAX_RECORD_BYTES {
                if !is_whole {
                    self.reader.skip_until(b'\n')?;
                }
                return Ok(Some(Err(UnreadableLine::TooLarge { line })));
            }
            if self.buffer.trim_ascii().is_empty() {
                continue;
            }
            return match serde_json::from_slice(self.buffer.trim_ascii_end()) {
                Ok(record) => Ok(Some(Ok(record))),
                Err(_) if !is_whole => {
                    self.torn = Some(UnreadableLine::CutShort { line });
                    Ok(None)
                }
                Err(error) => {
                    let column = error.column();
                    Ok(Some(Err(UnreadableLine::NotJson { line, column })))
                }
            };
        }
    }
}

impl<R: BufRead> Iterator for TranscriptLines<R> {
    type Item = io::Result<Result<Value, UnreadableLine>>;

    fn next(&mut self) -> Option<Self::Item> {
        self.record().transpose()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(text: &[u8]) -> (Vec<Result<Value, UnreadableLine>>, bool) {
        let mut lines = TranscriptLines::new(text);
        let records = lines.by_ref().map(Result::unwrap).collect();
        (records, lines.torn.is_some())
    }

    #[test]
    fn a_torn_last_line_is_no_problem_and_any_other_is() {
        let (records, is_torn) = read(b"{\"a\":1}\n\n{\"b\"\n{\"c\":3}\n{\"d\":");
        assert_eq!(records[0], Ok(json!({"a": 1})));
        assert_eq!(
            records[1].as_ref().unwrap_err().to_string(),
            "line 3: not JSON at column 4"
        );
        assert_eq!(records[2], Ok(json!({"c": 3})));
        assert!(records.len() == 3 && is_torn);
        assert_eq!(read(b"{\"a\":1}"), (vec![Ok(json!({"a": 1}))], false));
    }

    #[test]
    fn deep_and_enormous_lines_are_named_and_the_next_is_read() {
        let mut text = "[".repeat(100_000).into_bytes();
        text.push(b'\n');
        text.resize(text.len() + usize::try_from(MAX_RECORD_BYTES).unwrap() + 10, b' ');
        text.extend(b"\n{}\n");
        let (records, _) = read(&text);
        assert!(matches!(records[0], Err(UnreadableLine::NotJson { line: 1, .. })));
        assert_eq!(records[1], Err(UnreadableLine::TooLarge { line: 2 }));
        assert_eq!(records[2], Ok(json!({})));
    }
}
