//! What a gate reads and writes keeps to the JSON Schemas in `docs/schemas`, and what is wrong does not.

use serde_json::{Map, Value, json};
use tracer_gate::policy::{Overrides, Policy};
use tracer_gate::{
    Baseline, FailureReason, Gate, GateDetails, InputFile, ProcessExit, Report, Trial, TrialFailure,
};
use tracer_insight::digest::sha256_hex;
use tracer_insight::profile::RunProfile;
use tracer_insight::testing::measured;
use tracer_sdk::testing::capture;
use tracer_sdk::{Usage, llm_call, tool_call};
use tracer_tests::Schema;

const NOW: &str = "2026-01-01T00:00:00.000Z";

/// A run that searches this often.
fn run(searches: u32) -> RunProfile {
    let captured = capture(|| {
        for page in 0..searches {
            tool_call("search").args(&json!({"page": page})).record()?;
        }
        llm_call("gpt-5")
            .prompt("Where is my order?")
            .usage(Usage::new(40, 6))
            .record()
    });
    RunProfile::new(&captured.meta, captured.records)
}

/// A run that loops and fails.
fn broken_run() -> RunProfile {
    let captured = capture(|| {
        for _ in 0..4 {
            tool_call("search").args(&"the same").record()?;
        }
        llm_call("gpt-5-mini").fail("no answer").record()
    });
    RunProfile::new(&captured.meta, captured.records)
}

fn judged(policy: &str, baseline: Option<&Baseline>, trials: &[Trial]) -> Value {
    let policy = Policy::parse(policy, &Overrides::default()).unwrap();
    let judgement = Gate::new(&policy, baseline).unwrap().judge(trials);
    let gate = GateDetails {
        id: Some("gate".to_owned()),
        command: vec!["agent".to_owned()],
        policy: Some(InputFile {
            path: "policy.yaml".to_owned(),
            sha256: sha256_hex(b""),
        }),
        ..GateDetails::default()
    };
    serde_json::to_value(Report::new(judgement, trials, baseline, Map::new(), gate)).unwrap()
}

const POLICY: &str = "version: 2
trials: 3
metrics:
  no_loops: {kind: invariant}
  required_tools: {kind: invariant, all_of: [search]}
  step_count: {kind: measured, direction: upper, tolerance: {relative: 0.5}}
  cost_tokens: {kind: measured, direction: both, limit: {lower: 1, upper: 100}}
  latency_ms: {kind: distributional, direction: upper, mode: report_only}
  task_pass_rate: {kind: statistical, direction: both, threshold: {lower: 0.1, upper: 1}}
";

fn trials() -> Vec<Trial> {
    let mut failed = Trial::failed(3, TrialFailure::new(FailureReason::Timeout).with("after 600 s"));
    failed.exit = Some(ProcessExit::Signal(9));
    failed.wall_time_ms = Some(600_000);
    "still waiting".clone_into(&mut failed.stderr_tail);
    let mut sound = Trial::of_run(1, run(2));
    sound.exit = Some(ProcessExit::Code(0));
    vec![sound, Trial::of_run(2, broken_run()), failed]
}

#[test]
fn a_report_keeps_to_its_schema_whatever_the_trials_did() {
    let schema = Schema::of("report");
    let usual = run(2);
    let baseline = Baseline::of_runs(&[&usual, &run(3)], NOW).unwrap();
    let report = judged(POLICY, Some(&baseline), &trials());
    schema.takes(&report);
    assert_eq!(report["verdict"], "fail");
    schema.takes(&judged(
        &POLICY.replace("trials: 3", "trials: 1"),
        Some(&baseline),
        &[Trial::of_run(1, usual)],
    ));
    schema.takes(&judged(
        "version: 2\ntrials: 1\nmetrics:\n  no_loops: {kind: invariant}\n",
        None,
        &[Trial::failed(1, TrialFailure::new(FailureReason::NoTrace))],
    ));

    let wrong = [
        ("/report_version", Some(json!("2.0.1"))),
        ("/verdict", Some(json!("PASS"))),
        ("/trials_planned", None),
        ("/trials/0/metrics/cost_tokens", Some(json!(true))),
        ("/trials/0/stderr_tail", None),
        ("/trials/2/failure/reason", Some(json!("bad luck"))),
        ("/checks/1/kind", Some(json!("invariants"))),
        ("/checks/1/evidence", None),
        ("/gate/policy/sha256", Some(json!("none"))),
    ];
    for (place, value) in wrong {
        schema.refuses(&report, place, value);
    }
}

