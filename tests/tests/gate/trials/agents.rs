//! Agents of any kind are gated, and their runs are kept.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use tracer_sdk::format::GateTrial;

use super::workshop::{Outcome, Workshop};

/// Writes a run by hand: `$1` is its ID, `$2` when it was, `$3` how long in milliseconds.
const BY_HAND: &str = r#"
write_run() {
    folder="$MAIDA_DATA_DIR/runs/$1"; mkdir -p "$folder"
    at="${2:-$(date -u +%Y-%m-%dT%H:%M:%S.%6NZ)}"
    cat > "$folder/meta.json" <<META
{"spec_version": "0.2.0", "trace_id": "$1", "run_name": "by hand", "started_at": "$at",
 "ended_at": "$at", "duration_ms": ${3:-0}, "status": "ok",
 "counts": {"llm_calls": 0, "tool_calls": 0, "errors": 0, "loop_warnings": 0}}
META
    cat > "$folder/spans.jsonl" <<SPANS
{"trace_id": "$1", "span_id": "00f067aa0ba902b7", "parent_span_id": null, "name": "by hand", "kind": "INTERNAL", "start_time": "$at", "end_time": "${4:-$at}", "duration_ms": ${3:-0}, "attributes": {"maida.run_name": "by hand"}, "events": [], "status_code": "OK", "status_description": ""}
SPANS
}
new_id() { tr -d - < /proc/sys/kernel/random/uuid; }
"#;

