//! Programs that do not want to end: they are shell scripts, run for real.

use std::fs;
use std::path::Path;
use std::time::Duration;

use tracer_insight::process_exit::ProcessExit;

use super::*;
use crate::trials::stop::{Stop, TrialsStop};

fn script(text: &str, folder: &Path) -> Launch {
    Launch {
        program: "/bin/sh".into(),
        arguments: vec!["-c".into(), text.into()],
        input: None,
        directory: folder.to_owned(),
        environment: vec![("GREETING", "hello".into())],
        removed: &["HOME"],
        timeout: Duration::from_secs(60),
    }
}

/// Runs a script whose processes write their number to a file of the folder, and checks that none is left.
fn run_to_its_end(text: &str, timeout: Duration) -> EndedProgram {
    let folder = tempfile::tempdir().unwrap();
    let launch = Launch {
        timeout,
        ..script(text, folder.path())
    };
    let ended = run(&launch, None, &Stop::unasked()).unwrap();
    assert!(!ended.has_survivors);
    for entry in fs::read_dir(folder.path()).unwrap() {
        let id = fs::read_to_string(entry.unwrap().path()).unwrap();
        assert!(!is_running(id.trim()), "process {id} is left");
    }
    ended
}

/// Whether a process runs; one that ended and that nobody took note of does not.
fn is_running(id: &str) -> bool {
    fs::read_to_string(format!("/proc/{id}/stat"))
        .is_ok_and(|stat| !stat.rsplit_once(") ").unwrap().1.starts_with('Z'))
}

const LONG: Duration = Duration::from_secs(60);
const SHORT: Duration = Duration::from_millis(300);

#[test]
fn a_program_has_its_environment_and_nothing_to_read() {
    let text = r#"read line && exit 9; echo "$GREETING ${HOME-no home}"; echo problem >&2; exit 3"#;
    let ended = run_to_its_end(text, LONG);
    assert!(matches!(ended.end, ProgramEnd::Exited(ProcessExit::Code(3))));
    assert_eq!(ended.stdout, "hello no home\n");
    assert_eq!(ended.stderr, "problem\n");
}

#[test]
fn a_program_that_cannot_be_started_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let launch = Launch {
        program: folder.path().join("no-such-program"),
        ..script("", folder.path())
    };
    assert!(run(&launch, None, &Stop::unasked()).is_err());
}

#[test]
fn a_program_that_ended_leaves_no_process_behind() {
    let text = "sleep 1000 & echo $! > child; exit 0";
    let ended = run_to_its_end(text, LONG);
    assert!(matches!(ended.end, ProgramEnd::Exited(ProcessExit::Code(0))));
}

#[test]
fn a_program_that_takes_too_long_is_ended_with_what_it_started() {
    let text = "sleep 1000 & echo $! > child; echo $$ > self; wait";
    let ended = run_to_its_end(text, SHORT);
    assert_eq!(ended.end, ProgramEnd::TimedOut);
    assert!(ended.took >= SHORT);
}

#[test]
fn a_program_that_does_not_listen_is_killed() {
    let text = "trap '' TERM; echo $$ > self; while :; do sleep 1000; done";
    assert_eq!(run_to_its_end(text, SHORT).end, ProgramEnd::TimedOut);
}

#[test]
fn a_signal_that_ended_a_program_is_reported() {
    let ended = run_to_its_end("kill -9 $$", LONG);
    assert!(matches!(ended.end, ProgramEnd::Exited(ProcessExit::Signal(9))));
}

#[test]
fn the_user_stops_a_program() {
    let folder = tempfile::tempdir().unwrap();
    let stop = Stop::unasked();
    stop.interrupt();
    let ended = run(&script("sleep 1000", folder.path()), None, &stop).unwrap();
    assert_eq!(ended.end, ProgramEnd::Stopped(TrialsStop::Interrupted));
}

#[test]
fn output_without_end_is_taken_and_holds_no_memory() {
    let ended = run_to_its_end("yes | head -c 50000000; echo the end", LONG);
    assert!(matches!(ended.end, ProgramEnd::Exited(ProcessExit::Code(0))));
    assert!(ended.stdout.ends_with("y\nthe end\n"));
    assert!(ended.stdout.len() <= 64 * 1024);
}
