//! Tool calls (decisions, section 1; specification, `TOOL_CALL`).

use std::error::Error;
use std::fmt;
use std::future::{Future, pending};
use std::panic::Location;
use std::time::{Duration, Instant};

use serde::Serialize;

use super::methods::{call_methods, described_methods, timed_call_methods, timed_methods};

use crate::emit::cut_short::CutShort;
use crate::emit::error::ErrorInfo;
use crate::emit::observed::Observed;
use crate::emit::open_span::{OnDrop, OpenSpan};
use crate::emit::scope::Scope;
use crate::emit::site::Site;
use crate::emit::traced::Traced;
use crate::guardrails::GuardrailExceeded;
use tracer_format::{EventType, names};

/// Begins the record of one call of a tool.
///
/// `run()` is a future that is the call; `record()` writes it after the fact; `start()` times it. Outside of a run nothing is
/// recorded.
///
/// ```
/// use serde_json::json;
/// use tracer_sdk::tool_call;
///
/// let folder = tempfile::tempdir()?;
/// let config = tracer_sdk::Config::new().data_dir(folder.path());
/// let run = tracer_sdk::Run::new("look up").config(&config).start();
/// tool_call("search").args(&json!({"query": "refunds"})).result(&json!(["refunds.md"])).record()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[inline]
pub fn tool_call(name: impl AsRef<str>) -> ToolCall {
    ToolCall {
        span: OpenSpan::begin(EventType::ToolCall, name.as_ref()),
    }
}

/// A tool call that is being described.
///
/// ```
/// use serde_json::json;
/// use tracer_sdk::testing::capture;
///
/// let run = capture(|| {
///     tracer_sdk::tool_call("search")
///         .args(&json!({"query": "refunds"}))
///         .result(&json!(["refunds.md"]))
///         .record()
/// });
/// assert_eq!(run.meta.counts.tool_calls, 1);
/// assert_eq!(run.spans[0].name, "search");
/// ```
#[must_use = "call `.record()?` to write it, or `.start()?` to time it"]
#[derive(Debug)]
pub struct ToolCall {
    span: OpenSpan,
}

impl ToolCall {
    described_methods!();
    call_methods!();

    /// The arguments of the call.
    ///
    /// ```
    /// use serde_json::json;
    /// use tracer_sdk::testing::capture;
    ///
    /// let run = capture(|| tracer_sdk::tool_call("search").args(&json!({"api_key": "k-1", "limit": 5})).record());
    /// let stored = &run.spans[0].events[0].attributes["args"];
    /// assert_eq!(stored, r#"{"api_key":"__REDACTED__","limit":5}"#);
    /// ```
    #[inline]
    pub fn args<T: Serialize + ?Sized>(mut self, arguments: &T) -> Self {
        self.span.edit(|span| span.arguments(arguments));
        self
    }

    /// The arguments as the model wrote them: JSON text. Text that is no JSON is kept as it is. JSON is read: its
    /// keys are sorted, and of a number of more than 64 bits the nearest is kept.
    ///
    /// ```
    /// use tracer_sdk::testing::capture;
    ///
    /// let run = capture(|| {
    ///     tracer_sdk::tool_call("search").json_args(r#"{"limit": 5}"#).record()?;
    ///     tracer_sdk::tool_call("search").json_args(r#"{"limit": "#).record()
    /// });
    /// let stored = |call: usize| run.spans[call].events[0].attributes["args"].clone();
    /// assert_eq!((stored(0), stored(1)), (r#"{"limit":5}"#.into(), r#""{\"limit\": ""#.into()));
    /// ```
    pub fn json_args(mut self, arguments: impl AsRef<str>) -> Self {
        self.span.edit(|span| span.written_arguments(arguments.as_ref()));
        self
    }

    /// The ID that the model gave the call.
    ///
    /// ```
    /// use tracer_sdk::testing::capture;
    ///
    /// let run = capture(|| tracer_sdk::tool_call("search").id("call_7").record());
    /// assert_eq!(run.spans[0].attributes["gen_ai.tool.call.id"], "call_7");
    /// ```
    pub fn id(mut self, id: impl AsRef<str>) -> Self {
        self.span.edit(|span| span.text(names::TOOL_CALL_ID, id.as_ref()));
        self
    }

    /// The result of the call.
    ///
    /// ```
    /// use tracer_sdk::testing::capture;
    ///
    /// let run = capture(|| tracer_sdk::tool_call("search").result(&["refunds.md"]).record());
    /// assert_eq!(run.spans[0].events[0].attributes["result"], r#"["refunds.md"]"#);
    /// ```
    pub fn result<T: Serialize + ?Sized>(mut self, result: &T) -> Self {
        self.span.edit(|span| span.result(result));
        self
    }

