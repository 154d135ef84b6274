//! Tool calls that run a future: each way in which it ends is recorded, and only a time limit changes it.

use std::future::{Future, pending, ready};
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use futures_util::FutureExt;
use serde_json::{Value, json};
use tracer_sdk::format::EventType;
use tracer_sdk::{GuardrailExceeded, Guardrails, TimedOut, llm_call, tool_call};
use tracer_tests::recording::{block_on, recorded};
use tracer_tests::{DataDir, Finished};

/// The status, the result and the error of the only tool call.
fn outcome(finished: &Finished) -> (String, Value, String, String) {
    let payload = finished.payload(EventType::ToolCall);
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let error = &payload["error"];
    (
        text(&payload["status"]),
        payload["result"].clone(),
        text(&error["error_type"]),
        text(&error["message"]),
    )
}

fn failed(error_type: &str, message: &str) -> (String, Value, String, String) {
    (
        "error".to_owned(),
        Value::Null,
        error_type.to_owned(),
        message.to_owned(),
    )
}

fn panicking() -> anyhow::Result<()> {
    panic!("index 7 is out of range")
}

#[test]
fn a_ready_future_gives_the_result() {
    // Names that the caller keeps.
    let (name, id) = ("search".to_owned(), "call_7".to_owned());
    let finished = recorded(|| {
        let call = tool_call(&name).id(&id).json_args("{\"query\": \"rust\"}");
        let search = async {
            llm_call(&name).record()?;
            anyhow::Ok(json!(["refunds.md"]))
        };
        assert_eq!(block_on(call.run(search)).unwrap(), json!(["refunds.md"]));
    });
    let record = finished.only(EventType::ToolCall);
    assert_eq!(finished.span(record).attributes["gen_ai.tool.call.id"], "call_7");
    assert_eq!(
        finished.payload(EventType::ToolCall)["args"],
        json!({"query": "rust"})
    );
    let (status, result, ..) = outcome(&finished);
    assert_eq!(
        (status.as_str(), result),
        ("ok", json!({"value": ["refunds.md"]}))
    );
    let inner = finished.only(EventType::LlmCall);
    assert_eq!(inner.parent_id.as_ref(), Some(&record.event_id));
}

#[test]
fn an_error_is_recorded_and_handed_on() {
    let finished = recorded(|| {
        let broken = "{\"query\": ";
        let search = async { anyhow::Ok(serde_json::from_str::<Value>(broken)?) };
        let outcome = block_on(tool_call("search").json_args(broken).run(search));
        assert!(outcome.unwrap_err().is::<serde_json::Error>());
    });
    assert_eq!(
        finished.payload(EventType::ToolCall)["args"],
        json!("{\"query\": ")
    );
    let message = "EOF while parsing a value at line 1 column 10";
    assert_eq!(outcome(&finished), failed("Error", message));
}

#[test]
fn a_panic_is_recorded_and_goes_through() {
    let finished = recorded(|| {
        let unwound = AssertUnwindSafe(tool_call("search").run(async { panicking() })).catch_unwind();
        assert!(block_on(unwound).is_err());
    });
    assert_eq!(outcome(&finished), failed("panic", "index 7 is out of range"));
}

#[test]
fn a_dropped_future_is_cancelled() {
    let finished = recorded(|| {
        let search = tool_call("search").run(pending::<anyhow::Result<()>>());
        let mut search = pin!(search);
        let polled = search.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        assert!(matches!(polled, Poll::Pending));
    });
    assert_eq!(
        outcome(&finished),
        failed("Cancelled", "dropped before it was finished")
    );
}

#[test]
fn the_time_limit_drops_the_future() {
    struct Dropped<'a>(&'a std::cell::Cell<bool>);
    impl Drop for Dropped<'_> {
        fn drop(&mut self) {
            self.0.set(true);
        }
    }
    let is_dropped = std::cell::Cell::new(false);
    let said = std::cell::RefCell::new(String::new());
    let finished = recorded(|| {
        let held = Dropped(&is_dropped);
        let search = async move {
            let _held = held;
            pending::<anyhow::Result<()>>().await
        };
        let mut call = pin!(tool_call("search").timeout(ready(())).run(search));
        let Poll::Ready(Err(late)) = call.as_mut().poll(&mut Context::from_waker(Waker::noop())) else {
            panic!("the limit is over")
        };
        assert!(late.is::<TimedOut>() && is_dropped.get());
        *said.borrow_mut() = late.to_string();
    });
    let said = said.into_inner();
    assert!(
        said.starts_with("the tool search was stopped by its time limit after 0."),
        "{said}"
    );
    assert_eq!(outcome(&finished), failed("TimedOut", &said));
}

#[test]
fn what_is_ready_in_time_is_not_late() {
    let finished = recorded(|| {
        let search = tool_call("search")
            .timeout(ready(()))
            .run(async { anyhow::Ok("found") });
        assert_eq!(block_on(search).unwrap(), "found");
    });
    let (status, result, ..) = outcome(&finished);
    assert_eq!((status.as_str(), result), ("ok", json!("found")));
}

#[test]
fn a_refused_call_is_never_polled() {
    let data = DataDir::new();
    let limits = Guardrails::new().max_tool_calls(1);
    let outcome = data.run("limited").guardrails(limits).in_scope(|| {
        tool_call("search").record().unwrap();
        block_on(tool_call("search").run(async { panicking() }))
    });
    assert!(outcome.unwrap_err().is::<GuardrailExceeded>());
    let errors: Vec<_> = data
        .finished()
        .all(EventType::Error)
        .into_iter()
        .cloned()
        .collect();
    assert_eq!(errors.len(), 1);
}
