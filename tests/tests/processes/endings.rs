//! Programs that end in any way: what they finished before is on disk, and readers tell whether the run lives
//! (decisions, section 5; reliability G2, G5, G6).

use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};
use tracer_runs::{Liveness, LoadedRun, probe_liveness};
use tracer_sdk::format::{EventType, RecordedStatus};
use tracer_tests::{DataDir, Program, wait_until};

use super::TRACED;

fn send(child: &Child, signal: Signal) {
    kill(Pid::from_raw(child.id().cast_signed()), signal).unwrap();
}

fn go_on(child: &mut Child) {
    child.stdin.as_mut().unwrap().write_all(b"\n").unwrap();
}

fn only_run(data: &DataDir) -> PathBuf {
    let directories = data.run_dirs();
    assert_eq!(directories.len(), 1);
    directories.into_iter().next().unwrap()
}

fn liveness_now(data: &DataDir) -> Liveness {
    let directory = only_run(data);
    let status = LoadedRun::read(&directory).map_or(RecordedStatus::Running, |run| run.meta.status);
    probe_liveness(&directory, status)
}

fn spans_in(data: &DataDir) -> Vec<String> {
    LoadedRun::read(&only_run(data))
        .unwrap()
        .spans
        .into_iter()
        .map(|span| span.name)
        .collect()
}

#[test]
fn an_abandoned_run_is_interrupted_and_complete() {
    let (in_the_call, after_it): (&[&str], &[&str]) = (&["before"], &["before", "gpt-5"]);
    for (task, signal, finished) in [
        ("exit", None, after_it),
        ("abort", None, after_it),
        ("wait", Some(Signal::SIGTERM), in_the_call),
        ("wait", Some(Signal::SIGKILL), in_the_call),
        // Signals that shells and `nohup` leave alone: what they ignore, their children ignore too.
        ("wait", Some(Signal::SIGABRT), in_the_call),
        ("wait", Some(Signal::SIGUSR1), in_the_call),
    ] {
        let data = DataDir::new();
        let mut child = Program::new(TRACED, &data).args([task]).start_ready();
        assert_eq!(liveness_now(&data), Liveness::Running, "{task}");
        match signal {
            Some(signal) => send(&child, signal),
            None => go_on(&mut child),
        }
        child.wait().unwrap();
        let died = Instant::now();
        wait_until("interrupted", || liveness_now(&data) == Liveness::Interrupted);
        assert!(died.elapsed() < Duration::from_secs(1), "{task} {signal:?}");
        assert_eq!(spans_in(&data), finished, "{task} {signal:?}");
    }
}

#[test]
fn the_call_that_was_in_flight_is_in_the_live_file() {
    let data = DataDir::new();
    let mut child = Program::new(TRACED, &data).args(["wait"]).start_ready();
    send(&child, Signal::SIGKILL);
    let pid = child.id();
    child.wait().unwrap();
    let text = std::fs::read_to_string(only_run(&data).join(".live")).unwrap();
    let lines: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(
        (&lines[0]["run_name"], &lines[0]["pid"]),
        (&json!("waiting"), &json!(pid))
    );
    assert_eq!(
        (&lines[1]["name"], &lines[1]["type"]),
        (&json!("gpt-5"), &json!("LLM_CALL"))
    );
    assert_eq!(lines.len(), 2);
}

#[test]
fn a_program_that_returns_ends_its_run_well() {
    let data = DataDir::new();
    let mut child = Program::new(TRACED, &data).args(["wait"]).start_ready();
    go_on(&mut child);
    assert!(child.wait().unwrap().success());
    let finished = data.finished();
    assert_eq!(finished.status(), RecordedStatus::Ok);
    assert_eq!(
        finished.payload(EventType::LlmCall)["error"]["error_type"],
        "Cancelled"
    );
}

