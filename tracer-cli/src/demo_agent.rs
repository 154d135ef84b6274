//! A support agent that answers a ticket about a refund, with a model and tools that only pretend: no network, no keys.
//!
//! It uses the SDK as any program would, so its run shows what one sees of one's own agent. It waits a little where a
//! real agent waits, so that the durations are real.

pub(crate) mod changed;

use std::thread::sleep;
use std::time::Duration;

use serde_json::{Value, json};
use tracer_sdk::{GuardrailExceeded, Usage};

/// The name of the run.
pub(crate) const NAME: &str = "support-agent";
/// Question of the customer.
pub(crate) const QUESTION: &str = "ORD-1042: where is my refund?";

/// Key of the customer database; it never reaches the disk.
const CREDENTIAL: &str = "demo-crm-credential-5e1f";
const INSTRUCTIONS: &str = "You are a support agent. Look things up before you answer.";
const MODEL: &str = "demo-model";

/// Answers the ticket. An error is a guardrail in the user's own settings.
pub(crate) fn answer_ticket() -> Result<(), GuardrailExceeded> {
    triage(INSTRUCTIONS, Duration::from_millis(180))?;
    let article = research("refund policy pro plan")?;
    let answer = "Dear Ada, your refund for ORD-1042 was approved on Monday. On the pro plan it arrives within 3 days.";
    let usage = Usage::new(412, 35);
    conclude(&json!(article), answer, usage, Duration::from_millis(320))?;
    send_reply("ORD-1042", answer)?;
    Ok(())
}

/// Looks the customer up, and lets the model decide what to search for.
fn triage(instructions: &str, takes: Duration) -> Result<(), GuardrailExceeded> {
    tracer_sdk::state(&json!({"phase": "triage", "ticket": QUESTION})).record()?;
    let customer = lookup_customer("cust_1042", CREDENTIAL)?;
    let asked = json!({"messages": [
        {"role": "system", "content": format!("{instructions} The customer: {customer}")},
        {"role": "user", "content": QUESTION},
    ]});
    let decided = json!({"role": "assistant", "content": null, "tool_calls": [
        {"function": {"name": "search_kb", "arguments": {"query": "refund policy pro plan"}}},
    ]});
    ask_model(&asked, &decided, Usage::new(212, 19), takes)
}

/// Lets the model answer from what was found.
fn conclude(found: &Value, answer: &str, usage: Usage, takes: Duration) -> Result<(), GuardrailExceeded> {
    let asked = json!({"messages": [
        {"role": "system", "content": INSTRUCTIONS},
        {"role": "user", "content": QUESTION},
        {"role": "tool", "content": found},
    ]});
    let decided = json!({"role": "assistant", "content": answer});
    ask_model(&asked, &decided, usage, takes)?;
    tracer_sdk::state(&json!({"phase": "answered", "ticket": QUESTION}))
        .diff(&json!({"phase": "triage → answered"}))
        .record()
}

/// Both arguments are recorded; the second one is redacted for its name.
#[tracer_sdk::trace(tool, args, result)]
fn lookup_customer(customer_id: &str, api_key: &str) -> Result<Value, GuardrailExceeded> {
    sleep(Duration::from_millis(45));
    Ok(json!({"name": "Ada Lovelace", "plan": "pro"}))
}

/// Nests related steps in a span of its own.
#[tracer_sdk::trace(span)]
fn research(query: &str) -> Result<String, GuardrailExceeded> {
    let hits = search_kb(query)?;
    read_article(hits["top"].as_str().unwrap_or_default())
}

#[tracer_sdk::trace(tool, args, result)]
fn search_kb(query: &str) -> Result<Value, GuardrailExceeded> {
    sleep(Duration::from_millis(60));
    Ok(json!({"hits": 2, "top": "refunds.md"}))
}

#[tracer_sdk::trace(tool, args, result)]
fn read_article(path: &str) -> Result<String, GuardrailExceeded> {
    sleep(Duration::from_millis(8));
    Ok("Refunds on the pro plan arrive within 3 days after approval.".to_owned())
}

#[tracer_sdk::trace(tool, args, result)]
fn send_reply(ticket_id: &str, text: &str) -> Result<Value, GuardrailExceeded> {
    sleep(Duration::from_millis(25));
    Ok(json!({"queued": true}))
}

/// A model call timed by hand, because it tells more than a function's arguments and result: tokens, temperature, why
/// the model stopped.
fn ask_model(
    prompt: &Value,
    response: &Value,
    usage: Usage,
    takes: Duration,
) -> Result<(), GuardrailExceeded> {
    let mut call = tracer_sdk::llm_call(MODEL)
        .provider("local")
        .prompt(prompt)
        .temperature(0.2)
        .start()?;
    sleep(takes);
    call.response(response).usage(usage).stop_reason("stop");
    call.end()
}
