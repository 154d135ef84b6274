//! `tracer demo`: the first run that a user sees.

use std::fs;
use std::process::Stdio;

use crate::sandbox::{Outcome, Sandbox, contents};

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
fn what_to_type_next_is_what_works_where_the_demo_was_started() {
    let sandbox = Sandbox::without_data_directory();
    // As Cargo describes the package that it runs.
    let mut command = sandbox.command(&["demo"]);
    command
        .env("CARGO_PKG_NAME", "tracer-cli")
        .env("CARGO_MANIFEST_DIR", sandbox.path("tracer-cli"));
    let said = Outcome::from(command.output().unwrap());
    let said = said.stdout + &said.stderr;
    assert!(said.contains("cargo run -p tracer-cli -- list"), "{said}");
    assert!(!said.contains("  tracer "), "{said}");
}

#[test]
fn its_run_has_the_story_in_order() {
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
fn a_killed_demo_is_interrupted() {
    for _ in 0..10 {
        let sandbox = Sandbox::without_data_directory();
        let runs = sandbox.data_dir().join("runs");
        let mut demo = sandbox
            .command(&["demo"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let has_steps = || {
            let run = fs::read_dir(&runs).ok()?.next()?.ok()?;
            run.path().join("meta.json").exists().then_some(())
        };
        while has_steps().is_none() && demo.try_wait().unwrap().is_none() {
            std::thread::yield_now();
        }
        demo.kill().unwrap();
        if demo.wait().unwrap().success() {
            continue; // It was done before it could be killed.
        }
        let outcome = sandbox.tracer(&["show"]);
        assert_eq!(outcome.code, Some(0), "{outcome:?}");
        assert!(outcome.stdout.starts_with("◌ support-agent"), "{outcome:?}");
        assert!(sandbox.tracer(&["list"]).stdout.contains("interrupted\t"));
        return;
    }
    panic!("the demo was done before it could be killed, every time");
}

#[test]
fn a_demo_that_cannot_record_says_so() {
    let sandbox = Sandbox::without_data_directory();
    let output = sandbox
        .command(&["demo"])
        .env("TRACER_ENABLED", "0")
        .output()
        .unwrap();
    Outcome::from(output).fails(2, &["error: recording is turned off", "TRACER_ENABLED"]);
    fs::write(sandbox.data_dir(), "a file").unwrap();
    sandbox
        .tracer(&["demo"])
        .fails(2, &["error: failed to write the run", "--data-dir"]);
}

#[test]
fn it_records_to_the_given_directory() {
    let sandbox = Sandbox::without_data_directory();
    let path = sandbox.path("elsewhere");
    let outcome = sandbox.tracer(&["demo", "--data-dir", &path.display().to_string()]);
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    assert_eq!(fs::read_dir(path.join("runs")).unwrap().count(), 1);
    assert!(!sandbox.data_dir().exists());
}
