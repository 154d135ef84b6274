//! The first and the last records of a run, of a log of any size.

use std::fs;
use std::path::Path;

use tracer_sdk::format::{Record, SPANS_FILE};
use tracer_sdk::read::{LogPart, read_log_part, spans_to_events};

/// So much is read of each end.
const MOST_BYTES: u64 = 1024 * 1024;

/// The ends of a log.
pub struct LogEnds {
    /// Its first part.
    pub first: LogPart,
    /// The records of the first part.
    pub records: Vec<Record>,
    /// The records of the last part, when the first is not all of it.
    pub last: Option<Vec<Record>>,
}

/// Reads the ends of the log in a run directory; `None` when it cannot be read.
pub fn read(directory: &Path) -> Option<LogEnds> {
    let first = read_log_part(directory, 0, MOST_BYTES).ok()?;
    let last = if first.is_to_end {
        None
    } else {
        let length = fs::symlink_metadata(directory.join(SPANS_FILE)).ok()?.len();
        let from = length.saturating_sub(MOST_BYTES).max(first.next_offset);
        let part = read_log_part(directory, from, MOST_BYTES).ok()?;
        Some(spans_to_events(&part.spans))
    };
    Some(LogEnds {
        records: spans_to_events(&first.spans),
        first,
        last,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tracer_sdk::format::Payload;

    use super::*;

    fn log(tools: usize) -> String {
        let id = |number: usize| format!("{number:016x}");
        let span = |number: usize, parent: Option<usize>, events: serde_json::Value| {
            json!({
                "trace_id": "10000000000000000000000000000001", "span_id": id(number), "parent_span_id": parent.map(id),
                "name": "search", "kind": "INTERNAL", "start_time": "2026-01-01T00:00:01Z", "end_time": "2026-01-01T00:00:02Z",
                "duration_ms": 1000, "attributes": if parent.is_some() { json!({"tracer.tool_name": "search"}) } else { json!({}) },
                "events": events, "status_code": "ERROR", "status_description": "",
            })
            .to_string() + "\n"
        };
        let failure = json!([{"name": "exception", "timestamp": "2026-01-01T00:00:02Z", "attributes": {
            "tracer.error_type": "AgentError", "tracer.error_message": "gave up"}}]);
        let tools: String = (2..tools + 2)
            .map(|number| span(number, Some(1), json!([])))
            .collect();
        tools + &span(1, None, failure)
    }

    #[test]
    fn the_end_of_a_long_log_is_read_wherever_it_begins() {
        let directory = tempfile::tempdir().unwrap();
        for tools in [1, 10_000] {
            std::fs::write(directory.path().join(SPANS_FILE), log(tools)).unwrap();
            let ends = read(directory.path()).unwrap();
            assert_eq!(ends.first.is_to_end, tools == 1);
            assert_eq!(ends.last.is_none(), tools == 1);
            let last = ends.last.as_ref().unwrap_or(&ends.records);
            assert!(last.len() < 10_000);
            let is_error = |record: &Record| matches!(&record.payload, Payload::Error(error) if error.message == "gave up");
            assert!(last.iter().any(is_error));
        }
    }
}
