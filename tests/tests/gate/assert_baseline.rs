//! `assert_baseline!` as a user's test has it: against the baselines that are checked in beside this package's manifest.

use tracer_gate::assert_baseline;
use tracer_sdk::{GuardrailExceeded, Usage, llm_call, tool_call, trace};

#[trace]
fn answer(question: &str) -> Result<String, GuardrailExceeded> {
    tool_call("search")
        .args(&serde_json::json!({"query": question}))
        .result(&["refunds.md"])
        .record()?;
    llm_call("gpt-5")
        .prompt(question)
        .response("Within 14 days.")
        .usage(Usage::new(40, 6))
        .record()?;
    Ok("Within 14 days.".to_owned())
}

#[test]
fn an_agent_that_behaves_as_it_did_passes() {
    assert_baseline!("support-agent", trials = 3, || answer("How do refunds work?"));
}

#[test]
fn once_is_enough_when_nothing_is_said() {
    assert_baseline!("support-agent", || answer("How do refunds work?"),);
}

#[test]
fn a_policy_can_be_given_with_and_without_trials() {
    let policy = "version: 2\nmetrics:\n  required_tools: {kind: invariant, all_of: [search]}\n";
    assert_baseline!("support-agent", policy = policy, || answer(
        "How do refunds work?"
    ));
    assert_baseline!("support-agent", trials = 2, policy = policy, || answer(
        "How do refunds work?"
    ));
}

#[test]
fn an_agent_may_return_anything_and_keep_state_between_runs() {
    let mut asked = 0;
    assert_baseline!("support-agent", trials = 2, || {
        asked += 1;
        answer(&format!("Question {asked}")).unwrap();
    });
    assert_eq!(asked, 2);
}

#[test]
fn an_agent_may_be_asynchronous() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    assert_baseline!("support-agent", || runtime
        .block_on(async { answer("How do refunds work?") }));
}

#[test]
fn an_error_that_is_returned_is_a_run_that_failed() {
    let policy = "version: 2\nmetrics:\n  stop_condition_reached: {kind: invariant, require: false}\n";
    assert_baseline!("support-agent", policy = policy, || {
        answer("How do refunds work?")?;
        Err::<(), Box<dyn std::error::Error>>("the bank is closed".into())
    });
}

/// The words of a test with `assert_baseline!` whose agent does this; none where it passes.
fn words(agent: impl Fn() + std::panic::RefUnwindSafe) -> Option<String> {
    let panicked = std::panic::catch_unwind(|| assert_baseline!("support-agent", &agent)).err()?;
    let words = panicked.downcast_ref::<String>().cloned();
    Some(words.unwrap_or_default())
}

/// The agent of the baseline with another number of searches, order, number of tokens, or answer.
fn changed(searches: usize, is_answered_first: bool, tokens: u64, says: &str) {
    let ask = || {
        let call = llm_call("gpt-5").prompt("How do refunds work?").response(says);
        call.usage(Usage::new(tokens, 6)).record().unwrap();
    };
    if is_answered_first {
        ask();
    }
    for page in 0..searches {
        let arguments = serde_json::json!({"query": format!("refunds {page}")});
        tool_call("search")
            .args(&arguments)
            .result(&["refunds.md"])
            .record()
            .unwrap();
    }
    if !is_answered_first {
        ask();
    }
}

#[test]
fn each_regression_has_its_words() {
    let says = "Within 14 days.";
    assert_eq!(words(|| changed(1, false, 40, says)), None);
    let more_calls = words(|| changed(4, false, 40, says)).unwrap();
    assert!(more_calls.contains("✗ tool_call_count: failed"), "{more_calls}");
    assert!(
        more_calls.contains("calls search up to 4 times (was 1)"),
        "{more_calls}"
    );
    let more_tokens = words(|| changed(1, false, 97, says)).unwrap();
    assert!(more_tokens.contains("✗ cost_tokens: failed"), "{more_tokens}");
    assert!(more_tokens.contains("tokens: 46 → 103"), "{more_tokens}");
    // Neither is a metric of the gate.
    assert_eq!(words(|| changed(1, true, 40, says)), None);
    assert_eq!(words(|| changed(1, false, 40, "I cannot say.")), None);
}
