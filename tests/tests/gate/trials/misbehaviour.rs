//! Whatever a trial does, the gate ends in time, says so, cleans up and writes its report. Every check of this is in
//! `Workshop::outcome`, which each test goes through.

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use super::workshop::{Outcome, Workshop, is_running};

/// A trial that is to be ended gets this long.
const SHORT: &[&str] = &["--trials", "2", "--timeout", "0.5"];
/// How much a program writes by default; `TRACER_TEST_OUTPUT_BYTES` says otherwise.
const OUTPUT_BYTES: &str = "20000000";

fn gate(agent: &str, options: &[&str]) -> Outcome {
    let outcome = Workshop::new(agent).gate(options);
    outcome.is("fail");
    assert_eq!(outcome.report["trials_planned"], 2);
    outcome
}

// gate, *Trials*
#[test]
fn a_trial_that_hangs_is_ended_and_its_unfinished_run_is_kept() {
    let workshop = Workshop::new(r#"mkfifo gate; "$TRACED" fork-and-wait < gate & exec 3> gate; sleep 1000"#);
    let outcome = workshop.gate(SHORT);
    outcome.is("fail");
    assert_eq!(
        (outcome.reason(), outcome.detail()),
        ("timeout", "ended after 500 ms")
    );
    let id = outcome.trials()[0]["trace_id"].as_str().unwrap().to_owned();
    assert_eq!(workshop.runs()[0].directory.trace_id.to_string(), id);
}

#[test]
fn a_trial_without_trace_explains_how() {
    let outcome = gate("true", SHORT);
    assert_eq!(outcome.reason(), "no_trace");
    let notices = outcome.report["gate"]["notices"].to_string();
    assert!(notices.contains("#[tracer_sdk::trace]"), "{notices}");
    assert!(notices.contains("$TRACER_DATA_DIR"), "{notices}");
}

#[test]
fn a_trial_that_forks_leaves_no_process() {
    let agent = r#"
sleep 1000 &
setsid sleep 1000 &
setsid env -i sh -c 'echo $$ > "$1/process"; exec sleep 1000' sh "$OUTSIDE" &
until test -s "$OUTSIDE/process"; do sleep 0.01; done
exec "$TRACED" wait"#;
    let workshop = Workshop::new(agent);
    workshop.gate(&["--trials", "1"]).is("pass");
}

#[test]
fn among_several_trials_one_that_leaves_a_process_has_its_output() {
    let agent = r#"
setsid sh -c 'echo $$ > "$OUTSIDE/process$TRACER_TRIAL_INDEX"; exec sleep 1000' &
until test -s "$OUTSIDE/process$TRACER_TRIAL_INDEX"; do sleep 0.01; done
echo boom >&2; exit 3"#;
    let outcome = gate(agent, &["--trials", "2", "--jobs", "2"]);
    assert_eq!(outcome.reason(), "process_failed");
    assert_eq!(outcome.trials()[0]["stderr_tail"], "boom");
}

#[test]
fn a_process_that_was_there_before_the_gate_is_left_alone() {
    let workshop = Workshop::new(r#"sleep 1000 & setsid sleep 1000 & exec "$TRACED" wait"#);
    let server = r#"env -i sleep 1000 > /dev/null 2>&1 & echo $! > "$OUTSIDE/server""#;
    workshop.gate_after(server, &["--trials", "1"]).is("pass");
    let server = std::fs::read_to_string(workshop.path("server")).unwrap();
    assert!(is_running(server.trim()));
    kill(Pid::from_raw(server.trim().parse().unwrap()), Signal::SIGKILL).unwrap();
}

#[test]
fn a_trial_that_ignores_the_signal_to_end_is_killed() {
    let outcome = gate("trap '' TERM INT HUP; while :; do sleep 1000; done", SHORT);
    assert_eq!(outcome.reason(), "timeout");
}

#[test]
fn a_trial_may_write_as_much_as_it_likes() {
    let bytes = std::env::var("TRACER_TEST_OUTPUT_BYTES");
    let bytes = bytes.as_deref().unwrap_or(OUTPUT_BYTES);
    let agent =
        format!("yes | head -c {bytes}; yes | head -c {bytes} >&2; echo last >&2; exec \"$TRACED\" wait");
    let outcome = Workshop::new(&agent).gate(&["--trials", "1"]);
    let tail = outcome.is("pass").trials()[0]["stderr_tail"].as_str().unwrap();
    assert!(tail.ends_with("y\nlast") && tail.len() < 1_000, "{tail}");
}

#[test]
fn a_trial_may_delete_its_workspace_and_take_permissions_away() {
    let agent = r#"
"$TRACED" wait
mkdir -p "$TMPDIR/a/b" && touch "$TMPDIR/a/b/c" && chmod 500 "$TMPDIR/a/b" "$TMPDIR/a"
rm -rf "$PWD"
exit 0"#;
    Workshop::new(agent).gate(&["--trials", "2"]).is("pass");
}

#[test]
fn a_trial_that_deletes_its_data_left_no_trace() {
    let outcome = gate(r#""$TRACED" wait; rm -rf "$TRACER_DATA_DIR""#, &["--trials", "2"]);
    assert_eq!(outcome.reason(), "no_trace");
}

#[test]
fn a_half_written_trace_does_not_count() {
    let cut = r#"
"$TRACED" wait
for log in "$TRACER_DATA_DIR"/runs/*/spans.jsonl; do
    head -c 300 "$log" > cut && cat cut > "$log"
done"#;
    let outcome = gate(cut, &["--trials", "2"]);
    assert_eq!(outcome.reason(), "malformed_trace");
    assert!(outcome.detail().contains("spans.jsonl"), "{}", outcome.detail());
}

// gate, *Evidence*
#[test]
fn a_trace_that_has_no_end_does_not_count() {
    let outcome = gate(r#"exec "$TRACED" forget"#, &["--trials", "2"]);
    assert_eq!(outcome.reason(), "unfinished_trace");
}

#[test]
fn two_traces_do_not_count_and_both_are_kept() {
    let workshop = Workshop::new(r#"exec "$TRACED" runs 2"#);
    let outcome = workshop.gate(&["--trials", "2"]);
    assert_eq!(outcome.is("fail").reason(), "several_traces");
    let runs = workshop.runs();
    assert_eq!(runs.len(), 2);
    for run in &runs {
        assert!(outcome.detail().contains(&run.directory.trace_id.to_string()));
    }
}

// gate, *Trials*: what a program said before it could record anything is reported, and it is no internal error.
#[test]
fn a_crash_fails_with_its_last_output() {
    let outcome = gate(
        "echo 'DB_PASSWORD=hunter2 is wrong' >&2; exit 3",
        &["--trials", "2"],
    );
    assert_eq!(
        (outcome.reason(), outcome.detail()),
        ("process_failed", "exit code 3, and it left no trace")
    );
    let trial = &outcome.trials()[0];
    assert_eq!(trial["exit"]["code"], 3);
    assert_eq!(trial["stderr_tail"], "DB_PASSWORD=__REDACTED__ is wrong");
}

#[test]
fn a_trial_that_a_signal_ends_says_which() {
    let outcome = gate(r#""$TRACED" wait; kill -SEGV $$"#, &["--trials", "2"]);
    assert_eq!(
        (outcome.reason(), outcome.detail()),
        ("process_failed", "signal 11")
    );
    assert_eq!(outcome.trials()[0]["exit"]["signal"], 11);
}

#[test]
fn a_program_that_cannot_be_started_fails_the_gate() {
    let workshop = Workshop::new("");
    workshop.write("agent.sh", "#!/no/such/interpreter\n", 0o755);
    let outcome = workshop.gate(&["--trials", "2"]);
    assert_eq!(outcome.is("fail").reason(), "not_started");
}

// gate, *Evidence*
#[test]
fn one_bad_trial_does_not_throw_the_others_away() {
    let workshop = Workshop::new(r#"test "$TRACER_TRIAL_INDEX" = 2 || exec "$TRACED" wait"#);
    let outcome = workshop.gate(&["--trials", "3", "--no-fail-fast"]);
    let passed: Vec<&Value> = outcome
        .is("fail")
        .trials()
        .iter()
        .map(|trial| &trial["passed"])
        .collect();
    assert_eq!(
        passed,
        [&Value::Bool(true), &Value::Bool(false), &Value::Bool(true)]
    );
    assert_eq!(workshop.runs().len(), 2);
}

// gate, *Evidence*: the trials that were paid for are in the report.
#[test]
fn a_gate_that_stops_early_says_so() {
    let workshop = Workshop::new(r#"test "$TRACER_TRIAL_INDEX" = 2 || exec "$TRACED" wait"#);
    let outcome = workshop.gate(&["--trials", "9"]);
    let report = &outcome.is("fail").report;
    assert_eq!(
        (outcome.trials().len(), &report["trials_planned"]),
        (2, &9.into())
    );
    assert_eq!(report["stop_reason"], "agent_process_failure");
}

#[test]
fn a_verdict_holds_when_nobody_reads_the_output() {
    let workshop = Workshop::new("exit 1");
    let (reader, output) = std::io::pipe().unwrap();
    drop(reader);
    workshop.gate_into(&["--trials", "1"], output).is("fail");
}
