//! A user who has enough: the gate ends soon, cleans up, and reports what there is.

use std::process::Child;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tracer_tests::wait_until;

use super::workshop::{Outcome, Workshop};

/// The first trial ends well; the others never do, and say so when the first one is gone.
const SECOND_HANGS: &str = r#"
if test "$TRACER_TRIAL_INDEX" = 1; then
    echo $$ > "$OUTSIDE/first"
    exec "$TRACED" wait
fi
until test -s "$OUTSIDE/first" && ! kill -0 "$(cat "$OUTSIDE/first")"; do sleep 0.01; done 2> /dev/null
touch "$OUTSIDE/hangs"
sleep 1000"#;

/// Interrupts a gate in its second trial.
fn interrupted(agent: &str, options: &[&str], interrupt: impl FnOnce(&Child)) -> Outcome {
    let workshop = Workshop::new(agent);
    let gate = workshop.begin(options);
    wait_until("the second trial", || workshop.path("hangs").exists());
    interrupt(&gate);
    workshop.outcome(gate)
}

fn send(gate: &Child, signal: Signal) {
    kill(Pid::from_raw(gate.id().cast_signed()), signal).unwrap();
}

fn is_interrupted(outcome: &Outcome) {
    outcome.is("fail");
    assert_eq!(outcome.report["stop_reason"], "interrupted");
    assert_eq!(outcome.trials()[0]["passed"], true);
    assert_eq!(outcome.trials()[1]["failure"]["reason"], "interrupted");
}

#[test]
fn ctrl_c_ends_the_trials_and_the_report_has_those_that_ended() {
    for jobs in ["1", "2"] {
        let options = ["--trials", "9", "--jobs", jobs];
        let outcome = interrupted(SECOND_HANGS, &options, |gate| send(gate, Signal::SIGINT));
        is_interrupted(&outcome);
    }
}

#[test]
fn a_request_to_end_does_the_same() {
    let options = ["--trials", "2", "--no-fail-fast"];
    let outcome = interrupted(SECOND_HANGS, &options, |gate| send(gate, Signal::SIGTERM));
    is_interrupted(&outcome);
}

#[test]
fn a_second_ctrl_c_kills_what_does_not_listen() {
    let deaf = SECOND_HANGS.replace("touch", "trap '' TERM\ntouch");
    let outcome = interrupted(&deaf, &["--trials", "2"], |gate| {
        send(gate, Signal::SIGINT);
        send(gate, Signal::SIGINT);
    });
    is_interrupted(&outcome);
}
