//! Guardrails: calls that are refused, runs that are cancelled.

use std::cell::Cell;
use std::error::Error;
use std::future::Future;

use tokio::task::yield_now;
use tracer_sdk::format::{EventType, RecordedStatus};
use tracer_sdk::{Guardrail, GuardrailExceeded, Guardrails, trace};
use tracer_tests::recording::{block_on, recorded_within};

#[derive(Debug)]
enum OwnError {
    Stopped(GuardrailExceeded),
}

impl From<GuardrailExceeded> for OwnError {
    fn from(exceeded: GuardrailExceeded) -> Self {
        Self::Stopped(exceeded)
    }
}

#[trace(tool)]
fn convertible(ran: &Cell<u32>) -> Result<(), OwnError> {
    ran.set(ran.get() + 1);
    Ok(())
}

#[trace(tool)]
fn inconvertible(ran: &Cell<u32>) -> Result<(), String> {
    ran.set(ran.get() + 1);
    Ok(())
}

#[trace(llm, model = "gpt-5")]
async fn awaited(ran: &Cell<u32>) -> anyhow::Result<()> {
    ran.set(ran.get() + 1);
    yield_now().await;
    Ok(())
}

#[trace(tool)]
fn later(ran: &Cell<u32>) -> impl Future<Output = Result<(), Box<dyn Error>>> {
    async {
        ran.set(ran.get() + 1);
        Ok(())
    }
}

#[test]
fn a_refused_call_does_not_run_and_returns_the_guardrail() {
    let ran = Cell::new(0);
    recorded_within(Guardrails::new().max_tool_calls(1), || {
        assert!(convertible(&ran).is_ok());
        let OwnError::Stopped(exceeded) = convertible(&ran).unwrap_err();
        assert_eq!(exceeded.guardrail, Guardrail::MaxToolCalls);
    });
    assert_eq!(ran.get(), 1);
}

#[test]
fn a_refused_async_call_does_not_run_and_returns_the_guardrail() {
    let ran = Cell::new(0);
    let recording = recorded_within(Guardrails::new().max_llm_calls(1), || {
        assert!(block_on(awaited(&ran)).is_ok());
        assert!(block_on(awaited(&ran)).unwrap_err().is::<GuardrailExceeded>());
    });
    assert_eq!(ran.get(), 1);
    assert_eq!(
        recording.all(EventType::LlmCall).len(),
        1,
        "the refused call was not made"
    );
    assert_eq!(recording.status(), RecordedStatus::Error);
}

#[test]
fn a_refused_call_that_returns_its_future_does_not_poll_it() {
    let ran = Cell::new(0);
    recorded_within(Guardrails::new().max_tool_calls(0), || {
        assert!(block_on(later(&ran)).is_err());
    });
    assert_eq!(ran.get(), 0);
}

#[test]
fn a_refused_call_that_cannot_return_the_guardrail_runs() {
    let ran = Cell::new(0);
    let recording = recorded_within(Guardrails::new().max_tool_calls(0), || {
        assert!(inconvertible(&ran).is_ok());
    });
    assert_eq!(ran.get(), 1);
    assert_eq!(recording.status(), RecordedStatus::Error);
}

#[trace(on_exceed = cancel)]
async fn ignores_errors(ran: &Cell<u32>) -> anyhow::Result<&'static str> {
    let _counts = CountsOnDrop(ran);
    loop {
        drop(awaited(ran).await);
        yield_now().await;
    }
}

struct CountsOnDrop<'a>(&'a Cell<u32>);

impl Drop for CountsOnDrop<'_> {
    fn drop(&mut self) {
        self.0.set(self.0.get() + 100);
    }
}

#[test]
fn a_tripped_run_is_cancelled_at_its_next_await_when_asked_to() {
    let ran = Cell::new(0);
    recorded_within(Guardrails::new().max_llm_calls(2), || {
        let error = block_on(ignores_errors(&ran)).unwrap_err();
        assert!(error.is::<GuardrailExceeded>());
    });
    assert_eq!(ran.get(), 102, "two calls ran, and what the run held was dropped");
}

#[trace(on_exceed = cancel)]
async fn untroubled(ran: &Cell<u32>) -> anyhow::Result<&'static str> {
    awaited(ran).await?;
    Ok("done")
}

#[test]
fn a_run_that_has_not_tripped_is_not_cancelled() {
    let ran = Cell::new(0);
    recorded_within(Guardrails::new().max_llm_calls(1), || {
        assert_eq!(block_on(untroubled(&ran)).unwrap(), "done");
    });
    assert_eq!(ran.get(), 1);
}

#[trace(max_tool_calls = 0)]
fn nested(ran: &Cell<u32>) -> Result<(), OwnError> {
    convertible(ran)
}

#[test]
fn guardrails_of_a_function_inside_a_run_do_not_count() {
    let ran = Cell::new(0);
    recorded_within(Guardrails::new(), || assert!(nested(&ran).is_ok()));
    assert_eq!(ran.get(), 1);
}
