//! Commands, and recordings, that end in the middle of something.

use std::io::{BufRead, BufReader, Read, Write};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tracer_runs::{LoadedRun, RunStatus};
use tracer_sdk::format::{EventType, RecordedStatus};
use tracer_tests::{kills, wait_until};

use super::{EXPORTER, Recorder};

fn is_running(id: u32) -> bool {
    let state = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
    let state = state.rsplit_once(") ").map(|(_, fields)| fields.to_owned());
    state.is_some_and(|fields| !fields.starts_with('Z'))
}

#[test]
fn an_exporter_that_outlives_the_command_is_waited_for() {
    let recorder = Recorder::new();
    recorder.export(&["leave-exporter-behind"]).says("1 model call,");
    assert_eq!(recorder.run().run.meta.counts.llm_calls, 1);
}

#[test]
fn a_process_that_runs_on_is_named_and_left_alone() {
    let recorder = Recorder::new();
    let outcome = recorder.export(&["leave-one-behind"]);
    let id: u32 = outcome.stdout.trim().parse().unwrap();
    assert!(is_running(id));
    outcome.says(&format!("still running, and not recorded any more: sleep ({id})"));
    kill(Pid::from_raw(i32::try_from(id).unwrap()), Signal::SIGKILL).unwrap();
    assert!(recorder.run().run.meta.status.is_completed());
}

#[test]
fn a_killed_recording_leaves_an_interrupted_run_and_the_command_alive() {
    let recorder = Recorder::new();
    let mut child = recorder.begin(&[EXPORTER, "call", "ready", "wait", "sdk-call"]);
    let mut input = child.stdin.take().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    output.read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n");
    let runs = recorder.runs();
    assert_eq!(runs[0].status(), RunStatus::Running);
    child.kill().unwrap();
    child.wait().unwrap();
    let run = &recorder.runs()[0];
    assert_eq!(run.status(), RunStatus::Interrupted);
    let spans = std::fs::read_to_string(run.directory.path.join("spans.jsonl")).unwrap();
    assert!(spans.contains("chat gpt-5"), "what was acknowledged is there");
    // The command goes on, to its end.
    input.write_all(b"\n").unwrap();
    assert_eq!(
        output.read_to_string(&mut line).unwrap(),
        0,
        "it ends, and its output with it"
    );
}

#[test]
fn a_killed_command_ends_its_run() {
    let recorder = Recorder::new();
    let outcome = recorder.record(&["sh", "-c", "\"$0\" call sdk-call; kill -9 $$", EXPORTER]);
    assert_eq!(outcome.code, Some(137));
    outcome.says("1 model call, 2 tool calls");
    let run = recorder.run();
    assert!(run.run.spans[0].trace_id == run.run.meta.trace_id);
}

#[test]
fn a_killed_annotated_program_leaves_the_run_valid() {
    let recorder = Recorder::new();
    let traced = env!("CARGO_BIN_EXE_traced");
    let script = "\"$0\" wait > started & while ! grep -q ready started 2>/dev/null; do sleep 0.02; done; kill -9 $!; wait";
    let mut command = recorder.command(&[], &["sh", "-c", script, traced]);
    // Its standard input stays open for as long as the test has the other end.
    let mut child = command
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let input = child.stdin.take();
    let output = child.wait_with_output().unwrap();
    drop(input);
    assert!(output.status.success(), "{output:?}");
    let run = recorder.run();
    assert_eq!(run.run.meta.counts.tool_calls, 1, "what it recorded is there");
}

#[test]
fn a_limit_of_the_program_holds_in_a_recorded_run() {
    let recorder = Recorder::new().env("TRACER_MAX_LLM_CALLS", "1");
    // It takes the refusal for an end, and exits with 0.
    let outcome = recorder.record(&[env!("CARGO_BIN_EXE_traced"), "spend", "3"]);
    assert_eq!(outcome.code, Some(0));
    let run = recorder.run();
    assert_eq!(run.status(), RecordedStatus::Error);
    let error = tracer_tests::finished::payload(run.all(EventType::Error).last().unwrap());
    assert_eq!(error["error_type"], "GuardrailExceeded");
    assert_eq!(
        run.span_named("spending").status_description,
        "the run was stopped by max_llm_calls: 2 model calls, and 1 is allowed"
    );
}

#[test]
fn the_run_is_there_while_the_command_runs() {
    let recorder = Recorder::new();
    let mut child = recorder.begin(&[EXPORTER, "call", "ready", "wait"]);
    wait_until("the call is visible", || {
        recorder.runs().first().is_some_and(|run| {
            let log = std::fs::read_to_string(run.directory.path.join("spans.jsonl"));
            run.status() == RunStatus::Running && log.is_ok_and(|log| log.contains("chat gpt-5"))
        })
    });
    child.stdin.take().unwrap().write_all(b"\n").unwrap();
    assert!(child.wait().unwrap().success());
    assert_eq!(recorder.runs()[0].status(), RunStatus::Ok);
}

/// At whatever moment the recording dies, nothing that it acknowledged is lost, and its run can be completed.
#[test]
fn nothing_acknowledged_is_lost_when_the_recording_is_killed() {
    for round in 0..kills(12) {
        let recorder = Recorder::new();
        let mut child = recorder.begin(&[EXPORTER, "acknowledge"]);
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut acknowledged: Vec<String> = Vec::new();
        for _ in 0..round % 12 * 7 {
            acknowledged.push(lines.next().unwrap().unwrap());
        }
        // Anywhere within the next request.
        std::thread::sleep(std::time::Duration::from_micros(round * 311 % 9_001));
        child.kill().unwrap();
        acknowledged.extend(lines.map(Result::unwrap));
        child.wait().unwrap();
        let Some(run) = recorder.runs().into_iter().next() else {
            assert!(acknowledged.is_empty(), "round {round}: the run is lost");
            continue;
        };
        assert_eq!(run.status(), RunStatus::Interrupted, "round {round}");
        let log = std::fs::read_to_string(run.directory.path.join("spans.jsonl")).unwrap_or_default();
        for id in &acknowledged {
            assert!(
                log.contains(&format!(r#""span_id":"{id}""#)),
                "round {round}: {id} is lost"
            );
        }
        if !acknowledged.is_empty() {
            let repaired = std::process::Command::new(super::TRACER)
                .arg("--data-dir")
                .arg(recorder.data.path())
                .args(["repair", &run.directory.trace_id.to_string()])
                .output()
                .unwrap();
            assert!(repaired.status.success(), "{repaired:?}");
            let repaired = LoadedRun::read(&run.directory.path).unwrap();
            let calls = repaired.meta.counts.llm_calls;
            assert!(calls >= acknowledged.len() as u64, "round {round}: {calls}");
        }
    }
}
