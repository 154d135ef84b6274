//! `--push` of the gate's commands: runs, report and baseline in a team's bucket, here a folder.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::sandbox::{Outcome, Sandbox};

/// A program that records one run.
const AGENT: &str = env!("CARGO_BIN_EXE_tracer");

fn sandbox() -> (Sandbox, String) {
    let sandbox = Sandbox::without_data_directory();
    assert_eq!(sandbox.tracer(&["init"]).code, Some(0));
    let url = format!("file://{}", sandbox.path("bucket").display());
    (sandbox, url)
}

fn run(sandbox: &Sandbox, more: &[&str]) -> Outcome {
    sandbox.tracer(&[&["run", "--trials", "2"], more, &["--", AGENT, "demo"]].concat())
}

fn names(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    entries.map(|entry| entry.unwrap().path()).collect()
}

fn json(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

#[test]
fn trials_and_their_report_are_pushed_and_named_in_the_comment() {
    let (sandbox, url) = sandbox();
    let gate = run(
        &sandbox,
        &[
            "--push",
            &url,
            "--format",
            "markdown",
            "--json-out",
            "report.json",
        ],
    );
    assert_eq!(gate.code, Some(0), "{gate:?}");
    let runs = names(&sandbox.path("bucket/runs"));
    assert_eq!(runs.len(), 2, "{runs:?}");
    assert!(runs.iter().all(|run| run.join("meta.json").is_file()));
    let reports = names(&sandbox.path("bucket/reports"));
    assert_eq!(reports.len(), 1, "{reports:?}");
    assert_eq!(json(&reports[0]), json(&sandbox.path("report.json")));
    assert_eq!(json(&reports[0])["gate"]["store"], url);
    assert!(
        gate.stdout.contains(&format!("the runs are in {url}")),
        "{gate:?}"
    );
    let shown = gate
        .stdout
        .lines()
        .find(|line| line.starts_with("tracer show "))
        .unwrap();
    assert!(shown.ends_with(&format!(" --store {url}")), "{gate:?}");
    let run = shown.split(' ').nth(2).unwrap();
    assert!(
        runs.iter()
            .any(|known| known.file_name().unwrap().to_string_lossy().starts_with(run)),
        "{shown}"
    );
}

#[test]
fn a_bucket_that_fails_changes_no_verdict() {
    let (sandbox, url) = sandbox();
    // A file where the folder of the runs would be.
    fs::create_dir_all(sandbox.path("bucket")).unwrap();
    fs::write(sandbox.path("bucket/runs"), "").unwrap();
    fs::write(sandbox.path("bucket/reports"), "").unwrap();
    let gate = run(&sandbox, &["--push", &url, "--json-out", "report.json"]);
    assert_eq!(gate.code, Some(0), "{gate:?}");
    let said = format!("{}{}", gate.stdout, gate.stderr);
    assert!(said.contains(&format!("the runs are not in {url}: ")), "{gate:?}");
    assert!(
        said.contains(&format!("the report is not in {url}: ")),
        "{gate:?}"
    );
    let notices = json(&sandbox.path("report.json"))["gate"]["notices"].to_string();
    assert!(notices.contains("the runs are not in"), "{notices}");
}

#[test]
fn a_bucket_that_cannot_be_used_is_refused_before_the_trials() {
    let (sandbox, _) = sandbox();
    for (url, reason) in [
        ("s3://key:s3cret@team", "credentials do not belong"),
        ("nonsense", "the URL of the bucket is invalid"),
        ("s3://team/agents", "needs a confirmation"),
    ] {
        let refused = run(&sandbox, &["--push", url]);
        assert_eq!(refused.code, Some(2), "{refused:?}");
        assert!(refused.stderr.contains(reason), "{refused:?}");
        assert!(!refused.stderr.contains("s3cret"), "{refused:?}");
    }
    assert!(names(&sandbox.path("data/runs")).is_empty());
}

#[test]
fn a_pushed_baseline_keeps_its_runs_from_being_pruned() {
    let (sandbox, url) = sandbox();
    let gate = run(&sandbox, &["--push", &url, "--json-out", "report.json"]);
    assert_eq!(gate.code, Some(0), "{gate:?}");
    // More runs, which no baseline needs.
    assert_eq!(run(&sandbox, &["--push", &url]).code, Some(0));
    let made = [
        "baseline",
        "--from-report",
        "report.json",
        "--out",
        "b.json",
        "--push",
        &url,
    ];
    let baseline = sandbox.tracer(&made);
    assert_eq!(baseline.code, Some(0), "{baseline:?}");
    assert!(
        baseline
            .stdout
            .contains(&format!("pushed {url}/baselines/b.json")),
        "{baseline:?}"
    );
    let stored = sandbox.path("bucket/baselines/b.json");
    assert_eq!(json(&stored), json(&sandbox.path("b.json")));

    let pruned = sandbox.tracer(&["prune", "--store", &url, "--keep", "0", "--yes"]);
    assert_eq!(pruned.code, Some(0), "{pruned:?}");
    let mut left: Vec<String> = names(&sandbox.path("bucket/runs"))
        .iter()
        .map(|run| run.file_name().unwrap().to_string_lossy().into_owned())
        .collect();
    left.sort();
    let mut needed: Vec<String> = json(&stored)["source_run_ids"]
        .as_array()
        .unwrap()
        .iter()
        .map(|run| run.as_str().unwrap().to_owned())
        .collect();
    needed.sort();
    assert_eq!(left, needed);

    // Another baseline of the name is not replaced unasked.
    fs::remove_file(sandbox.path("b.json")).unwrap();
    let other = ["baseline", "--out", "b.json", "--push", &url];
    let refused = sandbox.tracer(&other);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(
        refused.stderr.contains("there is another baselines/b.json"),
        "{refused:?}"
    );
    let replaced = sandbox.tracer(&[other.as_slice(), &["--force"]].concat());
    assert_eq!(replaced.code, Some(0), "{replaced:?}");
    assert_eq!(json(&stored), json(&sandbox.path("b.json")));
}

#[test]
fn a_pushed_baseline_is_judged_against_and_no_other_one() {
    let (sandbox, url) = sandbox();
    let gate = run(&sandbox, &["--json-out", "report.json"]);
    assert_eq!(gate.code, Some(0), "{gate:?}");
    let made = [
        "baseline",
        "--from-report",
        "report.json",
        "--out",
        "agent.json",
        "--push",
        &url,
    ];
    assert_eq!(sandbox.tracer(&made).code, Some(0));
    let pushed = fs::read(sandbox.path("agent.json")).unwrap();
    fs::remove_file(sandbox.path("agent.json")).unwrap();
    let object = format!("{url}/baselines/agent.json");

    // By its name in the bucket and by its URL, it is the same one.
    for named in [
        &["--baseline", "agent", "--store", &url][..],
        &["--baseline", &object],
    ] {
        let arguments = [named, &["--json-out", "judged.json"]].concat();
        let judged = run(&sandbox, &arguments);
        assert_eq!(judged.code, Some(0), "{judged:?}");
        let report = json(&sandbox.path("judged.json"));
        assert_eq!(report["gate"]["baseline"]["path"], object);
        assert_eq!(
            report["gate"]["baseline"]["sha256"],
            tracer_insight::digest::sha256_hex(&pushed)
        );
        fs::remove_file(sandbox.path("judged.json")).unwrap();
        for command in ["assert", "diff"] {
            let judged = sandbox.tracer(&[&[command, "latest"], named].concat());
            assert_eq!(judged.code, Some(0), "{command}: {judged:?}");
        }
    }

    let bucket = sandbox.path("bucket/baselines");
    fs::write(bucket.join("odd.json"), "{}").unwrap();
    fs::write(sandbox.path("here"), &pushed).unwrap();
    fs::write(bucket.join("here.json"), &pushed).unwrap();
    // A folder is no baseline: its name means the one in the bucket.
    fs::create_dir(sandbox.path("agent")).unwrap();
    let judged = run(&sandbox, &["--baseline", "agent", "--store", &url]);
    assert_eq!(judged.code, Some(0), "{judged:?}");
    fs::remove_dir(sandbox.path("agent")).unwrap();
    let nowhere = format!("file://{}", sandbox.path("nowhere").display());
    for (named, reason) in [
        (
            &["--baseline", "other", "--store", &url][..],
            "there is no baseline",
        ),
        (
            &["--baseline", "odd", "--store", &url],
            "baselines/odd.json cannot be used",
        ),
        (
            &["--baseline", "here", "--store", &url],
            "is a file here, and the name of a baseline",
        ),
        (
            &["--baseline", "./here", "--store", &url],
            "--store is for the name of a baseline",
        ),
        (
            &["--baseline", "agent", "--store", &nowhere],
            "the folder does not exist",
        ),
        (
            &["--baseline", "agent", "--store", "s3://key:s3cret@team"],
            "credentials do not belong",
        ),
        (&["--baseline", "agent"], "the baseline agent cannot be read"),
        (
            &["--baseline", &format!("{url}/agent.json")],
            "is not that of a baseline",
        ),
        (&["--store", &url], "--baseline"),
    ] {
        let refused = run(&sandbox, named);
        assert_eq!(refused.code, Some(2), "{named:?}: {refused:?}");
        assert!(refused.stderr.contains(reason), "{named:?}: {refused:?}");
        assert!(!refused.stderr.contains("s3cret"), "{refused:?}");
    }
    assert!(!sandbox.path("nowhere").exists());
}
