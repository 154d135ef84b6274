//! Model calls (decisions, section 1; specification, `LLM_CALL`).

use serde::Serialize;
#[cfg(feature = "providers")]
use tracer_providers::Vendor;

use super::methods::{call_methods, described_methods, timed_call_methods, timed_methods};
use crate::emit::open_span::{OnDrop, OpenSpan};
use crate::emit::streamed::ToolCallChunk;

use crate::guardrails::GuardrailExceeded;
use crate::write::draft::ScalarValue;
use tracer_format::names;
use tracer_format::{EventType, Usage};

/// Begins the record of one call of a model.
///
/// `record()` writes it after the fact; `start()` times it. Outside of a run it does nothing.
///
/// ```
/// use serde_json::json;
/// use tracer_sdk::{Config, Usage, llm_call};
///
/// let folder = tempfile::tempdir()?;
/// let config = Config::new().data_dir(folder.path());
/// let run = tracer_sdk::Run::new("ask").config(&config).start();
/// llm_call("gpt-5")
///     .provider("openai")
///     .prompt(&json!({"messages": [{"role": "user", "content": "Why is the sky blue?"}]}))
///     .response("Because of Rayleigh scattering.")
///     .usage(Usage::new(14, 6))
///     .record()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[inline]
pub fn llm_call(model: impl AsRef<str>) -> LlmCall {
    LlmCall {
        span: OpenSpan::begin(EventType::LlmCall, model.as_ref()),
    }
}

/// A model call that is being described.
///
/// ```
/// use tracer_sdk::testing::capture;
/// use tracer_sdk::{Usage, llm_call};
///
/// let run = capture(|| {
///     llm_call("gpt-5")
///         .provider("openai")
///         .temperature(0.2)
///         .usage(Usage::new(14, 6))
///         .stop_reason("stop")
///         .record()
/// });
/// assert_eq!(run.meta.counts.llm_calls, 1);
/// assert_eq!(run.spans[0].attributes["gen_ai.usage.total_tokens"], 20);
/// ```
#[must_use = "call `.record()?` to write it, or `.start()?` to time it"]
#[derive(Debug)]
pub struct LlmCall {
    span: OpenSpan,
}

impl LlmCall {
    described_methods!();
    call_methods!();

    /// Whose model it is: `openai`, `anthropic`, `local`, …
    ///
    /// ```
    /// use tracer_sdk::testing::capture;
    ///
    /// let run = capture(|| tracer_sdk::llm_call("claude-opus-4-5").provider("anthropic").record());
    /// assert_eq!(run.spans[0].attributes["gen_ai.system"], "anthropic");
    /// ```
    #[inline]
    pub fn provider(mut self, provider: &str) -> Self {
        self.span.edit(|span| span.text(names::PROVIDER, provider));
        self
    }

    /// The prompt: a string, or anything structured.
    ///
    /// ```
    /// use serde_json::json;
    /// use tracer_sdk::testing::capture;
    ///
    /// let run = capture(|| tracer_sdk::llm_call("gpt-5").prompt(&json!({"system": "Be brief."})).record());
    /// assert_eq!(run.spans[0].events[0].attributes["content"], r#"{"system":"Be brief."}"#);
    /// ```
    #[inline]
    pub fn prompt<T: Serialize + ?Sized>(mut self, prompt: &T) -> Self {
        self.span.edit(|span| span.prompt(prompt));
        self
    }

    /// The model's response: a string, or anything structured.
    ///
    /// ```
    /// use tracer_sdk::testing::capture;
    ///
    /// let run = capture(|| tracer_sdk::llm_call("gpt-5").response("Because.").record());
    /// assert_eq!(run.spans[0].events[0].attributes["content"], "Because.");
    /// ```
    pub fn response<T: Serialize + ?Sized>(mut self, response: &T) -> Self {
        self.span.edit(|span| span.response(response));
        self
    }

    /// The tokens that the call used.
    ///
    /// ```
    /// use tracer_sdk::testing::capture;
    /// use tracer_sdk::{Usage, llm_call};
    ///
    /// let run = capture(|| llm_call("gpt-5").usage(Usage::new(14, 6)).record());
    /// assert_eq!(run.spans[0].attributes["gen_ai.usage.input_tokens"], 14);
    /// assert_eq!(run.spans[0].attributes["gen_ai.usage.output_tokens"], 6);
    /// ```
    #[inline]
    pub fn usage(mut self, usage: Usage) -> Self {
        self.span.edit(|span| span.usage(usage));
        self
    }

