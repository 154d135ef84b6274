//! [`RunTail`]: the unsent end of a run's log, part by part.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use tracer_runs::{RunDirectory, read_log_part};
use tracer_sdk::format::{SPANS_FILE, SpanRecord};

/// Part of a run that an endpoint has acknowledged.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SentPart {
    /// Bytes of its log.
    pub(crate) bytes: u64,
    /// Number of spans in them.
    pub(crate) spans: u64,
    /// Hash of the end of those bytes: tells a log that has grown from another one.
    pub(crate) end: u64,
    /// The run has ended, and all of it is sent.
    pub(crate) complete: bool,
}

/// Bytes of a log that are read at a time; a longer line is read whole.
const PART_BYTES: u64 = 1024 * 1024;
/// Bytes at the end of what was sent by which the log is known again.
const END_BYTES: u64 = 256;

/// Reads on where the last push ended.
#[derive(Debug)]
pub(super) struct RunTail<'a> {
    directory: &'a RunDirectory,
    /// The run's name, as it is recorded now.
    pub(super) name: Option<String>,
    /// The run has ended: everything that belongs to it is in the log.
    pub(super) is_ended: bool,
    sent: SentPart,
}

/// Some spans of a log.
#[derive(Debug)]
pub(super) struct RunTailPart {
    pub(super) spans: Vec<SpanRecord>,
    /// Lines without a span of this run.
    pub(super) unreadable_lines: u64,
    /// Sent part of the run with them.
    pub(super) sent: SentPart,
    /// Nothing follows for now.
    pub(super) is_to_end: bool,
}

impl<'a> RunTail<'a> {
    /// The tail of a run behind what was sent. A log that is not the one that was sent, such as that of a run that was
    /// deleted and recorded again, is sent from its beginning.
    pub(super) fn open(directory: &'a RunDirectory, sent: SentPart) -> io::Result<Self> {
        // The status is read before the log: the last span is written before the status, so none is missed.
        let meta = directory.clone().read_summary().meta.ok();
        let is_known = sent.bytes == 0 || end_hash(&directory.path, sent.bytes)? == Some(sent.end);
        Ok(Self {
            directory,
            is_ended: meta.as_ref().is_some_and(|meta| meta.status.is_completed()),
            name: meta.and_then(|meta| meta.run_name),
            sent: if is_known { sent } else { SentPart::default() },
        })
    }

    /// Bytes of the log that were sent.
    pub(super) fn sent_bytes(&self) -> u64 {
        self.sent.bytes
    }

    /// The next part.
    pub(super) fn next_part(&mut self) -> io::Result<RunTailPart> {
        let mut max_bytes = PART_BYTES;
        let part = loop {
            let part = read_log_part(&self.directory.path, self.sent.bytes, max_bytes)?;
            if part.is_to_end || part.next_offset > self.sent.bytes {
                break part;
            }
            // Not even one line has room.
            max_bytes *= 2;
        };
        let mut spans = part.spans;
        let readable = spans.len();
        spans.retain(|span| span.trace_id == self.directory.trace_id);
        let foreign = readable - spans.len();
        if part.next_offset > self.sent.bytes {
            self.sent.bytes = part.next_offset;
            self.sent.spans += spans.len() as u64;
            self.sent.end = end_hash(&self.directory.path, part.next_offset)?.unwrap_or_default();
        }
        self.sent.complete = self.is_ended && part.is_to_end;
        Ok(RunTailPart {
            spans,
            unreadable_lines: part.unreadable_lines + foreign as u64,
            sent: self.sent,
            is_to_end: part.is_to_end,
        })
    }
}

/// Bytes of a run's log; 0 without one.
pub(super) fn log_bytes(directory: &Path) -> u64 {
    fs::symlink_metadata(directory.join(SPANS_FILE)).map_or(0, |metadata| metadata.len())
}

/// A hash of the bytes before an offset of the log; `None` when the log is shorter.
fn end_hash(directory: &Path, offset: u64) -> io::Result<Option<u64>> {
    let path = directory.join(SPANS_FILE);
    // Opening what is no file could wait for ever.
    if !fs::symlink_metadata(&path).is_ok_and(|metadata| metadata.is_file()) {
        return Ok(None);
    }
    let length = offset.min(END_BYTES);
    let mut file = File::open(path)?;
    file.seek(SeekFrom::Start(offset - length))?;
    let mut bytes = Vec::new();
    file.take(length).read_to_end(&mut bytes)?;
    if (bytes.len() as u64) < length {
        return Ok(None);
    }
    let hash = Sha256::digest(&bytes);
    Ok(hash.first_chunk().map(|first| u64::from_be_bytes(*first)))
}

#[cfg(test)]
mod tests {
    use tracer_sdk::format::TraceId;

    use super::*;

    const RUN: &str = "10000000000000000000000000000001";

