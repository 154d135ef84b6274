//! A quick check of both ends of a log, so that a list does not call a run ok whose log is gone or garbage.
//!
//! Of each log the first and the last line are read; problems in between are found by `validate`.

use std::fs::File;
use std::io;
use std::path::Path;

use super::line_reader::read_at;
use crate::file::{self, OpenError};
use tracer_format::parse::{KeyAttributes, Location, no_spans, read_span};
use tracer_format::{Problem, ProblemCode, RunMeta, SPANS_FILE};

/// First attempt: an ordinary line is read at once.
const FIRST_BYTES: u64 = 4 * 1024;
/// Longest line that is checked: our emitters write no longer one.
const MAX_BYTES: u64 = 1024 * 1024;

/// The problems of the ends of a log. At most [`MAX_BYTES`] are read at each end, twice over.
pub(crate) fn end_problems(directory: &Path, meta: &RunMeta) -> Vec<Problem> {
    let running = !meta.status.is_completed();
    let file = match file::open(&directory.join(SPANS_FILE)) {
        Ok(file) => file,
        Err(OpenError::Missing) if running => return Vec::new(),
        Err(error) => return vec![file::problem(SPANS_FILE, &error)],
    };
    check_ends(&file, meta, running)
        .unwrap_or_else(|error| vec![file::problem(SPANS_FILE, &OpenError::Io(error))])
}

fn check_ends(file: &File, meta: &RunMeta, running: bool) -> io::Result<Vec<Problem>> {
    let length = file.metadata()?.len();
    let Some(first) = EndLine::first(file, length)? else {
        return Ok(if running { Vec::new() } else { vec![no_spans()] });
    };
    let mut problems = first.problems(Location::Line(first.number), meta, running);
    if problems.is_empty()
        && let Some(last) = EndLine::last(file, length)?
        && last.offset > first.offset
        && !last.problems(Location::Line(0), meta, running).is_empty()
    {
        // Its number is known only after reading the lines before it.
        problems.push(Problem::new(
            ProblemCode::MalformedJson,
            SPANS_FILE,
            "has a last line that is no span of this run",
        ));
    }
    Ok(problems)
}

/// The first or the last line that is not blank.
#[derive(Debug, PartialEq, Eq)]
struct EndLine {
    bytes: Vec<u8>,
    offset: u64,
    /// Its number; 0 of the last line.
    number: u64,
    /// `true` when all of it was read.
    is_whole: bool,
    /// `true` when a newline ends it.
    is_ended: bool,
}

impl EndLine {
    /// `None` when there is none within the bytes that are checked.
    fn first(file: &File, length: u64) -> io::Result<Option<Self>> {
        let mut bytes = Vec::new();
        let mut window = FIRST_BYTES;
        loop {
            read_at(file, 0, window.min(length), &mut bytes)?;
            let start = bytes.iter().position(|byte| !byte.is_ascii_whitespace());
            let rest = start.and_then(|start| bytes.get(start..)).unwrap_or_default();
            let newline = memchr::memchr(b'\n', rest);
            if newline.is_none() && window < length.min(MAX_BYTES) {
                window = (window * 16).min(MAX_BYTES);
                continue;
            }
            let Some(start) = start else {
                return Ok(None);
            };
            let before = bytes.get(..start).unwrap_or_default();
            return Ok(Some(Self {
                offset: start as u64,
                number: 1 + memchr::memchr_iter(b'\n', before).count() as u64,
                is_whole: newline.is_some() || window >= length,
                is_ended: newline.is_some(),
                bytes: rest
                    .get(..newline.unwrap_or(rest.len()))
                    .unwrap_or_default()
                    .to_vec(),
            }));
        }
    }

    fn last(file: &File, length: u64) -> io::Result<Option<Self>> {
        let mut bytes = Vec::new();
        let mut window = FIRST_BYTES;
        loop {
            let from = length.saturating_sub(window);
            read_at(file, from, length - from, &mut bytes)?;
            let end = bytes
                .iter()
                .rposition(|byte| !byte.is_ascii_whitespace())
                .map_or(0, |last| last + 1);
            let (line, behind) = bytes.split_at_checked(end).unwrap_or_default();
            let newline = memchr::memrchr(b'\n', line);
            if newline.is_none() && from > 0 {
                if window >= MAX_BYTES {
                    return Ok(None);
                }
                window = (window * 16).min(MAX_BYTES);
                continue;
            }
            let start = newline.map_or(0, |newline| newline + 1);
            let line = line.get(start..).filter(|line| !line.is_empty());
            return Ok(line.map(|line| Self {
                offset: from + start as u64,
                number: 0,
                is_whole: true,
                is_ended: behind.contains(&b'\n'),
                bytes: line.to_vec(),
            }));
        }
    }

