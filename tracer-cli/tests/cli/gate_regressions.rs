//! The words of the gate that `init` writes about an agent.

use serde_json::{Value, json};
use tracer_sdk::{Config, Run, Usage, llm_call, tool_call};

use crate::sandbox::{Outcome, Sandbox};

/// What an agent does in a run.
struct Work {
    /// The tools that it calls, those of one answer together.
    answers: &'static [&'static [&'static str]],
    /// In which order the tools of one answer end.
    is_reversed: bool,
    tokens: u64,
    says: &'static str,
}

const USUAL: Work = Work {
    answers: &[&["search", "weather"], &["book"]],
    is_reversed: false,
    tokens: 100,
    says: "Booked for Monday.",
};

/// Records a run of an agent.
fn record(sandbox: &Sandbox, work: &Work) -> String {
    let run = Run::new("agent")
        .config(&Config::new().data_dir(sandbox.data_dir()))
        .start();
    let id = run.trace_id().unwrap().to_string();
    let ask = |response: &Value| {
        llm_call("gpt-5-mini")
            .provider("openai")
            .prompt("Book the trip")
            .response(response)
            .usage(Usage::new(work.tokens, 10))
            .record()
            .unwrap();
    };
    for (number, tools) in work.answers.iter().enumerate() {
        let id = |tool: &str| format!("{tool}-{number}");
        let calls: Vec<Value> = tools
            .iter()
            .map(|tool| {
                json!({"id": id(tool), "type": "function", "function": {"name": tool, "arguments": "{\"city\":\"Oslo\"}"}})
            })
            .collect();
        ask(&json!({"role": "assistant", "tool_calls": calls}));
        let call = |tool: &&str| {
            let args = json!({"city": "Oslo"});
            tool_call(*tool)
                .id(id(tool))
                .args(&args)
                .result("done")
                .record()
                .unwrap();
        };
        if work.is_reversed {
            tools.iter().rev().for_each(call);
        } else {
            tools.iter().for_each(call);
        }
    }
    ask(&json!({"role": "assistant", "content": work.says}));
    run.finish();
    id
}

/// A project with a gate, and a baseline of the usual agent.
fn project() -> Sandbox {
    let sandbox = Sandbox::new();
    let usual = record(&sandbox, &USUAL);
    assert_eq!(sandbox.tracer(&["init"]).code, Some(0));
    let made = sandbox.tracer(&["baseline", &usual, "--out", "b.json"]);
    assert_eq!(made.code, Some(0), "{made:?}");
    sandbox
}

fn judged(sandbox: &Sandbox, work: &Work) -> Outcome {
    let run = record(sandbox, work);
    sandbox.tracer(&["assert", &run, "--baseline", "b.json"])
}

#[test]
fn what_changed_is_said() {
    let sandbox = project();
    for (changed, code, said) in [
        (
            Work {
                answers: &[&["search", "weather"], &["book"], &["book"]],
                ..USUAL
            },
            0,
            "  calls book up to 2 times (was 1)",
        ),
        (
            Work {
                answers: &[&["book"], &["search", "weather"]],
                ..USUAL
            },
            0,
            "  calls tools in another order",
        ),
        (
            Work { tokens: 243, ..USUAL },
            1,
            "✗ cost_tokens  failed\n    allowed  at most 495 (baseline 330)\n    seen     759",
        ),
    ] {
        let judged = judged(&sandbox, &changed);
        assert!(
            judged.code == Some(code) && judged.stdout.contains(said),
            "{judged:?}"
        );
    }
}

#[test]
fn what_no_metric_gates_is_named() {
    let sandbox = project();
    let policy = sandbox.path(".tracer/policy.yaml");
    let text = std::fs::read_to_string(&policy).unwrap();
    std::fs::write(&policy, text.replace("\n  cost_tokens:", "\n  llm_call_count:")).unwrap();
    let judged = judged(&sandbox, &Work { tokens: 243, ..USUAL });
    let said = "tokens: 330 → 759, +429 (+130 %); not gated: add `cost_tokens`";
    assert!(
        judged.code == Some(0) && judged.stdout.contains(said),
        "{judged:?}"
    );
}

#[test]
fn another_answer_is_no_call_that_differs() {
    let sandbox = project();
    let says = "I cannot book that.";
    let changed = record(&sandbox, &Work { says, ..USUAL });
    let judged = sandbox.tracer(&["assert", &changed, "--baseline", "b.json"]);
    assert_eq!(judged.code, Some(0), "{judged:?}");
    let compared = sandbox.tracer(&["diff", "latest~1", &changed]);
    let said = "The calls are the same; results and answers are not compared.";
    assert!(compared.stdout.contains(said), "{compared:?}");
}

#[test]
fn an_unchanged_parallel_agent_passes_every_time() {
    let sandbox = project();
    for number in 0..50 {
        let work = Work {
            is_reversed: number % 3 == 0,
            ..USUAL
        };
        let outcome = judged(&sandbox, &work);
        assert_eq!(outcome.code, Some(0), "{outcome:?}");
        let said = outcome.stdout + &outcome.stderr;
        assert!(!said.contains("another order"), "{said}");
    }
}
