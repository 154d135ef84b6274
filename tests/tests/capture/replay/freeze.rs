//! `tracer freeze`: bad runs become tests that fail, and pass once the agent is fixed.

use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

use rstest::rstest;
use serde_json::{Value, json};
use tracer_tests::ModelServer;

use super::{request, script};
use crate::record::{EXPORTER, Outcome, Recorder, TRACER};

/// A provider that gives these answers in turn, and the last one again.
fn provider(answers: Vec<(u16, Value)>) -> ModelServer {
    let count = AtomicUsize::new(0);
    ModelServer::start(move |_, stream| {
        let next = count.fetch_add(1, Ordering::SeqCst).min(answers.len() - 1);
        let (status, body) = &answers[next];
        let body = body.to_string();
        let head = format!(
            "HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        stream.write_all((head + &body).as_bytes()).unwrap();
    })
}

/// An answer of the model that asks for this call of a tool, or says something.
fn answer(call: Option<(&str, &str)>) -> (u16, Value) {
    let (reason, message) = match call {
        Some((tool, arguments)) => (
            "tool_calls",
            json!({"role": "assistant", "content": null, "tool_calls": [
                {"id": "call_1", "type": "function", "function": {"name": tool, "arguments": arguments}}]}),
        ),
        None => (
            "stop",
            json!({"role": "assistant", "content": "Three parcels cost 37.50."}),
        ),
    };
    let usage = json!({"prompt_tokens": 8, "completion_tokens": 2, "total_tokens": 10});
    let choice = json!({"index": 0, "finish_reason": reason, "message": message});
    (
        200,
        json!({"id": "chatcmpl-1", "model": "gpt-5", "usage": usage, "choices": [choice]}),
    )
}

/// A request after these turns, each a call of `search` and its result.
fn ask(results: &[&str]) -> Value {
    let mut messages = vec![json!({"role": "user", "content": "What do 3 parcels cost?"})];
    for result in results {
        messages.push(
            json!({"role": "assistant", "tool_calls": [{"id": "call_1", "type": "function",
            "function": {"name": "search", "arguments": "{\"q\":\"parcel\"}"}}]}),
        );
        messages.push(json!({"role": "tool", "tool_call_id": "call_1", "content": result}));
    }
    request(
        "OPENAI_BASE_URL",
        "/chat/completions",
        json!({"model": "gpt-5", "messages": messages}),
    )
}

fn tool(name: &str, args: &Value) -> Value {
    json!({"tool": name, "args": args})
}

/// A bad run: the answers of the model, what the agent does, and does once it is fixed, and how the run is frozen.
struct BadRun {
    answers: Vec<(u16, Value)>,
    bad: Vec<Value>,
    fixed: Vec<Value>,
    checks: &'static [&'static str],
    policy: &'static str,
    frozen: &'static str,
}

impl BadRun {
    fn new(bad: Vec<Value>, fixed: Vec<Value>, frozen: &'static str) -> Self {
        Self {
            answers: vec![answer(None)],
            bad,
            fixed,
            checks: &[],
            policy: "",
            frozen,
        }
    }

    fn demanding(self, checks: &'static [&'static str]) -> Self {
        Self { checks, ..self }
    }

    fn under(self, policy: &'static str) -> Self {
        Self { policy, ..self }
    }

    fn answered(self, answers: Vec<(u16, Value)>) -> Self {
        Self { answers, ..self }
    }
}

fn repeats_a_search() -> BadRun {
    let search = || answer(Some(("search", "{\"q\":\"parcel\"}")));
    let bad = (0..5).map(|turns| ask(&vec!["nothing"; turns])).collect();
    BadRun::new(bad, vec![ask(&[]), ask(&["a parcel costs 12.50"])], "no_loops").answered(vec![
        search(),
        search(),
        search(),
        search(),
        answer(None),
    ])
}

fn gives_up_after_a_failed_call() -> BadRun {
    let failing = json!({"tool": "rates", "args": {"to": "NO"}, "fail": "timeout"});
    let fixed = vec![ask(&[]), failing.clone(), tool("rates", &json!({"to": "NO"}))];
    BadRun::new(vec![ask(&[]), failing], fixed, "failed_calls_are_retried")
}

