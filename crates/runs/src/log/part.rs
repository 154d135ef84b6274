//! [`LogPart`]: the spans of a part of a log, for following a running run and for previews of large ones.

use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use super::lines::MAX_LINE_BYTES;
use crate::file::{self, OpenError};
use tracer_format::parse::parse_span;
use tracer_format::{SPANS_FILE, SpanRecord};

/// Largest part that is read: room for the longest line.
const MAX_PART_BYTES: u64 = 2 * MAX_LINE_BYTES as u64;

/// The spans on the whole lines of a part of a log.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct LogPart {
    /// The spans that can be read, in the order of the file.
    pub spans: Vec<SpanRecord>,
    /// Number of lines that are not blank and hold no span that can be read.
    pub unreadable_lines: u64,
    /// The offset behind the last whole line: where the next part begins.
    pub next_offset: u64,
    /// `true` when the part reaches to the end of the file, except for a last line that is not whole yet.
    pub is_to_end: bool,
}

/// Reads the whole lines within `max_bytes` from `offset`, which is 0 or the `next_offset` of the part before; from within
/// a line, the rest of it is a line that cannot be read. A missing log counts as an empty one.
///
/// # Errors
///
/// The file cannot be read, or is no regular file; or `max_bytes` is more than 256 MiB.
pub fn read_log_part(directory: &Path, offset: u64, max_bytes: u64) -> io::Result<LogPart> {
    let mut file = match file::open(&directory.join(SPANS_FILE)) {
        Ok(file) => file,
        Err(OpenError::Missing) => {
            return Ok(LogPart {
                next_offset: offset,
                is_to_end: true,
                ..LogPart::default()
            });
        }
        Err(error) => return Err(error.into()),
    };
    // A caller that finds no whole line asks for more.
    if max_bytes > MAX_PART_BYTES {
        return Err(io::Error::other("a line is longer than any that is read"));
    }
    file.seek(SeekFrom::Start(offset))?;
    let mut bytes = Vec::new();
    file.take(max_bytes).read_to_end(&mut bytes)?;
    let whole = memchr::memrchr(b'\n', &bytes).map_or(0, |position| position + 1);
    let mut part = LogPart {
        next_offset: offset + whole as u64,
        is_to_end: (bytes.len() as u64) < max_bytes,
        ..LogPart::default()
    };
    let lines = bytes.get(..whole).unwrap_or_default();
    for line in lines
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.trim_ascii().is_empty())
    {
        match parse_span(line) {
            Some(span) => part.spans.push(span),
            None => part.unreadable_lines += 1,
        }
    }
    Ok(part)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn line(name: &str) -> String {
        format!(
            r#"{{"trace_id":"10000000000000000000000000000001","span_id":"3333333333333333","parent_span_id":null,"name":"{name}","kind":"INTERNAL","start_time":"2026-01-01T00:00:01Z","end_time":null,"duration_ms":null,"attributes":{{}},"events":[],"status_code":"OK","status_description":""}}"#
        ) + "\n"
    }

    fn names(part: &LogPart) -> Vec<&str> {
        part.spans.iter().map(|span| span.name.as_str()).collect()
    }

    #[test]
    fn parts_follow_each_other_and_a_torn_line_waits_for_its_end() {
        let directory = tempfile::tempdir().unwrap();
        let log = directory.path().join(SPANS_FILE);
        let (first, second) = (line("first"), line("second"));
        fs::write(&log, format!("{first}\nno json\n{}", &second[..40])).unwrap();
        let part = read_log_part(directory.path(), 0, 10_000).unwrap();
        assert_eq!(
            (names(&part), part.unreadable_lines, part.is_to_end),
            (vec!["first"], 1, true)
        );

        fs::write(&log, format!("{first}\nno json\n{second}")).unwrap();
        let next = read_log_part(directory.path(), part.next_offset, 10_000).unwrap();
        assert_eq!((names(&next), next.unreadable_lines), (vec!["second"], 0));
        let end = read_log_part(directory.path(), next.next_offset, 10_000).unwrap();
        assert_eq!((names(&end), end.next_offset), (vec![], next.next_offset));
    }

    #[test]
    fn no_more_is_read_than_is_asked_for() {
        let directory = tempfile::tempdir().unwrap();
        let (first, second) = (line("first"), line("second"));
        fs::write(directory.path().join(SPANS_FILE), format!("{first}{second}")).unwrap();
        let part = read_log_part(directory.path(), 0, first.len() as u64 + 5).unwrap();
        assert_eq!(
            (names(&part), part.next_offset, part.is_to_end),
            (vec!["first"], first.len() as u64, false)
        );
        let none = read_log_part(directory.path(), 0, 5).unwrap();
        assert_eq!(
            (names(&none), none.next_offset, none.is_to_end),
            (vec![], 0, false)
        );
    }
}
