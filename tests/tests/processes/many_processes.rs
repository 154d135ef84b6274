//! Programs that write into one data directory at once (issue: *It must show*, 6).

use std::collections::HashSet;

use serde_json::json;
use tracer_sdk::format::{EventType, RecordedStatus};
use tracer_tests::finished::payload;
use tracer_tests::{DataDir, Program};

use super::TRACED;

#[test]
fn eight_processes_write_fifty_runs_each_and_every_line_is_there() {
    let data = DataDir::new();
    let programs: Vec<_> = (0..8)
        .map(|_| Program::new(TRACED, &data).args(["runs", "50"]).start())
        .collect();
    for program in programs {
        let output = program.wait_with_output().unwrap();
        assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    }
    let runs = data.finished_runs();
    assert_eq!(runs.len(), 400);
    let mut names: Vec<String> = Vec::new();
    let mut spans = HashSet::new();
    for run in &runs {
        assert_eq!(run.status(), RecordedStatus::Ok);
        let name = run.run.meta.run_name.clone().unwrap();
        let number: u64 = name.strip_prefix("run ").unwrap().parse().unwrap();
        let calls: Vec<_> = run
            .all(EventType::ToolCall)
            .into_iter()
            .map(|call| payload(call)["args"].clone())
            .collect();
        let expected: Vec<_> = (0..10).map(|call| json!({"run": number, "call": call})).collect();
        assert_eq!(calls, expected);
        spans.extend(run.run.spans.iter().map(|span| span.span_id));
        names.push(name);
    }
    names.sort();
    let mut expected: Vec<String> = (0..50)
        .flat_map(|number| vec![format!("run {number}"); 8])
        .collect();
    expected.sort();
    assert_eq!(names, expected);
    // Ten calls, the loop that they are, and the root.
    assert_eq!(spans.len(), 400 * 12, "no ID is used twice, in whatever process");
}
