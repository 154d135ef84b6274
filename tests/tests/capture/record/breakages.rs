//! Ten ways in which an agent breaks: the first screen of `show` names the cause, however the agent was recorded.

use std::io::{BufRead, BufReader, Write};
use std::net::Shutdown;
use std::process::Stdio;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};
use tracer_tests::Program;
use tracer_tests::model_server::{ModelServer, whole_answer};

use super::Recorder;

const BREAKAGES: &str = env!("CARGO_BIN_EXE_breakages");

/// A model that answers as the request says itself; of an answer `cut` the end is missing.
fn model() -> ModelServer {
    ModelServer::start(|request, stream| {
        let body: Value = serde_json::from_slice(&request.body).unwrap();
        let answer = json!({"id": "r", "object": "chat.completion", "model": "gpt-5",
            "choices": [{"index": 0, "message": body["stand_in"], "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 12}});
        let answer = whole_answer(
            "application/json\r\nconnection: close",
            answer.to_string().as_bytes(),
        );
        let is_cut = body["stand_in"]["content"] == "cut";
        let sent = answer.len() - if is_cut { 20 } else { 0 };
        let _ = stream.write_all(&answer[..sent]);
        let _ = stream.shutdown(Shutdown::Both);
    })
}

/// The recorder of an agent that broke.
fn broken(recording: &str, case: &str) -> Recorder {
    let model = model();
    let recorder = Recorder::new()
        .env("OPENAI_BASE_URL", &format!("{}/v1", model.base()))
        .env("OPENAI_API_KEY", "sk-not-recorded");
    let mut agent = match recording {
        "outside" => recorder.begin(&[BREAKAGES, recording, case]),
        _ => Program::new(BREAKAGES, &recorder.data)
            .args([recording, case])
            .start_with_errors_to(Stdio::null()),
    };
    if case == "kill" {
        // It says its ID when its tool runs; by itself it ends after a minute.
        let mut id = String::new();
        BufReader::new(agent.stdout.take().unwrap())
            .read_line(&mut id)
            .unwrap();
        kill(Pid::from_raw(id.trim().parse().unwrap()), Signal::SIGKILL).unwrap();
    }
    agent.wait().unwrap();
    recorder
}

fn tracer(recorder: &Recorder, arguments: &[&str]) -> String {
    let output = recorder.tracer().args(arguments).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

/// The sentence of `show` on the run of an agent that breaks, and what is below it.
fn first_screen(recording: &str, case: &str) -> (String, String) {
    let screen = tracer(&broken(recording, case), &["show", "latest"]);
    let lines = screen.lines().skip(1).map(str::trim);
    let sentence = lines.take_while(|line| !line.contains(" steps · "));
    (sentence.collect::<Vec<_>>().join(" "), screen)
}

const LOOPED: &str = "Stopped by the loop guardrail after #4 read: the run was stopped by stop_on_loop: the same records came 3 times in \
                      a row, and 3 stop it.";
/// The sentence on each way to break where the agent is recorded, and what else is on the screen.
const RECORDED: [(&str, &str, &str); 9] = [
    (
        "panic",
        "Panicked in #2 read: index 7 is out of range.",
        "✗ failed by #2",
    ),
    ("sub-agent-loops", LOOPED, "⟳ read ×3"),
    (
        "cut-stream",
        "Failed at #1 gpt-5: Error: the stream was cut.",
        "✗ failed by #1",
    ),
    ("bad-json", "Ended ok: gpt-5 ×2.", "1 call asked for, not run"),
    (
        "budget",
        "Stopped by a guardrail after #5 gpt-5: the run was stopped by max_llm_calls: 5 model calls, and 4 are allowed.",
        "4 model calls",
    ),
    (
        "ctrl-c",
        "Interrupted: its process is gone; #2 read was cancelled before.",
        "✗ Cancelled",
    ),
    (
        "kill",
        "Interrupted: its process is gone; it was in #2 read.",
        "1 in flight",
    ),
    (
        "recursion",
        "Failed after #13 gpt-5: Error: too deep.",
        "1 error\n",
    ),
    (
        "swallowed",
        "Ended ok: gpt-5 → read → gpt-5. One call failed: #2 read: Error: no such file: a.",
        "1 failed call (handled)",
    ),
];

/// Asserts what the first screens say, all of them before one is reported.
#[track_caller]
fn assert_screens(recording: &str, expected: &[(&str, &str, &str)]) {
    let said: Vec<(&str, String)> = expected
        .iter()
        .map(|(case, _, part)| {
            let (sentence, screen) = first_screen(recording, case);
            assert!(screen.contains(part), "{part:?} is not in\n{screen}");
            (*case, sentence)
        })
        .collect();
    let expected: Vec<(&str, String)> = expected
        .iter()
        .map(|(case, sentence, _)| (*case, (*sentence).to_owned()))
        .collect();
    assert_eq!(said, expected, "{recording}");
}

#[test]
fn recorded_by_hand_the_cause_is_named() {
    assert_screens("hand", &RECORDED);
    let (said, screen) = first_screen("hand", "time-limit");
    let late = "Timed out at #2 read: TimedOut: the tool read was stopped by its time limit after ";
    assert!(
        said.starts_with(late) && screen.contains("✗ TimedOut"),
        "{screen}"
    );
}

#[test]
fn recorded_by_attribute_the_cause_is_named() {
    assert_screens("attribute", &RECORDED);
    let late = "Timed out in #2 read: Elapsed: deadline has elapsed.";
    assert_screens("attribute", &[("time-limit", late, "✗ Cancelled")]);
}

#[test]
fn recorded_from_outside_the_cause_is_named() {
    let exit = |code: u8| format!("Failed in #2 read: ExitCode: the command ended with exit code {code}.");
    let looped = "Repeated gpt-5 → read at least 3 times (#1–#6), then ended ok.";
    assert_screens(
        "outside",
        &[
            ("panic", &exit(101), "1 call of unknown outcome"),
            ("time-limit", &exit(1), "1 call of unknown outcome"),
            ("sub-agent-loops", looped, "1 loop warning\n"),
            (
                "budget",
                "Failed after #4 gpt-5: ExitCode: the command ended with exit code 1.",
                "4 model calls",
            ),
            (
                "recursion",
                "Failed after #1 gpt-5: ExitCode: the command ended with exit code 1.",
                "1 model call",
            ),
            (
                "cut-stream",
                "Failed at #1 gpt-5: upstream_failed: the answer broke off: end of file before message length reached.",
                "the answer broke off",
            ),
            ("bad-json", "Ended ok: gpt-5 ×2.", "1 call asked for, not run"),
            (
                "ctrl-c",
                "Interrupted in #2 read: the command was interrupted (exit code 130).",
                "1 call of unknown outcome",
            ),
            (
                "kill",
                "Failed in #2 read: Signal: the command was ended by SIGKILL.",
                "1 call of unknown outcome",
            ),
            ("swallowed", "Ended ok: gpt-5 → read → gpt-5.", "path=a → nothing"),
        ],
    );
}

#[test]
fn the_arguments_of_a_call_that_was_under_way_are_in_the_run() {
    for recording in ["hand", "attribute"] {
        let recorder = broken(recording, "kill");
        let called = |json: &str| {
            let run: Value = serde_json::from_str(json).unwrap();
            let events = run["events"].as_array().unwrap().clone();
            let tools = events
                .into_iter()
                .filter(|event| event["event_type"] == "TOOL_CALL");
            let arguments: Vec<Value> = tools.map(|tool| tool["payload"]["args"].clone()).collect();
            (run["in_flight"][0]["arguments"].clone(), arguments)
        };
        let arguments = json!({"path": "a"});
        let killed = called(&tracer(&recorder, &["show", "latest", "--json"]));
        assert_eq!(killed, (arguments.clone(), vec![]), "{recording}");
        let screen = tracer(&recorder, &["show", "latest"]);
        assert!(screen.contains("path=a"), "{screen}");
        tracer(&recorder, &["repair", "latest"]);
        let repaired = called(&tracer(&recorder, &["show", "latest", "--json"]));
        assert_eq!(repaired, (Value::Null, vec![arguments]), "{recording}");
    }
}
