//! What the example agent records, when all goes well and when it does not: each time a complete, valid run.

use crate::execution::{Execution, keys};
use serde_json::{Value, json};
use tracer_examples::stand_in::{MODEL, StandIn};

fn agent(arguments: &[&str]) -> Execution {
    Execution::of(env!("CARGO_BIN_EXE_agent"), arguments)
}

/// The story of the example's own question, up to its last turn but one.
const FIRST_TURNS: [&str; 10] = [
    "RUN_START research-agent",
    "STATE_UPDATE state",
    "LLM_CALL stand-in-1",
    "TOOL_CALL search_files",
    "STATE_UPDATE state",
    "LLM_CALL stand-in-1",
    "TOOL_CALL read_file",
    "STATE_UPDATE state",
    "LLM_CALL stand-in-1",
    "TOOL_CALL compute",
];
const LAST_TURN: [&str; 4] = [
    "STATE_UPDATE state",
    "LLM_CALL stand-in-1",
    "STATE_UPDATE state",
    "RUN_END research-agent",
];

fn counts(llm_calls: u64, tool_calls: u64, errors: u64) -> Value {
    json!({"llm_calls": llm_calls, "tool_calls": tool_calls, "errors": errors, "loop_warnings": 0})
}

#[test]
fn a_run_has_every_call_and_state_in_order() {
    let run = agent(&[]);
    assert_eq!(run.code(), Some(0));
    assert_eq!(run.story(), [FIRST_TURNS.as_slice(), &LAST_TURN].concat());
    assert_eq!(
        (&run.meta["status"], &run.meta["run_name"]),
        (&json!("ok"), &json!("research-agent"))
    );
    assert_eq!(run.meta["counts"], counts(4, 3, 0));
    assert_eq!(run.payloads("RUN_END"), [&json!({"status": "ok"})]);
}

#[test]
fn the_start_records_how_the_program_was_run() {
    let run = agent(&["How long is the warranty of batteries?"]);
    let [start] = run.payloads("RUN_START")[..] else {
        panic!("one start")
    };
    assert_eq!(
        keys(start),
        ["argv", "cwd", "platform", "python_version", "run_name"]
    );
    assert_eq!(start["argv"][1], "How long is the warranty of batteries?");
    assert!(start["python_version"].as_str().unwrap().starts_with("rustc "));
    assert!(["darwin", "linux", "win32"].contains(&start["platform"].as_str().unwrap()));
}

#[test]
fn a_model_call_has_prompt_answer_tokens_and_duration() {
    let run = agent(&[]);
    let calls = run.payloads("LLM_CALL");
    for call in &calls {
        let all = "error model prompt provider response status stop_reason temperature usage";
        assert_eq!(keys(call).join(" "), all);
        assert_eq!(call["provider"], "local");
        assert_eq!(call["temperature"].as_f64(), Some(0.0));
        assert_eq!((&call["status"], &call["error"]), (&json!("ok"), &Value::Null));
        let tokens = |key: &str| call["usage"][key].as_u64().unwrap();
        assert!(tokens("prompt_tokens") > tokens("completion_tokens") && tokens("completion_tokens") > 0);
        assert_eq!(
            tokens("total_tokens"),
            tokens("prompt_tokens") + tokens("completion_tokens")
        );
    }
    let [first, .., last] = calls[..] else {
        panic!("at least two calls")
    };
    assert_eq!(
        first["prompt"]["messages"][1]["content"],
        "What do 3 parcels to Norway cost?"
    );
    assert_eq!(
        first["response"]["tool_calls"][0]["function"]["name"],
        "search_files"
    );
    assert_eq!(first["stop_reason"], "tool_calls");
    assert_eq!(
        last["prompt"]["messages"].as_array().unwrap().len(),
        8,
        "the whole conversation"
    );
    assert_eq!(last["stop_reason"], "stop");
    // What the program printed is what the model said last.
    assert_eq!(
        run.stdout().trim_end(),
        last["response"]["content"].as_str().unwrap()
    );

    // The stand-in takes a millisecond for each token that it writes: the durations are those of the HTTP calls.
    for record in run
        .records
        .iter()
        .filter(|record| record["event_type"] == "LLM_CALL")
    {
        let written = record["payload"]["usage"]["completion_tokens"].as_u64().unwrap();
        assert!(record["duration_ms"].as_u64().unwrap() >= written, "{record}");
    }
}

#[test]
fn a_tool_call_has_arguments_and_result() {
    let run = agent(&[]);
    let [search, read, compute] = run.payloads("TOOL_CALL")[..] else {
        panic!("three calls")
    };
    for call in [search, read, compute] {
        assert_eq!(keys(call), ["args", "error", "result", "status", "tool_name"]);
        assert_eq!((&call["status"], &call["error"]), (&json!("ok"), &Value::Null));
    }
    assert_eq!(search["args"], json!({"query": "parcel norway cost"}));
    assert_eq!(search["result"]["matches"][0]["path"], "shipping.md");
    assert_eq!(read["args"], json!({"path": "shipping.md"}));
    assert!(read["result"]["text"].as_str().unwrap().starts_with("# Shipping"));
    assert_eq!(
        compute["result"],
        json!({"expression": "3 * 12.50", "value": 37.5})
    );
}

