//! Tokens of streamed chat completions.
//!
//! The proxy requests them where the client did not, and withholds the event that brings nothing else from a client
//! that does not expect it.

use std::borrow::Cow;
use std::collections::BTreeMap;

use axum::body::Bytes;
use axum::http::HeaderMap;
use reqwest::Url;
use serde_json::Value;
use serde_json::value::RawValue;

use super::headers;
use tracer_providers::ModelApi;

/// Hosts known to take `stream_options`, and to bring no tokens unless asked. Others bring them unasked (`OpenRouter`, Groq,
/// `DeepSeek`, xAI, Together), refuse the question (Mistral, older Azure), or are not known.
const HOSTS: [&str; 5] = [
    "api.openai.com",
    "eu.api.openai.com",
    "us.api.openai.com",
    "dashscope.aliyuncs.com",
    "dashscope-intl.aliyuncs.com",
];
/// The port of Ollama, whose chat completions take it, too.
const OLLAMA_PORT: u16 = 11434;
/// The option that requests tokens, as the first member of a body.
const QUESTION: &[u8] = br#"{"stream_options":{"include_usage":true},"#;
/// The longest line that may be the event with the tokens, in bytes.
const MAX_LINE_BYTES: usize = 16 * 1024;

/// Handling of a stream's tokens when the client did not ask for them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum StreamUsage {
    /// Nothing is changed.
    #[default]
    Untouched,
    /// The provider was asked, and the client gets the answer.
    Asked,
    /// The provider was asked, and the event with nothing but tokens is withheld from the client.
    Hidden,
}

/// A request that asks for tokens in its client's place.
pub(super) struct UsageQuestion {
    pub(super) body: Bytes,
    pub(super) usage: StreamUsage,
}

impl UsageQuestion {
    /// The request with the question; `None` where it has one, streams nothing, or goes where that may be refused.
    pub(super) fn new(api: Option<ModelApi>, url: &Url, head: &HeaderMap, body: &Bytes) -> Option<Self> {
        let is_known = url.host_str().is_some_and(|host| HOSTS.contains(&host));
        if api != Some(ModelApi::ChatCompletions)
            || !(is_known || url.port() == Some(OLLAMA_PORT))
            || head.contains_key("content-encoding")
        {
            return None;
        }
        let members: BTreeMap<Cow<'_, str>, &RawValue> = serde_json::from_slice(body).ok()?;
        if members.get("stream")?.get() != "true" || members.contains_key("stream_options") {
            return None;
        }
        let begin = body.iter().position(|byte| *byte == b'{')?;
        Some(Self {
            body: [QUESTION, body.get(begin + 1..)?].concat().into(),
            usage: if is_lang_chain(head, members.get("messages")?) {
                StreamUsage::Asked
            } else {
                StreamUsage::Hidden
            },
        })
    }
}

/// Returns whether the client is `LangChain`, which asks for tokens itself unless it finds a base URL in its
/// environment. Its JavaScript names itself. Its Python is `OpenAI`'s client, with no time-out, and with the content of
/// each message before its role.
fn is_lang_chain(head: &HeaderMap, messages: &RawValue) -> bool {
    let agent = headers::text(head, "user-agent").unwrap_or_default();
    let begins_with_content = |message: &&RawValue| {
        message
            .get()
            .trim_start_matches(['{', ' '])
            .starts_with("\"content\"")
    };
    agent.starts_with("langchain")
        || agent.contains("OpenAI/Python")
            && !head.contains_key("x-stainless-read-timeout")
            && serde_json::from_str::<Vec<&RawValue>>(messages.get())
                .is_ok_and(|messages| messages.iter().all(begins_with_content))
}

/// Takes the event that brings nothing but tokens out of server-sent events. Parts of a line wait for the rest of it.
#[derive(Default)]
pub(super) struct UsageFilter {
    line: Vec<u8>,
    /// The line before was taken out, and what ends its event goes with it.
    ends_event: bool,
}

impl UsageFilter {
    /// Returns the part of the input that is sent to the client now.
    pub(super) fn pass(&mut self, chunk: &[u8]) -> Bytes {
        let mut passed = Vec::with_capacity(self.line.len() + chunk.len());
        for piece in chunk.split_inclusive(|byte| *byte == b'\n') {
            self.line.extend_from_slice(piece);
            if piece.ends_with(b"\n") {
                let is_blank = matches!(self.line.as_slice(), b"\n" | b"\r\n");
                let is_tokens = brings_tokens_alone(&self.line);
                if is_tokens || (is_blank && self.ends_event) {
                    self.line.clear();
                }
                self.ends_event = is_tokens;
                passed.append(&mut self.line);
            } else if self.line.len() > MAX_LINE_BYTES {
                passed.append(&mut self.line);
            }
        }
        passed.into()
    }

    /// The part of a line that the stream ended with.
    pub(super) fn rest(&mut self) -> Bytes {
        let line = std::mem::take(&mut self.line);
        if brings_tokens_alone(&line) {
            return Bytes::new();
        }
        line.into()
    }
}

