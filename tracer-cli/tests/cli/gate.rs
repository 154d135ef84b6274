//! The gate's small commands from end to end: `assert`, `baseline`, `accept`, `diff`, `demo --regression`.

use std::fs;

use rstest::rstest;
use serde_json::{Value, json};
use tracer_gate::{Acceptance, Baseline};

use crate::sandbox::{FIRST, Outcome, SECOND, Sandbox, THIRD, meta, spans};

const POLICY: &str =
    "version: 2\ntrials: 3\nmetrics:\n  required_tools: {kind: invariant, all_of: [search_kb]}\n";

/// Two runs that did the same, and a third one that has not ended.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.run(FIRST, "support-agent - 2026-01-01 00:01", 1, "ok");
    sandbox.run(SECOND, "support-agent", 2, "ok");
    sandbox.run(THIRD, "support-agent", 0, "running");
    sandbox
}

fn file(sandbox: &Sandbox, name: &str, text: &str) {
    let path = sandbox.path(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn json_of(sandbox: &Sandbox, name: &str) -> Value {
    serde_json::from_slice(&fs::read(sandbox.path(name)).unwrap()).unwrap()
}

#[test]
fn a_recorded_run_is_judged_by_the_policy() {
    // gate, *Commands*
    let sandbox = sandbox();
    file(&sandbox, ".tracer/policy.yaml", POLICY);
    let passed = sandbox.tracer(&["assert", SECOND]);
    assert_eq!(passed.code, Some(0), "{passed:?}");
    assert!(passed.stdout.starts_with("✓ PASS  2 checks passed"), "{passed:?}");

    file(
        &sandbox,
        "strict.yaml",
        &POLICY.replace("[search_kb]", "[send_reply]"),
    );
    let failed = sandbox.tracer(&["assert", SECOND, "--policy", "strict.yaml"]);
    assert_eq!(failed.code, Some(1), "{failed:?}");
    assert!(failed.stdout.contains("✗ required_tools  failed"), "{failed:?}");
}

#[test]
fn a_subfolder_is_judged_by_the_policy_above() {
    let sandbox = sandbox();
    file(&sandbox, "project/.tracer/policy.yaml", POLICY);
    fs::create_dir_all(sandbox.path("project/crates/agent")).unwrap();
    let mut command = sandbox.command(&["assert", SECOND, "--format", "json"]);
    command.current_dir(sandbox.path("project/crates/agent"));
    let judged: Outcome = command.output().unwrap().into();
    assert_eq!(judged.code, Some(0), "{judged:?}");
    assert_eq!(
        judged.json()["gate"]["policy"]["path"],
        "../../.tracer/policy.yaml"
    );
}

#[test]
fn a_policy_of_version_1_is_refused_with_what_to_do() {
    let sandbox = sandbox();
    file(
        &sandbox,
        "old.yaml",
        "assert: {max_steps: 100, fail_fast: false}\n",
    );
    sandbox.tracer(&["assert", SECOND, "--policy", "old.yaml"]).fails(
        2,
        &["old.yaml:1:1: version must be 2", "docs/policy.md", "tracer init"],
    );
}

#[test]
fn every_mistake_of_a_policy_is_reported_with_its_place() {
    let sandbox = sandbox();
    let text = "version: 2\nmetrics:\n  steps: {limit: 1}\n  no_loops: {kind: measured}\njobs: 0\n";
    file(&sandbox, "bad.yaml", text);
    sandbox.tracer(&["assert", SECOND, "--policy", "bad.yaml"]).fails(
        2,
        &[
            "bad.yaml:3:3: metrics.steps is not a metric",
            "bad.yaml:4:20: metrics.no_loops.kind must be invariant for this metric",
            "bad.yaml:5:7: jobs must be a whole number, at least 1",
        ],
    );
}

#[test]
fn nothing_to_check_is_an_error() {
    // gate, *Refusals*
    let sandbox = sandbox();
    file(&sandbox, "empty.yaml", "version: 2\nmetrics: {}\n");
    sandbox
        .tracer(&["assert", SECOND, "--policy", "empty.yaml"])
        .fails(2, &["empty.yaml: the policy has no check", "hint: "]);
}

#[test]
fn without_a_policy_the_command_that_writes_one_is_named() {
    let sandbox = sandbox();
    for command in [["assert", SECOND].as_slice(), &["run", "--", "true"]] {
        sandbox
            .tracer(command)
            .fails(2, &["no policy found", ".tracer/policy.yaml", "tracer init"]);
    }
}

#[test]
fn limits_are_compared_as_the_gate_compares_them() {
    // gate, *Measured*: a value that is exactly at the bound passes, whoever asks.
    let sandbox = sandbox();
    let baseline = sandbox.tracer(&["baseline", FIRST, "--out", "b.json"]);
    assert_eq!(baseline.code, Some(0), "{baseline:?}");
    // 400 ms × 1.15 is 459.99999999999994 in floating point, and 400 + 60 is 460.
    for file in ["meta.json", "spans.jsonl"] {
        let path = sandbox.run_dir(SECOND).join(file);
        let text = fs::read_to_string(&path).unwrap();
        let longer = text
            .replace("\"duration_ms\":400", "\"duration_ms\":460")
            .replace(":00.400000Z", ":00.460000Z");
        fs::write(&path, longer).unwrap();
    }
    let judge = ["assert", SECOND, "--baseline", "b.json", "--policy", "p.yaml"];
    for (tolerance, code) in [("0.15", 0), ("0.14", 1)] {
        let bound = format!("direction: upper, tolerance: {{relative: {tolerance}}}");
        let text = format!("version: 2\nmetrics:\n  latency_ms: {{kind: measured, {bound}}}\n");
        file(&sandbox, "p.yaml", &text);
        let outcome = sandbox.tracer(&judge);
        assert_eq!(outcome.code, Some(code), "{tolerance}: {outcome:?}");
    }
    let text = "version: 2\nmetrics:\n  step_count: {kind: measured, direction: upper, tolerance: {relative: 9}, limit: 1}\n";
    file(&sandbox, "p.yaml", text);
    let report = sandbox
        .tracer(&[&judge[..], &["--format", "json"]].concat())
        .json();
    let steps = report["checks"]
        .as_array()
        .unwrap()
        .iter()
        .find(|check| check["name"] == "step_count")
        .unwrap();
    assert_eq!(
        (&steps["verdict"], &steps["evidence"]["allowed"]["upper"]),
        (&json!("fail"), &json!(1.0))
    );
}

// gate, *Commands*
#[rstest]
#[case::missing_policy(&["assert", SECOND, "--policy", "missing.yaml"], "missing.yaml")]
#[case::bad_policy(&["assert", SECOND, "--policy", "bad.yaml"], "bad.yaml:4:3: ")]
#[case::bad_baseline(&["assert", SECOND, "--baseline", "bad.json"], "bad.json")]
#[case::bad_format(&["assert", SECOND, "--format", "yaml"], "invalid value")]
#[case::newer_baseline(&["diff", "--baseline", "new.json", SECOND], "baseline_version: 9")]
#[case::missing_baseline(&["diff", "--baseline", "missing.json", SECOND], "missing.json")]
#[case::bad_report(&["baseline", "--from-report", "bad.json"], "bad.json")]
#[case::run_and_report(&["baseline", FIRST, "--from-report", "bad.json"], "cannot be used with")]
#[case::nothing_to_accept(&["accept", "--baseline", "missing.json", "--reason", "x", FIRST], "missing.json")]
fn bad_input_of_the_gate_exits_with_two(#[case] arguments: &[&str], #[case] message: &str) {
    let sandbox = sandbox();
    file(
        &sandbox,
        "bad.yaml",
        "version: 2\nmetrics:\n  no_loops: {kind: invariant}\n  no_loops: {kind: invariant}\n",
    );
    file(&sandbox, "bad.json", "{");
    file(&sandbox, "new.json", r#"{"baseline_version": 9}"#);
    sandbox.tracer(arguments).fails(2, &["error: ", message]);
}

#[test]
fn a_baseline_has_a_safe_name_and_is_never_written_over() {
    // gate, *Baseline*
    let sandbox = sandbox();
    sandbox.run(FIRST, "team/agent: x - 2026-01-01 00:01", 1, "ok");
    assert_eq!(sandbox.tracer(&["baseline", FIRST]).code, Some(0));
    let path = ".tracer/baselines/team-agent-x.json";
    let first = fs::read(sandbox.path(path)).unwrap();
    sandbox
        .tracer(&["baseline", SECOND, "--out", path])
        .fails(2, &["exists already", "--force"]);
    assert_eq!(fs::read(sandbox.path(path)).unwrap(), first);
    assert_eq!(
        sandbox
            .tracer(&["baseline", SECOND, "--out", path, "--force"])
            .code,
        Some(0)
    );
    assert_eq!(json_of(&sandbox, path)["trials"][0]["run_id"], SECOND);
    sandbox
        .tracer(&["baseline", THIRD])
        .fails(2, &["has not ended", "hint: "]);
}

#[test]
fn a_refused_baseline_is_replaced_as_its_hint_says() {
    let sandbox = sandbox();
    file(&sandbox, "b.json", r#"{"schema_version": "0.3.1"}"#);
    let one = "of one run: tracer baseline --out FILE --force;";
    let several = "then tracer baseline --from-report report.json --out FILE --force";
    sandbox
        .tracer(&["assert", FIRST, "--baseline", "b.json"])
        .fails(2, &["it is of an old format, version 0.3.1", one, several]);
    let trials = || json_of(&sandbox, "b.json")["trials"].as_array().unwrap().len();
    sandbox.tracer(&["baseline", "--out", "b.json", "--force", FIRST]);
    assert_eq!(trials(), 1);
    file(&sandbox, ".tracer/policy.yaml", POLICY);
    let report = sandbox.tracer(&["assert", FIRST, "--format", "json"]).json();
    file(&sandbox, "report.json", &two_trials(report).to_string());
    sandbox.tracer(&[
        "baseline",
        "--from-report",
        "report.json",
        "--out",
        "b.json",
        "--force",
    ]);
    assert_eq!(trials(), 2);
}

#[test]
fn equal_behaviour_already_matches_and_a_change_is_kept_with_its_reason() {
    let sandbox = sandbox();
    sandbox.tracer(&["baseline", FIRST, "--out", "b.json"]);
    let before = fs::read(sandbox.path("b.json")).unwrap();
    let same = sandbox.tracer(&["accept", "--baseline", "b.json", "--reason", "none", SECOND]);
    assert_eq!(same.code, Some(0), "{same:?}");
    assert!(same.stdout.contains("already matches"), "{same:?}");
    assert_eq!(fs::read(sandbox.path("b.json")).unwrap(), before);

    let log = fs::read_to_string(sandbox.run_dir(SECOND).join("spans.jsonl")).unwrap();
    fs::write(
        sandbox.run_dir(SECOND).join("spans.jsonl"),
        log.replace("search_kb", "search_web"),
    )
    .unwrap();
    sandbox
        .tracer(&["accept", "--baseline", "b.json", "--reason", " ", SECOND])
        .fails(2, &["`--reason` is empty"]);
    let output = sandbox
        .command(&[
            "accept",
            "--baseline",
            "b.json",
            "--reason",
            "the web knows more",
            SECOND,
        ])
        .env("TRACER_ACCEPTED_BY", "ada")
        .output()
        .unwrap();
    let changed = Outcome::from(output);
    assert_eq!(changed.code, Some(0), "{changed:?}");
    assert!(
        changed.stdout.contains("calls a new tool: search_web"),
        "{changed:?}"
    );
    let acceptance = &json_of(&sandbox, "b.json")["acceptance"];
    assert_eq!(acceptance["accepted_by"], "ada");
    assert_eq!(acceptance["reason"], "the web knows more");
    assert_eq!(acceptance["replaced_sha256"].as_str().unwrap().len(), 64);
}

#[test]
fn a_larger_sample_is_not_replaced_by_a_smaller_one() {
    // gate, *Baseline*
    let sandbox = sandbox();
    sandbox.tracer(&["baseline", FIRST, "--out", "b.json"]);
    file(&sandbox, ".tracer/policy.yaml", POLICY);
    let report = sandbox.tracer(&["assert", FIRST, "--format", "json"]).json();
    let two = two_trials(report);
    file(&sandbox, "report.json", &two.to_string());
    let made = sandbox.tracer(&["baseline", "--from-report", "report.json", "--out", "two.json"]);
    assert_eq!(made.code, Some(0), "{made:?}");
    assert_eq!(
        json_of(&sandbox, "two.json")["trials"].as_array().unwrap().len(),
        2
    );
    sandbox
        .tracer(&["accept", "--baseline", "two.json", "--reason", "x", SECOND])
        .fails(
            2,
            &[
                "a baseline of 2 runs, and the new sample has only 1 run",
                "--force",
            ],
        );
    let forced = sandbox.tracer(&[
        "accept",
        "--baseline",
        "two.json",
        "--reason",
        "x",
        "--force",
        SECOND,
    ]);
    assert_eq!(forced.code, Some(0), "{forced:?}");

    let mut failed = two;
    failed["verdict"] = json!("fail");
    failed["checks"][1]["verdict"] = json!("fail");
    file(&sandbox, "failed.json", &resealed(failed).to_string());
    sandbox
        .tracer(&["baseline", "--from-report", "failed.json", "--out", "f.json"])
        .fails(2, &["did not pass", "--force"]);
    let accepted = sandbox.tracer(&[
        "accept",
        "--baseline",
        "b.json",
        "--reason",
        "x",
        "--from-report",
        "failed.json",
    ]);
    assert_eq!(accepted.code, Some(0), "{accepted:?}");
    assert_eq!(json_of(&sandbox, "b.json")["report_verdict"], "fail");
}

/// The report of a gate with the same trial twice.
fn two_trials(mut report: Value) -> Value {
    let mut second = report["trials"][0].clone();
    second["trial"] = json!(2);
    second["trace_id"] = json!(SECOND);
    report["trials"].as_array_mut().unwrap().push(second);
    report["trials_planned"] = json!(2);
    resealed(report)
}

/// The report with the digest of what it says.
fn resealed(mut report: Value) -> Value {
    report["gate"].as_object_mut().unwrap().remove("digest");
    let mut text = Vec::new();
    tracer_insight::digest::write_canonical(&floats(&report), &mut text).unwrap();
    report["gate"]["digest"] = json!(tracer_insight::digest::sha256_hex(&text));
    report
}

/// The value with every number as a float.
fn floats(value: &Value) -> Value {
    match value {
        Value::Number(number) => json!(number.as_f64().unwrap()),
        Value::Array(items) => items.iter().map(floats).collect(),
        Value::Object(object) => object
            .iter()
            .map(|(key, value)| (key.clone(), floats(value)))
            .collect(),
        other => other.clone(),
    }
}

#[test]
fn a_comparison_has_three_formats_and_two_sides() {
    // gate, *Comparison*
    let sandbox = sandbox();
    let text = sandbox.tracer(&["diff", FIRST, SECOND]);
    assert!(text.stdout.starts_with("before  aaaa1111"), "{text:?}");
    let json = sandbox
        .tracer(&["diff", FIRST, SECOND, "--format", "json"])
        .json();
    assert_eq!(
        (&json["before"]["run_id"], &json["after"]["run_id"]),
        (&json!(FIRST), &json!(SECOND))
    );
    let markdown = sandbox.tracer(&["diff", FIRST, SECOND, "--format", "markdown"]);
    assert!(markdown.stdout.starts_with("## What changed"), "{markdown:?}");

    sandbox.tracer(&["baseline", FIRST, "--out", "b.json"]);
    let beside = sandbox.tracer(&["diff", "--baseline", "b.json", SECOND]);
    assert!(beside.stdout.contains("baseline"), "{beside:?}");
    sandbox
        .tracer(&["diff", FIRST, SECOND, "--baseline", "b.json"])
        .fails(2, &["cannot be used with"]);
    sandbox.tracer(&["diff", FIRST]).fails(2, &["required"]);
}

/// A policy with a bound on the dollars of a run.
fn bounded_cost(bound: &str) -> String {
    format!(
        "version: 2\ntrials: 1\nmetrics:\n  no_loops: {{kind: invariant}}\n  cost_usd: {{kind: \
         measured, direction: upper, {bound}}}\n"
    )
}

/// Gives the model of the runs a price, in dollars per million tokens of its prompts.
fn price(sandbox: &Sandbox, input: u32) {
    let text = format!("[prices.local.demo-model]\ninput = {input}\noutput = 0\n");
    file(sandbox, ".tracer/config.toml", &text);
}

#[test]
fn a_cost_is_judged_where_it_is_known() {
    let sandbox = sandbox();
    file(&sandbox, ".tracer/policy.yaml", &bounded_cost("limit: 0.01"));
    let judged = || {
        let text = sandbox.tracer(&["assert", SECOND]);
        let report = sandbox.tracer(&["assert", SECOND, "--format", "json"]).json();
        (text, report["trials"][0]["metrics"]["cost_usd"].clone())
    };
    let (unknown, value) = judged();
    assert!(unknown.stdout.starts_with("? INCONCLUSIVE"), "{unknown:?}");
    assert!(
        unknown.stdout.contains("1 model call has no known price"),
        "{unknown:?}"
    );
    assert_eq!(value, Value::Null);

    price(&sandbox, 10);
    let (cheap, value) = judged();
    assert!(cheap.stdout.starts_with("✓ PASS"), "{cheap:?}");
    assert!(cheap.stdout.contains("$0.0041"), "{cheap:?}");
    assert_eq!(value, json!(0.00412));

    price(&sandbox, 100);
    let (dear, value) = judged();
    assert_eq!(dear.code, Some(1), "{dear:?}");
    assert!(dear.stdout.contains("✗ cost_usd  failed"), "{dear:?}");
    for part in ["at most $0.01", "$0.041"] {
        assert!(dear.stdout.contains(part), "{dear:?}");
    }
    assert_eq!(value, json!(0.0412));
}

#[test]
fn a_cost_is_compared_with_that_of_a_baseline() {
    let sandbox = sandbox();
    price(&sandbox, 10);
    let baseline = sandbox.tracer(&["baseline", FIRST, "--out", "b.json"]);
    assert_eq!(baseline.code, Some(0), "{baseline:?}");
    let metrics = &json_of(&sandbox, "b.json")["trials"][0]["metrics"];
    assert_eq!(metrics["cost_usd"], json!(0.00412));
    file(
        &sandbox,
        ".tracer/policy.yaml",
        &bounded_cost("tolerance: {relative: 0.25}"),
    );
    let same = sandbox.tracer(&["assert", SECOND, "--baseline", "b.json"]);
    assert_eq!(same.code, Some(0), "{same:?}");
    price(&sandbox, 20);
    let dearer = sandbox.tracer(&["assert", SECOND, "--baseline", "b.json"]);
    assert_eq!(dearer.code, Some(1), "{dearer:?}");
    assert!(dearer.stdout.contains("(baseline $0.0041)"), "{dearer:?}");
}

#[test]
fn a_comparison_has_the_cost_beside_the_tokens() {
    let sandbox = sandbox();
    let more = spans(SECOND, "support-agent", 2, "ok").replace(":412,", ":824,");
    sandbox.files(SECOND, &meta(SECOND, "support-agent", 2, "ok").to_string(), &more);
    let compared = |format: &str| sandbox.tracer(&["diff", FIRST, SECOND, "--format", format]);
    let cost = |outcome: Outcome| {
        let json = outcome.json();
        let metrics = json["metrics"].as_array().unwrap();
        metrics
            .iter()
            .find(|change| change["metric"] == "cost_usd")
            .unwrap()
            .clone()
    };
    assert_eq!(
        cost(compared("json")),
        json!({"metric": "cost_usd", "before": null, "after": null}),
        "no price, no number"
    );
    price(&sandbox, 10);
    assert_eq!(
        cost(compared("json")),
        json!({"metric": "cost_usd", "before": 0.00412, "after": 0.00824})
    );
    for format in ["text", "markdown"] {
        let outcome = compared(format);
        let row = outcome
            .stdout
            .lines()
            .find(|line| line.contains("$0.0041"))
            .unwrap();
        for part in ["cost", "$0.0082", "+$0.0041 (+100 %)"] {
            assert!(row.contains(part), "{row}");
        }
    }
}

#[test]
fn files_annotations_and_summary_agree() {
    let sandbox = sandbox();
    file(
        &sandbox,
        ".tracer/policy.yaml",
        &POLICY.replace("[search_kb]", "[send_reply]"),
    );
    let output = sandbox
        .command(&[
            "assert",
            SECOND,
            "--json-out",
            "out/report.json",
            "--junit",
            "out/junit.xml",
        ])
        .env("GITHUB_ACTIONS", "true")
        .env("GITHUB_STEP_SUMMARY", sandbox.path("summary.md"))
        .output()
        .unwrap();
    let outcome = Outcome::from(output);
    assert_eq!(outcome.code, Some(1), "{outcome:?}");
    // gate, *Report*
    let report = json_of(&sandbox, "out/report.json");
    assert_eq!(report["verdict"], "fail");
    assert_eq!(report["gate"]["policy"]["path"], ".tracer/policy.yaml");
    assert_eq!(
        report["gate"]["policy"]["sha256"].as_str().map(str::len),
        Some(64)
    );
    let junit = fs::read_to_string(sandbox.path("out/junit.xml")).unwrap();
    assert!(junit.contains("<failure "), "{junit}");
    let summary = fs::read_to_string(sandbox.path("summary.md")).unwrap();
    assert!(summary.contains("❌ Agent gate: FAIL"), "{summary}");
    assert!(
        outcome
            .stderr
            .contains("::error file=.tracer/policy.yaml,title=Agent gate%3A required_tools::failed"),
        "{outcome:?}"
    );
    assert!(!outcome.stdout.contains("::error"), "talk among the data");
}

#[test]
fn the_demo_shows_a_gate_stopping_a_change() {
    let sandbox = Sandbox::without_data_directory();
    let outcome = sandbox.tracer(&["demo", "--regression"]);
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    for reported in [
        "✗ FAIL  5 checks failed, 2 passed",
        "search_kb ×5",
        "calls a new tool: escalate_to_human",
        "tokens: 678 → 3,390",
        "✓ stop_condition_reached",
        "## ❌ Agent gate: FAIL",
    ] {
        assert!(
            outcome.stdout.contains(reported),
            "{reported:?} is not in {outcome:?}"
        );
    }
    assert!(
        !sandbox.path(".tracer").exists(),
        "a demo leaves nothing in the working directory"
    );
    let list = sandbox.tracer(&["list"]).stdout;
    assert_eq!(list.matches("support-agent").count(), 2, "{list}");
    let again = sandbox.tracer(&["demo", "--regression"]);
    assert_eq!(again.code, Some(0), "{again:?}");
}

#[test]
fn a_report_that_was_edited_makes_no_baseline_whatever_is_said() {
    let sandbox = sandbox();
    file(&sandbox, ".tracer/policy.yaml", POLICY);
    let judged = sandbox.tracer(&["assert", FIRST, "--json-out", "report.json"]);
    assert_eq!(judged.code, Some(0), "{judged:?}");
    let make = [
        "baseline",
        "--from-report",
        "report.json",
        "--out",
        "b.json",
        "--force",
    ];
    let mut report = json_of(&sandbox, "report.json");
    report["trials"][0]["metrics"]["step_count"] = json!(1.0);
    let original = fs::read(sandbox.path("report.json")).unwrap();
    file(&sandbox, "report.json", &report.to_string());
    sandbox.tracer(&make).fails(
        2,
        &["the report report.json makes no baseline", "was edited", "hint: "],
    );
    assert!(!sandbox.path("b.json").exists());
    fs::write(sandbox.path("report.json"), original).unwrap();
    assert_eq!(sandbox.tracer(&make).code, Some(0));
}

#[test]
fn the_baseline_of_another_agent_is_refused_unless_that_is_meant() {
    let sandbox = sandbox();
    file(&sandbox, ".tracer/policy.yaml", POLICY);
    sandbox.run(FIRST, "billing-agent - 2026-01-01 00:01", 1, "ok");
    assert_eq!(
        sandbox.tracer(&["baseline", FIRST, "--out", "b.json"]).code,
        Some(0)
    );
    assert_eq!(json_of(&sandbox, "b.json")["agent"], "billing-agent");

    let said = [
        "is of the agent billing-agent, and this is support-agent",
        "--force",
    ];
    let judge = ["assert", SECOND, "--baseline", "b.json"];
    sandbox.tracer(&judge).fails(2, &said);
    let forced = sandbox.tracer(&[&judge[..], &["--force"]].concat());
    assert_eq!(forced.code, Some(0), "{forced:?}");

    let accept = ["accept", "--baseline", "b.json", "--reason", "x", SECOND];
    sandbox.tracer(&accept).fails(2, &said);
    let forced = sandbox.tracer(&[&accept[..], &["--force"]].concat());
    assert_eq!(forced.code, Some(0), "{forced:?}");
}

#[test]
fn a_refused_baseline_of_another_program_leaves_no_folder_for_the_report() {
    let sandbox = sandbox();
    file(&sandbox, ".tracer/policy.yaml", POLICY);
    sandbox.tracer(&["baseline", FIRST, "--out", "b.json"]);
    let mut baseline = Baseline::parse(&fs::read(sandbox.path("b.json")).unwrap()).unwrap();
    baseline.agent = None;
    baseline.command = vec!["other-agent".to_owned()];
    let baseline = baseline.accepted(Acceptance::default());
    fs::write(sandbox.path("b.json"), baseline.to_json()).unwrap();

    let gate = |options: &[&str]| {
        let report = [
            "run",
            "--baseline",
            "b.json",
            "--json-out",
            "new/folder/report.json",
        ];
        sandbox.tracer(&[&report[..], options, &["--", "true"]].concat())
    };
    let said = ["is of the program other-agent, and this is true", "--force"];
    gate(&[]).fails(2, &said);
    assert!(!sandbox.path("new").exists());
    assert_eq!(gate(&["--force"]).code, Some(1), "it leaves no trace");
    assert_eq!(json_of(&sandbox, "new/folder/report.json")["verdict"], "fail");
}

#[test]
fn lost_spans_leave_checks_undecided() {
    let sandbox = sandbox();
    let policy = "version: 2\nmetrics:\n  stop_condition_reached: {kind: invariant}\n  \
         forbidden_tools: {kind: invariant, none_of: [admin_delete]}\n  \
         step_count: {kind: measured, direction: upper, limit: 3}\n";
    file(&sandbox, ".tracer/policy.yaml", policy);
    let meta = sandbox.run_dir(SECOND).join("meta.json");
    let whole = fs::read_to_string(&meta).unwrap();
    let lossy = whole.replacen(
        '{',
        r#"{"dropped":{"spans":3,"reason":"No space left on device"},"#,
        1,
    );
    fs::write(&meta, lossy).unwrap();

    let outcome = sandbox.tracer(&[
        "assert",
        SECOND,
        "--json-out",
        "report.json",
        "--junit",
        "junit.xml",
    ]);
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    let lost = "3 spans are missing from its trace: No space left on device";
    for reported in [
        "? INCONCLUSIVE  2 checks undecided, 2 passed",
        "? forbidden_tools  undecided",
        "? step_count  undecided",
        "✓ stop_condition_reached",
        lost,
    ] {
        assert!(
            outcome.stdout.contains(reported),
            "{reported:?} is not in {}",
            outcome.stdout
        );
    }
    let report = json_of(&sandbox, "report.json");
    assert_eq!(report["trials"][0]["missing_spans"]["spans"], 3);
    assert_eq!(report["trials"][0]["metrics"]["step_count"], Value::Null);
    assert!(
        fs::read_to_string(sandbox.path("junit.xml"))
            .unwrap()
            .contains(lost)
    );
    let markdown = sandbox.tracer(&["assert", SECOND, "--format", "markdown"]).stdout;
    assert!(markdown.contains(lost) && markdown.contains("⚪"), "{markdown}");
    let strict = sandbox.tracer(&["assert", SECOND, "--inconclusive", "fail"]);
    assert_eq!(strict.code, Some(1), "{strict:?}");
    sandbox.tracer(&["baseline", SECOND, "--out", "b.json"]).fails(
        2,
        &["does not show what is usual: 3 spans are missing", "--force"],
    );
}

#[test]
fn the_policy_of_init_finds_new_and_missing_tools() {
    let sandbox = sandbox();
    assert_eq!(sandbox.tracer(&["init"]).code, Some(0));
    sandbox.tracer(&["baseline", FIRST, "--out", "b.json"]);
    let log = sandbox.run_dir(SECOND).join("spans.jsonl");
    let changed = fs::read_to_string(&log)
        .unwrap()
        .replace("search_kb", "search_web");
    fs::write(&log, changed).unwrap();
    let reported = ["called search_web", "no call of search_kb"];
    let judge = ["assert", SECOND, "--baseline", "b.json"];
    let by_policy = sandbox.tracer(&judge);
    assert_eq!(by_policy.code, Some(1), "{by_policy:?}");
    assert!(
        reported
            .iter()
            .all(|reported| by_policy.stdout.contains(reported)),
        "{}",
        by_policy.stdout
    );
    let markdown = sandbox
        .tracer(&[&judge[..], &["--format", "markdown"]].concat())
        .stdout;
    for reported in [
        "`no_new_tools`",
        "called `search_web`",
        "`still_called`",
        "no call of `search_kb`",
    ] {
        assert!(markdown.contains(reported), "{reported} is not in {markdown}");
    }
    let junit = [&judge[..], &["--junit", "junit.xml"]].concat();
    sandbox.tracer(&junit);
    let junit = fs::read_to_string(sandbox.path("junit.xml")).unwrap();
    assert!(
        junit.contains("called search_web") && junit.contains("no call of search_kb"),
        "{junit}"
    );
    // A tool that may be new, and one that need not be called any more.
    let policy = fs::read_to_string(sandbox.path(".tracer/policy.yaml")).unwrap();
    let allowed = policy
        .replace(
            "no_new_tools:\n    kind: invariant\n    allow: []",
            "no_new_tools: {allow: [\"search_*\"]}",
        )
        .replace(
            "still_called:\n    kind: invariant\n    allow: []",
            "still_called: {allow: [\"search_?b\"]}",
        );
    assert_ne!(allowed, policy);
    file(&sandbox, ".tracer/policy.yaml", &allowed);
    assert_eq!(sandbox.tracer(&judge).code, Some(0));
}
