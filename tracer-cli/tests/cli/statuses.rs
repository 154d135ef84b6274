//! One vocabulary: whatever shows a run says the same of it, and whatever takes a status means the same by it.

use std::fs;

use rstest::rstest;
use serde_json::{Value, json};

use crate::sandbox::{Sandbox, meta, spans};
use crate::view::client::Viewer;

/// A run: its name, its status, and what its files hold.
struct Sample {
    id: String,
    name: &'static str,
    status: &'static str,
}

/// A store with runs of every status, and with runs that are damaged in every way that a list sees.
fn store() -> (Sandbox, Vec<Sample>) {
    let sandbox = Sandbox::new();
    let mut samples = Vec::new();
    let mut add = |name: &'static str, status: &'static str, recorded: &str| {
        let minute = u32::try_from(samples.len()).unwrap();
        let id = format!("{:032x}", (u128::from(minute) + 1) << 96 | 1);
        let directory = sandbox.run(&id, name, minute, recorded);
        samples.push(Sample {
            id: id.clone(),
            name,
            status,
        });
        (directory, id, minute)
    };
    let edit =
        |(directory, id, minute): &(std::path::PathBuf, String, u32), name, change: &dyn Fn(&mut Value)| {
            let recorded: Value =
                serde_json::from_slice(&fs::read(directory.join("meta.json")).unwrap()).unwrap();
            let mut changed = meta(id, name, *minute, recorded["status"].as_str().unwrap());
            change(&mut changed);
            fs::write(directory.join("meta.json"), changed.to_string()).unwrap();
        };
    add("well", "ok", "ok");
    add("badly", "failed", "error");
    add("foreign", "running", "running");
    let looped = add("repeating", "loop", "ok");
    edit(&looped, "repeating", &|meta| {
        meta["counts"]["loop_warnings"] = json!(1);
    });
    let failed_loop = add("repeating-badly", "failed", "error");
    edit(&failed_loop, "repeating-badly", &|meta| {
        meta["counts"]["loop_warnings"] = json!(2);
    });
    // An emitter's own key of this name is not what the run's status is.
    let other_key = add("own-key", "ok", "ok");
    edit(&other_key, "own-key", &|meta| {
        meta["run_status"] = json!("splendid");
    });
    let live = |directory: &std::path::Path| {
        fs::write(directory.join(".live"), "{\"run_name\":\"killed\"}\n").unwrap();
    };
    live(&add("killed", "interrupted", "running").0);
    let (cut, id, minute) = add("killed-within-a-line", "interrupted", "running");
    live(&cut);
    let whole = spans(&id, "killed-within-a-line", minute, "running");
    fs::write(cut.join("spans.jsonl"), &whole[..whole.len() - 30]).unwrap();

    let log =
        |directory: &std::path::Path, text: &str| fs::write(directory.join("spans.jsonl"), text).unwrap();
    let remove = |directory: &std::path::Path, name: &str| fs::remove_file(directory.join(name)).unwrap();
    fs::write(add("no-json", "damaged", "ok").0.join("meta.json"), "no json").unwrap();
    remove(&add("no-metadata", "damaged", "ok").0, "meta.json");
    log(&add("garbage", "damaged", "ok").0, "garbage\nmore\n");
    log(&add("nothing-but-zeros", "damaged", "ok").0, &"\0".repeat(20_000));
    log(&add("emptied", "damaged", "ok").0, "");
    remove(&add("no-log", "damaged", "error").0, "spans.jsonl");
    let (cut, id, minute) = add("cut", "damaged", "ok");
    let whole = spans(&id, "cut", minute, "ok");
    log(&cut, &whole[..whole.len() - 30]);
    let (stranger, _, minute) = add("of-another-run", "damaged", "ok");
    log(&stranger, &spans(&"f".repeat(32), "of-another-run", minute, "ok"));
    log(
        &add("garbage-while-it-runs", "damaged", "running").0,
        "garbage\nmore\n",
    );
    let (garbage, ..) = add("garbage-of-the-dead", "damaged", "running");
    live(&garbage);
    log(&garbage, "garbage\nmore\n");
    let (folder, ..) = add("folder", "damaged", "ok");
    remove(&folder, "spans.jsonl");
    fs::create_dir(folder.join("spans.jsonl")).unwrap();
    (sandbox, samples)
}

