//! Model calls (decisions, section 1; specification, `LLM_CALL`).

use std::borrow::Cow;
use std::time::Duration;

use serde::Serialize;

use super::methods::{call_methods, timed_call_methods, timed_methods};
use super::timed::{Gathered, Timed};
use crate::emit::open_span::OpenSpan;
use crate::emit::slot::Slot;
use crate::format::names::{self, events};
use crate::format::{EventType, Usage};
use crate::guardrails::GuardrailExceeded;
use crate::write::draft::{EventTime, Scalar};

/// Begins the record of one call of a model.
///
/// `record()` writes it after the fact; `start()` times it. Outside of a run it does nothing.
///
/// ```
/// use serde_json::json;
/// use tracer_sdk::{Usage, llm_call};
///
/// # let folder = tempfile::tempdir().unwrap();
/// # let config = tracer_sdk::Config::new().data_dir(folder.path());
/// let run = tracer_sdk::Run::new("ask").config(&config).start();
/// llm_call("gpt-5")
///     .provider("openai")
///     .prompt(&json!({"messages": [{"role": "user", "content": "Why is the sky blue?"}]}))
///     .response("Because of Rayleigh scattering.")
///     .usage(Usage::new(14, 6))
///     .record()?;
/// # Ok::<(), tracer_sdk::GuardrailExceeded>(())
/// ```
#[inline]
pub fn llm_call(model: impl Into<Cow<'static, str>>) -> LlmCall {
    LlmCall {
        span: Slot::begin(EventType::LlmCall, model),
    }
}

/// A model call that is being described.
///
/// ```
/// # let recorded = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/recorded.rs"));
/// use tracer_sdk::{Usage, llm_call};
///
/// let run = recorded(|| {
///     llm_call("gpt-5")
///         .provider("openai")
///         .temperature(0.2)
///         .usage(Usage::new(14, 6))
///         .stop_reason("stop")
///         .record()
/// });
/// assert_eq!(run.counts().llm_calls, 1);
/// assert_eq!(run.spans[0].attributes["gen_ai.usage.total_tokens"], 20);
/// ```
#[must_use = "call `.record()?` to write it, or `.start()?` to time it"]
#[derive(Debug)]
pub struct LlmCall {
    span: Slot,
}

impl LlmCall {
    call_methods!();

    /// Whose model it is: `openai`, `anthropic`, `local`, …
    ///
    /// ```
    /// # let recorded = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/recorded.rs"));
    /// let run = recorded(|| tracer_sdk::llm_call("claude-opus-4-5").provider("anthropic").record());
    /// assert_eq!(run.spans[0].attributes["gen_ai.system"], "anthropic");
    /// ```
    #[inline]
    pub fn provider(mut self, provider: &str) -> Self {
        if let Some(mut span) = self.span.edit() {
            span.text(names::PROVIDER, provider);
        }
        self
    }

    /// What the model is asked: a string, or anything structured.
    ///
    /// ```
    /// # let recorded = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/recorded.rs"));
    /// use serde_json::json;
    ///
    /// let run = recorded(|| tracer_sdk::llm_call("gpt-5").prompt(&json!({"system": "Be brief."})).record());
    /// assert_eq!(run.spans[0].events[0].attributes["content"], r#"{"system":"Be brief."}"#);
    /// ```
    #[inline]
    pub fn prompt<T: Serialize + ?Sized>(mut self, prompt: &T) -> Self {
        if let Some(mut span) = self.span.edit() {
            span.message(events::PROMPT, EventTime::Start, prompt);
        }
        self
    }

    /// What the model answered: a string, or anything structured.
    ///
    /// ```
    /// # let recorded = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/recorded.rs"));
    /// let run = recorded(|| tracer_sdk::llm_call("gpt-5").response("Because.").record());
    /// assert_eq!(run.spans[0].events[0].attributes["content"], "Because.");
    /// ```
    pub fn response<T: Serialize + ?Sized>(mut self, response: &T) -> Self {
        if let Some(mut span) = self.span.edit() {
            span.message(events::RESPONSE, EventTime::End, response);
        }
        self
    }