/// What only the reader of a policy can tell, by the name of the vector, or what YAML says that JSON cannot.
const ONLY_THE_READER: [(&str, &str); 10] = [
    (
        "flow mapping root is refused",
        "the version must be on a line of its own",
    ),
    (
        "quoted version key is refused",
        "the version must be on a line of its own",
    ),
    (
        "yaml 1.1 yes bool",
        "`no` is a boolean in YAML 1.1 and a text elsewhere",
    ),
    ("infinite limit", "JSON has no infinity"),
    ("measured nothing", "one of two keys is needed"),
    ("measured empty tolerance", "one of two keys is needed"),
    ("both limit one side", "the direction says which form a limit has"),
    ("upper limit object", "the direction says which form a limit has"),
    (
        "aggregate p90 lower",
        "the direction says which aggregates there are",
    ),
    ("distributional both", "the kind says which directions there are"),
];

#[test]
fn the_schema_of_policies_takes_what_the_reader_takes() {
    let schema = Schema::of("policy");
    let mut compared = (0, 0);
    for vector in measured("policy") {
        let (name, text) = (vector.name.as_str(), vector.input["yaml"].as_str().unwrap());
        if ONLY_THE_READER.iter().any(|(excepted, _)| *excepted == name) {
            continue;
        }
        // A key that is duplicated, and numbers that JSON does not have, are no document.
        let document: Option<Value> = serde_saphyr::from_str(text).ok();
        let is_kept = document.is_some_and(|document| schema.is_kept(&document));
        let read = Policy::parse(text, &Overrides::default());
        assert_eq!(is_kept, read.is_ok(), "{name}: {:?}", read.err());
        if is_kept {
            compared.0 += 1;
        } else {
            compared.1 += 1;
        }
    }
    assert!(compared.0 > 5 && compared.1 > 25, "{compared:?}");
}

#[test]
fn the_schema_of_policies_knows_every_key() {
    let schema = Schema::of("policy");
    let policy = json!({
        "version": 2,
        "inconclusive": "fail", "decision": "exact", "jobs": 4, "timeout_s": 1.5,
        "replay_miss": "fail", "cassette_max_age": "90d",
        "judged_by_rate": ["no_loops"],
        "metrics": {
            "no_loops": {"kind": "invariant"},
            "task_pass_rate": {"kind": "statistical", "direction": "lower", "threshold": 0.5},
            "llm_call_count": {"kind": "measured", "direction": "upper", "limit": 9},
            "tool_calls.search": {"kind": "measured", "direction": "upper", "limit": 3, "aggregate": "max"},
            "no_new_tools": {"allow": ["mcp__*"]},
        },
    });
    schema.takes(&policy);
    assert!(Policy::parse(&format!("version: 2\n{}", yaml(&policy)), &Overrides::default()).is_ok());
    for (place, value) in [
        ("/jobs", Some(json!(0))),
        ("/decision", Some(json!("guess"))),
        ("/timeout_s", Some(json!(0))),
        (
            "/metrics/tool_calls.",
            Some(json!({"kind": "measured", "direction": "upper", "limit": 9})),
        ),
        ("/metrics/steps", Some(json!({"kind": "invariant"}))),
        (
            "/metrics/step_count",
            Some(json!({"direction": "upper", "limit": 9})),
        ),
        ("/retries", Some(json!(1))),
        ("/x_tracer", Some(json!({}))),
        ("/metrics/no_loops/none_of", Some(json!(["a"]))),
        ("/metrics/task_pass_rate/threshold", None),
    ] {
        schema.refuses(&policy, place, value);
    }
}

/// Everything but the version, as YAML: JSON is a part of it.
fn yaml(policy: &Value) -> String {
    let object = policy
        .as_object()
        .unwrap()
        .iter()
        .filter(|(key, _)| *key != "version");
    let lines: Vec<String> = object.map(|(key, value)| format!("{key}: {value}")).collect();
    lines.join("\n")
}