fn ends_with_an_error() -> BadRun {
    BadRun::new(
        vec![ask(&[]), json!({"exit": 3})],
        vec![ask(&[])],
        "stop_condition_reached",
    )
}

fn does_not_bear_an_overloaded_model() -> BadRun {
    let mut tolerant = ask(&[]);
    tolerant["tolerates"] = true.into();
    let fixed = vec![tolerant, json!({"print": "Please ask again later."})];
    let overloaded = (
        503,
        json!({"error": {"message": "overloaded", "type": "server_error"}}),
    );
    BadRun::new(vec![ask(&[])], fixed, "stop_condition_reached").answered(vec![overloaded])
}

fn pays_before_it_checks() -> BadRun {
    let (pay, check) = (
        tool("pay", &json!({"order": 7})),
        tool("check", &json!({"order": 7})),
    );
    BadRun::new(
        vec![ask(&[]), pay.clone(), check.clone()],
        vec![ask(&[]), check, pay],
        "tool_order",
    )
    .demanding(&["tool_order: {order: [check, pay]}"])
}

fn calls_a_forbidden_tool() -> BadRun {
    BadRun::new(
        vec![ask(&[]), tool("delete_account", &json!({"id": 7}))],
        vec![ask(&[])],
        "forbidden_tools",
    )
    .under("version: 2\nmetrics:\n  forbidden_tools: {none_of: [delete_account]}\n")
}

fn exceeds_its_budget() -> BadRun {
    let results = ["a", "b", "c", "d"];
    let turn = |query: &str| answer(Some(("search", &format!("{{\"q\":\"{query}\"}}"))));
    let bad = (0..4).map(|turns| ask(&results[..turns])).collect();
    let fixed = (0..2).map(|turns| ask(&results[..turns])).collect();
    BadRun::new(bad, fixed, "llm_call_count")
        .answered(vec![turn("a"), turn("b"), turn("c"), answer(None)])
        .under("version: 2\nmetrics:\n  llm_call_count: {kind: measured, direction: upper, limit: 2}\n")
}

fn leaves_out_a_step() -> BadRun {
    BadRun::new(
        vec![ask(&[])],
        vec![ask(&[]), tool("send_reply", &json!({"to": "Ada"}))],
        "required_tools",
    )
    .demanding(&["required_tools: {all_of: [send_reply]}"])
}

fn hands_over_wrong_arguments() -> BadRun {
    BadRun::new(
        vec![ask(&[]), tool("refund", &json!({"amount": 3750}))],
        vec![ask(&[]), tool("refund", &json!({"amount": 37.5}))],
        "tool_arguments",
    )
    .demanding(&["tool_arguments: {tool: refund, where: {properties: {amount: {maximum: 100}}}}"])
}

fn writes_another_file() -> BadRun {
    let write = |text: &str| json!({"print": text, "file": "answer.json"});
    BadRun::new(
        vec![ask(&[]), write("37.50")],
        vec![ask(&[]), write("{\"cost\": 37.5}")],
        "output",
    )
    .demanding(&["output: {from: {file: answer.json}, json_schema: {type: object, required: [cost]}}"])
}

fn is_not_what_a_judge_accepts() -> BadRun {
    BadRun::new(
        vec![ask(&[]), json!({"print": "Dunno."})],
        vec![ask(&[]), json!({"print": "It is polite."})],
        "output.tone",
    )
    .demanding(&["output.tone: {from: stdout, command: [sh, -c, 'grep -q polite']}"])
}

fn is_stopped_by_a_guardrail() -> BadRun {
    let calls = |count: usize| -> Vec<Value> {
        let calls = (0..count).map(|page| tool("read", &json!({"page": page})));
        [ask(&[])].into_iter().chain(calls).collect()
    };
    BadRun::new(calls(4), calls(2), "no_guardrails")
}

/// Gates on the agent as the command of `tracer freeze` does.
fn gate(recorder: &Recorder) -> (Value, Outcome) {
    let mut tracer = recorder.tracer();
    tracer.args([
        "run",
        "--policy",
        "tests/frozen/case.yaml",
        "--cassette",
        "tests/frozen/case.jsonl",
    ]);
    tracer.args(["--json-out", "report.json", "--", EXPORTER, "act-script"]);
    let outcome: Outcome = tracer.output().unwrap().into();
    let report =
        std::fs::read(recorder.path("report.json")).unwrap_or_else(|error| panic!("{error}: {outcome:#?}"));
    (serde_json::from_slice(&report).unwrap(), outcome)
}

