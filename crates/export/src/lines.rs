//! Records and spans as lines of JSON.

use std::io;

use serde::Serialize;
use tracer_runs::RecordStream;

use super::pieces::{ExportChunk, Pieces};
use tracer_insight::json;

/// Some lines of JSON, one for each record or span.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    bytes: Vec<u8>,
    /// End of each line.
    ends: Vec<usize>,
}

impl Lines {
    /// Adds the line of a value.
    pub(crate) fn push(&mut self, value: &impl Serialize) -> io::Result<()> {
        json::append(&mut self.bytes, value)?;
        self.ends.push(self.bytes.len());
        Ok(())
    }

    /// The lines, without their newlines.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let mut start = 0;
        self.ends.iter().map(move |&end| {
            let line = self.bytes.get(start..end).unwrap_or_default();
            start = end;
            line
        })
    }
}

impl ExportChunk for Lines {
    fn bytes(&self) -> usize {
        self.bytes.len()
    }

    fn count(&self) -> usize {
        self.ends.len()
    }
}

/// The lines of all records of a run.
pub(crate) fn of_records(records: &RecordStream) -> io::Result<Pieces<Lines>> {
    let mut records = records.clone();
    Pieces::new(records.record_count(), move |number, lines: &mut Lines| {
        if let Some(record) = records.read_record(number)? {
            lines.push(&record)?;
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;
    use std::fs;

    use serde_json::json;
    use tempfile::TempDir;
    use tracer_runs::{RunReader, Strictness};

    use super::super::ExportError;
    use super::super::pieces::{PASSED_BYTES, TURN_ITEMS};
    use super::*;

    const TRACE: &str = "10000000000000000000000000000001";
    const SPANS: usize = 2 * TURN_ITEMS + 7;

    /// A run whose file is in another order than its records, some of them large, and some surfaced from the root.
    fn directory() -> TempDir {
        let directory = tempfile::tempdir().unwrap();
        let time = |number: usize| format!("2026-01-01T00:{:02}:{:02}Z", number / 60, number % 60);
        let meta = json!({"spec_version": "0.2.0", "trace_id": TRACE, "run_name": "agent", "started_at": time(0),
            "ended_at": null, "duration_ms": null, "status": "running",
            "counts": {"llm_calls": 0, "tool_calls": 0, "errors": 0, "loop_warnings": 0}});
        fs::write(directory.path().join("meta.json"), meta.to_string()).unwrap();
        let mut log = String::new();
        for number in (1..=SPANS).rev() {
            let large = if number % 900 == 0 {
                "x".repeat(PASSED_BYTES)
            } else {
                String::new()
            };
            let parent = (number > 1).then_some("0000000000000001");
            let events = if number == 1 {
                json!([{"name": "state", "timestamp": time(700), "attributes": {}},
                    {"name": "state", "timestamp": time(2_000), "attributes": {}}])
            } else {
                json!([])
            };
            let span = json!({"trace_id": TRACE, "span_id": format!("{number:016x}"), "parent_span_id": parent,
                "name": "search", "kind": "INTERNAL", "start_time": time(number), "end_time": null,
                "duration_ms": null, "attributes": {"tracer.tool_name": "search", "tracer.note": large},
                "events": events, "status_code": "OK", "status_description": ""});
            writeln!(log, "{span}").unwrap();
        }
        fs::write(directory.path().join("spans.jsonl"), log).unwrap();
        directory
    }

    fn streamed(directory: &TempDir) -> RunReader {
        RunReader::open(directory.path(), Strictness::Strict).unwrap()
    }

    #[test]
    fn the_lines_are_those_of_the_records_one_after_the_other() {
        let directory = directory();
        let expected: Vec<Vec<u8>> = streamed(&directory)
            .records
            .map(|record| {
                let mut line = Vec::new();
                json::write(&mut line, &record.unwrap()).unwrap();
                line
            })
            .collect();
        assert!(expected.len() > SPANS + 1);
        let lines: Vec<Vec<u8>> = of_records(&streamed(&directory).records)
            .unwrap()
            .flat_map(|lines| lines.unwrap().iter().map(<[u8]>::to_vec).collect::<Vec<_>>())
            .collect();
        assert!(lines == expected);
    }

    #[test]
    fn a_changed_log_is_reported_once_and_ends_the_output() {
        let directory = directory();
        let run = streamed(&directory);
        fs::write(directory.path().join("spans.jsonl"), "").unwrap();
        let pieces: Vec<_> = of_records(&run.records).unwrap().collect();
        assert!(
            matches!(pieces.as_slice(), [Err(ExportError::Read(reason))] if reason.contains("has changed"))
        );
    }
}
