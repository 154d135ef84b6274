//! `tracer why`: where a value of a run came from.

use serde_json::{Value, json};
use tracer_sdk::testing::capture;
use tracer_sdk::{llm_call, tool_call};

use crate::sandbox::Sandbox;

/// An agent that looks an order up and refunds more than it cost, with a number that it made up.
fn refund() -> Sandbox {
    let sandbox = Sandbox::new();
    let captured = capture(|| {
        let mut messages = vec![json!({"role": "user", "content": "Refund ORD-1042"})];
        for (number, tool, args, result) in [
            (
                1,
                "get_order",
                json!({"id": "ORD-1042"}),
                json!({"total": 1_234.5, "paid": "2026-11-29"}),
            ),
            (
                2,
                "refund",
                json!({"order": "ORD-1042", "amount": "1,234.50", "reference": "TX-9", "quantity": 1}),
                json!("done"),
            ),
        ] {
            let call = json!({"role": "assistant", "content": [{"type": "tool_use", "id": format!("c{number}"), "name": tool, "input": args}]});
            llm_call("gpt-5")
                .prompt(&json!({"messages": messages}))
                .response(&call)
                .record()
                .unwrap();
            tool_call(tool).args(&args).result(&result).record().unwrap();
            messages.push(call);
            messages.push(json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": format!("c{number}"), "content": result.to_string()}]}));
        }
    });
    captured.save(sandbox.data_dir()).unwrap();
    sandbox
}

#[test]
fn the_origin_of_a_value_is_shown_with_its_way() {
    let sandbox = refund();
    for (value, expected) in [
        (
            "1,234.50",
            "1,234.50 came from the result of #2 get_order, written otherwise; asked for by #3 gpt-5, passed to #4 refund.",
        ),
        (
            "ORD-1042",
            "ORD-1042 came from the user message of #1; asked for by #1 gpt-5, passed to #2 get_order.",
        ),
        (
            "TX-9",
            "TX-9 is in no input before #4 refund: the model made it up, or derived it; asked for by #3 gpt-5, passed to #4 refund.",
        ),
        ("ORD-7", "ORD-7 is in nothing that was recorded of this run."),
    ] {
        let outcome = sandbox.tracer(&["why", "latest", value]);
        assert_eq!(outcome.code, Some(0), "{outcome:?}");
        let shown: Vec<&str> = outcome.stdout.split_whitespace().collect();
        assert!(shown.join(" ").starts_with(expected), "{}", outcome.stdout);
    }
    let outcome = sandbox.tracer(&["why", "latest", "1,234.50"]);
    for line in [
        "  source    the result of #2 get_order, written otherwise",
        "  asked by  #3 gpt-5",
        "  passed to #4 refund",
    ] {
        assert!(
            outcome.stdout.lines().any(|shown| shown == line),
            "{}",
            outcome.stdout
        );
    }
    assert!(
        outcome.stderr.contains("show the step: tracer show "),
        "{}",
        outcome.stderr
    );
}

#[test]
fn json_holds_the_places_and_a_common_value_has_none() {
    let sandbox = refund();
    let answer = |arguments: &[&str]| -> Value {
        let outcome = sandbox.tracer(&[&["why", "latest", "--json"], arguments].concat());
        serde_json::from_str(&outcome.stdout).unwrap()
    };
    let found = answer(&["ORD-1042", "--step", "4"]);
    assert_eq!(
        (&found["verdict"], &found["sources"][0]["kind"]),
        (&json!("found"), &json!("user_message"))
    );
    assert_eq!(found["used_by"]["step"], 4);
    let common = answer(&["1"]);
    assert_eq!(
        (&common["verdict"], &common["sources"]),
        (&json!("common"), &json!([]))
    );
}

#[test]
fn a_step_that_is_not_there_and_an_empty_value_are_refused() {
    let sandbox = refund();
    sandbox
        .tracer(&["why", "latest", "x", "--step", "9"])
        .fails(2, &["no step 9", "it has 4 steps"]);
    sandbox
        .tracer(&["why", "latest", " "])
        .fails(2, &["the value is empty", "hint: "]);
    sandbox.tracer(&["why", "nobody", "x"]).fails(2, &["nobody"]);
}