    /// The tokens that the call used.
    ///
    /// ```
    /// # let recorded = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/recorded.rs"));
    /// use tracer_sdk::{Usage, llm_call};
    ///
    /// let run = recorded(|| llm_call("gpt-5").usage(Usage::new(14, 6)).record());
    /// assert_eq!(run.spans[0].attributes["gen_ai.usage.input_tokens"], 14);
    /// assert_eq!(run.spans[0].attributes["gen_ai.usage.output_tokens"], 6);
    /// ```
    #[inline]
    pub fn usage(mut self, usage: Usage) -> Self {
        if let Some(mut span) = self.span.edit() {
            set_usage(&mut span, usage);
        }
        self
    }

    /// The sampling temperature.
    ///
    /// ```
    /// # let recorded = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/recorded.rs"));
    /// let run = recorded(|| tracer_sdk::llm_call("gpt-5").temperature(0.2).record());
    /// assert_eq!(run.spans[0].attributes["gen_ai.request.temperature"], 0.2);
    /// ```
    #[inline]
    pub fn temperature(mut self, temperature: f64) -> Self {
        if let Some(mut span) = self.span.edit() {
            span.scalar(names::TEMPERATURE, Scalar::Float(temperature));
        }
        self
    }

    /// Why the model stopped: `stop`, `tool_calls`, …
    ///
    /// ```
    /// # let recorded = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/recorded.rs"));
    /// let run = recorded(|| tracer_sdk::llm_call("gpt-5").stop_reason("tool_calls").record());
    /// assert_eq!(run.spans[0].attributes["gen_ai.response.finish_reasons"], "tool_calls");
    /// ```
    #[inline]
    pub fn stop_reason(mut self, reason: &str) -> Self {
        if let Some(mut span) = self.span.edit() {
            span.text(names::FINISH_REASONS, reason);
        }
        self
    }

    /// Starts timing the call, just before it is made.
    ///
    /// ```
    /// use tracer_sdk::{Usage, llm_call};
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let config = tracer_sdk::Config::new().data_dir(folder.path());
    /// let run = tracer_sdk::Run::new("ask").config(&config).start();
    /// let mut call = llm_call("gpt-5").prompt("Why is the sky blue?").start()?;
    /// // … the request …
    /// call.response("Because of Rayleigh scattering.").usage(Usage::new(14, 6));
    /// call.end()?;
    /// # Ok::<(), tracer_sdk::GuardrailExceeded>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`GuardrailExceeded`] when the call must not be made: the run has crossed one of its limits, or would with this
    /// call.
    #[inline]
    pub fn start(self) -> Result<LlmSpan, GuardrailExceeded> {
        let timed = Timed::start(self.span, Some("the call was dropped before it was answered"))?;
        Ok(LlmSpan { timed })
    }
}

/// A model call that is under way. It ends when [`LlmSpan::end`] is called or when it is dropped; one that is dropped
/// without a response or an error is told as cancelled, with what was streamed.
///
/// ```
/// # let recorded = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/recorded.rs"));
/// use tracer_sdk::format::StatusCode;
///
/// let run = recorded(|| {
///     let call = tracer_sdk::llm_call("gpt-5").prompt("Why?").start()?;
///     drop(call); // given up before there was an answer
///     Ok(())
/// });
/// assert_eq!(run.spans[0].status_code, StatusCode::Error);
/// ```
#[must_use = "the call ends when this is dropped: bind it with `let mut call = …`"]
#[derive(Debug)]
pub struct LlmSpan {
    timed: Timed<Stream>,
}

/// A streamed answer so far.
#[derive(Debug, Default)]
struct Stream {
    text: String,
    chunks: u64,
    first_after: Option<Duration>,
}

/// How much of a streamed answer is kept in memory, in bytes; the settings cut it further.
const MAX_STREAM_BYTES: usize = 1024 * 1024;

impl Stream {
    fn add(&mut self, text: &str, span: &OpenSpan) {
        self.first_after.get_or_insert_with(|| span.elapsed_since_start());
        self.chunks += 1;
        if self.text.len() < MAX_STREAM_BYTES {
            self.text.push_str(text);
        }
    }
}