/// The IDs of the samples with a status.
fn with_status<'a>(samples: &'a [Sample], status: &str) -> Vec<&'a str> {
    let fits = samples.iter().filter(|sample| sample.status == status);
    let mut ids: Vec<&str> = fits.map(|sample| sample.id.as_str()).collect();
    ids.sort_unstable();
    ids
}

/// The IDs of both lists of a JSON answer; each run in `runs` has the status that is expected of it.
fn ids_in(answer: &Value, samples: &[Sample]) -> Vec<String> {
    let mut ids = Vec::new();
    for run in answer["runs"].as_array().unwrap() {
        let id = run["trace_id"].as_str().unwrap();
        let sample = samples.iter().find(|sample| sample.id == id).unwrap();
        assert_eq!(run["run_status"], sample.status, "{}", sample.name);
        assert_ne!(run["run_status"], "damaged", "{}", sample.name);
        assert!(
            ["ok", "error", "running"].contains(&run["status"].as_str().unwrap()),
            "{}",
            sample.name
        );
        ids.push(id.to_owned());
    }
    for run in answer["damaged"].as_array().unwrap() {
        let id = run["trace_id"].as_str().unwrap();
        let sample = samples.iter().find(|sample| sample.id == id).unwrap();
        assert_eq!(sample.status, "damaged", "{}", sample.name);
        let keys: Vec<&String> = run.as_object().unwrap().keys().collect();
        assert_eq!(keys, ["diagnostics", "trace_id"], "{}", sample.name);
        let diagnostics = run["diagnostics"].as_array().unwrap();
        assert!(!diagnostics.is_empty(), "{}", sample.name);
        assert!(
            diagnostics.iter().all(|problem| problem["code"].is_string()),
            "{}",
            sample.name
        );
        ids.push(id.to_owned());
    }
    ids.sort();
    ids
}

#[test]
fn every_list_gives_every_run_the_same_status() {
    let (sandbox, samples) = store();
    let listed = sandbox.tracer(&["list", "--limit", "all"]);
    assert_eq!(listed.stdout.lines().count(), samples.len() + 1, "{listed:?}");
    for sample in &samples {
        let line = format!("{}\t{}\t", sample.status, sample.id);
        assert!(
            listed.stdout.contains(&line),
            "{}: {}",
            sample.name,
            listed.stdout
        );
    }
    let text = sandbox.tracer(&["list", "--limit", "all", "--json"]);
    assert_eq!(text.stderr, "", "nothing is left out");
    assert_eq!(
        text.stdout.matches("\"run_status\"").count(),
        samples.len() - with_status(&samples, "damaged").len()
    );
    let mut all: Vec<&str> = samples.iter().map(|sample| sample.id.as_str()).collect();
    all.sort_unstable();
    assert_eq!(ids_in(&text.json(), &samples), all);

    let viewer = Viewer::start(&sandbox);
    assert_eq!(ids_in(&viewer.json("/api/runs"), &samples), all);
    let table = viewer.json("/api/table");
    for sample in &samples {
        let rows = table["runs"].as_array().unwrap();
        let row = rows.iter().find(|row| row["trace_id"] == *sample.id).unwrap();
        assert_eq!(row["run_status"], sample.status, "{}", sample.name);
        assert_eq!(
            row["problem"].is_string(),
            sample.status == "damaged",
            "{}",
            sample.name
        );
    }
}

