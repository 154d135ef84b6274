//! Gates made by hand, for the tests of what is rendered.

#![allow(
    clippy::unwrap_used,
    clippy::assigning_clones,
    clippy::missing_panics_doc,
    reason = "for tests, which fail by panicking"
)]

use crate::policy::{Overrides, Policy};
use crate::{
    Baseline, FailureReason, Gate, GateDetails, InputFile, ProcessExit, Report, Trial, TrialFailure,
};
use serde_json::{Map, json};
use tracer_insight::profile::RunProfile;
use tracer_sdk::format::{
    Counts, EventType, Payload, Record, RecordedStatus, RunMeta, Timestamp, TraceId, Usage,
};

use tracer_insight::sample_run::{Sample, llm, loop_warning, state, tool};

/// Policy of the tests.
pub const POLICY: &str = "
version: 2
trials: 3
fail_fast: false
metrics:
  stop_condition_reached: {kind: invariant}
  no_loops: {kind: invariant}
  required_tools: {kind: invariant, all_of: [send_reply]}
  step_count: {kind: measured, direction: upper, tolerance: {relative: 0.5}, limit: 60}
  cost_tokens: {kind: measured, direction: upper, tolerance: {relative: 0.25}, limit: 20000}
  latency_ms: {kind: measured, direction: upper, limit: 60000}
  task_pass_rate: {kind: statistical, direction: lower, threshold: 0.9}
";

/// The agent as it should be.
pub fn good() -> Sample {
    Sample::new()
        .step(state(&json!({"phase": "triage"})))
        .step(tool(
            "lookup_customer",
            &json!({"customer_id": "cust_1042"}),
            &json!({}),
        ))
        .step(search())
        .step(llm("Draft a reply", "Dear Ada", Usage::new(412, 35)))
        .step(tool("send_reply", &json!({"text": "Dear Ada"}), &json!({})))
}

/// The agent after a change for the worse.
pub fn worse() -> Sample {
    let mut sample = Sample::new().step(state(&json!({"phase": "triage"}))).step(tool(
        "lookup_customer",
        &json!({"customer_id": "cust_7"}),
        &json!({}),
    ));
    for _ in 0..5 {
        sample = sample.step(search());
    }
    sample
        .step(loop_warning(&[3, 4, 5]))
        .step(llm("Draft a reply", "I could not verify", Usage::new(2_400, 90)))
        .step(tool("escalate_to_human", &json!({"ticket": 1}), &json!({})))
}

fn search() -> Payload {
    tool("search_kb", &json!({"query": "refund"}), &json!({"hits": 2}))
}

/// The profile of a run of this number.
pub fn metrics(number: u128, sample: &Sample) -> RunProfile {
    let took = 1_200 + u64::try_from(number).unwrap();
    let duration_ms = Some(took);
    let mut records = sample.records();
    let counted = |event_type| {
        records
            .iter()
            .filter(|record| record.event_type() == event_type)
            .count() as u64
    };
    let counts = Counts {
        llm_calls: counted(EventType::LlmCall),
        tool_calls: counted(EventType::ToolCall),
        errors: counted(EventType::Error),
        loop_warnings: counted(EventType::LoopWarning),
    };
    let start: Timestamp = records[0].ts.parse().unwrap();
    let took = i64::try_from(took).unwrap();
    records.push(Record {
        event_id: "end".to_owned(),
        parent_id: None,
        ts: Timestamp::from_unix_microseconds(start.unix_microseconds() + took * 1_000).to_string(),
        duration_ms,
        payload: Payload::RunEnd {
            status: RecordedStatus::Ok,
        },
        ..records[0].clone()
    });
    let meta = RunMeta {
        spec_version: Some("0.2.0".to_owned()),
        trace_id: TraceId::from_u128((0xbc51_9fd0 + number) << 96 | number).unwrap(),
        run_name: Some("support-agent".to_owned()),
        started_at: "2026-11-21T01:14:27Z".parse().unwrap(),
        ended_at: Some("2026-11-21T01:14:29Z".parse().unwrap()),
        duration_ms,
        status: RecordedStatus::Ok,
        counts,
        additional: Map::new(),
    };
    let metrics = RunProfile::new(&meta, records);
    assert_eq!(metrics.latency_ms, duration_ms);
    metrics
}

/// A trial that went through.
pub fn trial(number: u32, sample: &Sample) -> Trial {
    let mut trial = Trial::of_run(number, metrics(number.into(), sample));
    trial.exit = Some(ProcessExit::Code(0));
    trial.wall_time_ms = Some(1_300);
    trial
}

/// A trial that left nothing but its last words.
pub fn crashed(number: u32) -> Trial {
    let mut trial = Trial::failed(number, TrialFailure::new(FailureReason::NoTrace));
    trial.exit = Some(ProcessExit::Code(101));
    trial.wall_time_ms = Some(40);
    trial.stderr_tail = "   Compiling agent v0.1.0\nthread 'main' panicked at src/main.rs:7:5:\n\
        ::error::the refund API said `503`\u{1b}[0m\n"
        .to_owned();
    trial
}

/// A baseline of three runs.
pub fn usual() -> Baseline {
    let runs = [1, 2, 3].map(|number| metrics(number, &good()));
    Baseline::of_runs(&[&runs[0], &runs[1], &runs[2]], "2026-11-20T10:00:00.000Z").unwrap()
}

/// The report on these trials.
pub fn report(policy: &str, baseline: Option<&Baseline>, trials: &[Trial]) -> Report {
    let policy = Policy::parse(policy, &Overrides::default()).unwrap();
    let gate = Gate::new(&policy, baseline).unwrap();
    let file = |path: &str| InputFile {
        path: path.to_owned(),
        sha256: "5e1f".repeat(16),
    };
    let details = GateDetails {
        id: Some("gate-1".to_owned()),
        tracer_version: "0.1.0".to_owned(),
        command: vec![
            "target/release/agent".to_owned(),
            "--ask".to_owned(),
            "where is it?".to_owned(),
        ],
        commit: Some("0123456789abcdef0123456789abcdef01234567".to_owned()),
        policy: Some(file(".tracer/policy.yaml")),
        baseline: baseline.map(|_| file("/tmp/rules/.tracer/baselines/agent.json")),
        ..GateDetails::default()
    };
    Report::new(gate.judge(trials), trials, baseline, Map::new(), details)
}

/// A gate that fails for every reason that a trace can give.
pub fn failed() -> Report {
    let trials = [trial(1, &good()), trial(2, &worse()), trial(3, &worse())];
    report(POLICY, Some(&usual()), &trials)
}
