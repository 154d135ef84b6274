//! What the gate makes of calls whose outcome is unknown, of panics, and of calls that wait for a person: not seen is not failed.

use serde_json::{Value, json};

use super::{policy, trial};
use crate::{Gate, Verdict};
use tracer_insight::testing::{metrics, run_of, run_with};

/// What a check decides about a run with this root and these tools: the attributes of each, its status, its span events.
fn decided(check: &str, root: &Value, tools: &[(Value, &str, Value)]) -> Verdict {
    let children: Vec<_> = tools
        .iter()
        .map(|(attributes, ..)| ("search", attributes.clone()))
        .collect();
    let (mut meta, mut spans) = run_with(&children);
    meta["counts"]["tool_calls"] = json!(tools.len());
    for (span, (_, status, events)) in spans.iter_mut().zip(tools) {
        span["status_code"] = json!(status);
        span["events"] = events.clone();
    }
    if let (Some(span), Some(root)) = (spans.last_mut(), root.as_object()) {
        span.as_object_mut().unwrap().extend(root.clone());
        if root.contains_key("status_code") {
            meta["status"] = json!("error");
            meta["counts"]["errors"] = json!(1);
        }
    }
    let policy = policy(1, check);
    let judgement = Gate::new(&policy, None)
        .unwrap()
        .judge(&[trial(1, metrics(&run_of(&meta, &spans)))]);
    judgement.checks[1].verdict.unwrap()
}

const NO_LOOPS: &str = "no_loops: {kind: invariant}";
const ENDS_OK: &str = "stop_condition_reached: {kind: invariant}";
const CALLED: &str = "required_tools: {kind: invariant, all_of: [search]}";

fn tool() -> Value {
    json!({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "search", "gen_ai.tool.call.arguments": "{\"q\": 1}"})
}

fn exception(class: &str, message: &str) -> Value {
    json!([{"name": "exception", "timestamp": "2026-01-01T00:00:00.001500Z",
            "attributes": {"exception.type": class, "exception.message": message}}])
}

#[test]
fn an_unknown_outcome_is_no_failure() {
    // Only messages show the calls, and none has a result.
    let derived = |mut attributes: Value| {
        attributes["tracer.derived"] = json!(true);
        (attributes, "UNSET", json!([]))
    };
    let unknown = || derived(tool());
    let tools = [unknown(), unknown(), unknown()];
    for check in [ENDS_OK, CALLED] {
        assert_eq!(decided(check, &json!({}), &tools), Verdict::Pass, "{check}");
    }
    // Without arguments, only the results say whether they repeat each other.
    let bare = || derived(json!({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "search"}));
    let tools = [bare(), bare(), bare()];
    assert_eq!(decided(NO_LOOPS, &json!({}), &tools), Verdict::Inconclusive);
}

#[test]
fn a_call_that_waits_is_no_failure() {
    let waiting = (
        tool(),
        "ERROR",
        exception("langgraph.errors.GraphInterrupt", "Send it?"),
    );
    for check in [ENDS_OK, CALLED, NO_LOOPS] {
        assert_eq!(
            decided(check, &json!({}), std::slice::from_ref(&waiting)),
            Verdict::Pass,
            "{check}"
        );
    }
}

#[test]
fn a_panic_of_the_run_fails() {
    let tools = [(tool(), "ERROR", exception("panic", "no index"))];
    let root = json!({"status_code": "ERROR", "events": exception("panic", "no index")});
    assert_eq!(decided(ENDS_OK, &root, &tools), Verdict::Fail);
}
