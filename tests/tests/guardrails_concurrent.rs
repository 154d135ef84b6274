//! Limits hold for threads and tasks that make calls at the same time (decisions, section 8).

use std::sync::Barrier;

use serde_json::Value;
use tracer_sdk::format::{EventType, RecordedStatus};
use tracer_sdk::{Context, Guardrails, TraceFutureExt, llm_call};
use tracer_tests::DataDir;
use tracer_tests::finished::payload;

#[test]
fn threads_that_start_at_once_cannot_overshoot() {
    let data = DataDir::new();
    let run = data
        .run("threads")
        .guardrails(Guardrails::new().max_llm_calls(10))
        .start();
    let context = run.context().unwrap();
    let barrier = Barrier::new(16);
    let granted: usize = std::thread::scope(|scope| {
        let work = || {
            let _guard = context.enter();
            barrier.wait();
            let calls: Vec<_> = (0..4).filter_map(|_| llm_call("gpt-5").start().ok()).collect();
            // Nobody ends a call before everybody has asked for all of theirs.
            barrier.wait();
            calls
                .into_iter()
                .map(|mut call| _ = call.response("done"))
                .count()
        };
        let threads: Vec<_> = (0..16).map(|_| scope.spawn(work)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert_eq!(granted, 10);
    run.finish();
    let finished = data.finished();
    let failed = finished
        .all(EventType::LlmCall)
        .iter()
        .filter(|record| payload(record)["status"] == "error")
        .count();
    assert_eq!(
        (finished.run.meta.counts.llm_calls, failed),
        (11, 1),
        "those granted, and the first one refused"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tasks_that_wait_for_their_answers_cannot_overshoot() {
    let data = DataDir::new();
    let run = data.run("tasks").guardrails(Guardrails::new().max_llm_calls(3));
    let outcomes = run
        .instrument_infallible(async {
            let context = Context::current().unwrap();
            let tasks = (0..20).map(|_| {
                let ask = async {
                    let mut call = llm_call("gpt-5").start()?;
                    tokio::task::yield_now().await;
                    call.response("done");
                    call.end()
                };
                tokio::spawn(ask.in_context(context.clone()))
            });
            futures_util::future::join_all(tasks).await
        })
        .await;
    let refused = outcomes
        .into_iter()
        .filter(|outcome| outcome.as_ref().unwrap().is_err())
        .count();
    let finished = data.finished();
    let granted = finished
        .all(EventType::LlmCall)
        .iter()
        .filter(|record| payload(record)["status"] == "ok")
        .count();
    assert_eq!(granted, 3);
    assert!(
        refused >= 17,
        "those refused, and those that were told when they ended: {refused}"
    );
    assert_eq!(finished.status(), RecordedStatus::Error);
    assert_ne!(finished.payload(EventType::Error)["message"], Value::Null);
}