#[rstest]
fn a_status_filter_means_the_listed_status(
    #[values("ok", "failed", "loop", "running", "interrupted", "damaged")] status: &str,
) {
    let (sandbox, samples) = store();
    let viewer = Viewer::start(&sandbox);
    let expected = with_status(&samples, status);
    assert!(!expected.is_empty(), "{status}");
    let json = sandbox
        .tracer(&["list", "--limit", "all", "--json", &format!("status:{status}")])
        .json();
    assert_eq!(ids_in(&json, &samples), expected, "list --json status:{status}");
    let text = sandbox
        .tracer(&["list", "--limit", "all", &format!("status:{status}")])
        .stdout;
    let mut ids: Vec<&str> = text
        .lines()
        .skip(1)
        .map(|line| line.split('\t').nth(1).unwrap())
        .collect();
    ids.sort_unstable();
    assert_eq!(ids, expected, "list status:{status}");
    let answer = viewer.json(&format!("/api/runs?status={status}"));
    assert_eq!(ids_in(&answer, &samples), expected, "/api/runs?status={status}");

    let pruned = sandbox.tracer(&["prune", "--dry-run", "--status", status]);
    if status == "running" {
        pruned.fails(2, &["interrupted", "damaged"]);
        return;
    }
    // A foreign run that says it runs may do so, whatever its log holds: it is never removed.
    let removable = |sample: &&Sample| sample.name != "garbage-while-it-runs";
    let wanted = samples
        .iter()
        .filter(|sample| sample.status == status)
        .filter(removable);
    let mut removed: Vec<&str> = pruned
        .stdout
        .lines()
        .filter_map(|line| line.strip_prefix("  ")?.split("  ").next())
        .collect();
    removed.sort_unstable();
    let mut wanted: Vec<&str> = wanted.map(|sample| &sample.id[..8]).collect();
    wanted.sort_unstable();
    assert_eq!(removed, wanted, "prune --status {status}: {pruned:?}");
    let word = format!("  {status:11}  ");
    assert_eq!(pruned.stdout.matches(&word).count(), wanted.len(), "{pruned:?}");
}

#[test]
fn filters_understand_the_formats_word_for_failed() {
    let (sandbox, samples) = store();
    let viewer = Viewer::start(&sandbox);
    let failed = with_status(&samples, "failed");
    let json = sandbox
        .tracer(&["list", "--limit", "all", "--json", "status:error"])
        .json();
    assert_eq!(ids_in(&json, &samples), failed);
    assert_eq!(ids_in(&viewer.json("/api/runs?status=error"), &samples), failed);
    assert_eq!(viewer.get("/api/runs?status=fine").status, 400);
}

#[test]
fn what_shows_a_run_says_the_status_that_lists_show() {
    let (sandbox, samples) = store();
    for sample in &samples {
        let json = sandbox.tracer(&["show", &sample.id, "--json"]);
        // Of some there is nothing to show.
        if json.code == Some(2) {
            assert_eq!(sample.status, "damaged", "{}", sample.name);
            continue;
        }
        assert_eq!(
            json.json()["run_status"],
            sample.status,
            "{}: {json:?}",
            sample.name
        );
        let text = sandbox.tracer(&["show", &sample.id]).stdout;
        let shown = if sample.status == "loop" {
            "loop, ended ok"
        } else {
            sample.status
        };
        assert!(
            text.lines().take(3).any(|line| line.contains(shown)),
            "{}: {text}",
            sample.name
        );
        let page = sandbox.tracer(&["export", &sample.id, "--format", "html", "--out", "-"]);
        let sign = format!("</span> {}</span>", sample.status);
        assert!(
            page.code != Some(0) || page.stdout.contains(&sign),
            "{}: {}",
            sample.name,
            page.stdout
        );
    }
}

#[test]
fn pages_of_a_list_hold_every_run_once_damaged_or_not() {
    let (sandbox, samples) = store();
    let viewer = Viewer::start(&sandbox);
    let mut ids = Vec::new();
    let mut path = "/api/runs?limit=3".to_owned();
    loop {
        let answer = viewer.json(&path);
        let part = ids_in(&answer, &samples);
        assert!((1..=3).contains(&part.len()), "{answer}");
        ids.extend(part);
        match answer["next"].as_str() {
            Some(next) => path = format!("/api/runs?limit=3&cursor={next}"),
            None => break,
        }
    }
    assert_eq!(ids.len(), samples.len());
}
