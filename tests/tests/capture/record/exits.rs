//! The exit code is the command's own; a command that is not run has the codes of shells.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use tracer_sdk::format::RecordedStatus;

use super::Recorder;

#[test]
fn the_exit_code_is_that_of_the_command() {
    for code in [0, 1, 3, 255] {
        let recorder = Recorder::new();
        let outcome = recorder.record(&["sh", "-c", &format!("exit {code}")]);
        assert_eq!(outcome.code, Some(code), "{outcome:?}");
        let run = recorder.run();
        let expected = if code == 0 {
            RecordedStatus::Ok
        } else {
            RecordedStatus::Error
        };
        assert_eq!(run.status(), expected);
        assert_eq!(run.run.spans[0].attributes["process.exit.code"], code);
    }
}

#[test]
fn a_signal_becomes_128_and_its_number() {
    for (name, code) in [("TERM", 143), ("KILL", 137), ("HUP", 129), ("SEGV", 139)] {
        let recorder = Recorder::new();
        let outcome = recorder.record(&["sh", "-c", &format!("kill -{name} $$")]);
        assert_eq!(outcome.code, Some(code), "{outcome:?}");
        let run = recorder.run();
        assert_eq!(run.status(), RecordedStatus::Error);
        let description = &run.run.spans[0].status_description;
        assert!(description.contains(&format!("SIG{name}")), "{description}");
    }
}

#[test]
fn a_command_that_cannot_be_run_leaves_no_run() {
    let recorder = Recorder::new();
    recorder.write("script", "echo no");
    for (command, code, reason) in [
        ("no-such-program", 127, "there is no program no-such-program"),
        ("./missing", 127, "there is no program ./missing"),
        ("./script", 126, "cannot be run"),
        ("/", 126, "cannot be run"),
    ] {
        let outcome = recorder.record(&[command]);
        assert_eq!(outcome.code, Some(code), "{outcome:?}");
        outcome.says(reason).says("hint: ");
        assert!(recorder.runs().is_empty());
    }
}

#[test]
fn a_recording_that_cannot_begin_starts_no_command() {
    let recorder = Recorder::new();
    recorder.write("file", "");
    let marker = recorder.path("was-run");
    let touch = ["touch", marker.to_str().unwrap()];
    let in_a_file = recorder.path("file/data");
    let nowhere = [
        "record",
        "--data-dir",
        in_a_file.to_str().unwrap(),
        "--",
        touch[0],
        touch[1],
    ];
    let mut command = recorder.command(&[], &touch);
    let output = std::process::Command::new(command.get_program())
        .args(nowhere)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(125), "{output:?}");
    let setting = recorder
        .command(&[], &touch)
        .env("TRACER_MAX_FIELD_BYTES", "few")
        .output()
        .unwrap();
    assert_eq!(setting.status.code(), Some(125), "{setting:?}");
    assert!(!marker.exists());
    assert!(command.output().unwrap().status.success());
    assert!(marker.exists());
}

#[test]
fn a_full_disk_does_not_disturb_the_command() {
    let recorder = Recorder::new();
    let runs = recorder.data.path().join("runs");
    // The log cannot be written from the moment that the command runs.
    let script = format!(
        "for run in {}/*; do mkdir $run/spans.jsonl; done; \"$0\" call; echo went on; exit 4",
        runs.display()
    );
    let outcome = recorder.record(&["sh", "-c", &script, super::EXPORTER]);
    assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(4), "went on\n"));
    outcome.says("the recording is incomplete");
}

#[test]
fn streams_are_those_of_the_command() {
    let recorder = Recorder::new();
    let mut child = recorder.begin(&["sh", "-c", "cat; echo problem >&2"]);
    let mut input = child.stdin.take().unwrap();
    std::io::Write::write_all(&mut input, b"one\ntwo").unwrap();
    drop(input);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.stdout, b"one\ntwo", "not a byte more");
    assert!(output.stderr.starts_with(b"problem\n"));
}

#[test]
fn quiet_prints_nothing() {
    let recorder = Recorder::new();
    let outcome = recorder.record_with(&["--quiet"], &["true"]);
    assert_eq!((outcome.stderr.as_str(), outcome.stdout.as_str()), ("", ""));
    assert_eq!(recorder.runs().len(), 1);
}

#[test]
fn a_script_without_permission_is_named() {
    let recorder = Recorder::new();
    recorder.write("agent", "#!/bin/sh\n");
    recorder.record(&["./agent"]).says("chmod +x ./agent");
    fs::set_permissions(recorder.path("agent"), fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(recorder.record(&["./agent"]).code, Some(0));
}
