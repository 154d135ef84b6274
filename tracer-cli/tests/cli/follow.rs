//! `tracer show --follow` on runs that really go on.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStdout, Stdio};

use tracer_sdk::{Config, Run, RunGuard};

use crate::sandbox::{FIRST, Outcome, Sandbox};

/// The executable, following the newest run.
struct Following {
    child: Child,
    output: BufReader<ChildStdout>,
}

impl Following {
    fn start(sandbox: &Sandbox, arguments: &[&str]) -> Self {
        let mut command = sandbox.command(&["show", "--follow"]);
        let mut child = command
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        Self { child, output }
    }

    /// Waits for the next line.
    fn line(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    /// Waits for the end.
    fn end(mut self) -> Outcome {
        let mut stdout = String::new();
        self.output.read_to_string(&mut stdout).unwrap();
        let mut outcome: Outcome = self.child.wait_with_output().unwrap().into();
        outcome.stdout = stdout;
        outcome
    }
}

fn run(sandbox: &Sandbox) -> RunGuard {
    Run::new("watched")
        .config(&Config::new().data_dir(sandbox.data_dir()))
        .start()
}

fn search(query: &str) {
    let call = tracer_sdk::tool_call("search_kb").args(query).result("none");
    call.record().unwrap();
}

#[test]
fn following_ends_with_the_run() {
    let sandbox = Sandbox::new();
    let run = run(&sandbox);
    search("before");
    let mut following = Following::start(&sandbox, &[]);
    assert!(following.line().starts_with("● watched  "));
    assert!(following.line().ends_with("⚒ search_kb  before → none"));
    search("meanwhile");
    assert!(following.line().ends_with("⚒ search_kb  meanwhile → none"));
    run.fail("gave up");
    run.finish();
    let outcome = following.end();
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    assert!(outcome.stdout.contains("\n✗ watched  "), "{}", outcome.stdout);
    assert!(outcome.stdout.contains("2 tool calls"), "{}", outcome.stdout);
    assert!(outcome.stderr.contains("newest run, "), "{}", outcome.stderr);
}

#[test]
fn only_what_passes_the_filters_is_shown() {
    let sandbox = Sandbox::new();
    let run = run(&sandbox);
    search("one");
    search("two");
    let mut following = Following::start(&sandbox, &["--grep", "TWO"]);
    following.line();
    assert!(following.line().ends_with("⚒ search_kb  two → none"));
    run.finish();
    assert_eq!(following.end().code, Some(0));
}

/// Whether any run has a step in its log.
#[cfg(unix)]
fn has_a_step(sandbox: &Sandbox) -> bool {
    let mut runs = fs::read_dir(sandbox.data_dir().join("runs")).unwrap();
    runs.any(|run| fs::read(run.unwrap().path().join("spans.jsonl")).is_ok_and(|log| log.ends_with(b"\n")))
}

#[test]
#[cfg(unix)]
fn following_ends_with_a_killed_process() {
    let sandbox = Sandbox::new();
    let mut demo = sandbox
        .command(&["demo"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    while !has_a_step(&sandbox) {
        std::thread::yield_now();
    }
    // Its end is half a second away: it waits there for as long as this test takes.
    let stopped = std::process::Command::new("kill")
        .args(["-STOP", &demo.id().to_string()])
        .status();
    assert!(stopped.unwrap().success());
    let mut following = Following::start(&sandbox, &[]);
    assert!(following.line().starts_with("● support-agent  "));
    assert!(following.line().contains("phase=triage"));
    demo.kill().unwrap();
    demo.wait().unwrap();
    let outcome = following.end();
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    assert!(
        outcome.stdout.contains("\n◌ support-agent  ")
            && outcome.stdout.contains("Interrupted: its process is gone"),
        "{}",
        outcome.stdout
    );
}

#[test]
fn a_run_that_is_deleted_meanwhile_is_said() {
    let sandbox = Sandbox::new();
    let run = run(&sandbox);
    search("before");
    let mut following = Following::start(&sandbox, &[]);
    following.line();
    following.line();
    fs::remove_dir_all(sandbox.data_dir()).unwrap();
    let outcome = following.end();
    assert_eq!(outcome.code, Some(2), "{outcome:?}");
    assert!(outcome.stderr.contains("deleted") && outcome.stderr.contains("hint: "));
    drop(run);
}

#[test]
fn a_run_that_has_ended_is_shown_as_ever() {
    let sandbox = Sandbox::new();
    sandbox.run(FIRST, "done", 1, "ok");
    let followed = sandbox.tracer(&["show", "--follow"]);
    let shown = sandbox.tracer(&["show"]);
    assert_eq!((followed.code, followed.stdout), (Some(0), shown.stdout));
}
