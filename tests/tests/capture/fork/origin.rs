//! A fork names its origin wherever a run is shown.

use serde_json::{Value, json};
use tracer_runs::{RunStore, validate};

use super::{fork_with_edited_answer, forked_run, only_run, recorded_agent};
use crate::record::Recorder;

/// The recorded run and a fork of it with an edited answer.
fn edited_fork() -> (Recorder, String, String) {
    let (recorder, _model) = recorded_agent();
    let run = only_run(&recorder);
    let forked = fork_with_edited_answer(&recorder, &run);
    let new = forked_run(&recorder, &run);
    forked.says(&format!("hint: tracer diff {} {}", &run[..8], &new[..8]));
    (recorder, run, new)
}

fn printed(recorder: &Recorder, arguments: &[&str]) -> String {
    let output = recorder.tracer().args(arguments).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn a_fork_names_its_origin_everywhere() {
    let (recorder, run, new) = edited_fork();
    let expected = json!({"run": run, "at": 4, "changes": ["edited answer of call 4"]});
    let listed: Value = serde_json::from_str(&printed(&recorder, &["list", "--json"])).unwrap();
    let listed = listed["runs"].as_array().unwrap();
    let marks: Vec<&Value> = listed.iter().map(|run| &run["fork"]).collect();
    assert_eq!(marks, [&expected, &Value::Null]);
    let shown: Value = serde_json::from_str(&printed(&recorder, &["show", &new, "--json"])).unwrap();
    assert_eq!(shown["run"]["fork"], expected);
    let page = printed(&recorder, &["show", &new]);
    let sentence = format!("forked from {} at call 4: edited answer of call 4", &run[..8]);
    assert!(page.contains(&sentence), "{page}");
    assert!(!printed(&recorder, &["show", &run]).contains("forked from"));
    let html = recorder.path("run.html");
    let html = html.to_str().unwrap();
    printed(&recorder, &["export", &new, "--format", "html", "--out", html]);
    assert!(std::fs::read_to_string(html).unwrap().contains(&sentence));
}

#[test]
fn a_fork_and_its_origin_are_compared() {
    let (recorder, run, new) = edited_fork();
    let text = printed(&recorder, &["diff", &run, &new]);
    assert!(
        text.contains("Forked at call 4: edited answer of call 4."),
        "{text}"
    );
    let compared: Value =
        serde_json::from_str(&printed(&recorder, &["diff", &run, &new, "--format", "json"])).unwrap();
    assert_eq!(compared["fork"]["at"], 4);
    let other_way = printed(&recorder, &["diff", &new, &run]);
    assert!(!other_way.contains("Forked"), "{other_way}");
}

#[test]
fn a_fork_is_a_valid_run_with_the_name_of_its_origin() {
    let (recorder, run, new) = edited_fork();
    let directory = RunStore::new(recorder.data.path()).select(&new).unwrap();
    let report = validate(&directory.path);
    assert!(report.is_valid(), "{report:?}");
    let meta = directory.read_summary().meta.unwrap();
    assert_eq!(meta.run_name.as_deref(), Some("agent"));
    assert_eq!(meta.fork().unwrap().run.to_string(), run);
    let spans =
        std::fs::read_to_string(recorder.data.path().join("runs").join(&new).join("spans.jsonl")).unwrap();
    let root: Value = spans
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .find(|span| span["parent_span_id"].is_null())
        .unwrap();
    assert_eq!(root["attributes"]["tracer.forked_from"], run);
    assert_eq!(root["attributes"]["tracer.fork_at"], 4);
    // It stays when the metadata is written again.
    let renamed = recorder
        .tracer()
        .args(["rename", &new, "another name"])
        .output()
        .unwrap();
    assert!(renamed.status.success(), "{renamed:?}");
    let directory = RunStore::new(recorder.data.path()).select(&new).unwrap();
    assert_eq!(directory.read_summary().meta.unwrap().fork().unwrap().at, 4);
}