    /// Makes a future the call, which starts now. Its `Ok` is recorded as the result, its `Err` as the failure; so are a panic,
    /// and that it was dropped before it was ready. The future is polled as it is, and its output is handed on.
    ///
    /// A call that a guardrail refuses gives the refusal as its `Err`, and the future is never polled. `anyhow::Error` and
    /// `Box<dyn Error>` take it; a future with another error is mapped first: `async { work.await.map_err(anyhow::Error::from) }`.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// use tracer_sdk::{testing::capture_async, tool_call};
    ///
    /// async fn search(arguments: &str) -> Result<Vec<String>, Box<dyn std::error::Error>> {
    ///     let limit: serde_json::Value = serde_json::from_str(arguments)?;
    ///     Ok(vec![format!("{limit} pages")])
    /// }
    ///
    /// let asked = r#"{"limit": "#; // by the model
    /// let run = capture_async(async {
    ///     let hits = tool_call("search").id("call_7").json_args(asked).run(search(asked)).await;
    ///     assert!(hits.is_err()); // goes to the model as the answer to its call
    /// });
    /// assert_eq!(run.await.spans[0].status_description, "EOF while parsing a value at line 1 column 10");
    /// # }
    /// ```
    #[track_caller]
    pub fn run<F, T, E>(self, future: F) -> Traced<impl Future<Output = Result<T, E>>>
    where
        F: Future<Output = Result<T, E>>,
        T: Serialize,
        E: fmt::Display + From<GuardrailExceeded>,
    {
        run(Scope::open(self.span), future, pending(), caller())
    }

    /// Limits the time of [`run`](LimitedToolCall::run) by a timer of your runtime: a future that is ready when the time is up,
    /// such as `tokio::time::sleep(limit)`.
    ///
    /// The timer is yours because the SDK depends on no runtime and starts no thread that could wake your task. Make the call and
    /// its timer where they are awaited: both count from when they are made, not from when a queue polls them first.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// use std::future::{pending, ready};
    /// use tracer_sdk::{testing::capture_async, tool_call};
    ///
    /// let run = capture_async(async {
    ///     let search = pending::<Result<String, Box<dyn std::error::Error>>>();
    ///     let timer = ready(()); // `tokio::time::sleep(limit)`
    ///     tool_call("search").timeout(timer).run(search).await
    /// });
    /// let said = run.await.spans[0].status_description.clone();
    /// assert_eq!(said, "the tool search was stopped by its time limit after 0.00 s");
    /// # }
    /// ```
    pub fn timeout<Timer: Future>(self, timer: Timer) -> LimitedToolCall<Timer> {
        LimitedToolCall { call: self, timer }
    }

    /// Starts timing the call, just before the tool runs.
    ///
    /// ```
    /// use serde_json::json;
    ///
    /// let folder = tempfile::tempdir()?;
    /// let config = tracer_sdk::Config::new().data_dir(folder.path());
    /// let run = tracer_sdk::Run::new("look up").config(&config).start();
    /// let mut call = tracer_sdk::tool_call("read_file").args(&json!({"path": "refunds.md"})).start()?;
    /// match std::fs::read_to_string("refunds.md") {
    ///     Ok(text) => call.result(&text),
    ///     Err(error) => call.fail(&error),
    /// };
    /// call.end()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`GuardrailExceeded`] when the call must not be made: the run has crossed one of its limits, or would with this
    /// call.
    #[inline]
    pub fn start(self) -> Result<ToolSpan, GuardrailExceeded> {
        let on_drop = OnDrop::Cancel("the call was dropped before it had a result");
        let span = self.span.start(on_drop)?;
        Ok(ToolSpan { span })
    }
}

/// A tool call with a time limit, made by [`ToolCall::timeout`].
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// use tracer_sdk::{testing::capture_async, tool_call};
///
/// let run = capture_async(async {
///     let timer = std::future::pending::<()>();
///     let search = async { Ok::<_, Box<dyn std::error::Error>>("refunds.md") };
///     tool_call("search").timeout(timer).run(search).await
/// });
/// assert_eq!(run.await.spans[0].events[0].attributes["result"], r#""refunds.md""#);
/// # }
/// ```
#[must_use = "call `.run(future)` to make the call"]
#[derive(Debug)]
pub struct LimitedToolCall<Timer> {
    call: ToolCall,
    timer: Timer,
}

