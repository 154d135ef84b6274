//! `tracer prune --store`: what the command removes from a bucket, here a folder.

use std::fs;
use std::path::PathBuf;

use serde_json::json;

use crate::sandbox::{FIRST, SECOND, Sandbox};

/// A sandbox whose two runs are in its bucket, and the URL of that.
fn pushed() -> (Sandbox, String) {
    let sandbox = Sandbox::new();
    sandbox.run(FIRST, "first", 1, "ok");
    sandbox.run(SECOND, "second", 2, "error");
    let url = format!("file://{}", sandbox.path("bucket").display());
    let sent = sandbox.tracer(&["push", "--all", "--to", &url]);
    assert_eq!(sent.code, Some(0), "{sent:?}");
    (sandbox, url)
}

fn stored_run(sandbox: &Sandbox, run: &str) -> PathBuf {
    sandbox.path("bucket").join("runs").join(run)
}

fn facts(sandbox: &Sandbox) -> String {
    let mut text = String::new();
    for date in fs::read_dir(sandbox.path("bucket").join("facts")).unwrap() {
        for object in fs::read_dir(date.unwrap().path()).unwrap() {
            text += &fs::read_to_string(object.unwrap().path()).unwrap();
        }
    }
    text
}

#[test]
fn a_bucket_is_pruned_by_the_rules_and_this_machine_is_left_alone() {
    let (sandbox, url) = pushed();
    let prune =
        |more: &[&str]| sandbox.tracer(&[&["prune", "--store", &url, "--status", "failed"], more].concat());
    let planned = prune(&["--dry-run"]);
    assert_eq!(planned.code, Some(0), "{planned:?}");
    assert!(planned.stdout.contains("would remove 1 of 2 runs"), "{planned:?}");
    assert!(planned.stdout.contains("second"), "{planned:?}");
    assert!(stored_run(&sandbox, SECOND).exists());

    let refused = prune(&[]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.stderr.contains("confirm with --yes"), "{refused:?}");

    let pruned = prune(&["--yes"]);
    assert_eq!(pruned.code, Some(0), "{pruned:?}");
    assert!(pruned.stdout.contains("removed 1 of 2 runs"), "{pruned:?}");
    assert!(pruned.stdout.contains(&format!("from {url}")), "{pruned:?}");
    assert!(!stored_run(&sandbox, SECOND).exists());
    assert!(stored_run(&sandbox, FIRST).join("meta.json").exists());
    assert!(sandbox.run_dir(SECOND).join("meta.json").exists());
    assert!(facts(&sandbox).contains(r#""removed":true"#));

    let again = prune(&["--yes"]);
    assert!(
        again.stderr.contains("nothing to remove: 0 of 1 run"),
        "{again:?}"
    );
}

#[test]
fn a_run_that_a_baseline_in_the_bucket_names_is_kept() {
    let (sandbox, url) = pushed();
    let baselines = sandbox.path("bucket").join("baselines");
    fs::create_dir_all(&baselines).unwrap();
    let baseline = json!({"source_run_ids": [FIRST]});
    fs::write(baselines.join("first.json"), baseline.to_string()).unwrap();
    let pruned = sandbox.tracer(&["prune", "--store", &url, "--keep", "0", "--yes"]);
    assert_eq!(pruned.code, Some(0), "{pruned:?}");
    assert!(
        pruned
            .stderr
            .contains("kept 1 run that baselines in the bucket need"),
        "{pruned:?}"
    );
    assert!(stored_run(&sandbox, FIRST).exists() && !stored_run(&sandbox, SECOND).exists());

    fs::write(baselines.join("damaged.json"), "{").unwrap();
    let refused = sandbox.tracer(&["prune", "--store", &url, "--keep", "0", "--yes"]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.stderr.contains("baselines/damaged.json"), "{refused:?}");
}

#[test]
fn facts_are_compacted_without_a_rule() {
    let (sandbox, url) = pushed();
    let before = facts(&sandbox);
    let compacted = sandbox.tracer(&["prune", "--store", &url, "--compact"]);
    assert_eq!(compacted.code, Some(0), "{compacted:?}");
    assert!(
        compacted.stderr.contains("facts: nothing to compact"),
        "today is left alone: {compacted:?}"
    );
    assert_eq!(facts(&sandbox), before);
}

#[test]
fn a_bucket_wants_a_rule_and_compaction_wants_a_bucket() {
    let (sandbox, url) = pushed();
    let no_rule = sandbox.tracer(&["prune", "--store", &url]);
    assert_eq!(no_rule.code, Some(2), "{no_rule:?}");
    assert!(no_rule.stderr.contains("no rule selects"), "{no_rule:?}");
    let no_bucket = sandbox.tracer(&["prune", "--compact"]);
    assert_eq!(no_bucket.code, Some(2), "{no_bucket:?}");
    let odd = sandbox.tracer(&["prune", "--store", "s3://key:s3cret@team", "--keep", "1"]);
    assert_eq!(odd.code, Some(2), "{odd:?}");
    assert!(!odd.stderr.contains("s3cret"), "{odd:?}");
}
