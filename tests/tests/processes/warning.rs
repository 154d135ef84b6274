//! The one warning: printed where it can be, and otherwise given up. It waits for nobody and raises no signal
//! (architecture, *never*; reliability G1).

use std::fs::File;
use std::io::{ErrorKind, Read, Write, pipe};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::Child;
use std::time::{Duration, Instant};

use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::pty::openpty;
use rstest::rstest;
use tracer_tests::{DataDir, Program};

use super::TRACED;

const NO_SIGNAL: &str = "went on with 0000000000000000\n";

/// A standard error for a program, and the end at which it is read.
type Ends = (OwnedFd, OwnedFd);

fn a_pipe() -> Ends {
    let (reading, writing) = pipe().unwrap();
    (writing.into(), reading.into())
}

fn a_socket() -> Ends {
    let (one, other) = UnixStream::pair().unwrap();
    (one.into(), other.into())
}

fn a_terminal() -> Ends {
    let ends = openpty(None, None).unwrap();
    (ends.slave, ends.master)
}

fn set_waiting(end: &impl AsFd, waits: bool) {
    let flags = if waits { OFlag::empty() } else { OFlag::O_NONBLOCK };
    fcntl(end, FcntlArg::F_SETFL(flags)).unwrap();
}

/// Writes until there is no room left.
fn fill(end: &OwnedFd) {
    let mut writing = File::from(end.try_clone().unwrap());
    set_waiting(end, false);
    let mut written = 0;
    for size in [4096, 1] {
        loop {
            match writing.write(&vec![b'x'; size]) {
                Ok(taken) => written += taken,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => panic!("{error}"),
            }
        }
    }
    assert!(written > 0);
    set_waiting(end, true);
}

/// Has a program warn with this standard error; what it says at its end.
fn warned(task: &str, errors: OwnedFd) -> String {
    let data = DataDir::new();
    let child = Program::new(TRACED, &data)
        .args([task])
        .env("TRACER_DATA_DIR", "/dev/null/nowhere")
        .start_with_errors_to(errors);
    ended(child)
}

fn ended(mut child: Child) -> String {
    let start = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if start.elapsed() > Duration::from_secs(20) {
            child.kill().unwrap();
            panic!("the program waits");
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    let status = child.wait().unwrap();
    let mut said = String::new();
    child.stdout.take().unwrap().read_to_string(&mut said).unwrap();
    assert!(status.success(), "{status}: {said}");
    said
}

/// What can be read at the other end without waiting.
fn read(end: OwnedFd) -> String {
    set_waiting(&end, false);
    let mut bytes = Vec::new();
    let mut block = [0; 4096];
    let mut reading = File::from(end);
    while let Ok(read @ 1..) = reading.read(&mut block) {
        bytes.extend_from_slice(&block[..read]);
    }
    String::from_utf8(bytes).unwrap()
}

#[rstest]
#[case::pipe(a_pipe)]
#[case::socket(a_socket)]
#[case::terminal(a_terminal)]
fn the_warning_is_printed_once_and_whole(#[case] ends: fn() -> Ends) {
    for task in ["warn", "warn-while-standard-error-is-held"] {
        let (writing, reading) = ends();
        assert_eq!(warned(task, writing.try_clone().unwrap()), NO_SIGNAL, "{task}");
        let reported = read(reading);
        assert!(
            reported.starts_with("tracer: cannot write the run "),
            "{task}: {reported:?}"
        );
        assert!(
            reported
                .trim_end()
                .ends_with("(this warning appears once; the program goes on)"),
            "{reported:?}"
        );
        assert_eq!(reported.lines().count(), 1, "{task}: {reported:?}");
    }
}

#[test]
fn the_warning_goes_to_a_file_where_the_programs_own_output_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("errors");
    let mut file = File::create(&path).unwrap();
    file.write_all(b"before\n").unwrap();
    assert_eq!(warned("warn", file.try_clone().unwrap().into()), NO_SIGNAL);
    file.write_all(b"after\n").unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[1].starts_with("tracer: "), "{text:?}");
    assert_eq!((lines[0], lines[2], lines.len()), ("before", "after", 3));
}

#[rstest]
#[case::pipe(a_pipe)]
#[case::socket(a_socket)]
#[case::terminal(a_terminal)]
fn a_full_standard_error_delays_nobody(#[case] ends: fn() -> Ends) {
    let (writing, reading) = ends();
    let is_terminal = nix::unistd::isatty(&writing).unwrap();
    fill(&writing);
    assert_eq!(warned("warn", writing), NO_SIGNAL);
    // A terminal makes room by itself, when it gets round to it.
    assert!(is_terminal || !read(reading).contains("tracer"), "given up");
}

#[rstest]
#[case::pipe(a_pipe)]
#[case::socket(a_socket)]
#[case::terminal(a_terminal)]
fn a_closed_standard_error_raises_no_signal(#[case] ends: fn() -> Ends) {
    let (writing, reading) = ends();
    drop(reading);
    assert_eq!(warned("warn", writing), NO_SIGNAL);
}