#[test]
fn gated_runs_are_kept_and_marked() {
    let workshop = Workshop::new(r#"exec "$TRACED" wait"#);
    let outcome = workshop.gate(&["--trials", "3"]);
    outcome.is("pass");
    assert_eq!(outcome.trials().len(), 3);

    let runs = workshop.runs();
    let marks: BTreeSet<(String, u64)> = runs
        .iter()
        .filter_map(|run| run.meta.as_ref().unwrap().gate())
        .map(|GateTrial { id, trial }| (id, trial))
        .collect();
    let gate = outcome.report["gate"]["id"].as_str().unwrap();
    let expected: BTreeSet<_> = (1..=3).map(|trial| (gate.to_owned(), trial)).collect();
    assert_eq!(marks, expected);
    for (trial, number) in outcome.trials().iter().zip(1..) {
        let kept = runs
            .iter()
            .find(|run| trial["trace_id"] == run.directory.trace_id.to_string());
        let mark = kept.unwrap().meta.as_ref().unwrap().gate();
        assert_eq!(mark.map(|mark| mark.trial), Some(number), "the report names it");
    }
}

// gate, *Trials*: any command in any language, with arguments, inside or outside of a repository.
#[test]
fn a_script_that_writes_a_run_by_hand_is_gated() {
    let agent = format!(
        r#"{BY_HAND}
test "$1" = "two words" || exit 9
write_run "$(new_id)""#
    );
    let workshop = Workshop::new(&agent);
    let outcome = workshop.gate_of(&["--trials", "2"], &["sh", "agent.sh", "two words"]);
    outcome.is("pass");
    assert_eq!(outcome.trials()[1]["run_name"], "by hand");
    assert_eq!(
        outcome.report["gate"]["command"],
        json!(["sh", "agent.sh", "two words"])
    );
}

#[test]
fn a_trial_with_the_trace_of_another_one_fails() {
    let agent = format!("{BY_HAND}\nwrite_run 10000000000000000000000000000001");
    let workshop = Workshop::new(&agent);
    let outcome = workshop.gate(&["--trials", "2"]);
    outcome.is("fail");
    let failure = &outcome.trials()[1]["failure"];
    assert_eq!(
        (&failure["reason"], &failure["detail"]),
        (
            &json!("not_independent"),
            &json!("it has the trace ID of trial 1")
        )
    );
    let notices = outcome.report["gate"]["notices"].to_string();
    assert!(
        notices.contains("trial 2: the store already has a run with the ID 1000"),
        "{notices}"
    );
    let kept = workshop.runs().remove(0).meta.unwrap().gate().unwrap();
    assert_eq!(kept.trial, 1);
    // The next gate finds the run in the store.
    let again = workshop.gate(&["--trials", "1"]);
    assert_eq!(again.is("fail").reason(), "not_independent");
    assert_eq!(again.detail(), "the store already had a run with its trace ID");
}

#[test]
fn a_trial_whose_trace_is_a_copy_under_another_id_fails() {
    // Of another trial.
    let agent = format!(r#"{BY_HAND} write_run "$(new_id)" 2026-01-01T00:00:00.000001Z"#);
    let workshop = Workshop::new(&agent);
    let outcome = workshop.gate(&["--trials", "2"]);
    let failure = &outcome.is("fail").trials()[1]["failure"];
    assert_eq!(failure["detail"], "it is a copy of that of trial 1");
    // Of a run that was in the store before.
    let again = workshop.gate(&["--trials", "1"]);
    assert_eq!(again.is("fail").reason(), "not_independent");
    assert!(
        again.detail().ends_with("which the store already had"),
        "{}",
        again.detail()
    );
    assert!(
        again.detail().starts_with("it is a copy of the run "),
        "{}",
        again.detail()
    );
    // A run of its own is none, whatever its clock says.
    let agent = format!(r#"{BY_HAND} write_run "$(new_id)" 2026-01-01T00:00:00.000002Z"#);
    workshop.write("agent.sh", &format!("#!/bin/sh\n{agent}\n"), 0o755);
    workshop.gate(&["--trials", "1"]).is("pass");
}

#[test]
fn an_implausible_duration_is_unknown() {
    let policy = "version: 2\nmetrics:\n  latency_ms: {kind: measured, direction: upper, limit: 60000}\n";
    let judged = |milliseconds: u32| {
        let end = format!("2026-01-01T00:00:{:02}.000000Z", milliseconds / 1_000);
        let agent =
            format!(r#"{BY_HAND} write_run "$(new_id)" 2026-01-01T00:00:00.000000Z {milliseconds} {end}"#);
        let workshop = Workshop::new(&agent);
        workshop.write("policy.yaml", policy, 0o644);
        workshop.gate(&["--trials", "1"])
    };
    judged(0).is("pass");
    let claimed = judged(20_000);
    claimed.is("inconclusive");
    let trial = &claimed.trials()[0];
    assert_eq!(trial["metrics"]["latency_ms"], Value::Null);
    assert_eq!(trial["mismatches"][0]["found_by"], "its process took");
}

#[test]
fn a_foreign_baseline_stops_the_first_trial() {
    let workshop = Workshop::new(r#"exec "$TRACED" wait"#);
    workshop.gate(&["--trials", "2"]).is("pass");
    let report = workshop.path("report.json");
    let baseline = workshop.path("baseline.json");
    let made = workshop
        .tracer()
        .args(["baseline", "--from-report"])
        .arg(&report)
        .arg("--out")
        .arg(&baseline)
        .output()
        .unwrap();
    assert!(made.status.success(), "{made:?}");
    std::fs::remove_file(&report).unwrap();

    let with_baseline = ["--trials", "2", "--baseline", baseline.to_str().unwrap()];
    workshop.gate(&with_baseline).is("pass");
    std::fs::remove_file(&report).unwrap();
    workshop.write("agent.sh", "#!/bin/sh\nexec \"$TRACED\" runs 1\n", 0o755);
    let before = workshop.runs().len();
    let refused = workshop.gate(&with_baseline);
    assert_eq!(refused.code, Some(2), "{refused:#?}");
    for said in ["is of the agent waiting, and this is run 0", "--force"] {
        assert!(refused.stderr.contains(said), "{}", refused.stderr);
    }
    assert_eq!(workshop.runs().len(), before + 1, "no second trial is paid for");
    let forced = workshop.gate(&[&with_baseline[..], &["--force", "--no-fail-fast"]].concat());
    assert_eq!(forced.trials().len(), 2, "{forced:#?}");
}

/// What the trials of two gates have in common when they are the same: no IDs, no times.
fn reported(outcome: &Outcome) -> Value {
    let mut report = outcome.report.clone();
    for volatile in ["id", "started_at", "ended_at", "digest"] {
        report["gate"][volatile] = Value::Null;
    }
    for trial in report["trials"].as_array_mut().unwrap() {
        trial["trace_id"] = Value::Null;
        trial["metrics"]["latency_ms"] = Value::Null;
        trial["wall_time_ms"] = Value::Null;
        if trial["failure"]["reason"] == "several_traces" {
            trial["failure"]["detail"] = Value::Null;
        }
    }
    report
}

// gate, *Trials*
#[test]
fn trials_side_by_side_give_the_report_of_one_by_one() {
    let agent = r#"
case "$TRACER_TRIAL_INDEX" in
    3) "$TRACED" wait; echo "trial $TRACER_TRIAL_INDEX is bad" >&2; exit 7;;
    5) exec "$TRACED" runs 2;;
    6) exit 0;;
    *) exec "$TRACED" wait;;
esac"#;
    let workshop = Workshop::new(agent);
    for (stopping, trials) in [(None, 3), (Some("--no-fail-fast"), 6)] {
        let [one_by_one, side_by_side] = ["1", "4"].map(|jobs| {
            let options = ["--trials", "6", "--jobs", jobs].into_iter().chain(stopping);
            let outcome = workshop.gate(&options.collect::<Vec<_>>());
            outcome.is("fail");
            reported(&outcome)
        });
        assert_eq!(one_by_one, side_by_side);
        assert_eq!(one_by_one["trials"].as_array().unwrap().len(), trials);
    }
}

#[test]
fn the_report_records_its_provenance() {
    let workshop = Workshop::new(r#"exec "$TRACED" wait"#);
    let command = ["./agent.sh", "--api-key", "k-1234-5678", "--level=3"];
    let outcome = workshop.gate_of(&["--trials", "1"], &command);
    let gate = &outcome.is("pass").report["gate"];
    assert_eq!(
        gate["command"],
        json!(["./agent.sh", "--api-key", "__REDACTED__", "--level=3"])
    );
    assert_eq!(gate["policy"]["path"], "policy.yaml");
    assert_eq!(gate["policy"]["sha256"].as_str().map(str::len), Some(64));
    assert!(gate["started_at"].as_str() < gate["ended_at"].as_str(), "{gate}");
    let environment = &outcome.report["environment"];
    assert_eq!(environment["workspace"].as_str().map(str::len), Some(64));
    assert!(outcome.trials()[0]["wall_time_ms"].is_u64());
}