impl<Timer: Future> LimitedToolCall<Timer> {
    /// Makes a future the call, as [`ToolCall::run`] does. When the timer is ready first, the future is dropped, and the call has
    /// failed with [`TimedOut`], in or outside of a run.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// use tracer_sdk::{TimedOut, tool_call};
    ///
    /// let search = std::future::pending::<Result<String, Box<dyn std::error::Error>>>();
    /// let hits = tool_call("search").timeout(std::future::ready(())).run(search).await;
    /// assert!(hits.unwrap_err().is::<TimedOut>());
    /// # }
    /// ```
    #[track_caller]
    pub fn run<F, T, E>(self, future: F) -> Traced<impl Future<Output = Result<T, E>>>
    where
        F: Future<Output = Result<T, E>>,
        T: Serialize,
        E: fmt::Display + From<GuardrailExceeded> + From<TimedOut>,
    {
        let place = caller();
        let tool = self.call.span.name().map(str::to_owned);
        let (scope, timer, began) = (Scope::open(self.call.span), self.timer, Instant::now());
        let limited = scope.clone();
        let late = async move {
            timer.await;
            let after = began.elapsed();
            let late = TimedOut { tool, after };
            limited.fail(ErrorInfo::of(&late).at(place.place()));
            Err(late.into())
        };
        run(scope, future, late, caller())
    }
}

#[track_caller]
fn caller() -> Site {
    let caller = Location::caller();
    Site::new(None, caller.file(), "", caller.line())
}

/// The work of a call, unless what is `instead` of it is ready first.
fn run<F, T, E>(
    scope: Scope,
    future: F,
    instead: impl Future<Output = Result<T, E>>,
    place: Site,
) -> Traced<impl Future<Output = Result<T, E>>>
where
    F: Future<Output = Result<T, E>>,
    T: Serialize,
    E: fmt::Display + From<GuardrailExceeded>,
{
    let observe = move |scope: &Scope, result: &Result<T, E>| match result {
        Ok(value) => scope.result(value),
        Err(error) => scope.fail(ErrorInfo::of(error).at(place.place())),
    };
    let refuse = |exceeded: GuardrailExceeded| Some(Err(exceeded.into()));
    let observed = Observed::new(scope.clone(), future, refuse, observe);
    Traced::new(scope, CutShort::new(observed, instead))
}

/// The time limit of a tool call is over: the error that [`LimitedToolCall::run`] gives. It names the time and, in a run, the tool,
/// so that it can be given to the model as it is.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// use tracer_sdk::{testing::capture_async, tool_call};
///
/// let run = capture_async(async {
///     let search = std::future::pending::<Result<String, Box<dyn std::error::Error>>>();
///     let late = tool_call("search").timeout(std::future::ready(())).run(search).await;
///     let words = late.unwrap_err().to_string();
///     assert!(words.starts_with("the tool search was stopped by its time limit after 0."));
/// });
/// assert_eq!(run.await.meta.counts.tool_calls, 1);
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimedOut {
    /// Outside of a run nothing keeps the name.
    tool: Option<String>,
    after: Duration,
}

impl fmt::Display for TimedOut {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (tool, after) = (self.tool.as_deref(), self.after.as_secs_f64());
        match tool {
            Some(tool) => write!(formatter, "the tool {tool}")?,
            None => formatter.write_str("the tool")?,
        }
        write!(formatter, " was stopped by its time limit after {after:.2} s")
    }
}

impl Error for TimedOut {}

/// A tool call that is under way. It ends when [`ToolSpan::end`] is called or when it is dropped; one that is dropped
/// without a result or an error is reported as cancelled.
///
/// ```
/// use tracer_sdk::testing::capture;
///
/// let run = capture(|| {
///     let mut call = tracer_sdk::tool_call("answer").start()?;
///     call.in_scope(|| tracer_sdk::llm_call("gpt-5").record())?; // the tool asks a model
///     call.result("42");
///     call.end()
/// });
/// assert_eq!(run.spans[0].parent_span_id, Some(run.spans[1].span_id));
/// ```
#[must_use = "the call ends when this is dropped: bind it with `let mut call = …`"]
#[derive(Debug)]
pub struct ToolSpan {
    span: OpenSpan,
}

impl ToolSpan {
    timed_methods!();
    timed_call_methods!();

    /// The result of the call.
    ///
    /// ```
    /// use tracer_sdk::testing::capture;
    ///
    /// let run = capture(|| {
    ///     let mut call = tracer_sdk::tool_call("search").start()?;
    ///     call.result(&["refunds.md"]);
    ///     call.end()
    /// });
    /// assert_eq!(run.spans[0].events[0].attributes["result"], r#"["refunds.md"]"#);
    /// ```
    pub fn result<T: Serialize + ?Sized>(&mut self, result: &T) -> &mut Self {
        self.span.edit(|span| span.result(result));
        self
    }
}