/// Records the agent as it is.
fn recorded(run: &BadRun) -> (Recorder, ModelServer) {
    let provider = provider(run.answers.clone());
    let recorder = Recorder::new()
        .env("OPENAI_BASE_URL", &format!("{}/v1", provider.base()))
        .env("OPENAI_API_KEY", "sk-not-recorded-0123456789")
        .env("TRACER_MAX_TOOL_CALLS", "3");
    script(&recorder, &run.bad);
    if !run.policy.is_empty() {
        std::fs::create_dir(recorder.path(".tracer")).unwrap();
        recorder.write(".tracer/policy.yaml", run.policy);
    }
    recorder.record(&[EXPORTER, "act-script"]);
    (recorder, provider)
}

fn frozen(recorder: &Recorder, options: &[&str]) -> Outcome {
    let mut tracer = recorder.tracer();
    tracer.args(["freeze", "latest"]).args(options);
    tracer.output().unwrap().into()
}

#[rstest]
#[case::repeats_a_search(repeats_a_search())]
#[case::gives_up_after_a_failed_call(gives_up_after_a_failed_call())]
#[case::ends_with_an_error(ends_with_an_error())]
#[case::does_not_bear_an_overloaded_model(does_not_bear_an_overloaded_model())]
#[case::pays_before_it_checks(pays_before_it_checks())]
#[case::calls_a_forbidden_tool(calls_a_forbidden_tool())]
#[case::exceeds_its_budget(exceeds_its_budget())]
#[case::leaves_out_a_step(leaves_out_a_step())]
#[case::hands_over_wrong_arguments(hands_over_wrong_arguments())]
#[case::writes_another_file(writes_another_file())]
#[case::is_not_what_a_judge_accepts(is_not_what_a_judge_accepts())]
#[case::is_stopped_by_a_guardrail(is_stopped_by_a_guardrail())]
fn a_bad_run_becomes_a_test_that_its_fix_passes(#[case] run: BadRun) {
    let (recorder, _provider) = recorded(&run);
    let checks = run.checks.iter().flat_map(|check| ["--check", *check]);
    let options: Vec<&str> = ["--name", "case"].into_iter().chain(checks).collect();
    let outcome = frozen(&recorder, &options);
    assert_eq!(outcome.code, Some(0), "{outcome:#?}");

    let (report, outcome) = gate(&recorder);
    assert_eq!(
        (report["verdict"].as_str(), outcome.code),
        (Some("fail"), Some(1)),
        "{report:#}"
    );
    let check = report["checks"]
        .as_array()
        .unwrap()
        .iter()
        .find(|check| check["name"] == run.frozen);
    assert_eq!(
        check.unwrap_or_else(|| panic!("{report:#}"))["verdict"],
        "fail",
        "{report:#}"
    );

    script(&recorder, &run.fixed);
    let (report, outcome) = gate(&recorder);
    assert_eq!(
        (report["verdict"].as_str(), outcome.code),
        (Some("pass"), Some(0)),
        "{report:#}"
    );
}

#[test]
fn a_trial_of_a_gate_is_frozen_where_the_gate_was_called() {
    let run = leaves_out_a_step();
    let provider = provider(run.answers.clone());
    let recorder = Recorder::new()
        .env("OPENAI_BASE_URL", &format!("{}/v1", provider.base()))
        .env("OPENAI_API_KEY", "sk-not-recorded-0123456789");
    script(&recorder, &run.bad);
    recorder.write("agent.sh", &format!("#!/bin/sh\nexec {EXPORTER} act-script\n"));
    let executable = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(recorder.path("agent.sh"), executable).unwrap();
    recorder.write(
        "gate.yaml",
        "version: 2\nmetrics:\n  required_tools: {all_of: [send_reply]}\n",
    );
    let gate = |options: &[&str]| -> (Value, Outcome) {
        let mut tracer = recorder.tracer();
        tracer.args(["run", "--trials", "1", "--json-out", "report.json"]);
        let outcome: Outcome = tracer
            .args(options)
            .args(["--", "./agent.sh"])
            .output()
            .unwrap()
            .into();
        let report = std::fs::read(recorder.path("report.json"));
        let report = report.unwrap_or_else(|error| panic!("{error}: {outcome:#?}"));
        (serde_json::from_slice(&report).unwrap(), outcome)
    };
    let (report, outcome) = gate(&["--policy", "gate.yaml", "--capture"]);
    let trial = &report["trials"][0];
    assert_eq!(trial["failure"], Value::Null, "{report:#} {outcome:#?}");

    let mut tracer = recorder.tracer();
    tracer.args(["freeze", trial["trace_id"].as_str().unwrap(), "--name", "case"]);
    let outcome: Outcome = tracer.args(["--check", run.checks[0]]).output().unwrap().into();
    assert_eq!(outcome.code, Some(0), "{outcome:#?}");
    outcome.says("-- ./agent.sh");

    let frozen = [
        "--policy",
        "tests/frozen/case.yaml",
        "--cassette",
        "tests/frozen/case.jsonl",
    ];
    assert_eq!(gate(&frozen).0["verdict"], "fail");
    script(&recorder, &run.fixed);
    assert_eq!(gate(&frozen).0["verdict"], "pass");
}

