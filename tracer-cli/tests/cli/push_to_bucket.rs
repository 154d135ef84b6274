//! `tracer push --to`: what the command makes of a bucket, here a folder.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::sandbox::{FIRST, SECOND, Sandbox};

fn url(sandbox: &Sandbox) -> String {
    format!("file://{}", sandbox.path("bucket").display())
}

/// Names of all objects below a folder.
fn objects(folder: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    let mut found: Vec<String> = entries
        .map(|entry| entry.unwrap().path())
        .flat_map(|path| {
            if path.is_dir() {
                objects(&path)
            } else {
                vec![path.display().to_string()]
            }
        })
        .collect();
    found.sort();
    found
}

#[test]
fn runs_that_have_ended_are_sent_once() {
    let sandbox = Sandbox::new();
    sandbox.run(FIRST, "first", 1, "ok");
    sandbox.run(SECOND, "second", 2, "running");
    let url = url(&sandbox);
    let sent = sandbox.tracer(&["push", "--all", "--to", &url]);
    assert_eq!(sent.code, Some(0), "{sent:?}");
    assert!(sent.stdout.contains("sent 1 run ("), "{sent:?}");
    assert!(
        sent.stdout.contains(&format!(", checked for secrets) to {url}")),
        "{sent:?}"
    );
    assert!(sent.stderr.contains("1 run has not ended"), "{sent:?}");

    let folder = sandbox.path("bucket");
    let meta = fs::read_to_string(folder.join("runs").join(FIRST).join("meta.json")).unwrap();
    let meta: Value = serde_json::from_str(&meta).unwrap();
    assert_eq!(
        (&meta["run_name"], &meta["stored"]["spans"]),
        (&"first".into(), &"spans.jsonl".into())
    );
    let log = fs::read(folder.join("runs").join(FIRST).join("spans.jsonl")).unwrap();
    assert_eq!(log, fs::read(sandbox.run_dir(FIRST).join("spans.jsonl")).unwrap());
    assert!(!folder.join("runs").join(SECOND).exists());
    let facts = objects(&folder.join("facts"));
    assert_eq!(facts.len(), 1, "{facts:?}");
    let row: Value = serde_json::from_str(fs::read_to_string(&facts[0]).unwrap().trim_end()).unwrap();
    assert_eq!(row["trace_id"], FIRST);
    assert_eq!(
        (&row["name"], &row["status"], &row["llm_calls"]),
        (&"first".into(), &"ok".into(), &1.into())
    );

    let before = objects(&folder);
    let again = sandbox.tracer(&["push", "--all", "--to", &url]);
    assert!(
        again.stderr.contains("nothing to send: 1 run sent to"),
        "{again:?}"
    );
    assert_eq!(objects(&folder), before);
}

#[test]
fn a_run_that_is_not_sent_is_reported_and_fails() {
    let sandbox = Sandbox::new();
    sandbox.run(FIRST, "first", 1, "ok");
    sandbox.files(SECOND, "{", "");
    let pushed = sandbox.tracer(&["push", "--all", "--to", &url(&sandbox)]);
    assert_eq!(pushed.code, Some(1), "{pushed:?}");
    assert!(
        pushed.stdout.contains("sent 1 run (") && pushed.stdout.contains("; 1 not sent"),
        "{pushed:?}"
    );
    assert!(
        pushed.stderr.contains("is not sent: its meta.json is damaged"),
        "{pushed:?}"
    );
}

#[test]
fn another_machine_is_asked_for_first_and_no_credential_is_shown() {
    let sandbox = Sandbox::new();
    sandbox.run(FIRST, "first", 1, "ok");
    sandbox.tracer(&["push", "--to", "s3://team/agents"]).fails(
        2,
        &["sending runs to s3://team/agents needs a confirmation", "--yes"],
    );
    let refused = sandbox.tracer(&["push", "--to", "s3://key:s3cret@team/agents"]);
    refused.fails(2, &["credentials do not belong into it", "hint: "]);
    assert!(!refused.stderr.contains("s3cret"), "{refused:?}");
}

#[test]
fn an_otlp_option_does_not_fit_a_bucket() {
    let sandbox = Sandbox::new();
    sandbox
        .tracer(&["push", "--to", "file:///srv", "--no-content"])
        .fails(2, &["--to"]);
    sandbox.tracer(&["push", "--join"]).fails(2, &["--to"]);
}

#[test]
fn facts_of_past_days_are_joined_and_todays_stay() {
    let sandbox = Sandbox::new();
    let url = url(&sandbox);
    let facts = sandbox.path("bucket").join("facts");
    let past = facts.join("date=2026-01-01");
    fs::create_dir_all(&past).unwrap();
    for (run, name) in [(FIRST, "first"), (SECOND, "second")] {
        sandbox.run(run, name, 1, "ok");
        assert_eq!(sandbox.tracer(&["push", run, "--to", &url]).code, Some(0));
        let [sent]: [String; 1] = objects(&facts)
            .into_iter()
            .filter(|name| !name.contains("2026-01-01"))
            .collect::<Vec<_>>()
            .try_into()
            .unwrap();
        fs::rename(&sent, past.join(Path::new(&sent).file_name().unwrap())).unwrap();
    }
    let join = || sandbox.tracer(&["push", "--to", &url, "--join"]);
    let joined = join();
    assert_eq!(joined.code, Some(0), "{joined:?}");
    assert!(
        joined
            .stdout
            .contains(&format!("joined 2 objects of facts of 1 day in {url}")),
        "{joined:?}"
    );
    let [object]: [String; 1] = objects(&facts).try_into().unwrap();
    assert_eq!(fs::read_to_string(object).unwrap().lines().count(), 2);
    assert!(join().stderr.contains("nothing to join"));
    let listed = sandbox.tracer(&["list", "--store", &url]);
    assert!(
        listed.stdout.contains("first") && listed.stdout.contains("second"),
        "{listed:?}"
    );
}