    /// The sampling temperature.
    ///
    /// ```
    /// use tracer_sdk::testing::capture;
    ///
    /// let run = capture(|| tracer_sdk::llm_call("gpt-5").temperature(0.2).record());
    /// assert_eq!(run.spans[0].attributes["gen_ai.request.temperature"], 0.2);
    /// ```
    #[inline]
    pub fn temperature(mut self, temperature: f64) -> Self {
        self.span
            .edit(|span| span.scalar(names::TEMPERATURE, ScalarValue::Float(temperature)));
        self
    }

    /// Why the model stopped: `stop`, `tool_calls`, …
    ///
    /// ```
    /// use tracer_sdk::testing::capture;
    ///
    /// let run = capture(|| tracer_sdk::llm_call("gpt-5").stop_reason("tool_calls").record());
    /// assert_eq!(run.spans[0].attributes["gen_ai.response.finish_reasons"], "tool_calls");
    /// ```
    #[inline]
    pub fn stop_reason(mut self, reason: &str) -> Self {
        self.span.edit(|span| span.text(names::FINISH_REASONS, reason));
        self
    }

    /// The model that answered, where it is not the one that was asked: `gpt-5-2026-01-01` for `gpt-5`.
    ///
    /// ```
    /// use tracer_sdk::testing::capture;
    ///
    /// let run = capture(|| tracer_sdk::llm_call("gpt-5").response_model("gpt-5-2026-01-01").record());
    /// assert_eq!(run.spans[0].attributes["gen_ai.response.model"], "gpt-5-2026-01-01");
    /// ```
    #[inline]
    pub fn response_model(mut self, model: &str) -> Self {
        self.span.edit(|span| span.text(names::RESPONSE_MODEL, model));
        self
    }

    /// The provider's ID of the answer.
    ///
    /// ```
    /// use tracer_sdk::testing::capture;
    ///
    /// let run = capture(|| tracer_sdk::llm_call("gpt-5").response_id("chatcmpl-42").record());
    /// assert_eq!(run.spans[0].attributes["gen_ai.response.id"], "chatcmpl-42");
    /// ```
    #[inline]
    pub fn response_id(mut self, id: &str) -> Self {
        self.span.edit(|span| span.text(names::RESPONSE_ID, id));
        self
    }

    /// Starts timing the call, just before it is made.
    ///
    /// ```
    /// use tracer_sdk::{Config, Usage, llm_call};
    ///
    /// let folder = tempfile::tempdir()?;
    /// let config = Config::new().data_dir(folder.path());
    /// let run = tracer_sdk::Run::new("ask").config(&config).start();
    /// let mut call = llm_call("gpt-5").prompt("Why is the sky blue?").start()?;
    /// // … the request …
    /// call.response("Because of Rayleigh scattering.").usage(Usage::new(14, 6));
    /// call.end()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`GuardrailExceeded`] when the call must not be made: the run has crossed one of its limits, or would with this
    /// call.
    #[inline]
    pub fn start(self) -> Result<LlmSpan, GuardrailExceeded> {
        let on_drop = OnDrop::Cancel("the call was dropped before it was answered");
        let span = self.span.start(on_drop)?;
        Ok(LlmSpan { span })
    }
}

/// A model call that is under way. It ends when [`LlmSpan::end`] is called or when it is dropped; one that is dropped
/// without a response or an error is reported as cancelled, with what was streamed.
///
/// ```
/// use tracer_sdk::format::StatusCode;
/// use tracer_sdk::testing::capture;
///
/// let run = capture(|| {
///     let call = tracer_sdk::llm_call("gpt-5").prompt("Why?").start();
///     drop(call); // given up before there was an answer
/// });
/// assert_eq!(run.spans[0].status_code, StatusCode::Error);
/// ```
#[must_use = "the call ends when this is dropped: bind it with `let mut call = …`"]
#[derive(Debug)]
pub struct LlmSpan {
    span: OpenSpan,
}

