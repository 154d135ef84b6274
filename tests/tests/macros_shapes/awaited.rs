//! Async functions, and functions that return a future.

use std::error::Error;
use std::fmt;
use std::future::{Future, ready};
use std::pin::Pin;

use async_trait::async_trait;
use serde::Serialize;
use tokio::task::yield_now;
use tracer_sdk::trace;
use tracer_tests::recording::{block_on, recorded};

#[trace]
async fn nothing() {}

#[trace(tool, args, result)]
pub(crate) async fn fetch(url: &str) -> anyhow::Result<usize> {
    yield_now().await;
    if url.is_empty() {
        anyhow::bail!("no url");
    }
    Ok(url.len())
}

#[trace(span, "generic")]
async fn generic<T, E, const N: usize>(value: Result<T, E>) -> Result<[T; N], E>
where
    T: Copy,
{
    let number = value?;
    Ok([number; N])
}

#[trace]
async fn iterator(limit: u32) -> impl Iterator<Item = u32> {
    0..limit
}

#[trace]
async fn iterator_or_error(limit: u32) -> Result<impl Iterator<Item = u32>, fmt::Error> {
    if limit == 0 {
        return Err(fmt::Error);
    }
    Ok(0..limit)
}

#[trace]
async fn object(large: bool) -> Box<dyn fmt::Display + Send> {
    if large {
        return Box::new("large");
    }
    Box::new(1)
}

#[trace(llm, model = model.to_owned(), args(prompt), result)]
async fn complete(model: &str, prompt: impl AsRef<str> + Serialize + Send + Sync) -> String {
    format!("{model}: {}", prompt.as_ref())
}

#[trace(max_llm_calls = 3, on_exceed = cancel)]
async fn cancellable(text: &str) -> anyhow::Result<&str> {
    yield_now().await;
    Ok(text)
}

#[trace]
async fn never() -> ! {
    yield_now().await;
    panic!("on purpose")
}

#[trace(tool, args)]
fn boxed<'a>(text: &'a str) -> Pin<Box<dyn Future<Output = Result<usize, String>> + Send + 'a>> {
    let length = text.len();
    Box::pin(async move {
        yield_now().await;
        Ok(length)
    })
}

#[trace]
fn elided(text: &str) -> Pin<Box<dyn Future<Output = usize> + Send + '_>> {
    Box::pin(ready(text.len()))
}

#[trace(tool, result)]
fn opaque(text: &str) -> impl Future<Output = Result<usize, fmt::Error>> + Send {
    if text.is_empty() {
        ready(Err(fmt::Error))
    } else {
        ready(Ok(text.len()))
    }
}

#[trace]
fn opaque_with_question_mark(text: &str) -> impl Future<Output = Result<u8, Box<dyn Error>>> {
    let number = text.parse::<u8>();
    async move { Ok(number?) }
}

type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

#[trace]
fn well_known_name(text: &str) -> BoxFuture<'_, usize> {
    Box::pin(async move { text.len() })
}

#[derive(Default)]
struct Agent {
    notes: Vec<String>,
}

impl Agent {
    #[trace]
    async fn reborrowed(&mut self, note: &str) -> Result<&mut String, fmt::Error> {
        self.notes.push(note.to_owned());
        self.notes.first_mut().ok_or(fmt::Error)
    }

    #[trace(tool, result)]
    async fn by_reference(&self) -> &[String] {
        &self.notes
    }

    #[trace]
    async fn by_value(mut self) -> Vec<String> {
        self.notes.push(String::from("end"));
        self.notes
    }

    #[trace]
    async fn pinned(self: Pin<&mut Self>) -> usize {
        self.notes.len()
    }
}

#[async_trait]
trait Tool: Send + Sync {
    async fn call(&mut self, arguments: &str, limit: usize) -> Result<String, fmt::Error>;

    #[trace(span)]
    async fn describe(&self) -> String {
        String::from("a tool")
    }
}

#[async_trait]
impl Tool for Agent {
    #[trace(tool, args(arguments, limit), result)]
    async fn call(&mut self, arguments: &str, limit: usize) -> Result<String, fmt::Error> {
        if limit == 0 {
            return Err(fmt::Error);
        }
        self.notes.push(arguments.to_owned());
        Ok(arguments.repeat(limit))
    }
}

trait Native {
    async fn call(&self) -> usize;
}

impl Native for Agent {
    #[trace(tool)]
    async fn call(&self) -> usize {
        self.notes.len()
    }
}

fn assert_send<T: Send>(value: T) -> T {
    value
}

fn block_on_recorded(future: impl Future<Output = ()>) {
    let _recording = recorded(|| block_on(future));
}

#[test]
fn results_are_those_of_the_plain_function() {
    block_on_recorded(async {
        assert!(assert_send(fetch("here")).await.is_ok_and(|length| length == 4));
        assert!(fetch("").await.is_err());
        assert_eq!(generic::<_, fmt::Error, 2>(Ok(1)).await, Ok([1, 1]));
        assert_eq!(iterator(3).await.count(), 3);
        assert!(iterator_or_error(0).await.is_err());
        assert_eq!(object(false).await.to_string(), "1");
        assert_eq!(object(true).await.to_string(), "large");
        assert_eq!(assert_send(complete("gpt-5", "hi")).await, "gpt-5: hi");
        assert!(
            assert_send(cancellable("text"))
                .await
                .is_ok_and(|text| text == "text")
        );
        assert!(tokio::spawn(async { never().await }).await.is_err());
        assert_eq!(boxed("four").await, Ok(4));
        assert_eq!(elided("four").await, 4);
        assert_eq!(assert_send(opaque("four")).await, Ok(4));
        assert!(opaque_with_question_mark("x").await.is_err());
        assert_eq!(well_known_name("four").await, 4);
    });
}

#[test]
fn methods_keep_their_receivers() {
    block_on_recorded(async {
        let mut agent = Agent::default();
        assert!(
            assert_send(agent.reborrowed("note"))
                .await
                .is_ok_and(|note| note == "note")
        );
        assert_eq!(agent.by_reference().await.len(), 1);
        assert_eq!(Pin::new(&mut agent).pinned().await, 1);
        assert_eq!(
            assert_send(Tool::call(&mut agent, "ab", 2)).await,
            Ok(String::from("abab"))
        );
        assert_eq!(agent.describe().await, "a tool");
        assert_eq!(Native::call(&agent).await, 2);
        assert_eq!(agent.by_value().await.len(), 3);
    });
}
