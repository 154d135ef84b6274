//! A support agent that answers a ticket about a refund, with a model and tools that only pretend: no network, no keys.
//!
//! It uses the SDK as any program would, so its run shows what one sees of one's own agent. It waits a little where a
//! real agent waits, so that the durations are real.

use std::thread::sleep;
use std::time::Duration;

use serde_json::{Value, json};
use tracer_sdk::{GuardrailExceeded, Usage};

/// The name of the run.
pub(crate) const NAME: &str = "support-agent";
/// What the customer asks.
pub(crate) const QUESTION: &str = "ORD-1042: where is my refund?";

/// What the agent shows to the customer database; it never reaches the disk.
const CREDENTIAL: &str = "demo-crm-credential-5e1f";
const INSTRUCTIONS: &str = "You are a support agent. Look things up before you answer.";
const MODEL: &str = "demo-model";

/// Answers the ticket. An error is a guardrail in the user's own settings.
pub(crate) fn answer_ticket() -> Result<(), GuardrailExceeded> {
    tracer_sdk::state(&json!({"phase": "triage", "ticket": QUESTION})).record()?;
    let customer = lookup_customer("cust_1042", CREDENTIAL)?;

    let plan = ask_model(
        &json!({"messages": [
            {"role": "system", "content": format!("{INSTRUCTIONS} The customer: {customer}")},
            {"role": "user", "content": QUESTION},
        ]}),
        &json!({"role": "assistant", "content": null, "tool_calls": [
            {"function": {"name": "search_kb", "arguments": {"query": "refund policy pro plan"}}},
        ]}),
        Usage::new(212, 19),
        Duration::from_millis(180),
    )?;
    let article = research(&plan)?;

    ask_model(
        &json!({"messages": [
            {"role": "system", "content": INSTRUCTIONS},
            {"role": "user", "content": QUESTION},
            {"role": "tool", "content": article},
        ]}),
        &json!({"role": "assistant", "content":
            "Dear Ada, your refund for ORD-1042 was approved on Monday. On the pro plan it arrives within 3 days."}),
        Usage::new(412, 35),
        Duration::from_millis(320),
    )?;
    tracer_sdk::state(&json!({"phase": "answered", "ticket": QUESTION}))
        .diff(&json!({"phase": "triage → answered"}))
        .record()?;
    call_tool(
        "send_reply",
        &json!({"ticket_id": "ORD-1042", "to": "ada@example.com"}),
        Duration::from_millis(25),
        &json!({"queued": true}),
    )?;
    Ok(())
}

fn lookup_customer(customer_id: &str, api_key: &str) -> Result<Value, GuardrailExceeded> {
    call_tool(
        "lookup_customer",
        &json!({"customer_id": customer_id, "api_key": api_key}),
        Duration::from_millis(45),
        &json!({"name": "Ada Lovelace", "plan": "pro"}),
    )
}

/// Steps that belong together are nested in a span of their own.
fn research(plan: &Value) -> Result<Value, GuardrailExceeded> {
    let mut span = tracer_sdk::span("research").attribute("topic", "refunds").start();
    let article = span.in_scope(|| {
        let query = plan
            .pointer("/tool_calls/0/function/arguments")
            .cloned()
            .unwrap_or_default();
        let hits = json!({"hits": 2, "top": "refunds.md"});
        call_tool("search_kb", &query, Duration::from_millis(60), &hits)?;
        let article = json!("Refunds on the pro plan arrive within 3 days after approval.");
        call_tool(
            "read_article",
            &json!({"path": "refunds.md"}),
            Duration::from_millis(8),
            &article,
        )
    });
    span.end();
    article
}

/// A timed tool call: it starts before the work and ends after it.
fn call_tool(
    name: &'static str,
    args: &Value,
    takes: Duration,
    result: &Value,
) -> Result<Value, GuardrailExceeded> {
    let mut call = tracer_sdk::tool_call(name).args(args).start()?;
    sleep(takes);
    call.result(result);
    call.end()?;
    Ok(result.clone())
}

/// A timed model call.
fn ask_model(
    prompt: &Value,
    response: &Value,
    usage: Usage,
    takes: Duration,
) -> Result<Value, GuardrailExceeded> {
    let mut call = tracer_sdk::llm_call(MODEL)
        .provider("local")
        .prompt(prompt)
        .temperature(0.2)
        .start()?;
    sleep(takes);
    call.response(response).usage(usage).stop_reason("stop");
    call.end()?;
    Ok(response.clone())
}
