//! `tracer show --context`: what the context of a run was made of.

use serde_json::{Value, json};
use tracer_sdk::testing::capture;
use tracer_sdk::{Usage, llm_call};

use crate::sandbox::Sandbox;

/// Calls of an agent that read two files.
fn agent() -> Sandbox {
    let sandbox = Sandbox::new();
    let captured = capture(|| {
        let mut messages = vec![json!({"role": "user", "content": "Mend the test"})];
        for number in 1..=3_u64 {
            let usage = Usage::new(1_000 * number, 20).cache_read(1_000 * (number - 1));
            let tools = json!([{"name": "read_file", "description": "Reads a file", "input_schema": {"type": "object"}}]);
            let prompt = json!({"tools": tools, "messages": messages});
            llm_call("claude-sonnet-4-5")
                .provider("anthropic")
                .prompt(&prompt)
                .response("Reading.")
                .usage(usage)
                .record()
                .unwrap();
            let id = format!("call_{number}");
            messages.push(json!({"role": "assistant", "content": [{"type": "tool_use", "id": id, "name": "read_file", "input": {"path": format!("{number}.rs")}}]}));
            messages.push(json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": "fn main() {}\n".repeat(40)}]}));
        }
    });
    captured.save(sandbox.data_dir()).unwrap();
    sandbox
}

#[test]
fn the_context_bill_adds_up_to_the_run() {
    let sandbox = agent();
    let shown = sandbox.tracer(&["show", "--context"]);
    assert_eq!(shown.code, Some(0), "{shown:?}");
    let lines: Vec<&str> = shown.stdout.lines().collect();
    assert_eq!(
        lines[0].trim_start(),
        "COST  TOKENS  CACHED  EACH  SENT  FROM  BLOCK"
    );
    let is_result = |line: &&&str| line.ends_with("read_file 1.rs") && line.contains("  2×  ");
    assert!(lines.iter().any(|line| is_result(&line)), "{}", shown.stdout);
    // 3,000 fresh tokens at $3 and 3,000 cached ones at $0.30 for a million.
    assert!(
        shown
            .stdout
            .contains("3 calls sent 6,000 input tokens (3,000 cached): $0.0099\n"),
        "{}",
        shown.stdout
    );
    assert!(
        shown
            .stdout
            .contains("  tokens and cost of a block are estimated"),
        "{}",
        shown.stdout
    );

    let json: Value = serde_json::from_str(&sandbox.tracer(&["show", "--context", "--json"]).stdout).unwrap();
    let sum = |pointer: &str| {
        json["blocks"]
            .as_array()
            .unwrap()
            .iter()
            .map(|block| block.pointer(pointer).unwrap().as_f64().unwrap())
            .sum::<f64>()
    };
    assert_eq!(
        (sum("/tokens/all"), json["tokens"]["all"].as_f64()),
        (6_000.0, Some(6_000.0))
    );
    assert!((sum("/usd") - 0.0099).abs() < 1e-9, "{}", sum("/usd"));
}

#[test]
fn only_the_costliest_blocks_are_listed_unless_all_are_wanted() {
    let sandbox = Sandbox::new();
    let captured = capture(|| {
        let messages: Vec<Value> = (0..30)
            .map(|number| json!({"role": "user", "content": format!("message {number}")}))
            .collect();
        llm_call("claude-sonnet-4-5")
            .provider("anthropic")
            .prompt(&messages)
            .response("Well.")
            .usage(Usage::new(900, 1))
            .record()
            .unwrap();
    });
    captured.save(sandbox.data_dir()).unwrap();
    let shown = sandbox.tracer(&["show", "--context"]);
    assert!(
        shown.stderr.contains("10 more blocks; show all: tracer show "),
        "{}",
        shown.stderr
    );
    let all = sandbox.tracer(&["show", "--context", "--all"]);
    assert_eq!(all.stdout.matches("user: message").count(), 30, "{}", all.stdout);
}

#[test]
fn a_run_without_calls_has_an_empty_bill() {
    let sandbox = Sandbox::new();
    capture(|| tracer_sdk::tool_call("search").record())
        .save(sandbox.data_dir())
        .unwrap();
    let shown = sandbox.tracer(&["show", "--context"]);
    assert!(shown.stdout.starts_with("no model calls\n"), "{}", shown.stdout);
}