    fn line(trace: &str, name: &str) -> String {
        format!(
            r#"{{"trace_id":"{trace}","span_id":"3333333333333333","parent_span_id":null,"name":"{name}","kind":"INTERNAL","start_time":"2026-01-01T00:00:01Z","end_time":null,"duration_ms":null,"attributes":{{}},"events":[],"status_code":"OK","status_description":""}}"#
        ) + "\n"
    }

    fn write_status(directory: &RunDirectory, status: &str) {
        let ended = if status == "running" {
            "null"
        } else {
            "\"2026-01-01T00:00:02Z\""
        };
        let duration = if status == "running" { "null" } else { "1000" };
        let meta = format!(
            r#"{{"spec_version":"0.2.0","trace_id":"{RUN}","run_name":"agent","started_at":"2026-01-01T00:00:01Z","ended_at":{ended},"duration_ms":{duration},"status":"{status}","counts":{{"llm_calls":0,"tool_calls":0,"errors":0,"loop_warnings":0}}}}"#
        );
        fs::write(directory.path.join("meta.json"), meta).unwrap();
    }

    fn directory(folder: &Path, status: &str, log: &str) -> RunDirectory {
        let directory = RunDirectory {
            trace_id: RUN.parse::<TraceId>().unwrap(),
            path: folder.to_owned(),
        };
        write_status(&directory, status);
        fs::write(directory.path.join(SPANS_FILE), log).unwrap();
        directory
    }

    fn names(part: &RunTailPart) -> Vec<&str> {
        part.spans.iter().map(|span| span.name.as_str()).collect()
    }

    #[test]
    fn it_goes_on_behind_what_was_sent() {
        let folder = tempfile::tempdir().unwrap();
        let (first, second) = (line(RUN, "first"), line(RUN, "second"));
        let run = directory(folder.path(), "running", &format!("{first}{}", &second[..30]));
        let part = RunTail::open(&run, SentPart::default())
            .unwrap()
            .next_part()
            .unwrap();
        assert_eq!((names(&part), part.is_to_end), (vec!["first"], true));
        assert!(!part.sent.complete);

        fs::write(run.path.join(SPANS_FILE), format!("{first}{second}")).unwrap();
        write_status(&run, "ok");
        let mut tail = RunTail::open(&run, part.sent).unwrap();
        assert_eq!(tail.name.as_deref(), Some("agent"));
        let part = tail.next_part().unwrap();
        assert_eq!(names(&part), ["second"]);
        assert_eq!((part.sent.spans, part.sent.complete), (2, true));
    }

    #[test]
    fn another_log_is_sent_from_its_beginning() {
        let folder = tempfile::tempdir().unwrap();
        let run = directory(folder.path(), "ok", &line(RUN, "first"));
        let sent = RunTail::open(&run, SentPart::default())
            .unwrap()
            .next_part()
            .unwrap()
            .sent;
        for log in [line(RUN, "other"), line(RUN, "f")] {
            fs::write(run.path.join(SPANS_FILE), &log).unwrap();
            let part = RunTail::open(&run, sent).unwrap().next_part().unwrap();
            assert_eq!((part.spans.len(), part.sent.spans), (1, 1), "{log}");
        }
    }

    #[test]
    fn a_line_longer_than_a_part_is_read_whole() {
        let folder = tempfile::tempdir().unwrap();
        let length = usize::try_from(3 * PART_BYTES).unwrap();
        let log = format!("{}{}", line(RUN, &"x".repeat(length)), line(RUN, "second"));
        let run = directory(folder.path(), "ok", &log);
        let mut tail = RunTail::open(&run, SentPart::default()).unwrap();
        let part = tail.next_part().unwrap();
        assert_eq!(part.spans[0].name.len(), length);
        assert_eq!(
            part.spans.len()
                + if part.is_to_end {
                    0
                } else {
                    tail.next_part().unwrap().spans.len()
                },
            2
        );
    }

    #[test]
    fn foreign_and_unreadable_lines_are_counted() {
        let folder = tempfile::tempdir().unwrap();
        let other = line("20000000000000000000000000000002", "foreign");
        let run = directory(
            folder.path(),
            "ok",
            &format!("{other}garbage\n{}", line(RUN, "own")),
        );
        let part = RunTail::open(&run, SentPart::default())
            .unwrap()
            .next_part()
            .unwrap();
        assert_eq!((names(&part), part.unreadable_lines), (vec!["own"], 2));
    }

    #[test]
    fn a_run_without_a_log_or_metadata_has_nothing_to_send() {
        let folder = tempfile::tempdir().unwrap();
        let run = RunDirectory {
            trace_id: RUN.parse().unwrap(),
            path: folder.path().join("gone"),
        };
        let mut tail = RunTail::open(&run, SentPart::default()).unwrap();
        let part = tail.next_part().unwrap();
        assert!(part.spans.is_empty() && part.is_to_end && !part.sent.complete);
    }
}
