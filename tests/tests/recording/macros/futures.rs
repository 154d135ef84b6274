//! Async functions and functions that return a future: their spans last until they are ready, each in its own context.

use std::future::Future;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

use async_trait::async_trait;
use serde_json::json;
use tokio::task::yield_now;
use tracer_sdk::{TraceFutureExt, trace};
use tracer_tests::recording::{block_on, recorded};

#[trace(span, name = format!("branch {number}"))]
async fn branch(number: usize) -> usize {
    for _ in 0..3 {
        yield_now().await;
    }
    leaf(number).await
}

#[trace(tool, name = format!("leaf {number}"), args, result)]
async fn leaf(number: usize) -> usize {
    yield_now().await;
    number * 2
}

#[test]
fn interleaved_futures_keep_their_own_contexts() {
    let recording = recorded(|| {
        let both = block_on(async { tokio::join!(branch(1), branch(2)) });
        assert_eq!(both, (2, 4));
    });
    for number in [1, 2] {
        assert_eq!(recording.parent_name(&format!("branch {number}")), "test");
        assert_eq!(
            recording.parent_name(&format!("leaf {number}")),
            format!("branch {number}")
        );
    }
    assert_eq!(recording.payload_named("leaf 2")["args"], json!({"number": 2}));
    assert_eq!(recording.payload_named("leaf 2")["result"], json!({"value": 4}));
}

#[test]
fn spawned_tasks_carry_the_run_to_other_threads() {
    let recording = recorded(|| {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .build()
            .unwrap();
        let doubled = runtime.block_on(async {
            let tasks: Vec<_> = (0..8)
                .map(|number| tokio::spawn(branch(number).in_current_run()))
                .collect();
            let mut doubled = Vec::new();
            for task in tasks {
                doubled.push(task.await.unwrap());
            }
            doubled
        });
        assert_eq!(doubled, [0, 2, 4, 6, 8, 10, 12, 14]);
    });
    for number in 0..8 {
        assert_eq!(
            recording.parent_name(&format!("leaf {number}")),
            format!("branch {number}")
        );
    }
}

struct CallsOnDrop;

impl Drop for CallsOnDrop {
    fn drop(&mut self) {
        clean_up();
    }
}

#[trace(tool)]
fn clean_up() {}

#[trace(span)]
async fn never_ready() {
    let _on_drop = CallsOnDrop;
    std::future::pending::<()>().await;
}

#[test]
fn an_unfinished_future_drops_in_its_context() {
    let recording = recorded(|| {
        let mut future = Box::pin(never_ready());
        assert!(
            future
                .as_mut()
                .poll(&mut Context::from_waker(Waker::noop()))
                .is_pending()
        );
    });
    assert_eq!(
        recording.payload_named("never_ready")["error"]["error_type"],
        "Cancelled"
    );
    assert_eq!(recording.parent_name("clean_up"), "never_ready");
}

#[trace(tool, args, result)]
fn prepared(text: &str) -> Pin<Box<dyn Future<Output = Result<usize, String>> + Send + '_>> {
    preparation();
    Box::pin(async move {
        leaf(7).await;
        if text.is_empty() {
            Err("no text".to_owned())
        } else {
            Ok(text.len())
        }
    })
}

#[trace(span)]
fn preparation() {}

#[trace(span)]
fn opaque(text: &str) -> impl Future<Output = Result<usize, String>> {
    prepared(text)
}

#[test]
fn a_returned_future_has_one_span() {
    let recording = recorded(|| assert_eq!(block_on(opaque("four")), Ok(4)));
    assert_eq!(recording.parent_name("prepared"), "opaque");
    assert_eq!(recording.parent_name("preparation"), "prepared");
    assert_eq!(recording.parent_name("leaf 7"), "prepared");
    assert_eq!(
        recording.payload_named("prepared")["args"],
        json!({"text": "four"})
    );
    assert_eq!(recording.payload_named("prepared")["result"], json!({"value": 4}));
}

#[test]
fn the_error_of_a_returned_future_is_its_outputs() {
    let recording = recorded(|| assert!(block_on(opaque("")).is_err()));
    for name in ["prepared", "opaque"] {
        assert_eq!(
            recording.payload_named(name)["error"]["message"],
            "no text",
            "{name}"
        );
    }
}

#[trace(span)]
fn panics_before_there_is_a_future(text: Option<&str>) -> impl Future<Output = usize> {
    std::future::ready(text.expect("a text").len())
}

#[test]
fn a_panic_before_there_is_a_future_ends_the_span() {
    let recording = recorded(|| {
        assert!(std::panic::catch_unwind(|| drop(panics_before_there_is_a_future(None))).is_err());
    });
    let error = &recording.payload_named("panics_before_there_is_a_future")["error"];
    assert_eq!(error["error_type"], "panic");
}

#[async_trait]
trait Tool {
    async fn call(&self, query: &str) -> Result<String, String>;
}

struct Search;

#[async_trait]
impl Tool for Search {
    #[trace(tool, "search", args, result)]
    async fn call(&self, query: &str) -> Result<String, String> {
        leaf(query.len()).await;
        Ok(query.to_uppercase())
    }
}

#[test]
fn methods_of_async_trait_last_until_they_are_ready() {
    let recording = recorded(|| assert_eq!(block_on(Search.call("ab")), Ok("AB".to_owned())));
    assert_eq!(recording.parent_name("leaf 2"), "search");
    assert_eq!(recording.payload_named("search")["args"], json!({"query": "ab"}));
    assert_eq!(recording.payload_named("search")["result"], "AB");
}

#[test]
fn a_future_that_is_never_polled_runs_nothing() {
    let recording = recorded(|| drop(leaf(1)));
    assert_eq!(recording.run.spans.len(), 1, "only the root");
    recorded(|| {
        let mut future = pin!(leaf(1));
        let polled = future.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        assert!(matches!(polled, Poll::Pending));
    });
}
