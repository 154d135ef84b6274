//! `tracer demo`: the first run that a user sees.

use std::fs;

use crate::sandbox::{Sandbox, contents};

fn with_demo() -> (Sandbox, String) {
    let sandbox = Sandbox::without_data_directory();
    let outcome = sandbox.tracer(&["demo"]);
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    (sandbox, outcome.stdout + &outcome.stderr)
}

#[test]
fn it_says_where_the_run_is_and_what_to_type_next() {
    let (sandbox, said) = with_demo();
    let runs: Vec<_> = fs::read_dir(sandbox.data_dir().join("runs"))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    assert_eq!(runs.len(), 1);
    let directory = runs[0].path();
    let id = runs[0].file_name().into_string().unwrap();
    assert!(said.contains(&directory.display().to_string()), "{said}");
    for next in [
        "tracer list",
        &format!("tracer show {}", &id[..8]),
        &format!("tracer export {}", &id[..8]),
    ] {
        assert!(said.contains(next), "{next:?} is not in {said:?}");
    }
    assert_eq!(
        sandbox
            .tracer(&["validate-trace", &directory.display().to_string()])
            .code,
        Some(0)
    );
}

#[test]
fn its_run_tells_the_story_in_order() {
    let (sandbox, _) = with_demo();
    let export = sandbox.tracer(&["export", "--out", "-"]).json();
    assert_eq!(export["run"]["status"], "ok");
    let story: Vec<String> = export["events"]
        .as_array()
        .unwrap()
        .iter()
        .map(|event| {
            let payload = &event["payload"];
            let name = payload["tool_name"]
                .as_str()
                .or_else(|| payload["model"].as_str())
                .unwrap_or_default();
            format!("{} {name}", event["event_type"].as_str().unwrap())
                .trim_end()
                .to_owned()
        })
        .collect();
    let expected = [
        "RUN_START",
        "STATE_UPDATE",
        "TOOL_CALL lookup_customer",
        "LLM_CALL demo-model",
        "UNKNOWN",
        "TOOL_CALL search_kb",
        "TOOL_CALL read_article",
        "LLM_CALL demo-model",
        "STATE_UPDATE",
        "TOOL_CALL send_reply",
        "RUN_END",
    ];
    assert_eq!(story, expected);
    assert_eq!(export["events"][2]["payload"]["args"]["api_key"], "__REDACTED__");
    assert!(export["events"].as_array().unwrap().iter().all(|event| {
        event["event_type"] != "LLM_CALL"
            || event["duration_ms"].as_u64().is_some_and(|duration| duration > 0)
    }));
}

#[test]
fn its_secret_never_reaches_the_disk() {
    let (sandbox, _) = with_demo();
    let files = contents(&sandbox.data_dir());
    assert!(!files.is_empty());
    for (path, content) in files {
        let text = String::from_utf8(content).unwrap();
        assert!(!text.contains("demo-crm-credential"), "{}", path.display());
    }
}

#[test]
fn it_records_where_it_is_told_to() {
    let sandbox = Sandbox::without_data_directory();
    let path = sandbox.path("elsewhere");
    let outcome = sandbox.tracer(&["demo", "--data-dir", &path.display().to_string()]);
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    assert_eq!(fs::read_dir(path.join("runs")).unwrap().count(), 1);
    assert!(!sandbox.data_dir().exists());
}
