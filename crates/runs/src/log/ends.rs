//! A quick check of the end of a log, so that a list does not call a run ok whose log is gone or garbage.
//!
//! Of each log the last line is read; problems before it are found by `validate`.

use std::fs::File;
use std::io;
use std::path::Path;

use super::line_reader::read_at;
use crate::file::{self, OpenError};
use tracer_format::parse::{KeyAttributes, no_spans, read_span};
use tracer_format::{Problem, ProblemCode, RunMeta, SPANS_FILE};

/// Bytes that are read at first.
const WINDOW: u64 = 32 * 1024;
/// Longest last line that is checked, in bytes: our emitters write no longer one.
const MAX_LAST_LINE: u64 = 1024 * 1024;

/// The problems of the end of a log.
pub(crate) fn end_problems(directory: &Path, meta: &RunMeta) -> Vec<Problem> {
    let running = !meta.status.is_completed();
    let file = match file::open(&directory.join(SPANS_FILE)) {
        Ok(file) => file,
        Err(OpenError::Missing) if running => return Vec::new(),
        Err(error) => return vec![file::problem(SPANS_FILE, &error)],
    };
    check_end(&file, meta, running)
        .unwrap_or_else(|error| vec![file::problem(SPANS_FILE, &OpenError::Io(error))])
}

fn check_end(file: &File, meta: &RunMeta, running: bool) -> io::Result<Vec<Problem>> {
    let length = file.metadata()?.len();
    let mut from = length.saturating_sub(WINDOW);
    let mut tail = Vec::new();
    read_at(file, from, length - from, &mut tail)?;
    if from > 0 && !tail.trim_ascii_end().contains(&b'\n') {
        from = length.saturating_sub(MAX_LAST_LINE);
        read_at(file, from, length - from, &mut tail)?;
    }
    let lines = tail.trim_ascii_end();
    let start = memchr::memrchr(b'\n', lines).map_or(0, |newline| newline + 1);
    // Of a line whose beginning is not here, the last byte alone is checked.
    let is_here = start > 0 || from == 0;
    if lines.is_empty() {
        return Ok(Vec::from_iter((is_here && !running).then(no_spans)));
    }
    let line = lines.get(start..).unwrap_or_default();
    // The writer was stopped within its last line, or is within it now.
    let may_be_torn = running && !tail.get(lines.len()..).unwrap_or_default().contains(&b'\n');
    let mut problems = Vec::new();
    let is_sound = match read_span::<KeyAttributes<'_>>(line, 0, &mut problems) {
        _ if !is_here => may_be_torn || line.ends_with(b"}"),
        Err(_) => may_be_torn,
        Ok(reading) => problems.is_empty() && reading.span.is_none_or(|span| span.trace_id == meta.trace_id),
    };
    // Its number is known only after reading the lines before it.
    let allowed = "has a last line that is no span of this run";
    let problem = || Problem::new(ProblemCode::MalformedJson, SPANS_FILE, allowed);
    Ok(Vec::from_iter((!is_sound).then(problem)))
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
    fn a_log_whose_last_line_is_no_span_of_the_run_is_damaged() {
        let (one, two) = (line("0000000000000001", "a"), line("0000000000000002", "b"));
        let long = line("0000000000000003", &"x".repeat(3 * 4096));
        let large = line("0000000000000005", &"x".repeat(50_000));
        let huge = line("0000000000000004", &"x".repeat(1024 * 1024));
        let foreign = one.replace(ID, "20000000000000000000000000000002");
        let last = "malformed_json spans.jsonl";
        for (log, of_ended, of_running) in [
            (format!("{one}\n{two}\n"), None, None),
            (format!("{one}\n{two}"), None, None),
            (format!("\n\r\n {one}\n\n{two}\n\n \n"), None, None),
            (format!("{long}\n{long}"), None, None),
            (format!("{huge}\n{huge}"), None, None),
            (String::new(), Some("empty_spans spans.jsonl"), None),
            (" \n\n".to_owned(), Some("empty_spans spans.jsonl"), None),
            ("garbage\n".to_owned(), Some(last), Some(last)),
            ("\0".repeat(5_000), Some(last), None),
            ("\0".repeat(2_000_000), Some(last), None),
            (format!("{one}\n[]\n"), Some(last), Some(last)),
            (format!("{foreign}\n"), Some(last), Some(last)),
            (format!("{one}\ngarbage\n"), Some(last), Some(last)),
            (format!("{one}\n{}", &two[..40]), Some(last), None),
            (one[..40].to_owned(), Some(last), None),
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
