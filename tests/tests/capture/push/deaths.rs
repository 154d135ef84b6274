//! The command in a process of its own: what it prints, and that its death loses nothing.

use std::process::{Child, Output};
use std::thread;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tracer_sdk::tool_call;
use tracer_tests::collector::Reply;
use tracer_tests::{Collector, DataDir, Program, kills, wait_until};

use super::{TRACER, ids, record, recorded_ids};

fn program(data: &DataDir, collector: &Collector, more: &[&str]) -> Program {
    let url = collector.url();
    let mut arguments = vec!["push", "--to", url.as_str()];
    arguments.extend(more);
    Program::new(TRACER, data)
        .args(arguments)
        .env("OTEL_EXPORTER_OTLP_HEADERS", "authorization=s3cret")
}

fn text(output: &Output) -> String {
    let bytes = [output.stdout.as_slice(), output.stderr.as_slice()].concat();
    String::from_utf8(bytes).unwrap()
}

#[test]
fn the_command_prints_what_it_sent_and_never_a_header() {
    let data = DataDir::new();
    record(&data, "support-agent");
    let collector = Collector::start([]);
    let header = ["--all"];
    let output = program(&data, &collector, &header).output();
    assert!(output.status.success(), "{output:?}");
    let printed = text(&output);
    assert!(
        printed.contains("sent 1 run, 3 spans, to http://127.0.0.1:"),
        "{printed}"
    );
    assert_eq!(collector.requests()[0].headers["authorization"], "s3cret");
    let again = program(&data, &collector, &header).output();
    assert!(
        text(&again).contains("nothing to send: 1 run sent to"),
        "{}",
        text(&again)
    );
    let refusing = Collector::start([Reply::status(401)]);
    let refused = program(&data, &refusing, &header).output();
    assert_eq!(refused.status.code(), Some(2));
    assert!(text(&refused).contains("hint: set the key"), "{}", text(&refused));
    for output in [output, again, refused] {
        assert!(!text(&output).contains("s3cret"));
    }
}

#[test]
fn refused_spans_are_an_exit_code_of_their_own() {
    let data = DataDir::new();
    record(&data, "support-agent");
    let collector = Collector::start([Reply::json(400, r#"{"message":"bad span"}"#)]);
    let output = program(&data, &collector, &[]).output();
    assert_eq!(output.status.code(), Some(1));
    let printed = text(&output);
    assert!(
        printed.contains("the endpoint refused 3 spans: status 400: bad span"),
        "{printed}"
    );
}

/// A data directory with several runs of many spans.
fn many_spans() -> DataDir {
    let data = DataDir::new();
    for name in ["one", "two", "three"] {
        data.run(name).in_scope(|| {
            for number in 0..1_400_u32 {
                tool_call("count").args(&number).record().unwrap();
            }
        });
    }
    data
}

fn killed(mut child: Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn killed_at_any_point_nothing_acknowledged_is_forgotten_and_a_repeat_completes_it() {
    for round in 0..kills(6).div_ceil(6) {
        push_that_dies_six_times(round);
    }
}

fn push_that_dies_six_times(round: u64) {
    let data = many_spans();
    let collector = Collector::start([]);
    collector.then(Reply::Late(Duration::from_millis(20)));
    let mut previous = 0;
    for kill_after in 1..=6 {
        let child = program(&data, &collector, &["--all"]).start();
        // Killed when this many requests are taken: in the middle of the work, at another place each time.
        wait_until("requests arrive", || {
            collector.taken().len() >= previous + kill_after % 3 || collector.taken().len() >= 9
        });
        thread::sleep(Duration::from_millis((7 * kill_after as u64 + round) % 25));
        killed(child);
        previous = collector.taken().len();
    }
    let last = program(&data, &collector, &["--all"]).output();
    assert!(last.status.success(), "{last:?}");
    assert_eq!(ids(&collector.spans()), recorded_ids(&data), "nothing is missing");
    let total = recorded_ids(&data).len();
    // Each death repeats at most what is read at once: a part of a log.
    assert!(
        collector.spans().len() < total * 3,
        "{} of {total}",
        collector.spans().len()
    );
    let again = program(&data, &collector, &["--all"]).output();
    assert!(
        text(&again).contains("nothing to send: 3 runs sent to"),
        "{}",
        text(&again)
    );
}

#[test]
fn following_ends_well_with_a_signal() {
    for signal in [Signal::SIGINT, Signal::SIGTERM] {
        let data = DataDir::new();
        record(&data, "support-agent");
        let collector = Collector::start([]);
        let child = program(&data, &collector, &["--follow"]).start();
        wait_until("the run is sent", || collector.spans().len() == 3);
        kill(Pid::from_raw(i32::try_from(child.id()).unwrap()), signal).unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let printed = text(&output);
        assert!(printed.contains("support-agent  3 spans"), "{printed}");
        assert!(printed.contains("sent 1 run, 3 spans, to"), "{printed}");
    }
}