#[test]
fn a_frozen_run_is_a_test_of_cargo() {
    let run = leaves_out_a_step();
    let (recorder, _provider) = recorded(&run);
    recorder.write(
        "Cargo.toml",
        "[package]\nname = \"agent\"\nedition = \"2024\"\n[workspace]\n",
    );
    std::fs::create_dir(recorder.path("src")).unwrap();
    recorder.write("src/lib.rs", "");
    let outcome = frozen(&recorder, &["--name", "case", "--check", run.checks[0]]);
    assert!(
        outcome.stdout.contains("added a test to tests/frozen/main.rs"),
        "{outcome:#?}"
    );
    let test = || -> Outcome {
        let tracer = recorder.tracer();
        let variables = tracer.get_envs().filter_map(|(name, value)| Some((name, value?)));
        let mut cargo = Command::new(env!("CARGO"));
        cargo
            .args(["test", "--offline", "--quiet"])
            .current_dir(recorder.path("."))
            .envs(variables);
        cargo
            .env("TRACER", TRACER)
            .env("CARGO_TARGET_DIR", recorder.path("target"))
            .env("HOME", std::env::home_dir().unwrap());
        cargo.output().unwrap().into()
    };
    let red = test();
    assert!(red.stdout.contains("no call of send_reply"), "{red:#?}");
    assert_eq!(red.code, Some(101), "{red:#?}");
    script(&recorder, &run.fixed);
    let green = test();
    assert!(green.stdout.contains("1 passed"), "{green:#?}");
    std::fs::remove_file(recorder.path("tests/frozen/case.jsonl")).unwrap();
    let again = frozen(&recorder, &["--name", "case", "--check", run.checks[0]]);
    assert!(!recorder.path("tests/frozen/case.jsonl").exists(), "{again:#?}");
    assert_eq!(again.code, Some(2), "files that exist are kept: {again:#?}");
}

#[test]
fn a_test_that_would_pass_today_is_refused() {
    let run = BadRun::new(vec![ask(&[]), tool("send_reply", &json!({}))], Vec::new(), "");
    let (recorder, _provider) = recorded(&run);
    let good = frozen(&recorder, &[]);
    good.says("nothing went wrong in run");
    assert_eq!(good.code, Some(2), "{good:#?}");
    let kept = frozen(&recorder, &["--check", "required_tools: {all_of: [send_reply]}"]);
    kept.says("does not break required_tools: its test would pass today");
    assert!(!recorder.path("tests").exists());
}

#[test]
fn a_demand_comes_before_what_is_drafted_and_is_stated_once() {
    let (recorder, _provider) = recorded(&repeats_a_search());
    recorder.write("Cargo.toml", "[workspace]\nmembers = []\n");
    let twice = [
        "output: {json_schema: {type: object}}",
        "output: {json_schema: {type: array}}",
    ];
    let outcome = frozen(&recorder, &["--check", twice[0], "--check", twice[1]]);
    outcome.says("--check states output twice").says("output.NAME");
    frozen(&recorder, &["--name", "??"]).says("the name of the test has no letter or digit");
    frozen(&recorder, &["--check", "no_new_tools: {kind: invariant}"])
        .says("nothing that one run without a baseline can break");
    let outcome = frozen(
        &recorder,
        &["--name", "case", "--check", "no_loops: {shape: true}"],
    );
    assert_eq!(outcome.code, Some(0), "{outcome:#?}");
    let policy = std::fs::read_to_string(recorder.path("tests/frozen/case.yaml")).unwrap();
    assert!(policy.contains("no_loops: {shape: true}"), "{policy}");
    assert!(!recorder.path("tests/frozen/main.rs").exists(), "no package here");
}

