//! `tracer import AGENT`: sessions that coding agents wrote become runs, once.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::json;

use crate::sandbox::{Outcome, Sandbox};

/// A sandbox whose home has the recorded sessions where their agents keep them.
fn home() -> Sandbox {
    let sandbox = Sandbox::new();
    for (agent, place) in [
        ("claude-code", "claude/projects/-home-user-project"),
        ("codex", "codex/sessions/2026/11/29"),
        ("gemini-cli", "gemini/.gemini/tmp/project"),
    ] {
        let from = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../tests/data/sessions")
            .join(agent);
        copy(&from, &sandbox.path(place));
    }
    sandbox
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let to = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &to);
        } else {
            fs::copy(entry.path(), &to).unwrap();
        }
    }
}

fn command(sandbox: &Sandbox, arguments: &[&str]) -> std::process::Command {
    let mut command = sandbox.command(arguments);
    for (variable, place) in [
        ("CLAUDE_CONFIG_DIR", "claude"),
        ("CODEX_HOME", "codex"),
        ("GEMINI_CLI_HOME", "gemini"),
    ] {
        command.env(variable, sandbox.path(place));
    }
    command
}

fn tracer(sandbox: &Sandbox, arguments: &[&str]) -> Outcome {
    command(sandbox, arguments).output().unwrap().into()
}

fn claude_session(sandbox: &Sandbox) -> PathBuf {
    sandbox.path("claude/projects/-home-user-project/207f2d10-0b4e-4037-869f-1bffcfa7cc7f.jsonl")
}

#[test]
fn what_is_on_this_machine_is_listed_with_what_to_type() {
    let sandbox = home();
    let listed = tracer(&sandbox, &["import"]);
    assert_eq!(listed.code, Some(0), "{listed:?}");
    assert!(
        listed.stdout.contains("claude-code  4 sessions, newest"),
        "{listed:?}"
    );
    assert!(
        listed.stderr.contains("import claude-code codex gemini-cli"),
        "{listed:?}"
    );
    tracer(&sandbox, &["import", "codex"]);
    let agents = tracer(&sandbox, &["import", "--json"]).json();
    let counts: Vec<_> = agents["agents"].as_array().unwrap().iter().collect();
    assert_eq!(
        (&counts[0]["sessions"], &counts[0]["imported"]),
        (&json!(4), &json!(0))
    );
    assert_eq!(
        (&counts[1]["sessions"], &counts[1]["imported"]),
        (&json!(3), &json!(3))
    );
    let nothing = tracer(&Sandbox::new(), &["import"]);
    assert!(nothing.stdout.contains("no sessions in "), "{nothing:?}");
}

#[test]
fn sessions_become_runs_that_say_so_once() {
    let sandbox = home();
    let first = tracer(&sandbox, &["import", "claude-code", "codex"]);
    assert!(first.stdout.contains("7 new runs"), "{first:?}");
    let again = tracer(&sandbox, &["import", "claude-code", "codex"]);
    assert!(again.stdout.contains("0 new runs, 0 new spans"), "{again:?}");
    let list = tracer(&sandbox, &["list", "tag:from=transcript", "--json"]).json();
    assert_eq!(list["runs"].as_array().unwrap().len(), 7);
    let run = list["runs"]
        .as_array()
        .unwrap()
        .iter()
        .find(|run| run["run_name"] == "claude-code: run `echo 8` please");
    let id = run.unwrap()["trace_id"].as_str().unwrap();
    let shown = tracer(&sandbox, &["show", id]);
    for text in [
        "from a transcript of claude-code: calls that it hides are absent",
        "echo 8",
        "It is: 8",
        "266 tokens",
    ] {
        assert!(shown.stdout.contains(text), "{text}: {shown:?}");
    }
    // Each call has but what is new in it: the rest is not that of what is there, and may be where a value came from.
    let context = tracer(&sandbox, &["show", id, "--context"]);
    assert!(
        context.stdout.contains("input that was not recorded"),
        "{context:?}"
    );
    let why = tracer(&sandbox, &["why", id, "Run a command"]);
    assert!(why.stdout.contains("was not found verbatim"), "{why:?}");
}

#[test]
fn a_damaged_line_is_named_without_its_content() {
    let sandbox = home();
    let path = claude_session(&sandbox);
    let mut text = fs::read_to_string(&path).unwrap();
    text.push_str("{\"type\": \"user\", \"my password\n");
    fs::write(&path, text).unwrap();
    let imported = tracer(&sandbox, &["import", "claude-code"]);
    assert_eq!(imported.code, Some(1), "{imported:?}");
    assert!(imported.stdout.contains("4 new runs"), "{imported:?}");
    assert!(
        imported
            .stderr
            .contains("207f2d10-0b4e-4037-869f-1bffcfa7cc7f.jsonl: line 11: not JSON"),
        "{imported:?}"
    );
    assert!(
        imported.stderr.contains("1 line or file could not be read"),
        "{imported:?}"
    );
    assert!(!imported.stderr.contains("password"), "{imported:?}");
}

#[test]
fn a_transcript_may_be_given_by_its_path_and_its_content_left_out() {
    let sandbox = home();
    let path = claude_session(&sandbox);
    let imported = tracer(
        &sandbox,
        &["import", "claude-code", path.to_str().unwrap(), "--no-content"],
    );
    assert!(imported.stdout.contains("1 new run, 3 new spans"), "{imported:?}");
    let exported = tracer(&sandbox, &["export", "latest", "--out", "-"]);
    assert!(!exported.stdout.contains("It is: 8"), "{exported:?}");
    let missing = tracer(&sandbox, &["import", "claude-code", "nowhere.jsonl"]);
    missing.fails(2, &["there is no", "nowhere.jsonl"]);
    tracer(&sandbox, &["import", "--watch"]).fails(2, &["tracer import claude-code --watch"]);
}

#[cfg(unix)]
#[test]
fn a_session_that_grows_is_followed_until_ctrl_c() {
    let sandbox = home();
    let path = claude_session(&sandbox);
    let text = fs::read_to_string(&path).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    fs::write(&path, lines[..7].join("\n") + "\n").unwrap();
    let mut child = command(
        &sandbox,
        &["import", "claude-code", path.to_str().unwrap(), "--watch"],
    )
    .stdout(Stdio::piped())
    .stderr(Stdio::piped())
    .spawn()
    .unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(output.next().unwrap().unwrap().contains("1 new run"));
    let running = tracer(&sandbox, &["list", "--json"]).json();
    assert_eq!(running["runs"][0]["run_status"], "running");
    fs::write(&path, &text).unwrap();
    assert!(output.next().unwrap().unwrap().contains("1 continued"));
    let pid = i32::try_from(child.id()).unwrap();
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), nix::sys::signal::Signal::SIGINT).unwrap();
    assert!(child.wait().unwrap().success());
    let ended = tracer(&sandbox, &["list", "--json"]).json();
    assert_eq!(ended["runs"][0]["run_status"], "ok");
    assert_eq!(ended["runs"][0]["counts"]["llm_calls"], 2);
}