#[test]
fn the_states_show_how_far_the_agent_has_come() {
    let run = agent(&[]);
    let states: Vec<_> = run
        .payloads("STATE_UPDATE")
        .iter()
        .map(|payload| &payload["state"])
        .collect();
    let turns: Vec<_> = states
        .iter()
        .map(|state| state["turn"].as_u64().unwrap())
        .collect();
    assert_eq!(turns, [1, 2, 3, 4, 4]);
    let last = states.last().unwrap();
    assert_eq!((&last["done"], &last["tool_calls"]), (&json!(true), &json!(3)));
    let used: u64 = run
        .payloads("LLM_CALL")
        .iter()
        .map(|call| call["usage"]["total_tokens"].as_u64().unwrap())
        .sum();
    assert_eq!(last["tokens"], used);
}

#[test]
fn a_failing_tool_is_recorded_and_the_agent_goes_on() {
    let run = agent(&["--fail", "tool"]);
    assert_eq!(run.code(), Some(0));
    assert_eq!(run.story(), [FIRST_TURNS.as_slice(), &LAST_TURN].concat());
    assert_eq!(run.meta["status"], "ok");
    assert_eq!(
        run.meta["counts"],
        counts(4, 3, 0),
        "a failed call is not an error of the run"
    );
    let failed = run.payloads("TOOL_CALL")[1];
    assert_eq!(
        (&failed["status"], &failed["result"]),
        (&json!("error"), &Value::Null)
    );
    assert_eq!(failed["error"]["error_type"], "ToolError");
    let message = failed["error"]["message"].as_str().unwrap();
    assert!(message.starts_with("`shipping.md` has "), "{message}");
    // The model was informed.
    let messages = run.payloads("LLM_CALL")[2]["prompt"]["messages"].clone();
    let reported = messages.as_array().unwrap().last().unwrap()["content"]
        .as_str()
        .unwrap()
        .to_owned();
    assert_eq!(reported, json!({"error": message}).to_string());
}

/// The program failed, and the run tells it in an error before its end.
#[track_caller]
fn assert_failed(run: &Execution, code: i32, error_type: &str, message: &str) {
    assert_eq!(run.code(), Some(code));
    assert_eq!(run.meta["status"], "error");
    assert_eq!(run.payloads("RUN_END"), [&json!({"status": "error"})]);
    let [error] = run.payloads("ERROR")[..] else {
        panic!("one error")
    };
    assert_eq!(keys(error), ["error_type", "message", "stack"]);
    assert_eq!(
        (&error["error_type"], &error["message"]),
        (&json!(error_type), &json!(message))
    );
    let stack = error["stack"].as_str().unwrap();
    assert!(stack.contains("src/bin/agent.rs"), "{stack}");
}

#[test]
fn an_agent_that_returns_an_error_ends_its_run_with_it() {
    let run = agent(&["--fail", "error"]);
    assert_failed(&run, 1, "AgentError", "no answer after 2 turns");
    let end = ["ERROR research-agent", "RUN_END research-agent"];
    assert_eq!(run.story(), [&FIRST_TURNS[..7], &end].concat());
    assert_eq!(run.meta["counts"], counts(2, 2, 1));
}

#[test]
fn an_agent_that_panics_ends_its_run_with_the_panic() {
    let run = agent(&["--fail", "panic"]);
    assert_failed(
        &run,
        101,
        "panic",
        "--fail panic: the agent panics after its first tool call",
    );
    let end = ["ERROR research-agent", "RUN_END research-agent"];
    assert_eq!(run.story(), [&FIRST_TURNS[..4], &end].concat());
    assert_eq!(run.meta["counts"], counts(1, 1, 1));
}

#[test]
fn a_model_call_that_is_refused_fails_the_call_and_the_run() {
    let run = agent(&["--fail", "model"]);
    let message = "the endpoint answered 404: there is no model `no-such-model`; there is `stand-in-1`";
    assert_failed(&run, 1, "AgentError", message);
    let [call] = run.payloads("LLM_CALL")[..] else {
        panic!("one call")
    };
    assert_eq!(
        (&call["model"], &call["status"]),
        (&json!("no-such-model"), &json!("error"))
    );
    assert_eq!(
        call["error"],
        json!({"error_type": "ModelError", "message": message, "stack": null})
    );
    assert_eq!(
        (&call["response"], &call["stop_reason"]),
        (&Value::Null, &Value::Null)
    );
    assert_eq!(run.meta["counts"], counts(1, 0, 1));
}

#[test]
fn a_question_that_nothing_answers_is_an_answer_too() {
    let run = agent(&["Who is the mayor?"]);
    assert_eq!(run.stdout(), "I found nothing that answers: Who is the mayor?\n");
    assert_eq!(run.meta["counts"], counts(2, 1, 0));
}

#[tokio::test]
async fn an_endpoint_from_the_environment_is_asked_and_its_key_stays_out_of_the_run() {
    let stand_in = StandIn::start().await.unwrap();
    let endpoint = stand_in.endpoint();
    let key = endpoint.api_key.clone();
    let run = tokio::task::spawn_blocking(move || {
        let environment = [
            ("OPENAI_BASE_URL", endpoint.base_url.as_str()),
            ("OPENAI_API_KEY", endpoint.api_key.as_str()),
            ("OPENAI_MODEL", MODEL),
        ];
        let question = format!("How long is the warranty of {} batteries?", endpoint.api_key);
        Execution::with_environment(env!("CARGO_BIN_EXE_agent"), &[&question], &environment)
    });
    let run = run.await.unwrap();
    assert_eq!(run.code(), Some(0));
    assert!(
        run.stderr().starts_with("asking stand-in-1 at http://127.0.0.1:"),
        "{}",
        run.stderr()
    );
    assert_eq!(run.meta["status"], "ok");
    let records = json!(run.records).to_string();
    assert!(
        records.contains("How long is the warranty of __REDACTED__ batteries?"),
        "{records}"
    );
    assert!(!records.contains(&key), "{records}");
}