#[test]
fn what_a_run_alone_cannot_break_is_not_frozen() {
    let policy = "version: 2\nmetrics:\n  no_new_tools: {kind: invariant}\n  latency_ms: {kind: measured, direction: upper, \
                  limit: 0}\n  step_count: {kind: measured, direction: upper, tolerance: {relative: 0.5}}\n";
    let (recorder, _provider) = recorded(&repeats_a_search().under(policy));
    let outcome = frozen(&recorder, &["--name", "case"]);
    assert_eq!(outcome.code, Some(0), "{outcome:#?}");
    let policy = std::fs::read_to_string(recorder.path("tests/frozen/case.yaml")).unwrap();
    assert!(
        policy.contains("no_loops") && !policy.contains("latency_ms"),
        "{policy}"
    );
}

#[test]
fn a_score_is_frozen_with_its_command() {
    let policy = "version: 2\nmetrics:\n  output: {from: answer, command: [echo, '{\"pass\": true, \"score\": 0.4}']}\n  \
                  score: {kind: measured, direction: lower, limit: 0.8}\n";
    let (recorder, _provider) = recorded(&repeats_a_search().under(policy));
    let outcome = frozen(&recorder, &["--name", "case"]);
    assert_eq!(outcome.code, Some(0), "{outcome:#?}");
    let options = ["--name", "other", "--check", "output: {contains: refund}"];
    let outcome = frozen(&recorder, &options);
    assert_eq!(outcome.code, Some(0), "{outcome:#?}");
    let (report, outcome) = gate(&recorder);
    let verdict = |name: &str| {
        let checks = report["checks"].as_array().unwrap();
        checks
            .iter()
            .find(|check| check["name"] == name)
            .map(|check| check["verdict"].clone())
    };
    assert_eq!(verdict("score"), Some(json!("fail")), "{outcome:#?}");
    assert_eq!(verdict("output"), Some(json!("pass")), "{report:#}");
}

#[test]
fn a_run_without_recorded_answers_says_what_to_record() {
    let recorder = Recorder::new();
    recorder.record(&[EXPORTER, "call"]);
    let outcome = frozen(&recorder, &[]);
    outcome
        .says("kept no calls of models")
        .says("tracer record -- COMMAND");
    assert_eq!(outcome.code, Some(2), "{outcome:#?}");
}

/// Commands that answer by a score, by too much, or not at all.
#[rstest]
#[case::a_score("echo '{\"score\": 0.9}'", "pass")]
#[case::too_low("echo '{\"score\": 0.3, \"reason\": \"rude\"}'", "fail")]
#[case::its_own_verdict("echo '{\"pass\": false, \"score\": 1, \"reason\": \"rude\"}'", "fail")]
#[case::no_score("true", "inconclusive")]
#[case::a_crash("exit 7", "inconclusive")]
#[case::endless_output("yes | head -c 9000000; echo '{\"score\": 1}'", "pass")]
#[case::no_program("./absent", "inconclusive")]
fn a_command_judges_a_recorded_run(#[case] judge: &str, #[case] verdict: &str) {
    let (recorder, _provider) = recorded(&BadRun::new(vec![ask(&[])], Vec::new(), ""));
    let input = "import json, sys; assert '37.50' in json.load(sys.stdin)['output']";
    let policy = json!({"version": 2, "metrics": {
        "output": {"command": ["sh", "-c", format!("python3 -c \"{input}\" && {{ {judge}; }}")]},
        "score": {"kind": "measured", "direction": "lower", "limit": 0.5},
    }});
    recorder.write(
        "policy.yaml",
        &format!("version: 2\nmetrics: {}\n", policy["metrics"]),
    );
    let output = recorder
        .tracer()
        .args(["assert", "--policy", "policy.yaml", "--json"])
        .output()
        .unwrap();
    let report: Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"));
    assert_eq!(report["verdict"], verdict, "{report:#}");
}
