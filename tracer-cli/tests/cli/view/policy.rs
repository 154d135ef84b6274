//! What the policy of the project says of the run after, in the answer of a comparison.

use std::fs;

use serde_json::{Value, json};

use crate::sandbox::{FIRST, SECOND, Sandbox, THIRD};

use super::client::Viewer;

const POLICY: &str = "version: 2\nmetrics:\n  no_loops: {kind: invariant}\n  stop_condition_reached: {kind: invariant}\n  \
    step_count: {kind: measured, direction: upper, tolerance: {relative: 0.1}}\n";

fn opened() -> (Sandbox, Viewer) {
    let sandbox = Sandbox::new();
    sandbox.run(FIRST, "support-agent", 1, "ok");
    sandbox.run(SECOND, "support-agent", 2, "error");
    sandbox.run(THIRD, "support-agent", 0, "running");
    fs::create_dir(sandbox.path(".tracer")).unwrap();
    let viewer = Viewer::start(&sandbox);
    (sandbox, viewer)
}

fn write(sandbox: &Sandbox, policy: &str) {
    fs::write(sandbox.path(".tracer/policy.yaml"), policy).unwrap();
}

fn policy(viewer: &Viewer, before: &str, after: &str) -> Value {
    viewer.json(&format!("/api/diff?a={before}&b={after}"))["policy"].clone()
}

#[test]
fn the_page_has_its_projects_policy() {
    let (sandbox, _) = opened();
    // A folder of its own: the sandbox itself is the home directory.
    let below = sandbox.path("project/crates/agent");
    fs::create_dir_all(&below).unwrap();
    fs::create_dir(sandbox.path("project/.tracer")).unwrap();
    fs::write(sandbox.path("project/.tracer/policy.yaml"), POLICY).unwrap();
    let viewer = Viewer::start_in(&sandbox, &below);
    let reported = policy(&viewer, FIRST, SECOND);
    assert_eq!(reported["file"], "../../.tracer/policy.yaml");
    assert_eq!(reported["judgement"]["verdict"], "fail");
}

#[test]
fn comparisons_are_judged_in_the_terminals_words() {
    let (sandbox, viewer) = opened();
    write(&sandbox, POLICY);
    let reported = policy(&viewer, FIRST, SECOND);
    assert_eq!(
        (&reported["file"], &reported["problem"]),
        (&json!(".tracer/policy.yaml"), &Value::Null)
    );
    let judgement = &reported["judgement"];
    assert_eq!(judgement["verdict"], "fail");
    let checks = judgement["checks"].as_array().unwrap();
    let outcomes: Vec<[&str; 2]> = checks
        .iter()
        .map(|check| ["name", "outcome"].map(|key| check[key].as_str().unwrap()))
        .collect();
    assert_eq!(outcomes[0], ["stop_condition_reached", "failed"]);
    assert!(outcomes.contains(&["step_count", "passed"]), "{outcomes:?}");

    let file = ".tracer/baselines/first.json";
    assert_eq!(sandbox.tracer(&["baseline", FIRST, "--out", file]).code, Some(0));
    let terminal = sandbox.tracer(&["assert", SECOND, "--baseline", file]);
    let said = |part: &str| assert!(terminal.stdout.contains(part), "{part}: {terminal:?}");
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    said(&format!(
        "{} {}  {}",
        text(&judgement["sign"]),
        text(&judgement["word"]),
        text(&judgement["tally"])
    ));
    for check in checks {
        said(&format!("{} {}", text(&check["sign"]), text(&check["name"])));
        said(&text(&check["seen"]));
        if check["outcome"] == "failed" {
            said(&text(&check["word"]));
            said(&text(&check["allowed"]));
        }
    }
    let with_baseline = viewer.json(&format!("/api/diff?a={SECOND}&baseline=first"));
    assert_eq!(&with_baseline["policy"]["judgement"], judgement);
}

#[test]
fn each_comparison_reads_the_policy_anew() {
    let (sandbox, viewer) = opened();
    assert_eq!(policy(&viewer, FIRST, FIRST), Value::Null);

    write(
        &sandbox,
        "version: 2\nmetrics:\n  no_such_metric: {kind: invariant}\n",
    );
    let refused = policy(&viewer, FIRST, FIRST);
    assert_eq!(refused["judgement"], Value::Null);
    let message = refused["problem"]["message"].as_str().unwrap();
    assert!(message.contains(".tracer/policy.yaml:3:3: "), "{message}");
    assert!(!refused["problem"]["hints"].as_array().unwrap().is_empty());

    write(&sandbox, POLICY);
    assert_eq!(policy(&viewer, FIRST, FIRST)["judgement"]["verdict"], "pass");
    let going_on = policy(&viewer, THIRD, FIRST);
    assert_eq!(
        (&going_on["judgement"], &going_on["problem"]["message"]),
        (&Value::Null, &json!("the run before has not ended"))
    );
}