impl LlmSpan {
    timed_methods!();
    timed_call_methods!();

    /// The model's response: a string, or anything structured.
    ///
    /// ```
    /// use tracer_sdk::testing::capture;
    ///
    /// let run = capture(|| {
    ///     let mut call = tracer_sdk::llm_call("gpt-5").start()?;
    ///     call.response("Because.");
    ///     call.end()
    /// });
    /// assert_eq!(run.spans[0].events[0].attributes["content"], "Because.");
    /// ```
    pub fn response<T: Serialize + ?Sized>(&mut self, response: &T) -> &mut Self {
        self.span.edit(|span| span.response(response));
        self
    }

    /// The next piece of a streamed answer. The first one tells how long it took to come.
    ///
    /// ```
    /// use tracer_sdk::testing::capture;
    ///
    /// let run = capture(|| {
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
        self.span.edit(|span| span.chunk(text));
        self
    }

    /// The next piece of a tool call that the model streams. Pieces of one call have its index in the answer; what they
    /// hold is put together, and the arguments are JSON when they are whole. A call that was not streamed to its end has the text
    /// that came.
    ///
    /// ```
    /// use tracer_sdk::ToolCallChunk;
    /// use tracer_sdk::testing::capture;
    ///
    /// let run = capture(|| {
    ///     let mut call = tracer_sdk::llm_call("gpt-5").start()?;
    ///     call.tool_call_chunk(ToolCallChunk::new(0).id("call_7").name("search"));
    ///     for piece in [r#"{"query":"#, r#""rust"}"#] {
    ///         call.tool_call_chunk(ToolCallChunk::new(0).arguments(piece));
    ///     }
    ///     call.stop_reason("tool_calls");
    ///     call.end()
    /// });
    /// let answer = run.spans[0].events[0].attributes["content"].as_str().unwrap();
    /// assert!(answer.contains(r#""arguments":{"query":"rust"},"id":"call_7","name":"search","type":"tool_call""#), "{answer}");
    /// ```
    pub fn tool_call_chunk(&mut self, chunk: ToolCallChunk<'_>) -> &mut Self {
        self.span.edit(|span| span.tool_call_chunk(&chunk));
        self
    }

    /// The next event of `OpenAI`'s stream, of chat completions or responses, or of one that is compatible; or the whole answer.
    /// It is a client library's type, a JSON value, or the text of one or several events as they arrive.
    ///
    /// The answer, the tool calls that it asks for, its tokens, its model and ID, why it stopped and an error in it are read
    /// from the events, by the code by which `tracer record` reads them. Needs the feature `providers`.
    ///
    /// ```
    /// use serde_json::json;
    /// use tracer_sdk::testing::capture;
    ///
    /// let run = capture(|| {
    ///     let mut call = tracer_sdk::llm_call("gpt-5").start()?;
    ///     for text in ["Be", "cause."] {
    ///         call.openai_event(&json!({"choices": [{"index": 0, "delta": {"content": text}}]}));
    ///     }
    ///     call.openai_event(&json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}],
    ///         "usage": {"prompt_tokens": 14, "completion_tokens": 6}}));
    ///     call.end()
    /// });
    /// assert_eq!(run.spans[0].attributes["gen_ai.usage.input_tokens"], 14);
    /// assert_eq!(run.spans[0].attributes["gen_ai.response.finish_reasons"], "stop");
    /// ```
    #[cfg(feature = "providers")]
    pub fn openai_event<T: Serialize + ?Sized>(&mut self, event: &T) -> &mut Self {
        self.span.edit(|span| span.vendor_event(Vendor::OpenAi, event));
        self
    }

    /// The next event of Anthropic's stream of a message, or the whole message; as [`openai_event`](Self::openai_event).
    ///
    /// ```
    /// use tracer_sdk::testing::capture;
    ///
    /// let run = capture(|| {
    ///     let mut call = tracer_sdk::llm_call("claude-opus-4-5").start()?;
    ///     // Lines of the stream, as an HTTP client hands them out.
    ///     call.anthropic_event(r#"data: {"type":"message_start","message":{"id":"msg_1","content":[],"usage":{"input_tokens":9}}}"#);
    ///     call.anthropic_event(r#"data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":3}}"#);
    ///     call.anthropic_event(r#"data: {"type":"message_stop"}"#);
    ///     call.end()
    /// });
    /// assert_eq!(run.spans[0].attributes["gen_ai.response.id"], "msg_1");
    /// assert_eq!(run.spans[0].attributes["gen_ai.usage.output_tokens"], 3);
    /// ```
    #[cfg(feature = "providers")]
    pub fn anthropic_event<T: Serialize + ?Sized>(&mut self, event: &T) -> &mut Self {
        self.span.edit(|span| span.vendor_event(Vendor::Anthropic, event));
        self
    }

    /// The next event of Gemini's stream, or the whole answer; as [`openai_event`](Self::openai_event).
    ///
    /// ```
    /// use serde_json::json;
    /// use tracer_sdk::testing::capture;
    ///
    /// let run = capture(|| {
    ///     let mut call = tracer_sdk::llm_call("gemini-3-pro").start()?;
    ///     call.gemini_event(&json!({"modelVersion": "gemini-3-pro-001", "candidates": [
    ///         {"content": {"role": "model", "parts": [{"text": "Because."}]}, "finishReason": "STOP"}]}));
    ///     call.end()
    /// });
    /// assert_eq!(run.spans[0].attributes["gen_ai.response.model"], "gemini-3-pro-001");
    /// ```
    #[cfg(feature = "providers")]
    pub fn gemini_event<T: Serialize + ?Sized>(&mut self, event: &T) -> &mut Self {
        self.span.edit(|span| span.vendor_event(Vendor::Gemini, event));
        self
    }

    /// The tokens that the call used.
    ///
    /// ```
    /// use tracer_sdk::testing::capture;
    ///
    /// let run = capture(|| {
    ///     let mut call = tracer_sdk::llm_call("gpt-5").start()?;
    ///     call.response("Because.").usage(tracer_sdk::Usage::new(14, 6));
    ///     call.end()
    /// });
    /// assert_eq!(run.spans[0].attributes["gen_ai.usage.total_tokens"], 20);
    /// ```
    #[inline]
    pub fn usage(&mut self, usage: Usage) -> &mut Self {
        self.span.edit(|span| span.usage(usage));
        self
    }

    /// The model that answered, where it is not the one that was asked.
    ///
    /// ```
    /// use tracer_sdk::testing::capture;
    ///
    /// let run = capture(|| {
    ///     let mut call = tracer_sdk::llm_call("gpt-5").start()?;
    ///     call.response("Because.").response_model("gpt-5-2026-01-01");
    ///     call.end()
    /// });
    /// assert_eq!(run.spans[0].attributes["gen_ai.response.model"], "gpt-5-2026-01-01");
    /// ```
    #[inline]
    pub fn response_model(&mut self, model: &str) -> &mut Self {
        self.span.edit(|span| span.text(names::RESPONSE_MODEL, model));
        self
    }

    /// The provider's ID of the answer.
    ///
    /// ```
    /// use tracer_sdk::testing::capture;
    ///
    /// let run = capture(|| {
    ///     let mut call = tracer_sdk::llm_call("gpt-5").start()?;
    ///     call.response("Because.").response_id("chatcmpl-42");
    ///     call.end()
    /// });
    /// assert_eq!(run.spans[0].attributes["gen_ai.response.id"], "chatcmpl-42");
    /// ```
    #[inline]
    pub fn response_id(&mut self, id: &str) -> &mut Self {
        self.span.edit(|span| span.text(names::RESPONSE_ID, id));
        self
    }

    /// Why the model stopped: `stop`, `tool_calls`, …
    ///
    /// ```
    /// use tracer_sdk::testing::capture;
    ///
    /// let run = capture(|| {
    ///     let mut call = tracer_sdk::llm_call("gpt-5").start()?;
    ///     call.response("Because.").stop_reason("stop");
    ///     call.end()
    /// });
    /// assert_eq!(run.spans[0].attributes["gen_ai.response.finish_reasons"], "stop");
    /// ```
    #[inline]
    pub fn stop_reason(&mut self, reason: &str) -> &mut Self {
        self.span.edit(|span| {
            span.text(names::FINISH_REASONS, reason);
            span.set_answered();
        });
        self
    }
}
