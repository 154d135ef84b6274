//! Signals reach the outcome command, and once.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdout, Command, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::Recorder;

/// Reports each signal that it gets, until it is asked to end.
const LISTENER: &str = "for name in INT TERM HUP QUIT USR1; do trap \"echo $name\" $name; done; echo ready; \
                        while ! test -e end; do sleep 0.02; done; exit 7";

fn lines_of(child: &mut Child) -> BufReader<ChildStdout> {
    BufReader::new(child.stdout.take().unwrap())
}

fn next(lines: &mut impl BufRead) -> String {
    let mut line = String::new();
    lines.read_line(&mut line).unwrap();
    line.trim_end().to_owned()
}

#[test]
fn what_a_process_sends_is_sent_on() {
    let recorder = Recorder::new();
    let mut child = recorder.begin(&["sh", "-c", LISTENER]);
    let mut lines = lines_of(&mut child);
    assert_eq!(next(&mut lines), "ready");
    let tracer = Pid::from_raw(i32::try_from(child.id()).unwrap());
    for signal in [
        Signal::SIGINT,
        Signal::SIGTERM,
        Signal::SIGHUP,
        Signal::SIGQUIT,
        Signal::SIGUSR1,
    ] {
        kill(tracer, signal).unwrap();
        assert_eq!(format!("SIG{}", next(&mut lines)), signal.as_str());
    }
    recorder.write("end", "");
    assert_eq!(child.wait().unwrap().code(), Some(7), "the command's own");
    assert_eq!(next(&mut lines), "", "no signal came twice");
    assert!(recorder.run().run.meta.status.is_completed());
}

#[test]
fn a_signal_before_the_command_listens_is_not_lost() {
    let recorder = Recorder::new();
    for _ in 0..5 {
        let mut child = recorder.begin(&["sleep", "600"]);
        // The run is there, the command perhaps not.
        tracer_tests::wait_until("the run begins", || {
            recorder
                .runs()
                .iter()
                .any(|run| run.status() == tracer_runs::RunStatus::Running)
        });
        kill(Pid::from_raw(i32::try_from(child.id()).unwrap()), Signal::SIGTERM).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(143));
    }
}

/// Runs a script on a terminal of its own, which is typed into once it is ready.
pub(super) fn on_a_terminal(recorder: &Recorder, options: &[&str], script: &str, typed: &[u8]) -> String {
    let command = recorder.command(&[&["--quiet"], options].concat(), &["sh", "-c", script]);
    let mut words = vec![command.get_program().to_string_lossy().into_owned()];
    words.extend(command.get_args().map(|word| word.to_string_lossy().into_owned()));
    let line: Vec<String> = words
        .iter()
        .map(|word| format!("'{}'", word.replace('\'', r"'\''")))
        .collect();
    let mut terminal = Command::new("script");
    terminal.env_clear();
    for (name, value) in command.get_envs() {
        if let Some(value) = value {
            terminal.env(name, value);
        }
    }
    let mut child = terminal
        .args(["-qec", &line.join(" "), "/dev/null"])
        .env("SHELL", "/bin/sh")
        .current_dir(recorder.directory.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = lines_of(&mut child);
    let mut seen = String::new();
    while !seen.contains("ready") {
        let line = next(&mut lines);
        seen.push_str(&line);
        seen.push('\n');
    }
    let mut input = child.stdin.take().unwrap();
    input.write_all(typed).unwrap();
    lines.read_to_string(&mut seen).unwrap();
    drop(input);
    child.wait().unwrap();
    seen
}

#[test]
fn ctrl_c_of_a_terminal_reaches_the_command_once() {
    let recorder = Recorder::new();
    // Its parent, the recording, sends a signal on only behind those that came before: an interruption that it sent on, too,
    // would be there by then.
    let script = "trap 'echo interrupted; kill -USR1 $PPID' INT; trap 'ended=1' USR1; echo ready; \
                  until test \"$ended\"; do sleep 0.02; done; exit 0";
    let seen = on_a_terminal(&recorder, &[], script, b"\x03");
    assert_eq!(seen.matches("interrupted").count(), 1, "{seen}");
    assert!(recorder.run().run.meta.status.is_completed());
}

#[test]
fn the_terminal_is_the_commands() {
    let recorder = Recorder::new();
    let script =
        "test -t 0 && test -t 1 && test -t 2 && echo a terminal; echo ready; read line; echo \"got $line\"";
    let seen = on_a_terminal(&recorder, &[], script, b"hello\n");
    assert!(
        seen.contains("a terminal") && seen.contains("got hello"),
        "{seen}"
    );
}

#[test]
fn what_is_ignored_stays_ignored() {
    let recorder = Recorder::new();
    // A hang-up that this shell ignores is ignored by the command, too.
    let command = recorder.command(&["--quiet"], &["sh", "-c", "kill -HUP $$; echo alive"]);
    let output = Command::new("sh")
        .args(["-c", "trap '' HUP; exec \"$@\"", "sh"])
        .arg(command.get_program())
        .args(command.get_args())
        .env("TRACER_DATA_DIR", recorder.data.path())
        .output()
        .unwrap();
    assert_eq!(output.stdout, b"alive\n");
}