    fn problems(&self, place: Location, meta: &RunMeta, running: bool) -> Vec<Problem> {
        let malformed = |message: String| vec![place.problem(ProblemCode::MalformedJson, message)];
        if !self.is_whole {
            // Of a line that is too long, only its first byte is checked.
            let is_object = self.bytes.first() == Some(&b'{');
            return if is_object {
                Vec::new()
            } else {
                malformed("is no JSON object".to_owned())
            };
        }
        let mut problems = Vec::new();
        match read_span::<KeyAttributes<'_>>(&self.bytes, self.number, &mut problems) {
            // The writer was stopped within its last line, or is within it now.
            Err(_) if running && !self.is_ended => Vec::new(),
            Err(error) => malformed(error.to_string()),
            Ok(reading) => {
                let foreign = reading.span.filter(|span| span.trace_id != meta.trace_id);
                problems.extend(foreign.map(|_| place.foreign_span()));
                problems
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::RunStore;
    use crate::tests::meta;

    const ID: &str = "10000000000000000000000000000001";

    fn line(id: &str, text: &str) -> String {
        format!(
            r#"{{"trace_id":"{ID}","span_id":"{id}","parent_span_id":null,"name":"{text}","kind":"INTERNAL","start_time":"2026-01-01T00:00:01Z","end_time":null,"duration_ms":null,"attributes":{{}},"events":[],"status_code":"OK","status_description":""}}"#
        )
    }

    /// `code location` of the problems of a log.
    fn problems_of(status: &str, log: &[u8]) -> Vec<String> {
        let data = tempfile::tempdir().unwrap();
        let directory = data.path().join("runs").join(ID);
        fs::create_dir_all(&directory).unwrap();
        fs::write(directory.join("meta.json"), meta(status)).unwrap();
        fs::write(directory.join(SPANS_FILE), log).unwrap();
        let run = RunStore::new(data.path()).list().unwrap().remove(0);
        let line = |problem: &Problem| format!("{} {}", problem.code, problem.location);
        run.problems().iter().map(line).collect()
    }

    #[test]
    fn a_log_whose_first_or_last_line_is_no_span_of_the_run_is_damaged() {
        let (one, two) = (line("0000000000000001", "a"), line("0000000000000002", "b"));
        let long = line("0000000000000003", &"x".repeat(3 * 4096));
        let huge = line("0000000000000004", &"x".repeat(1024 * 1024));
        let foreign = one.replace(ID, "20000000000000000000000000000002");
        let first = "malformed_json spans.jsonl:1";
        let last = "malformed_json spans.jsonl";
        for (log, of_ended, of_running) in [
            (format!("{one}\n{two}\n"), None, None),
            (format!("{one}\n{two}"), None, None),
            (format!("\n\r\n {one}\n\n{two}\n\n \n"), None, None),
            (format!("{long}\n{long}"), None, None),
            (format!("{huge}\n{huge}"), None, None),
            (String::new(), Some("empty_spans spans.jsonl"), None),
            (" \n\n".to_owned(), Some("empty_spans spans.jsonl"), None),
            ("garbage\n".to_owned(), Some(first), Some(first)),
            (format!("garbage\n{one}\n"), Some(first), Some(first)),
            (
                format!("\n\ngarbage\n{one}\n"),
                Some("malformed_json spans.jsonl:3"),
                Some("malformed_json spans.jsonl:3"),
            ),
            ("\0".repeat(5_000), Some(first), None),
            ("\0".repeat(2 * 1024 * 1024), Some(first), Some(first)),
            (
                format!("[]\n{one}\n"),
                Some("invalid_type spans.jsonl:1"),
                Some("invalid_type spans.jsonl:1"),
            ),
            (
                format!("{foreign}\n"),
                Some("trace_id_mismatch spans.jsonl:1.trace_id"),
                Some("trace_id_mismatch spans.jsonl:1.trace_id"),
            ),
            (format!("{one}\ngarbage\n"), Some(last), Some(last)),
            (format!("{one}\n{}", &two[..40]), Some(last), None),
            (one[..40].to_owned(), Some(first), None),
            (format!("{one}\n{}\n", &long[..9_000]), Some(last), Some(last)),
            (format!("{one}\n{foreign}\n"), Some(last), Some(last)),
        ] {
            let shown = log.get(..60).unwrap_or(&log);
            assert_eq!(
                problems_of("ok", log.as_bytes()),
                Vec::from_iter(of_ended),
                "ok {shown:?}"
            );
            assert_eq!(
                problems_of("running", log.as_bytes()),
                Vec::from_iter(of_running),
                "running {shown:?}"
            );
        }
    }
}
