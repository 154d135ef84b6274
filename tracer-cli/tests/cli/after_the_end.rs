//! What the metadata says of a run's recording is said by every surface: what is missing, and what came after its end.

use serde_json::json;
use tracer_sdk::{Config, Run, llm_call, tool_call};

use crate::sandbox::{FIRST, Sandbox, meta, spans};
use crate::view::client::Viewer;

#[test]
fn late_spans_are_shown_everywhere() {
    let sandbox = Sandbox::new();
    let run = Run::new("agent")
        .config(&Config::new().data_dir(sandbox.data_dir()))
        .start();
    let (context, id) = (run.context().unwrap(), run.trace_id().unwrap().to_string());
    let open = llm_call("gpt-5").prompt("Hi").start().unwrap();
    let never = tool_call("never").start().unwrap();
    run.finish();
    context.in_scope(|| tool_call("late").record().unwrap());
    open.end().unwrap();

    let directory = sandbox.run_dir(&id);
    let valid = sandbox.tracer(&["validate-trace", directory.to_str().unwrap(), "--strict"]);
    assert_eq!(valid.code, Some(0), "{valid:?}");
    let [late, unfinished] = [
        "2 spans ended after the run had ended",
        "1 span had not ended when the run did",
    ];
    let listed = sandbox.tracer(&["list"]);
    assert!(listed.stdout.contains("\t1\t1\t0\t0\tagent"), "{listed:?}");
    let shown = sandbox.tracer(&["show", &id]);
    let viewer = Viewer::start(&sandbox);
    let page = viewer.json(&format!("/api/runs/{id}/overview"));
    for remark in [late, unfinished] {
        assert!(listed.stderr.contains(remark), "{listed:?}");
        assert!(shown.stdout.contains(remark), "{shown:?}");
        assert!(
            page["notices"].as_array().unwrap().contains(&json!(remark)),
            "{page}"
        );
    }
    let listed = sandbox.tracer(&["list", "--json"]).json();
    assert_eq!(listed["runs"][0]["late_spans"], 2);
    assert_eq!(listed["runs"][0]["unfinished_spans"], 1);

    // RUN_START, RUN_END, and what came after it.
    let out = sandbox.path("run.json");
    let exported = sandbox.tracer(&["export", &id, "--out", out.to_str().unwrap()]);
    assert_eq!(exported.code, Some(0), "{exported:?}");
    let exported: serde_json::Value = serde_json::from_slice(&std::fs::read(&out).unwrap()).unwrap();
    let types: Vec<_> = exported["events"]
        .as_array()
        .unwrap()
        .iter()
        .map(|event| event["event_type"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(types, ["RUN_START", "LLM_CALL", "RUN_END", "TOOL_CALL"]);
    drop(never);
    let shown = sandbox.tracer(&["show", &id]);
    assert!(!shown.stdout.contains(unfinished), "{shown:?}");
}

#[test]
fn records_that_found_no_run_are_said_by_list_show_and_page() {
    let sandbox = Sandbox::new();
    let mut meta = meta(FIRST, "agent", 1, "ok");
    meta["unattached"] = json!(3);
    sandbox.files(FIRST, &meta.to_string(), &spans(FIRST, "agent", 1, "ok"));
    let said = "3 records found no run";
    let listed = sandbox.tracer(&["list"]);
    assert!(listed.stderr.contains(said), "{listed:?}");
    let shown = sandbox.tracer(&["show"]);
    assert!(shown.stdout.contains(said), "{shown:?}");
    let page = Viewer::start(&sandbox).json(&format!("/api/runs/{FIRST}/overview"));
    assert!(page["notices"][0].as_str().unwrap().starts_with(said), "{page}");
}
