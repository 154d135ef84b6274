//! A support agent: it looks up an order, asks a model what to say, and replies.

use serde_json::json;
use tracer_sdk::{GuardrailExceeded, Usage};

/// One run: a lookup, a model call, a reply.
#[tracer_sdk::trace("support-agent", max_llm_calls = 5)]
pub fn answer(question: &str) -> Result<String, GuardrailExceeded> {
    let order = look_up_order("ORD-1042");
    let reply = ask(question, order)?;
    send_reply(&reply);
    Ok(reply)
}

#[tracer_sdk::trace(tool, args(id), result)]
fn look_up_order(id: &str) -> &'static str {
    match id {
        "ORD-1042" => "shipped on Monday",
        _ => "unknown",
    }
}

#[tracer_sdk::trace(tool, args(text))]
fn send_reply(text: &str) {
    println!("{text}");
}

/// The model. This one is a line of code, so that the example needs no key; yours is an HTTP call.
fn ask(question: &str, order: &str) -> Result<String, GuardrailExceeded> {
    let mut call = tracer_sdk::llm_call("gpt-5-mini")
        .prompt(&json!([{"role": "user", "content": format!("{question} The order: {order}.")}]))
        .start()?;
    let reply = format!("Your order was {order}.");
    call.response(&reply).usage(Usage::new(41, 7));
    call.end()?;
    Ok(reply)
}
