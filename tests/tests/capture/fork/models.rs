//! Forks with several models, compared and verified.

use super::{fork, only_run, recorded_agent};

/// Verifies by the model that the run asked last: that of the fork.
const LIVE_A: &str = "grep -q 'live answer of model-a' \"$TRACER_DATA_DIR/runs/$TRACER_RUN_ID/spans.jsonl\"";

#[test]
fn models_are_compared_by_what_verifies_them() {
    let (recorder, model) = recorded_agent();
    let run = only_run(&recorder);
    let asked = model.requests().len();
    let options = [
        "--at",
        "11",
        "--model",
        "model-a,model-b",
        "--verify",
        LIVE_A,
        "--yes",
    ];
    let outcome = fork(&recorder, &run, &options);
    assert_eq!(outcome.code, Some(1), "not every fork is verified: {outcome:#?}");
    assert_eq!(model.requests().len() - asked, 4);
    let row = |name: &str| {
        let mut rows = outcome.stdout.lines().filter(|line| line.starts_with(['✓', '✗']));
        let row = rows.find(|line| line.contains(name));
        row.unwrap_or_else(|| panic!("{outcome:#?}")).to_owned()
    };
    let (a, b) = (row("model-a"), row("model-b"));
    assert!(a.starts_with('✓') && a.ends_with("yes"), "{a}");
    assert!(b.starts_with('✗') && b.ends_with("no: exit code 1"), "{b}");
    assert!(
        outcome.stdout.contains("MODEL") && outcome.stdout.contains("COST"),
        "{outcome:#?}"
    );
}

#[test]
fn a_fork_that_leaves_the_recorded_calls_is_not_verified() {
    let (recorder, _model) = recorded_agent();
    let run = only_run(&recorder);
    let mut requests = super::requests();
    requests[1]["body"]["messages"][0]["content"] = "Be long.".into();
    super::script(&recorder, &requests);
    let outcome = fork(
        &recorder,
        &run,
        &["--at", "5", "--verify", "touch verified", "--yes"],
    );
    assert_eq!(outcome.code, Some(1), "{outcome:#?}");
    assert!(
        outcome.stdout.contains("no: it left the recorded calls"),
        "{outcome:#?}"
    );
    assert!(!recorder.path("verified").exists());
}