impl Gathered for Stream {
    fn tell(&self, span: &mut OpenSpan) {
        let Some(after) = self.first_after else { return };
        let milliseconds = after.as_secs_f64() * 1_000.0;
        span.scalar(names::TIME_TO_FIRST_CHUNK, Scalar::Float(milliseconds));
        span.scalar(names::CHUNKS, Scalar::Unsigned(self.chunks));
        if !self.text.is_empty() {
            span.message(events::RESPONSE, EventTime::End, self.text.as_str());
        }
    }
}

impl LlmSpan {
    timed_methods!();
    timed_call_methods!();

    /// What the model answered: a string, or anything structured.
    ///
    /// ```
    /// # let recorded = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/recorded.rs"));
    /// let run = recorded(|| {
    ///     let mut call = tracer_sdk::llm_call("gpt-5").start()?;
    ///     call.response("Because.");
    ///     call.end()
    /// });
    /// assert_eq!(run.spans[0].events[0].attributes["content"], "Because.");
    /// ```
    pub fn response<T: Serialize + ?Sized>(&mut self, response: &T) -> &mut Self {
        if let Some((mut span, stream)) = self.timed.parts() {
            span.message(events::RESPONSE, EventTime::End, response);
            span.answered();
            stream.text.clear();
        }
        self
    }

    /// The next piece of a streamed answer. The first one tells how long it took to come.
    ///
    /// ```
    /// # let recorded = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/recorded.rs"));
    /// let run = recorded(|| {
    ///     let mut call = tracer_sdk::llm_call("gpt-5").start()?;
    ///     for text in ["Be", "cause", "."] {
    ///         call.chunk(text);
    ///     }
    ///     call.end()
    /// });
    /// assert_eq!(run.spans[0].events[0].attributes["content"], "Because.");
    /// assert_eq!(run.spans[0].attributes["tracer.chunks"], 3);
    /// ```
    pub fn chunk(&mut self, text: &str) -> &mut Self {
        if let Some((span, stream)) = self.timed.parts() {
            stream.add(text, &span);
        }
        self
    }

    /// The tokens that the call used.
    ///
    /// ```
    /// # let recorded = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/recorded.rs"));
    /// let run = recorded(|| {
    ///     let mut call = tracer_sdk::llm_call("gpt-5").start()?;
    ///     call.response("Because.").usage(tracer_sdk::Usage::new(14, 6));
    ///     call.end()
    /// });
    /// assert_eq!(run.spans[0].attributes["gen_ai.usage.total_tokens"], 20);
    /// ```
    #[inline]
    pub fn usage(&mut self, usage: Usage) -> &mut Self {
        if let Some(mut span) = self.timed.edit() {
            set_usage(&mut span, usage);
        }
        self
    }

    /// Why the model stopped: `stop`, `tool_calls`, …
    ///
    /// ```
    /// # let recorded = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/recorded.rs"));
    /// let run = recorded(|| {
    ///     let mut call = tracer_sdk::llm_call("gpt-5").start()?;
    ///     call.response("Because.").stop_reason("stop");
    ///     call.end()
    /// });
    /// assert_eq!(run.spans[0].attributes["gen_ai.response.finish_reasons"], "stop");
    /// ```
    #[inline]
    pub fn stop_reason(&mut self, reason: &str) -> &mut Self {
        if let Some(mut span) = self.timed.edit() {
            span.text(names::FINISH_REASONS, reason);
            span.answered();
        }
        self
    }
}

fn set_usage(span: &mut OpenSpan, usage: Usage) {
    let parts = [
        (names::INPUT_TOKENS, usage.prompt_tokens),
        (names::OUTPUT_TOKENS, usage.completion_tokens),
        (names::TOTAL_TOKENS, usage.total_tokens),
    ];
    for (name, tokens) in parts {
        if let Some(tokens) = tokens {
            span.scalar(name, Scalar::Unsigned(tokens));
        }
    }
}
