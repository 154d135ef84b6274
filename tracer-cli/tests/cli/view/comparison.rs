//! One changed pair of runs: terminal, Markdown and API show it in the same words and signs.

use serde_json::{Value, json};
use tracer_sdk::{Config, GuardrailExceeded, Run, llm_call, tool_call};

use super::client::Viewer;
use crate::sandbox::Sandbox;

/// The ID of the run that this agent recorded.
fn record(sandbox: &Sandbox, agent: fn() -> Result<(), GuardrailExceeded>) -> String {
    let config = Config::new().data_dir(sandbox.data_dir());
    let run = Run::new("agent").config(&config).start();
    let id = run.trace_id().unwrap().to_string();
    agent().unwrap();
    run.finish();
    id
}

fn search(query: &str) -> Result<(), GuardrailExceeded> {
    tool_call("search")
        .args(&json!({"q": query}))
        .result(&"x")
        .record()
}

fn steady() -> Result<(), GuardrailExceeded> {
    search("refund")?;
    tool_call("lookup").args(&json!({"id": 1})).record()?;
    llm_call("model").prompt("hello").response("x").record()?;
    tool_call("send_reply").record()
}

fn worse() -> Result<(), GuardrailExceeded> {
    (0..4).try_for_each(|_| search("refund"))?;
    tool_call("lookup").args(&json!({"id": 2})).record()?;
    llm_call("model").prompt("hello").response("x").record()?;
    tool_call("escalate").fail("refused").record()
}

fn texts<'a>(values: &'a Value, key: &str) -> Vec<&'a str> {
    let values = values.as_array().unwrap().iter();
    values.map(|value| value[key].as_str().unwrap()).collect()
}

#[test]
fn terminal_markdown_and_api_show_the_same_words_and_signs() {
    let sandbox = Sandbox::new();
    let (before, after) = (record(&sandbox, steady), record(&sandbox, worse));
    let viewer = Viewer::start(&sandbox);
    let answer = viewer.json(&format!("/api/diff?a={before}&b={after}"));
    let shown = |format: &str| sandbox.tracer(&["diff", &before, &after, "--format", format]);
    let (terminal, markdown, json) = (shown("text"), shown("markdown"), shown("json").json());

    let both = |part: &str| {
        for surface in [&terminal, &markdown] {
            assert!(surface.stdout.contains(part), "{part}: {surface:?}");
        }
    };
    both(answer["summary"].as_str().unwrap());
    for side in ["before", "after"] {
        assert_eq!(answer[side], json[side]);
        both(answer[side]["run_status"].as_str().unwrap());
    }
    assert_eq!(answer["after"]["run_status"], "loop");
    for metric in answer["metrics"].as_array().unwrap() {
        if metric["before"] != metric["after"] {
            both(metric["label"].as_str().unwrap());
            both(metric["difference"].as_str().unwrap());
        }
    }

    let calls = answer["calls"].as_array().unwrap();
    assert_eq!(
        texts(&answer["calls"], "change"),
        [
            "same", "repeated", "repeated", "repeated", "changed", "same", "removed", "added"
        ]
    );
    assert_eq!(
        texts(&answer["calls"], "sign"),
        [" ", "+", "+", "+", "~", " ", "-", "+"]
    );
    for call in calls.iter().filter(|call| call["change"] != "same") {
        let sign = call["sign"].as_str().unwrap();
        let name = [&call["after"], &call["before"]]
            .into_iter()
            .find_map(|side| side["name"].as_str())
            .unwrap();
        let has = |text: &str, sign: &str| {
            let mut rows = text.lines();
            rows.any(|row| row.starts_with(sign) && row.contains(name))
        };
        assert!(has(&terminal.stdout, sign), "{call} {terminal:?}");
        assert!(
            has(&markdown.stdout, &format!("| `{sign}` |")),
            "{call} {markdown:?}"
        );
        for remark in call["remarks"].as_array().unwrap() {
            both(remark.as_str().unwrap());
        }
    }
}
