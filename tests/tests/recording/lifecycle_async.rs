//! Runs that are futures: ready, failed, dropped before they are ready, cancelled by `select!` (decisions, section 5).

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::task::{Context as TaskContext, Poll, Waker};

use futures_util::FutureExt;
use serde_json::json;
use tracer_sdk::format::{EventType, RecordedStatus};
use tracer_sdk::{llm_call, tool_call};
use tracer_tests::{DataDir, Finished};

fn cancelled(finished: &Finished) {
    assert_eq!(finished.status(), RecordedStatus::Error);
    assert_eq!(finished.payload(EventType::Error)["error_type"], "Cancelled");
    assert_eq!(finished.payload(EventType::RunEnd), json!({"status": "error"}));
}

#[tokio::test]
async fn a_future_that_is_ready_ends_its_run_by_what_it_gave() {
    let good = DataDir::new();
    let answer = good
        .run("good")
        .instrument(async { tool_call("t").record().map(|()| 42) })
        .await;
    assert_eq!(answer, Ok(42));
    assert_eq!(good.finished().status(), RecordedStatus::Ok);

    let bad = DataDir::new();
    let outcome = bad.run("bad").try_instrument(async { "x".parse::<u8>() }).await;
    assert!(outcome.is_err());
    assert_eq!(
        bad.finished().payload(EventType::Error)["error_type"],
        "ParseIntError"
    );
}

#[test]
fn an_unpolled_future_is_cancelled() {
    let data = DataDir::new();
    drop(data.run("never").instrument(async { unreachable!() }));
    cancelled(&data.finished());
}

#[test]
fn a_dropped_future_is_cancelled_with_its_calls() {
    let data = DataDir::new();
    {
        let run = data.run("waiting").instrument(async {
            tool_call("before").record().unwrap();
            let mut call = llm_call("gpt-5").prompt("Hi").start().unwrap();
            std::future::pending::<()>().await;
            call.response("never");
        });
        let mut run = pin!(run);
        assert_eq!(
            run.as_mut().poll(&mut TaskContext::from_waker(Waker::noop())),
            Poll::Pending
        );
    }
    let finished = data.finished();
    cancelled(&finished);
    assert_eq!(
        finished.payload(EventType::LlmCall)["error"]["error_type"],
        "Cancelled"
    );
    let calls = finished.types();
    assert!(calls.contains(&EventType::ToolCall));
}

#[tokio::test]
async fn select_cancels_the_run_that_loses() {
    let data = DataDir::new();
    let (ready, wait) = tokio::sync::oneshot::channel::<()>();
    let loser = data.run("loser").instrument(async {
        tool_call("before").record().unwrap();
        ready.send(()).unwrap();
        std::future::pending::<()>().await;
    });
    tokio::select! {
        () = loser => unreachable!("it waits for ever"),
        received = wait => received.unwrap(),
    }
    cancelled(&data.finished());
}

#[tokio::test]
async fn a_deselected_branch_is_cancelled() {
    let data = DataDir::new();
    let work = async {
        for _ in 0..2 {
            let ask = async {
                let _call = llm_call("slow").start().unwrap();
                std::future::pending::<()>().await;
            };
            tokio::select! {
                biased;
                () = ask => unreachable!("it waits for ever"),
                () = tokio::task::yield_now() => tool_call("fallback").record().unwrap(),
            }
        }
    };
    data.run("impatient").instrument(work).await;
    let finished = data.finished();
    assert_eq!(finished.status(), RecordedStatus::Ok);
    assert_eq!(finished.run.meta.counts.llm_calls, 2);
    assert_eq!(finished.run.meta.counts.tool_calls, 2);
    let root = finished
        .span(finished.only(EventType::RunStart))
        .span_id
        .to_string();
    assert!(
        finished
            .all(EventType::ToolCall)
            .iter()
            .all(|record| record.parent_id.as_ref() == Some(&root))
    );
}

#[tokio::test]
async fn a_caught_poll_panic_fails_the_run() {
    let data = DataDir::new();
    let run = data.run("panics").instrument(async {
        tokio::task::yield_now().await;
        panic!("in the second poll");
    });
    let caught = AssertUnwindSafe(run).catch_unwind().await;
    assert!(caught.is_err());
    let finished = data.finished();
    assert_eq!(finished.status(), RecordedStatus::Error);
    let error = finished.payload(EventType::Error);
    assert_eq!(
        (&error["error_type"], &error["message"]),
        (&json!("panic"), &json!("in the second poll"))
    );
}

#[tokio::test]
async fn a_task_that_is_aborted_ends_its_run_as_cancelled() {
    let data = DataDir::new();
    let (ready, wait) = tokio::sync::oneshot::channel::<()>();
    let task = tokio::spawn(data.run("aborted").instrument(async {
        ready.send(()).unwrap();
        std::future::pending::<()>().await;
    }));
    wait.await.unwrap();
    task.abort();
    assert!(task.await.unwrap_err().is_cancelled());
    cancelled(&data.finished());
}
