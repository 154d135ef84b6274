//! A run with everything in it that a run can have.

use std::num::ParseIntError;

use serde_json::json;
use tracer_sdk::{LlmCall, Usage, llm_call, record_error, span, state, tool_call};

/// How many spans [`agent`] records: the run's own and the warning of its loop are among them.
pub(crate) const SPANS: u64 = 21;

fn model(round: u64) -> LlmCall {
    llm_call("gpt-5")
        .prompt(&json!({"round": round, "messages": ["…".repeat(40)]}))
        .response("Let us look further.")
        .usage(Usage::new(round, 7))
}

/// An agent that fails in the end. Whatever storage does, each of its steps goes well.
pub(crate) fn agent() -> Result<(), ParseIntError> {
    state(&json!({"phase": "plan"})).record().unwrap();
    let research = span("research").start();
    for round in 0..3 {
        research.in_scope(|| {
            model(round).record().unwrap();
            let mut call = tool_call("search")
                .args(&json!({"round": round}))
                .start()
                .unwrap();
            call.result(&json!(["refunds.md"]));
            call.end().unwrap();
            let inner = span(format!("step {round}")).start();
            inner.in_scope(|| tool_call("read").args(&"refunds.md").record().unwrap());
            inner.end();
        });
    }
    research.end();
    tool_call("buy").fail("declined").record().unwrap();
    record_error(&"one".parse::<u8>().unwrap_err()).unwrap();
    let mut answer = model(3).start().unwrap();
    answer.response("Within 14 days.");
    answer.end().unwrap();
    // Never answered: reported as cancelled.
    drop(llm_call("gpt-5").prompt("anything else?").start().unwrap());
    state(&json!({"phase": "done"})).record().unwrap();
    "two".parse::<u8>().map(|_| ())
}
