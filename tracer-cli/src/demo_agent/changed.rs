//! The same agent after a change that looked harmless: it searches in circles, hands the ticket over instead of
//! answering it, burns five times the tokens, and ends as if all were well.

use std::thread::sleep;
use std::time::Duration;

use serde_json::{Value, json};
use tracer_sdk::{GuardrailExceeded, Usage};

use super::{INSTRUCTIONS, conclude, search_kb, triage};

/// Answers the ticket, or so it says. An error is a guardrail in the user's own settings.
pub(crate) fn answer_ticket() -> Result<(), GuardrailExceeded> {
    let instructions = format!("{INSTRUCTIONS} Be thorough.");
    triage(&instructions, Duration::from_millis(60))?;
    let mut found = Vec::new();
    for _ in 0..5 {
        found.push(search_kb("refund policy pro plan")?);
    }
    let answer = "I could not verify this. A colleague will look at it.";
    let usage = Usage::new(3_085, 74);
    conclude(&json!(found), answer, usage, Duration::from_millis(90))?;
    escalate_to_human("ORD-1042")?;
    Ok(())
}

#[tracer_sdk::trace(tool, args, result)]
fn escalate_to_human(ticket_id: &str) -> Result<Value, GuardrailExceeded> {
    sleep(Duration::from_millis(10));
    Ok(json!({"queued": true}))
}
