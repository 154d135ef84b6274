//! Runs of another emitter of the format, in `../shared/fixtures` beside the repository: all of `current` are read and
//! projected as pinned here by hand from the specification, all of `malformed` are refused.
//!
//! Needs the feature `shared-data`, and fails where the data is missing.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tracer_runs::{LoadedRun, RunReader, Strictness, count_records};
use tracer_sdk::format::RecordedStatus;

fn fixtures(folder: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../shared/fixtures")
        .join(folder)
}

/// The names of the runs in a folder.
fn names(folder: &str) -> BTreeSet<String> {
    let folder = fixtures(folder);
    fs::read_dir(&folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect()
}

fn load(name: &str) -> LoadedRun {
    LoadedRun::read(&fixtures("current").join(name)).unwrap_or_else(|invalid| panic!("{name}: {invalid}"))
}

/// What is pinned of a record: type, event ID, parent, time within the run's minute, duration, name, payload.
fn pinned(run: &LoadedRun) -> Vec<Value> {
    run.records()
        .iter()
        .map(|record| {
            assert_eq!(record.run_id, run.meta.trace_id);
            assert!(record.meta.is_empty());
            let time = record.ts.split_once('T').unwrap().1;
            json!([
                record.event_type(),
                record.event_id,
                record.parent_id,
                time,
                record.duration_ms,
                record.name,
                record.payload,
            ])
        })
        .collect()
}

/// The payload of `RUN_START` of a run that stored only its name.
fn started(run_name: &str) -> Value {
    json!({"run_name": run_name, "python_version": null, "platform": null, "cwd": null, "argv": []})
}

fn tool(name: &str, args: &Value, result: &Value) -> Value {
    json!({"tool_name": name, "args": args, "result": result, "status": "ok", "error": null})
}

/// The payload of an `LLM_CALL` of a span that names its model only by its own name.
fn model(name: &str, prompt: &Value, response: &Value, tokens: [Option<u64>; 3]) -> Value {
    let [prompt_tokens, completion_tokens, total_tokens] = tokens;
    json!({
        "model": name, "prompt": prompt, "response": response, "provider": "openai", "temperature": null,
        "usage": {"prompt_tokens": prompt_tokens, "completion_tokens": completion_tokens, "total_tokens": total_tokens},
        "stop_reason": null, "status": "ok", "error": null,
    })
}

#[test]
fn every_current_run_is_known_here() {
    let known = [
        "guardrail",
        "latency-cost-envelope",
        "loop",
        "missing-terminal-state",
        "normal",
        "tool-call-spike",
    ];
    assert_eq!(names("current"), known.map(str::to_owned).into());
    for name in known {
        let run = load(name);
        let records = run.records();
        assert_eq!(
            count_records(&records),
            run.meta.counts,
            "{name}: meta.json counts the records"
        );
        assert_eq!(run.counts(), run.meta.counts);
        assert_eq!(run.cut_tail, None);
        let lenient = RunReader::open(&run.directory, Strictness::Lenient).unwrap();
        assert_eq!(
            (lenient.problems, lenient.span_count),
            (vec![], run.spans.len()),
            "{name}"
        );
    }
}

#[test]
fn normal() {
    let root = "1111111111111111";
    let mut call = model(
        "gpt-4o-mini",
        &json!("find context"),
        &json!("use search"),
        [Some(10), Some(15), Some(25)],
    );
    call["temperature"] = json!(0);
    assert_eq!(
        pinned(&load("normal")),
        [
            json!(["RUN_START", root, null, "00:00:00.000000Z", 150, "golden-normal",
                   {"run_name": "golden-normal", "python_version": "3.13.0", "platform": "linux",
                    "cwd": "/workspace/maida", "argv": ["agent.py"]}]),
            json!([
                "LLM_CALL",
                "2222222222222222",
                root,
                "00:00:00.010000Z",
                80,
                "gpt-4o-mini",
                call
            ]),
            json!([
                "TOOL_CALL",
                "3333333333333333",
                root,
                "00:00:00.100000Z",
                30,
                "search",
                tool("search", &json!({"query": "maida"}), &json!({"results": 1}))
            ]),
            json!(["RUN_END", "1111111111111111.end", null, "00:00:00.150000Z", 150, "golden-normal", {"status": "ok"}]),
        ],
    );
}

#[test]
fn tool_call_spike() {
    let root = "1111111111111121";
    let call = model(
        "gpt-4o-mini",
        &json!("same plan"),
        &json!("call many tools"),
        [Some(10), Some(15), Some(25)],
    );
    assert_eq!(
        pinned(&load("tool-call-spike")),
        [
            json!([
                "RUN_START",
                root,
                null,
                "00:01:00.000000Z",
                400,
                "golden-tool-call-spike",
                started("golden-tool-call-spike")
            ]),
            json!([
                "LLM_CALL",
                "2222222222222221",
                root,
                "00:01:00.010000Z",
                80,
                "gpt-4o-mini",
                call
            ]),
            json!([
                "TOOL_CALL",
                "3333333333333331",
                root,
                "00:01:00.100000Z",
                30,
                "search",
                tool("search", &json!({"query": "maida"}), &json!({"results": 1}))
            ]),
            json!([
                "TOOL_CALL",
                "4444444444444441",
                root,
                "00:01:00.140000Z",
                30,
                "fetch_profile",
                tool("fetch_profile", &json!({"user": "ada"}), &json!({"tier": "pro"}))
            ]),
            json!([
                "TOOL_CALL",
                "5555555555555551",
                root,
                "00:01:00.180000Z",
                40,
                "calculator",
                tool("calculator", &json!({"expr": "2+2"}), &json!({"value": 4}))
            ]),
            json!([
                "TOOL_CALL",
                "6666666666666661",
                root,
                "00:01:00.230000Z",
                50,
                "summarize",
                tool("summarize", &json!({"style": "short"}), &json!("done"))
            ]),
            json!(["RUN_END", "1111111111111121.end", null, "00:01:00.400000Z", 400, "golden-tool-call-spike",
                   {"status": "ok"}]),
        ],
    );
}

#[test]
fn latency_cost_envelope() {
    let root = "1111111111111161";
    let call = model(
        "gpt-4o-mini",
        &json!("expanded prompt"),
        &json!("long answer"),
        [Some(120), Some(180), Some(300)],
    );
    assert_eq!(
        pinned(&load("latency-cost-envelope")),
        [
            json!([
                "RUN_START",
                root,
                null,
                "00:05:00.000000Z",
                2000,
                "golden-latency-cost-envelope",
                started("golden-latency-cost-envelope")
            ]),
            json!([
                "LLM_CALL",
                "2222222222222261",
                root,
                "00:05:00.100000Z",
                1600,
                "gpt-4o-mini",
                call
            ]),
            json!([
                "TOOL_CALL",
                "3333333333333371",
                root,
                "00:05:01.750000Z",
                150,
                "search",
                tool("search", &json!({"query": "maida"}), &json!({"results": 1}))
            ]),
            json!(["RUN_END", "1111111111111161.end", null, "00:05:02.000000Z", 2000, "golden-latency-cost-envelope",
                   {"status": "ok"}]),
        ],
    );
}

#[test]
fn a_loop_recorded_by_the_root() {
    let root = "1111111111111131";
    let call = || model("gpt-loop", &Value::Null, &Value::Null, [None, None, Some(5)]);
    let lookup = || tool("lookup", &Value::Null, &Value::Null);
    let warning = json!({
        "pattern": "LLM_CALL:gpt-loop -> TOOL_CALL:lookup", "repetitions": 3, "window_size": 6,
        "evidence_event_ids": ["2222222222222231", "3333333333333341", "2222222222222232", "3333333333333342",
                               "2222222222222233", "3333333333333343"],
    });
    assert_eq!(
        pinned(&load("loop")),
        [
            json!([
                "RUN_START",
                root,
                null,
                "00:02:00.000000Z",
                350,
                "golden-loop",
                started("golden-loop")
            ]),
            json!([
                "LLM_CALL",
                "2222222222222231",
                root,
                "00:02:00.010000Z",
                20,
                "gpt-loop",
                call()
            ]),
            json!([
                "TOOL_CALL",
                "3333333333333341",
                root,
                "00:02:00.040000Z",
                20,
                "lookup",
                lookup()
            ]),
            json!([
                "LLM_CALL",
                "2222222222222232",
                root,
                "00:02:00.070000Z",
                20,
                "gpt-loop",
                call()
            ]),
            json!([
                "TOOL_CALL",
                "3333333333333342",
                root,
                "00:02:00.100000Z",
                20,
                "lookup",
                lookup()
            ]),
            json!([
                "LLM_CALL",
                "2222222222222233",
                root,
                "00:02:00.130000Z",
                20,
                "gpt-loop",
                call()
            ]),
            json!([
                "TOOL_CALL",
                "3333333333333343",
                root,
                "00:02:00.160000Z",
                20,
                "lookup",
                lookup()
            ]),
            json!([
                "LOOP_WARNING",
                "1111111111111131.0",
                root,
                "00:02:00.310000Z",
                null,
                "golden-loop",
                warning
            ]),
            json!(["RUN_END", "1111111111111131.end", null, "00:02:00.350000Z", 350, "golden-loop", {"status": "ok"}]),
        ],
    );
}

#[test]
fn a_guardrail_recorded_by_the_root() {
    let root = "1111111111111151";
    let blocked = json!({
        "tool_name": "risky_tool", "args": {"unsafe": true}, "result": null, "status": "error",
        "error": {"error_type": "GuardrailExceeded", "message": "blocked", "stack": null},
    });
    let stopped = json!({"error_type": "GuardrailExceeded", "message": "guardrail blocked unsafe tool result", "stack": null});
    assert_eq!(
        pinned(&load("guardrail")),
        [
            json!([
                "RUN_START",
                root,
                null,
                "00:04:00.000000Z",
                180,
                "golden-guardrail",
                started("golden-guardrail")
            ]),
            json!([
                "TOOL_CALL",
                "3333333333333361",
                root,
                "00:04:00.040000Z",
                80,
                "risky_tool",
                blocked
            ]),
            json!([
                "ERROR",
                "1111111111111151.0",
                root,
                "00:04:00.170000Z",
                null,
                "golden-guardrail",
                stopped
            ]),
            json!(["RUN_END", "1111111111111151.end", null, "00:04:00.180000Z", 180, "golden-guardrail",
                   {"status": "error"}]),
        ],
    );
}

#[test]
fn a_run_without_a_root_yet_has_neither_start_nor_end() {
    let run = load("missing-terminal-state");
    assert_eq!(run.meta.status, RecordedStatus::Running);
    assert_eq!(
        pinned(&run),
        [json!([
            "TOOL_CALL",
            "3333333333333351",
            "1111111111111141",
            "00:03:00.050000Z",
            null,
            "streaming_tool",
            tool("streaming_tool", &json!({"stream": true}), &Value::Null)
        ])],
    );
}

#[test]
fn every_malformed_run_is_refused_with_its_place_and_no_payload() {
    let expected = [
        ("bad-metadata", "malformed_json", "meta.json", false),
        ("invalid-spans", "malformed_json", "spans.jsonl:1", false),
        ("missing-spans", "missing_file", "spans.jsonl", true),
        (
            "unsupported-version",
            "unsupported_version",
            "meta.json.spec_version",
            false,
        ),
    ];
    assert_eq!(
        names("malformed"),
        expected.map(|(name, ..)| name.to_owned()).into()
    );
    for (name, code, location, is_input) in expected {
        let invalid = LoadedRun::read(&fixtures("malformed").join(name)).unwrap_err();
        let [problem] = invalid.problems.as_slice() else {
            panic!("{name}: {:?}", invalid.problems)
        };
        assert_eq!(
            (problem.code.as_str(), problem.location.as_str()),
            (code, location),
            "{name}"
        );
        assert_eq!(invalid.is_input(), is_input, "{name}");
        let reported = format!("{invalid} {problem}");
        for payload in [
            name,
            "malformed-",
            "maida.",
            "2000000000",
            "11111111",
            "2026-",
            "INTERNAL",
        ] {
            assert!(!reported.contains(payload), "{name} tells {payload}: {reported}");
        }
    }
    let version = LoadedRun::read(&fixtures("malformed/unsupported-version")).unwrap_err();
    assert!(version.problems[0].message.contains("version 0.1"));
}
