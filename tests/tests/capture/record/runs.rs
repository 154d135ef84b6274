//! What arrives becomes the run of the command.

use tracer_sdk::format::EventType;

use super::Recorder;

#[test]
fn spans_of_any_trace_are_under_the_root() {
    let recorder = Recorder::new();
    let outcome = recorder.export(&["call", "call-in-another-trace"]);
    outcome.says("2 model calls, 2 tool calls, 30 tokens");
    let run = recorder.run();
    let root = run.span(run.only(EventType::RunStart));
    let agents: Vec<_> = run
        .run
        .spans
        .iter()
        .filter(|span| span.parent_span_id == Some(root.span_id))
        .collect();
    assert_eq!(agents.len(), 2);
    let mut sources: Vec<&str> = agents
        .iter()
        .map(|span| span.attributes["tracer.source_trace_id"].as_str().unwrap())
        .collect();
    sources.sort_unstable();
    assert_eq!(
        sources,
        [
            "5b8efff798038103d269b633813fc60c",
            "6c9fff798038103d269b633813fc60ca"
        ]
    );
}

#[test]
fn spans_of_the_handed_context_need_no_mark() {
    let recorder = Recorder::new();
    recorder.export(&["call-in-context"]).says("1 model call,");
    let run = recorder.run();
    let root = run.span(run.only(EventType::RunStart));
    let agent = run.span_named("invoke_agent weather");
    assert_eq!(agent.parent_span_id, Some(root.span_id));
    assert!(!agent.attributes.contains_key("tracer.source_trace_id"));
}

#[test]
fn an_annotated_program_joins_the_run() {
    let recorder = Recorder::new();
    recorder
        .export(&["sdk-call"])
        .says("0 model calls seen, 1 tool call");
    let run = recorder.run();
    let root = run.span(run.only(EventType::RunStart));
    assert_eq!(run.span_named("annotated").parent_span_id, Some(root.span_id));
    assert_eq!(
        run.span_named("search").parent_span_id,
        Some(run.span_named("annotated").span_id)
    );
}

#[test]
fn both_kinds_of_records_share_the_run() {
    let recorder = Recorder::new();
    recorder
        .export(&["sdk-call", "call", "sdk-call"])
        .says("1 model call, 3 tool calls");
    let run = recorder.run();
    assert_eq!(run.run.meta.counts.tool_calls, 3);
    assert!(
        run.run.meta.has_exact_counts(),
        "the command counted what the program wrote"
    );
}

#[test]
fn a_repeated_request_changes_nothing() {
    let recorder = Recorder::new();
    // The same span IDs with other times: the first ones stay.
    recorder
        .export(&["call", "call"])
        .says("1 model call, 1 tool call");
    assert_eq!(recorder.run().run.spans.len(), 4);
}

#[test]
fn a_silent_command_gets_its_reasons() {
    let recorder = Recorder::new();
    recorder.write("python3", "#!/bin/sh\nexit 3\n");
    let path = recorder.path("python3");
    std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    recorder
        .record(&["./python3", "agent.py"])
        .says("0 model calls seen")
        .says("the command ended with exit code 3 after")
        .says("agent.py exported nothing: pip install opentelemetry-distro")
        .says("LlamaIndex            pip install openinference-instrumentation-llama-index");
    recorder.write(".env", "OTEL_EXPORTER_OTLP_ENDPOINT=https://elsewhere\n");
    recorder
        .record(&["./python3", "agent.py"])
        .says("the file .env sets OTEL_EXPORTER_OTLP_ENDPOINT");
}

#[test]
fn what_arrived_without_a_model_call_is_counted() {
    Recorder::new()
        .export(&["plain-span"])
        .says("1 span and 0 log records arrived, none of a model call");
    Recorder::new()
        .export(&["connect"])
        .says("an exporter connected (1 connection)");
    Recorder::new()
        .export(&["nonsense"])
        .says("1 span or log record could not be read");
}

#[test]
fn metrics_are_taken_and_dropped() {
    let outcome = Recorder::new().export(&["metrics"]);
    assert_eq!(outcome.stdout, "200\n");
}
