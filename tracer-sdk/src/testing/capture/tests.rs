//! What captures see, and what they do not.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::{self, Poll, Waker};

use serde_json::json;

use super::*;
use crate::{Context, Run, llm_call, record_error, span, state, tool_call, traced_run};
use tracer_format::RecordedStatus;

fn ready<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    match future
        .as_mut()
        .poll(&mut task::Context::from_waker(Waker::noop()))
    {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("the future waits"),
    }
}

fn agent() {
    let _run = traced_run("agent");
    state(&json!({"phase": "plan"}))
        .diff(&json!({"phase": "plan"}))
        .record()
        .unwrap();
    let plan = span("plan").start();
    plan.in_scope(|| {
        let mut call = tool_call("search")
            .args(&json!({"query": "refunds"}))
            .start()
            .unwrap();
        call.result(&json!(["refunds.md"]));
        call.end().unwrap();
    });
    plan.end();
    llm_call("gpt-5")
        .prompt("Draft")
        .fail("overloaded")
        .record()
        .unwrap();
    record_error(&"x".parse::<u8>().unwrap_err()).unwrap();
}

#[test]
fn a_tree_shows_what_happened_within_what() {
    let captured = capture(agent);
    let expected = r#"
run captured
└─ span agent
   ├─ state {"phase":"plan"} diff {"phase":"plan"}
   ├─ span plan
   │  └─ tool search {"query":"refunds"} → ["refunds.md"]
   ├─ llm gpt-5 "Draft" ✗ Error: overloaded
   └─ error ParseIntError: invalid digit found in string
"#;
    assert_eq!(captured.tree(), expected.trim_start());
    assert_eq!(captured.meta.status, RecordedStatus::Ok);
    let counts = captured.meta.counts;
    assert_eq!((counts.llm_calls, counts.tool_calls, counts.errors), (1, 1, 1));
}

#[test]
fn a_capture_is_the_same_every_time() {
    let (first, second) = (capture(agent), capture(agent));
    assert_eq!((&first.spans, &first.meta), (&second.spans, &second.meta));
    assert_eq!(first.meta.started_at.text(), "2026-01-01T00:00:00.000000Z");
    assert_eq!(first.meta.trace_id.to_string(), format!("{:032}", 1));
}

#[test]
fn a_long_value_is_shortened() {
    let captured = capture(|| tool_call("search").args(&"é".repeat(500)).record().unwrap());
    assert!(captured.tree().ends_with("ééé…\n"));
    assert_eq!(
        captured.tree().lines().nth(1).map(|line| line.chars().count()),
        Some(16 + 120)
    );
}

#[test]
fn parallel_captures_do_not_mix() {
    let workers: Vec<_> = (0..16)
        .map(|number| {
            std::thread::spawn(move || {
                let work = || {
                    for call in 0..50 {
                        tool_call(format!("tool {number}")).args(&call).record().unwrap();
                    }
                };
                (number, capture(work))
            })
        })
        .collect();
    for worker in workers {
        let (number, captured) = worker.join().unwrap();
        let calls: Vec<_> = captured.spans.iter().filter(|span| !span.is_root()).collect();
        assert_eq!(
            calls
                .iter()
                .filter(|span| span.name == format!("tool {number}"))
                .count(),
            50
        );
        assert_eq!(calls.len() as u64, 50 + captured.meta.counts.loop_warnings);
    }
}

#[test]
fn a_thread_belongs_to_a_capture_only_with_its_context() {
    let captured = capture(|| {
        let context = Context::current().unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| tool_call("stray").record().unwrap());
            scope.spawn(context.wrap(|| tool_call("carried").record().unwrap()));
        });
    });
    assert_eq!(captured.tree(), "run captured\n└─ tool carried\n");
}

#[test]
fn a_capture_within_a_run_keeps_to_itself() {
    let outer = capture(|| {
        let inner = capture(|| tool_call("inner").record().unwrap());
        assert_eq!(inner.tree(), "run captured\n└─ tool inner\n");
        tool_call("outer").record().unwrap();
    });
    assert_eq!(outer.tree(), "run captured\n└─ tool outer\n");
    assert!(Context::of_thread().is_none());
}

#[test]
fn a_future_is_captured_through_all_its_polls() {
    let captured = ready(capture_async(async {
        tool_call("before").record().unwrap();
        ready(std::future::ready(()));
        Run::new("sub-agent")
            .try_instrument(async { tool_call("within").record() })
            .await
    }));
    assert!(captured.result.is_ok());
    assert_eq!(
        captured.tree(),
        "run captured\n├─ tool before\n└─ span sub-agent\n   └─ tool within\n"
    );
}

#[test]
fn a_panic_is_handed_on_and_leaves_no_context() {
    let caught = catch_unwind(|| capture(|| panic!("out of ideas")));
    assert!(caught.is_err());
    assert!(Context::of_thread().is_none());
}

#[test]
fn a_panic_that_is_caught_within_is_shown() {
    let captured = capture(|| {
        let work = || Run::new("agent").in_scope(|| panic!("out of ideas"));
        catch_unwind(AssertUnwindSafe(work)).is_err()
    });
    assert!(captured.result);
    assert_eq!(
        captured.tree(),
        "run captured\n└─ span agent ✗ panic: out of ideas\n"
    );
}

#[test]
fn settings_and_limits_are_those_of_the_capture() {
    let captured = Capture::new()
        .name("limited")
        .guardrails(Guardrails::new().max_llm_calls(1))
        .config(&Config::new().max_field_bytes(100))
        .run(|| {
            llm_call("gpt-5").prompt(&"x".repeat(500)).record()?;
            llm_call("gpt-5").record()
        });
    assert!(captured.result.is_err());
    assert_eq!(captured.meta.status, RecordedStatus::Error);
    let tree = captured.tree();
    assert!(tree.starts_with("run limited ✗\n"), "{tree}");
    assert!(tree.contains("__TRUNCATED__"), "{tree}");
    assert!(tree.contains("error GuardrailExceeded: "), "{tree}");
}
