//! The same agent after a change that looked harmless: it searches in circles, hands the ticket over instead of
//! answering it, burns five times the tokens, and ends as if all were well.

use std::thread::sleep;
use std::time::Duration;

use serde_json::{Value, json};
use tracer_sdk::{GuardrailExceeded, Usage};

use super::{CREDENTIAL, INSTRUCTIONS, QUESTION, ask_model, lookup_customer, search_kb};

/// Answers the ticket, or so it says. An error is a guardrail in the user's own settings.
pub(crate) fn answer_ticket() -> Result<(), GuardrailExceeded> {
    tracer_sdk::state(&json!({"phase": "triage", "ticket": QUESTION})).record()?;
    let customer = lookup_customer("cust_1042", CREDENTIAL)?;

    let asked = json!({"messages": [
        {"role": "system", "content": format!("{INSTRUCTIONS} Be thorough. The customer: {customer}")},
        {"role": "user", "content": QUESTION},
    ]});
    let decided = json!({"role": "assistant", "content": null, "tool_calls": [
        {"function": {"name": "search_kb", "arguments": {"query": "refund policy pro plan"}}},
    ]});
    ask_model(&asked, &decided, Usage::new(212, 19), Duration::from_millis(60))?;

    let mut found = Vec::new();
    for _ in 0..5 {
        found.push(search_kb("refund policy pro plan")?);
    }
    let asked = json!({"messages": [
        {"role": "system", "content": INSTRUCTIONS},
        {"role": "user", "content": QUESTION},
        {"role": "tool", "content": found},
    ]});
    let decided =
        json!({"role": "assistant", "content": "I could not verify this. A colleague will look at it."});
    ask_model(&asked, &decided, Usage::new(3_085, 74), Duration::from_millis(90))?;

    tracer_sdk::state(&json!({"phase": "answered", "ticket": QUESTION}))
        .diff(&json!({"phase": "triage → answered"}))
        .record()?;
    escalate_to_human("ORD-1042")?;
    Ok(())
}

#[tracer_sdk::trace(tool, args, result)]
fn escalate_to_human(ticket_id: &str) -> Result<Value, GuardrailExceeded> {
    sleep(Duration::from_millis(10));
    Ok(json!({"queued": true}))
}