#[test]
fn a_fatal_panic_fails_the_run() {
    let data = DataDir::new();
    let mut child = Program::new(TRACED, &data).args(["panic"]).start_ready();
    go_on(&mut child);
    let output = child.wait_with_output().unwrap();
    assert_eq!(
        output.status.code(),
        Some(101),
        "the program's own end is unchanged"
    );
    assert!(
        String::from_utf8_lossy(&output.stderr).contains("it went wrong"),
        "and so is what it prints"
    );
    let finished = data.finished();
    assert_eq!(finished.status(), RecordedStatus::Error);
    let error = finished.payload(EventType::Error);
    assert_eq!(
        (&error["error_type"], &error["message"]),
        (&json!("panic"), &json!("it went wrong"))
    );
    assert!(error["stack"].as_str().unwrap().contains("traced.rs"), "{error}");
}

#[test]
fn a_leaked_guard_leaves_an_interrupted_run() {
    let data = DataDir::new();
    let mut child = Program::new(TRACED, &data).args(["forget"]).start_ready();
    go_on(&mut child);
    assert!(child.wait().unwrap().success());
    assert_eq!(liveness_now(&data), Liveness::Interrupted);
    assert_eq!(spans_in(&data), ["before", "gpt-5"]);
}

#[test]
fn a_stopped_program_is_never_dead() {
    let data = DataDir::new();
    let mut child = Program::new(TRACED, &data).args(["wait"]).start_ready();
    send(&child, Signal::SIGSTOP);
    for _ in 0..1_000 {
        assert_eq!(liveness_now(&data), Liveness::Running);
    }
    send(&child, Signal::SIGCONT);
    go_on(&mut child);
    assert!(child.wait().unwrap().success());
    assert_eq!(data.finished().status(), RecordedStatus::Ok);
}

#[test]
fn a_dead_program_with_living_child_is_dead() {
    let data = DataDir::new();
    let mut child = Program::new(TRACED, &data).args(["exec-and-wait"]).start_ready();
    assert_eq!(liveness_now(&data), Liveness::Running);
    send(&child, Signal::SIGKILL);
    let input = child.stdin.take();
    child.wait().unwrap();
    // The other program reads from the pipe whose end we hold, so it lives until we let go.
    wait_until("interrupted", || liveness_now(&data) == Liveness::Interrupted);
    drop(input);
}

#[test]
fn a_forked_child_hides_no_death() {
    let data = DataDir::new();
    let mut child = Program::new(TRACED, &data).args(["fork-and-wait"]).start_ready();
    assert_eq!(liveness_now(&data), Liveness::Running);
    send(&child, Signal::SIGKILL);
    let input = child.stdin.take();
    child.wait().unwrap();
    let died = Instant::now();
    wait_until("interrupted", || liveness_now(&data) == Liveness::Interrupted);
    assert!(died.elapsed() < Duration::from_secs(1));
    drop(input);
}

#[test]
fn an_exec_after_fork_is_a_death() {
    let data = DataDir::new();
    let mut child = Program::new(TRACED, &data)
        .args(["fork-and-become-another-program"])
        .start_ready();
    let pid = child.id();
    wait_until("another program", || {
        std::fs::read_link(format!("/proc/{pid}/exe")).is_ok_and(|program| !program.ends_with("traced"))
    });
    assert_eq!(liveness_now(&data), Liveness::Interrupted);
    drop(child.stdin.take());
    child.wait().unwrap();
}

/// What a `.live` says of a process that only holds a lock, with everything else from a real recorder.
fn live_file_of(process: u32, data: &DataDir) -> String {
    let mut child = Program::new(TRACED, data).args(["wait"]).start_ready();
    let text = std::fs::read_to_string(only_run(data).join(".live")).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    let mut header: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    let status = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
    let (_, fields) = status.rsplit_once(')').unwrap();
    header["pid"] = json!(process);
    header["process_start"] = json!(fields.split_whitespace().nth(19).unwrap());
    header["lock_descriptor"] = json!(3);
    format!("{header}\n")
}

