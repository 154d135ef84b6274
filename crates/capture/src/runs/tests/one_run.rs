//! One run for a command and everything that it sends.

use tracer_sdk::format::{EventType, RecordedStatus};

use super::*;

fn bench() -> (Bench, RunIdentity) {
    let mut identity = RunIdentity::new("python agent.py", Timestamp::from_unix_nanoseconds(START));
    identity.arguments = ["python", "agent.py", "--api-key", "k-1234"]
        .map(str::to_owned)
        .to_vec();
    let given = identity.clone();
    let bench = Bench::with(|options| {
        options.into = TraceRuns::OneRun(given);
        options.resume_unfinished = false;
    });
    (bench, identity)
}

fn run(bench: &Bench, identity: &RunIdentity) -> LoadedRun {
    LoadedRun::read(&bench.directory().join("runs").join(identity.trace_id.to_string())).unwrap()
}

fn ending() -> RunEnding {
    RunEnding::new(Timestamp::from_unix_nanoseconds(START + 500 * MS))
}

#[test]
fn a_command_is_one_run_of_all_its_traces() {
    let (bench, identity) = bench();
    assert_eq!(bench.statuses(), [RunStatus::Running], "before anything arrives");
    bench.send(vec![agent(1, 1, 0), chat(1, 2, 1), chat(2, 3, 0)]);
    let mut child = chat(3, 4, 0);
    child.trace_id = u128::from_str_radix(&identity.trace_id.to_string(), 16)
        .unwrap()
        .to_be_bytes()
        .to_vec();
    child.parent_span_id = u64::from_str_radix(&identity.root_span_id.to_string(), 16)
        .unwrap()
        .to_be_bytes()
        .to_vec();
    bench.send(vec![child, tool(1, 5, 999)]);
    bench.pass(100);
    assert_eq!(bench.statuses(), [RunStatus::Running], "the command goes on");
    bench.collector.end_run(&ending()).unwrap();
    let run = run(&bench, &identity);
    assert_eq!(
        (run.meta.status, run.meta.duration_ms),
        (RecordedStatus::Ok, Some(500))
    );
    assert_eq!((run.meta.counts.llm_calls, run.meta.counts.tool_calls), (3, 1));
    let root = run.spans.iter().find(|span| span.is_root()).unwrap();
    assert_eq!(root.span_id, identity.root_span_id);
    let argv = root.attributes["tracer.argv"].as_str().unwrap();
    assert!(argv.contains("agent.py") && !argv.contains("k-1234"), "{argv}");
    let foreign = named(&run, "invoke_agent weather");
    assert_eq!(foreign.parent_span_id, Some(root.span_id));
    assert_eq!(
        foreign.attributes["tracer.source_trace_id"],
        format!("{:032x}", 1)
    );
    assert_eq!(
        named(&run, "execute_tool lookup").parent_span_id,
        Some(root.span_id)
    );
    assert_eq!(bench.collector.close().completed_runs, 1);
}

#[test]
fn a_program_that_records_itself_joins_the_run() {
    let (bench, identity) = bench();
    // As the SDK does in a process that the command starts.
    let directory = bench.directory().join("runs").join(identity.trace_id.to_string());
    let line = format!(
        r#"{{"trace_id":"{}","span_id":"00000000000000aa","parent_span_id":"{}","name":"search","kind":"INTERNAL","start_time":"2026-01-01T00:00:00.000000Z","end_time":"2026-01-01T00:00:00.001000Z","duration_ms":1,"attributes":{{"tracer.tool_name":"search"}},"events":[],"status_code":"OK","status_description":""}}"#,
        identity.trace_id, identity.root_span_id
    );
    std::fs::write(directory.join("spans.jsonl"), line + "\n").unwrap();
    bench.send(vec![chat(1, 2, 0)]);
    bench.collector.end_run(&ending()).unwrap();
    let run = run(&bench, &identity);
    assert_eq!((run.meta.counts.llm_calls, run.meta.counts.tool_calls), (1, 1));
}

#[test]
fn a_command_that_fails_is_a_failed_run() {
    let (bench, identity) = bench();
    let ending = ending().failed("ExitCode", "the command exited with 3");
    bench.collector.end_run(&ending).unwrap();
    let run = run(&bench, &identity);
    assert_eq!(run.meta.status, RecordedStatus::Error);
    assert_eq!(run.meta.counts.errors, 1);
    let error = run
        .records()
        .into_iter()
        .find(|record| record.event_type() == EventType::Error)
        .unwrap();
    assert!(
        serde_json::to_string(&error.payload)
            .unwrap()
            .contains("exited with 3")
    );
}

#[test]
fn a_run_whose_recorder_is_closed_early_is_interrupted() {
    let (bench, identity) = bench();
    bench.send(vec![chat(1, 2, 0)]);
    bench.collector.close();
    assert_eq!(run(&bench, &identity).meta.status, RecordedStatus::Error);
}

#[test]
fn what_comes_after_the_command_is_late() {
    let (bench, identity) = bench();
    bench.collector.end_run(&ending()).unwrap();
    bench.send(vec![chat(1, 2, 0), tool(1, 3, 44)]);
    let run = run(&bench, &identity);
    assert_eq!((run.meta.late_spans(), run.meta.counts.llm_calls), (2, 1));
}
