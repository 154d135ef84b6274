//! What a system allows a process: how long its files are, and how many it has open (decisions, section 5; reliability
//! G1).

use std::io::{BufRead, BufReader, Write};

use nix::sys::resource::{Resource, getrlimit};
use serde_json::Value;
use tracer_runs::{Liveness, probe_liveness};
use tracer_sdk::format::RecordedStatus;
use tracer_tests::{DataDir, Program};

use super::TRACED;

#[test]
fn a_limit_of_files_never_kills_wherever_it_lies() {
    let data = DataDir::new();
    let output = Program::new(TRACED, &data).args(["limit-files"]).output();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{}: {said}", output.status);
    assert_eq!(said.lines().count(), 3 * 7, "{said}");
    let at_the_end = said.lines().find(|line| line.starts_with("spans.jsonl 0 0: "));
    assert_ne!(
        at_the_end,
        Some("spans.jsonl 0 0: 0"),
        "spans were lost, and counted"
    );
    // The metadata is shorter than the log, so that it says why.
    let meta = data.run_dirs().into_iter().find_map(|run| {
        let meta: Value = serde_json::from_slice(&std::fs::read(run.join("meta.json")).ok()?).unwrap();
        (meta["run_name"] == "spans.jsonl 0 0").then_some(meta)
    });
    let reason = meta.unwrap()["dropped"]["reason"].as_str().unwrap().to_owned();
    assert_eq!(reason, "file too large");
}

/// Has this many runs live at once under a limit of open files; how many files they keep open.
fn files_kept_open(runs: usize, limit: u64) -> u64 {
    let data = DataDir::new();
    let script = format!("ulimit -n {limit}; exec {TRACED} many-live-runs {runs}");
    let mut child = Program::new("sh", &data).args(["-c", &script]).start();
    let mut lines = BufReader::new(child.stdout.take().unwrap())
        .lines()
        .map(Result::unwrap);
    let open: u64 = lines.next().unwrap().parse().unwrap();
    let directories = data.run_dirs();
    assert_eq!(directories.len(), runs);
    let liveness = directories
        .iter()
        .map(|run| probe_liveness(run, RecordedStatus::Running));
    let (running, others): (Vec<Liveness>, Vec<Liveness>) =
        liveness.partition(|liveness| *liveness == Liveness::Running);
    assert!(
        running.len() as u64 >= (runs as u64).min(limit / 16),
        "{limit}: {running:?}"
    );
    // Runs beyond the descriptors hold no lock, and are shown as running while their process lives.
    assert!(
        others.iter().all(|liveness| *liveness == Liveness::Unknown),
        "{limit}: {others:?}"
    );
    child.stdin.as_mut().unwrap().write_all(b"\n").unwrap();
    assert_eq!(lines.next().as_deref(), Some("0"), "nothing stays open");
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    let finished = data.finished_runs();
    assert_eq!(finished.len(), runs);
    assert!(
        finished
            .iter()
            .all(|run| run.status() == RecordedStatus::Ok && run.run.spans.len() == 5)
    );
    open
}

#[test]
fn runs_use_a_quarter_of_descriptors() {
    let (allowed, _) = getrlimit(Resource::RLIMIT_NOFILE).unwrap();
    let limits = [(600, 1024), (100, 64), (40, 24), (2, 1024)];
    for (runs, limit) in limits.into_iter().filter(|(_, limit)| *limit <= allowed) {
        let open = files_kept_open(runs, limit);
        assert!(open <= limit / 4, "{runs} runs have {open} files open of {limit}");
    }
}

/// Runs a program that spends 1,000 tokens a call under a limit of two cents: how many calls it made, and its warnings.
fn spend_within(limit: &str, settings: &str) -> (String, String) {
    let home = tempfile::tempdir().unwrap();
    std::fs::create_dir(home.path().join(".tracer")).unwrap();
    std::fs::write(home.path().join(".tracer/config.toml"), settings).unwrap();
    let output = Program::new(TRACED, &DataDir::new())
        .args(["spend", "10"])
        .env("HOME", home.path().to_str().unwrap())
        .env("TRACER_MAX_COST_USD", limit)
        .output();
    assert!(output.status.success(), "{output:?}");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap().trim_end().to_owned();
    (text(output.stdout), text(output.stderr))
}

#[test]
fn a_limit_of_costs_counts_with_the_prices_of_the_settings() {
    let a_cent_a_call = "[prices.own.own-model]\ninput = 10\noutput = 0";
    assert_eq!(
        spend_within("0.02", a_cent_a_call),
        ("2".to_owned(), String::new())
    );
    assert_eq!(
        spend_within("0.021", a_cent_a_call),
        ("3".to_owned(), String::new())
    );
    assert_eq!(spend_within("0", a_cent_a_call), ("0".to_owned(), String::new()));
}

#[test]
fn a_limit_of_costs_that_cannot_count_warns_once() {
    let (calls, warning) = spend_within("0.02", "");
    assert_eq!(calls, "10");
    assert_eq!(warning.lines().count(), 1, "{warning}");
    for part in [
        "max_cost_usd cannot count a model call of the run ",
        ": no prices of this provider; ",
        "`tracer prices` shows the known prices, and [prices] in a settings file adds one",
    ] {
        assert!(warning.contains(part), "{warning}");
    }
    let (calls, warning) = spend_within("cheap", "");
    assert_eq!(calls, "10");
    assert!(
        warning.contains("environment: TRACER_MAX_COST_USD must be a number of dollars, zero or more"),
        "{warning}"
    );
}
