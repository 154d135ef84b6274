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

/// Bytes that are read at each end. Of a longer first line, only the first byte is checked.
const WINDOW: u64 = 32 * 1024;
/// Longest last line that is checked, in bytes: our emitters write no longer one.
const MAX_LAST_LINE: u64 = 1024 * 1024;

/// The problems of the ends of a log.
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
    let mut head = Vec::new();
    read_at(file, 0, WINDOW.min(length), &mut head)?;
    let Some(first) = head.iter().position(|byte| !byte.is_ascii_whitespace()) else {
        let is_empty = length <= WINDOW && !running;
        return Ok(if is_empty { vec![no_spans()] } else { Vec::new() });
    };
    let (before, rest) = head.split_at(first);
    let newline = memchr::memchr(b'\n', rest);
    let line = rest.get(..newline.unwrap_or(rest.len())).unwrap_or_default();
    let number = 1 + memchr::memchr_iter(b'\n', before).count() as u64;
    let place = Location::Line(number);
    let is_whole = newline.is_some() || length <= WINDOW;
    let mut problems = if is_whole {
        // The writer was stopped within its last line, or is within it now.
        let may_be_torn = running && newline.is_none();
        line_problems(line, place, number, meta, may_be_torn)
    } else if line.starts_with(b"{") {
        Vec::new()
    } else {
        vec![place.problem(ProblemCode::MalformedJson, "is no JSON object".to_owned())]
    };
    // A line that was checked whole is not checked again.
    let checked = is_whole.then_some(first as u64);
    if problems.is_empty() && !has_sound_last_line(file, length, checked, meta, running)? {
        // Its number is known only after reading the lines before it.
        problems.push(Problem::new(
            ProblemCode::MalformedJson,
            SPANS_FILE,
            "has a last line that is no span of this run",
        ));
    }
    Ok(problems)
}

/// Returns whether the last line is a span, or is too long to be checked, or begins at `checked`.
fn has_sound_last_line(
    file: &File,
    length: u64,
    checked: Option<u64>,
    meta: &RunMeta,
    running: bool,
) -> io::Result<bool> {
    let mut from = length.saturating_sub(WINDOW);
    let mut tail = Vec::new();
    read_at(file, from, length - from, &mut tail)?;
    if from > 0 && !tail.trim_ascii_end().contains(&b'\n') {
        from = length.saturating_sub(MAX_LAST_LINE);
        read_at(file, from, length - from, &mut tail)?;
    }
    let line = tail.trim_ascii_end();
    let start = memchr::memrchr(b'\n', line).map_or(0, |newline| newline + 1);
    let is_new = checked.is_none_or(|checked| from + start as u64 > checked);
    let is_checked = is_new && (start > 0 || from == 0);
    let may_be_torn = running && !tail.get(line.len()..).unwrap_or_default().contains(&b'\n');
    let line = line.get(start..).unwrap_or_default();
    Ok(!is_checked || line_problems(line, Location::Line(0), 0, meta, may_be_torn).is_empty())
}

fn line_problems(
    line: &[u8],
    place: Location,
    number: u64,
    meta: &RunMeta,
    may_be_torn: bool,
) -> Vec<Problem> {
    let mut problems = Vec::new();
    match read_span::<KeyAttributes<'_>>(line, number, &mut problems) {
        Err(_) if may_be_torn => Vec::new(),
        Err(error) => vec![place.problem(ProblemCode::MalformedJson, error.to_string())],
        Ok(reading) => {
            let foreign = reading.span.filter(|span| span.trace_id != meta.trace_id);
            problems.extend(foreign.map(|_| place.foreign_span()));
            problems
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
        let large = line("0000000000000005", &"x".repeat(50_000));
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
            (format!("{one}\n{large}\n"), None, None),
            (large.clone(), None, None),
            (format!("{one}\n{}", "\0".repeat(40_000)), Some(last), None),
            (format!("{one}\n{}", &large[..40_000]), Some(last), None),
            (large[..40_000].to_owned(), Some(last), None),
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