/// Takes the lock of the file that it is given, as descriptor 3, and goes on without its first thread.
const WITHOUT_ITS_FIRST_THREAD: &str = r"
#include <fcntl.h>
#include <pthread.h>
#include <sys/file.h>
#include <unistd.h>
static void *wait_for_the_end(void *unused) {
    char byte;
    while (read(0, &byte, 1) > 0) {}
    _exit(0);
}
int main(int count, char **arguments) {
    pthread_t thread;
    int file = open(arguments[1], O_RDWR | O_CREAT, 0600);
    if (dup2(file, 3) != 3 || flock(3, LOCK_EX) || pthread_create(&thread, 0, wait_for_the_end, 0)) return 1;
    pthread_exit(0);
}
";

#[test]
fn a_process_whose_first_thread_is_gone_lives() {
    let folder = tempfile::tempdir().unwrap();
    let [source, program] = ["program.c", "program"].map(|name| folder.path().join(name));
    std::fs::write(&source, WITHOUT_ITS_FIRST_THREAD).unwrap();
    // The linker that built this test.
    let built = Command::new("cc")
        .arg("-pthread")
        .arg("-o")
        .args([&program, &source])
        .status();
    assert!(built.unwrap().success());
    let data = DataDir::new();
    let run = folder.path().join("run");
    std::fs::create_dir(&run).unwrap();
    let mut child = Command::new(program)
        .arg(run.join(".live"))
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let state = format!("/proc/{}/stat", child.id());
    wait_until("no first thread", || {
        std::fs::read_to_string(&state).unwrap().contains(") Z ")
    });
    std::fs::write(run.join(".live"), live_file_of(child.id(), &data)).unwrap();
    assert_eq!(probe_liveness(&run, RecordedStatus::Running), Liveness::Running);
    drop(child.stdin.take());
    child.wait().unwrap();
    assert_eq!(
        probe_liveness(&run, RecordedStatus::Running),
        Liveness::Interrupted
    );
}

#[test]
fn time_namespaces_hide_no_liveness() {
    let elsewhere = [
        "--user",
        "--map-root-user",
        "--time",
        "--boottime",
        "100000",
        "--fork",
    ];
    let possible = Command::new("unshare").args(elsewhere).arg("true").output();
    if !possible.is_ok_and(|output| output.status.success()) {
        // `read::process` tests the same with a namespace that is only named.
        println!("skipped: this system does not let its users have a time namespace");
        return;
    }
    let data = DataDir::new();
    let mut child = Program::new("unshare", &data)
        .args(elsewhere.into_iter().chain(["--kill-child", TRACED, "wait"]))
        .start();
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap())
        .read_line(&mut line)
        .unwrap();
    assert_eq!(line, "ready\n");
    assert_eq!(liveness_now(&data), Liveness::Running);
    let text = std::fs::read_to_string(only_run(&data).join(".live")).unwrap();
    let header: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    let pid = i32::try_from(header["pid"].as_i64().unwrap()).unwrap();
    kill(Pid::from_raw(pid), Signal::SIGKILL).unwrap();
    wait_until("interrupted", || liveness_now(&data) == Liveness::Interrupted);
    child.wait().unwrap();
}

#[test]
fn a_forked_child_leaves_its_parents_run() {
    let data = DataDir::new();
    Program::new(TRACED, &data).args(["fork"]).succeed();
    let mut runs: Vec<(RecordedStatus, Vec<String>)> = data
        .finished_runs()
        .into_iter()
        .map(|run| {
            (
                run.status(),
                run.run.spans.into_iter().map(|span| span.name).collect(),
            )
        })
        .collect();
    runs.sort_by_key(|(_, names)| names.len());
    let (own, parents) = (["in the child", "the child's own"], ["before", "after", "forked"]);
    assert_eq!(runs.len(), 2);
    assert_eq!(runs[0], (RecordedStatus::Ok, own.map(str::to_owned).to_vec()));
    assert_eq!(runs[1], (RecordedStatus::Ok, parents.map(str::to_owned).to_vec()));
}
