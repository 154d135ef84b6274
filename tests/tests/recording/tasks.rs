//! Tasks that record into one run: spawned, joined, selected, local, blocking (issue: *Context*).

use std::time::Duration;

use futures_util::future::join_all;
use futures_util::stream::{FuturesUnordered, StreamExt};
use serde_json::json;
use tokio::task::{self, LocalSet};
use tracer_sdk::format::EventType;
use tracer_sdk::{Context, TraceFutureExt, llm_call, span, tool_call};
use tracer_tests::finished::payload;
use tracer_tests::{DataDir, Finished};

const TASKS: u64 = 32;
const CALLS: u64 = 10;

/// A model call that is waited for, with tool calls inside, and other tasks in between.
async fn work(number: u64) {
    let mut ask = llm_call(format!("model {number}")).start().unwrap();
    let inside = async {
        for call in 0..CALLS {
            task::yield_now().await;
            tool_call("work")
                .args(&json!({"n": number * CALLS + call}))
                .record()
                .unwrap();
        }
    };
    ask.instrument(inside).await;
    ask.response("done");
}

/// Every call is there, under the model call of its own task, whose context nobody inferred.
fn assert_whole(finished: &Finished) {
    let calls = finished.all(EventType::ToolCall);
    let mut numbers = Vec::new();
    for call in &calls {
        let number = payload(call)["args"]["n"].as_u64().unwrap();
        let model = finished.span_named(&format!("model {}", number / CALLS));
        assert_eq!(call.parent_id, Some(model.span_id.to_string()));
        assert!(!finished.span(call).attributes.contains_key("tracer.context"));
        numbers.push(number);
    }
    numbers.sort_unstable();
    assert_eq!(numbers, (0..TASKS * CALLS).collect::<Vec<_>>());
    let root = finished
        .span(finished.only(EventType::RunStart))
        .span_id
        .to_string();
    assert!(
        finished
            .all(EventType::LlmCall)
            .iter()
            .all(|call| call.parent_id.as_ref() == Some(&root))
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn spawned_tasks_carry_the_run_across_workers() {
    let data = DataDir::new();
    let spawn_all = async {
        let tasks = (0..TASKS).map(|number| task::spawn(work(number).in_current_run()));
        join_all(tasks).await.into_iter().for_each(|task| task.unwrap());
    };
    data.run("spawned").instrument(spawn_all).await;
    assert_whole(&data.finished());
}

#[tokio::test]
async fn futures_joined_in_one_task_do_not_mix_their_contexts() {
    let data = DataDir::new();
    data.run("joined")
        .instrument(join_all((0..TASKS).map(work)))
        .await;
    assert_whole(&data.finished());
}

#[tokio::test]
async fn futures_of_an_unordered_set_do_not_mix_their_contexts() {
    let data = DataDir::new();
    let set: FuturesUnordered<_> = (0..TASKS).map(work).collect();
    data.run("unordered").instrument(set.collect::<Vec<()>>()).await;
    assert_whole(&data.finished());
}

#[tokio::test]
async fn local_tasks_carry_the_run() {
    let data = DataDir::new();
    let local = LocalSet::new();
    let spawn_all = async {
        let tasks = (0..TASKS).map(|number| task::spawn_local(work(number).in_current_run()));
        join_all(tasks).await.into_iter().for_each(|task| task.unwrap());
    };
    local.run_until(data.run("local").instrument(spawn_all)).await;
    assert_whole(&data.finished());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn blocking_work_carries_the_run_in_a_wrapped_closure() {
    let data = DataDir::new();
    let block = async {
        let context = Context::current().unwrap();
        let tasks = (0..8_u64).map(|number| {
            let work = move || tool_call("block").args(&json!({"n": number})).record().unwrap();
            task::spawn_blocking(context.clone().wrap(work))
        });
        join_all(tasks).await.into_iter().for_each(|task| task.unwrap());
    };
    data.run("blocking").instrument(block).await;
    let finished = data.finished();
    assert_eq!(finished.run.meta.counts.tool_calls, 8);
    for call in finished.all(EventType::ToolCall) {
        assert!(!finished.span(call).attributes.contains_key("tracer.context"));
    }
}

#[tokio::test]
async fn a_future_that_select_drops_takes_its_context_along() {
    let data = DataDir::new();
    let choose = async {
        let slow = async {
            let phase = span("slow").start();
            phase.instrument(std::future::pending::<()>()).await;
        };
        let fast = async {
            task::yield_now().await;
            tool_call("fast").record().unwrap();
        };
        tokio::select! {
            () = slow => unreachable!("it waits for ever"),
            () = fast => {}
        }
        tool_call("after").record().unwrap();
    };
    data.run("select").instrument(choose).await;
    let finished = data.finished();
    let root = finished.span_named("select").span_id;
    for name in ["slow", "fast", "after"] {
        assert_eq!(finished.span_named(name).parent_span_id, Some(root), "{name}");
    }
}

#[tokio::test]
async fn a_timed_out_run_is_cancelled() {
    struct CleanUp;
    impl Drop for CleanUp {
        fn drop(&mut self) {
            tool_call("clean up").record().unwrap();
        }
    }
    let data = DataDir::new();
    let run = data.run("late").instrument(async {
        let _clean_up = CleanUp;
        std::future::pending::<()>().await;
    });
    assert!(
        tokio::time::timeout(Duration::from_millis(20), run)
            .await
            .is_err()
    );
    let finished = data.finished();
    assert_eq!(finished.payload(EventType::Error)["error_type"], "Cancelled");
    let clean_up = finished.only(EventType::ToolCall);
    assert!(
        !finished.span(clean_up).attributes.contains_key("tracer.context"),
        "dropped within its own run"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_runs_in_tasks_of_their_own_do_not_mix() {
    let data = DataDir::new();
    let runs = (0..TASKS).map(|number| {
        task::spawn(data.run("one of many").instrument(async move {
            for _ in 0..CALLS {
                task::yield_now().await;
                tool_call("work").args(&json!({"n": number})).record().unwrap();
            }
        }))
    });
    join_all(runs).await.into_iter().for_each(|task| task.unwrap());
    let runs = data.finished_runs();
    assert_eq!(runs.len() as u64, TASKS);
    for run in runs {
        let calls: Vec<_> = run.all(EventType::ToolCall).into_iter().map(payload).collect();
        assert_eq!(calls.len() as u64, CALLS);
        assert!(
            calls.iter().all(|call| call["args"] == calls[0]["args"]),
            "{calls:?}"
        );
    }
}