/// Returns whether a line is an event with tokens, and with no choice.
fn brings_tokens_alone(line: &[u8]) -> bool {
    let data = line
        .strip_prefix(b"data:")
        .filter(|data| data.len() <= MAX_LINE_BYTES);
    let event = data.and_then(|data| serde_json::from_slice::<Value>(data).ok());
    event.is_some_and(|event| {
        event["choices"].as_array().is_some_and(Vec::is_empty) && event["usage"].is_object()
    })
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    const ASKED: &str = r#"{"model":"m","stream":true,"messages":[{"role":"user","content":"Hi"}]}"#;
    const OF_LANG_CHAIN: &str = r#"{"model":"m","stream":true,"messages":[{"content":"Hi","role":"user"}]}"#;

    fn question(
        url: &str,
        headers: &[(&'static str, &'static str)],
        body: &'static str,
    ) -> Option<UsageQuestion> {
        let pairs = headers
            .iter()
            .map(|(name, value)| (name.parse().unwrap(), HeaderValue::from_static(value)));
        let head: HeaderMap = pairs.collect();
        let url = url.parse().unwrap();
        UsageQuestion::new(Some(ModelApi::ChatCompletions), &url, &head, &Bytes::from(body))
    }

    #[test]
    fn known_hosts_alone_are_asked() {
        for (url, body, is_asked) in [
            ("https://api.openai.com/v1/chat/completions", ASKED, true),
            ("http://localhost:11434/v1/chat/completions", ASKED, true),
            ("https://api.mistral.ai/v1/chat/completions", ASKED, false),
            ("https://openrouter.ai/api/v1/chat/completions", ASKED, false),
            ("http://127.0.0.1:8000/v1/chat/completions", ASKED, false),
            (
                "https://api.openai.com/v1/chat/completions",
                r#"{"model":"m","messages":[]}"#,
                false,
            ),
            (
                "https://api.openai.com/v1/chat/completions",
                r#"{"stream":true,"stream_options":{"include_usage":false},"messages":[]}"#,
                false,
            ),
        ] {
            assert_eq!(question(url, &[], body).is_some(), is_asked, "{url} {body}");
        }
        let asked = question("https://api.openai.com/v1/chat/completions", &[], ASKED).unwrap();
        assert_eq!(
            asked.body,
            r#"{"stream_options":{"include_usage":true},"model":"m","stream":true,"messages":[{"role":"user","content":"Hi"}]}"#
        );
        assert_eq!(asked.usage, StreamUsage::Hidden);
    }

    #[test]
    fn lang_chain_gets_its_tokens() {
        let url = "https://api.openai.com/v1/chat/completions";
        for (headers, body, hides_answer) in [
            (
                &[("user-agent", "OpenAI/Python 3.57.0")][..],
                OF_LANG_CHAIN,
                false,
            ),
            (
                &[("user-agent", "AsyncOpenAI/Python 3.57.0")],
                OF_LANG_CHAIN,
                false,
            ),
            (
                &[("user-agent", "langchainjs-openai/1.5.8 (node/v24)")],
                ASKED,
                false,
            ),
            (&[("user-agent", "OpenAI/Python 3.57.0")], ASKED, true),
            (
                &[
                    ("user-agent", "OpenAI/Python 3.57.0"),
                    ("x-stainless-read-timeout", "600"),
                ],
                OF_LANG_CHAIN,
                true,
            ),
            (&[], OF_LANG_CHAIN, true),
        ] {
            let question = question(url, headers, body).unwrap();
            let is_hidden = question.usage == StreamUsage::Hidden;
            assert_eq!(is_hidden, hides_answer, "{headers:?} {body}");
        }
    }

    #[test]
    fn tokens_alone_are_taken_out_however_they_arrive() {
        for end in ["\n", "\r\n"] {
            let kept = [
                r#"data: {"choices":[],"prompt_filter_results":[]}"#,
                "",
                r#"data: {"choices":[{"delta":{"content":"A"}}],"usage":null}"#,
                "",
            ];
            let tokens = [
                r#"data: {"choices":[],"usage":{"prompt_tokens":8,"completion_tokens":2}}"#,
                "",
            ];
            let last = ["data: [DONE]", "", ""];
            let text = |parts: &[&[&str]]| parts.concat().join(end);
            let (came, left) = (text(&[&kept, &tokens, &last]), text(&[&kept, &last]));
            for size in [1, 2, 7, 64, came.len()] {
                let mut filter = UsageFilter::default();
                let mut passed: Vec<u8> = came
                    .as_bytes()
                    .chunks(size)
                    .flat_map(|chunk| filter.pass(chunk))
                    .collect();
                passed.extend(filter.rest());
                assert_eq!(String::from_utf8(passed).unwrap(), left, "{size}");
            }
        }
    }

    #[test]
    fn every_other_byte_passes() {
        let long = "x".repeat(MAX_LINE_BYTES + 9);
        for text in [
            long.as_str(),
            "data: {\"usage\":{}}",
            "\n\n",
            "data: {\"choices\":[]",
        ] {
            let mut filter = UsageFilter::default();
            let passed = [filter.pass(text.as_bytes()), filter.rest()].concat();
            assert_eq!(String::from_utf8(passed).unwrap(), text);
        }
    }
}
