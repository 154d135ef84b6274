//! Lists, exports and reports keep to the JSON Schemas in `docs/schemas`.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::sandbox::{FIRST, SECOND, Sandbox, THIRD};

/// What is wrong with a document; a key that the schema does not name counts as well, since the schema is to tell all
/// that is written.
fn faults(name: &str, document: &Value) -> Vec<String> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/schemas");
    let text = fs::read_to_string(Path::new(path).join(format!("{name}.json"))).unwrap();
    let schema: Value = serde_json::from_str(&text).unwrap();
    let options = jsonschema::draft202012::options().should_validate_formats(true);
    let validator = options.build(&schema).unwrap();
    let reported = validator
        .iter_errors(document)
        .map(|error| format!("{}: {error}", error.instance_path()));
    let keys = document.as_object().unwrap().keys();
    let unknown = keys
        .filter(|key| schema["properties"].get(key.as_str()).is_none())
        .map(|key| format!("{key} is not in the schema"));
    reported.chain(unknown).collect()
}

#[track_caller]
pub(crate) fn keeps_to(name: &str, document: &Value) {
    assert_eq!(faults(name, document), Vec::<String>::new(), "{document:#}");
}

/// A run recorded by the SDK, one that ended well, one that failed and one that was interrupted in a call.
fn store() -> Sandbox {
    let sandbox = Sandbox::new();
    assert_eq!(sandbox.tracer(&["demo"]).code, Some(0));
    sandbox.run(FIRST, "well", 1, "ok");
    sandbox.run(SECOND, "failed", 2, "error");
    let interrupted = sandbox.run(THIRD, "interrupted", 3, "running");
    let begun = json!({"run_name": "interrupted", "started_at": "2026-01-01T00:03:00.000000Z", "pid": 1});
    let call = json!({
        "span_id": "3333333333333333", "parent_span_id": "00f067aa0ba902b7", "name": "gpt-5", "type": "LLM_CALL",
        "start_time": "2026-01-01T00:03:00.250000Z",
    });
    fs::write(interrupted.join(".live"), format!("{begun}\n{call}\n")).unwrap();
    sandbox
}

#[test]
fn the_list_keeps_to_its_schema() {
    let mut list = store().tracer(&["list", "--limit", "all", "--json"]).json();
    assert_eq!(list["runs"].as_array().map(Vec::len), Some(4));
    keeps_to("list", &list);
    keeps_to("list", &Sandbox::new().tracer(&["list", "--json"]).json());

    list["runs"][0]["status"] = json!("done");
    assert_eq!(faults("list", &list).len(), 1);
}

#[test]
fn a_run_is_shown_as_json_whatever_its_state() {
    let sandbox = store();
    for run in ["latest", FIRST, SECOND, THIRD] {
        let shown = sandbox.tracer(&["show", run, "--json"]).json();
        assert_eq!(shown["spec_version"], "0.2.0", "{run}");
    }
    let interrupted = sandbox.tracer(&["show", THIRD, "--json"]).json();
    assert_eq!(interrupted["status"], "interrupted");
    assert_eq!(interrupted["in_flight"].as_array().map(Vec::len), Some(1));

    fs::write(sandbox.run_dir(FIRST).join("meta.json"), "no json").unwrap();
    let damaged = sandbox.tracer(&["show", FIRST, "--json"]).json();
    assert_eq!(
        (&damaged["run"], &damaged["status"]),
        (&Value::Null, &Value::Null)
    );
    assert!(!damaged["problems"].as_array().unwrap().is_empty());
}

#[test]
fn an_export_keeps_to_its_schema() {
    let sandbox = store();
    for run in ["latest", FIRST, SECOND] {
        let mut export = sandbox.tracer(&["export", run, "--out", "-"]).json();
        keeps_to("export", &export);
        for line in sandbox
            .tracer(&["export", run, "--format", "ndjson", "--out", "-"])
            .stdout
            .lines()
        {
            keeps_to("record", &serde_json::from_str(line).unwrap());
        }
        export["exported_at"] = json!("2026-01-01T00:00:00.000000Z");
        assert!(!faults("export", &export).is_empty());
        export.as_object_mut().unwrap().remove("exported_at");
        export["events"][0]["event_type"] = json!("RUN_END");
        assert!(!faults("export", &export).is_empty());
    }
}

#[test]
fn a_verdict_has_its_problems_by_code() {
    let sandbox = store();
    let validate = |directory: &Path| {
        let path = directory.to_str().unwrap().to_owned();
        sandbox.tracer(&["validate-trace", &path, "--json"]).json()
    };
    let valid = validate(&sandbox.run_dir(FIRST));
    assert_eq!(valid["valid"], true);

    let mut meta: Value =
        serde_json::from_slice(&fs::read(sandbox.run_dir(SECOND).join("meta.json")).unwrap()).unwrap();
    meta["status"] = json!("ok");
    fs::write(sandbox.run_dir(SECOND).join("meta.json"), meta.to_string()).unwrap();
    let warned = validate(&sandbox.run_dir(SECOND));
    assert_eq!(warned["warnings"][0]["code"], "status_mismatch");

    meta["status"] = json!("done");
    fs::write(sandbox.run_dir(SECOND).join("meta.json"), meta.to_string()).unwrap();
    let invalid = validate(&sandbox.run_dir(SECOND));
    assert_eq!(invalid["diagnostics"][0]["code"], "invalid_value");
}

#[test]
fn a_repaired_run_can_be_exported() {
    let sandbox = store();
    let planned = sandbox.tracer(&["repair", THIRD, "--dry-run", "--json"]).json();
    assert_eq!(planned["repaired"], false);
    let done = sandbox.tracer(&["repair", THIRD, "--json"]).json();
    assert_eq!(done["repaired"], true);
    let repaired = sandbox.tracer(&["export", THIRD, "--out", "-"]).json();
    keeps_to("export", &repaired);
}

#[test]
fn reports_keep_to_their_schema() {
    let sandbox = store();
    assert_eq!(
        sandbox.tracer(&["baseline", FIRST, "--out", "b.json"]).code,
        Some(0)
    );
    let mut report = sandbox
        .tracer(&[
            "assert",
            SECOND,
            "--baseline",
            "b.json",
            "--force",
            "--format",
            "json",
        ])
        .json();
    keeps_to("report", &report);

    report["verdict"] = json!("maybe");
    assert_eq!(faults("report", &report).len(), 1);
}
