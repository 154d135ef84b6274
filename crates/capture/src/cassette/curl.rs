//! The request of a kept call as a `curl` command.

use std::fmt::Write;

use tracer_insight::json;
use tracer_insight::text::counted;
use tracer_sdk::format::names::markers;

use super::file::Cassette;
use super::fork_plan::ForkError;
use super::shapes::FOLDERS;
use crate::proxy::Provider;
use tracer_providers::is_form;

/// The reason that a call has no `curl` command.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CurlError {
    /// There is no such call.
    #[error(transparent)]
    NoCall(#[from] ForkError),
    /// Its request was no JSON, and is not kept as it was sent.
    #[error("the request of call {call} was not kept: it is no JSON")]
    NotKept {
        /// The call.
        call: u64,
    },
    /// The cassette names a provider that this version does not know.
    #[error("call {call} names no provider that is known here")]
    UnknownProvider {
        /// The call.
        call: u64,
    },
}

/// A request for a shell. Keys are read from the environment.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CurlCommand {
    /// The command, for `sh` and what understands it.
    pub command: String,
    /// Variables of the environment that it takes, and redacted values.
    pub note: String,
}

impl Cassette {
    /// The request of a model call, from 1, as a `curl` command to the provider, or to the server that the provider's
    /// variable names.
    ///
    /// ```
    /// use tracer_capture::cassette::Cassette;
    ///
    /// let folder = tempfile::tempdir()?;
    /// let path = folder.path().join("refund.jsonl");
    /// std::fs::write(&path, concat!(
    ///     r#"{"cassette":1,"tracer":"0.1.0"}"#, "\n",
    ///     r#"{"n":1,"api":"openai.chat","provider":"openai","path":"/v1/chat/completions","request":{"model":"gpt-5"},"#,
    ///     r#""response":{"status":200,"headers":{},"body":{"choices":[]}}}"#, "\n",
    /// ))?;
    /// let curl = Cassette::read(&path)?.curl_of_call(1)?;
    /// assert!(curl.command.starts_with(r#"curl -N "${OPENAI_BASE_URL:-https://api.openai.com/v1}/chat/completions""#));
    /// assert_eq!(curl.note, "the key is read from OPENAI_API_KEY");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`CurlError`] when there is no such call, its request was not kept, or its provider is unknown.
    pub fn curl_of_call(&self, call: u64) -> Result<CurlCommand, CurlError> {
        let exchange = self.call(call)?;
        let request = exchange.request.as_ref().filter(|request| !is_form(request));
        let body = request.ok_or(CurlError::NotKept { call })?;
        let provider = Provider::of_segment(&exchange.provider);
        let provider = provider.ok_or(CurlError::UnknownProvider { call })?;
        let endpoint = provider.endpoint(&exchange.path);
        let path = in_quotes(&endpoint.path);
        let query = match exchange.query.as_str() {
            "" => String::new(),
            query => format!("?{}", in_quotes(query)),
        };
        let body = json::pretty(body).map_err(|_| CurlError::NotKept { call })?;
        let mut note = format!("the key is read from {}", endpoint.key_variable);
        let redacted = body.matches(markers::REDACTED).count() as u64;
        if redacted > 0 {
            let _ = write!(note, "; {} redacted in it", counted(redacted, "value"));
        }
        if FOLDERS.iter().any(|folder| body.contains(folder)) {
            let _ = write!(note, "; {} are folders", FOLDERS.join(" and "));
        }
        let mut words = vec![format!("curl -N \"{}{path}{query}\"", endpoint.base)];
        words.extend(endpoint.headers.iter().map(|header| format!("-H \"{header}\"")));
        // No line of JSON is this delimiter, and a shell expands nothing behind a quoted one.
        words.push(format!("--data-binary @- <<'JSON'\n{body}\nJSON\n"));
        let command = words.join(" \\\n  ");
        Ok(CurlCommand { command, note })
    }
}

/// A part of a URL for double quotes of a shell: what means something there is percent-encoded.
fn in_quotes(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"/-._~:=&%@+,".contains(&byte) {
            safe.push(char::from(byte));
        } else {
            let _ = write!(safe, "%{byte:02X}");
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::super::recorded::RecordedExchange;
    use super::*;

    fn curl(exchange: &str) -> Result<CurlCommand, CurlError> {
        let cassette = Cassette {
            path: "kept.jsonl".into(),
            head: super::super::Head::default(),
            rules: super::super::rules::Rules::default(),
            exchanges: vec![RecordedExchange::read(exchange).unwrap()],
            is_torn: false,
        };
        cassette.curl_of_call(1)
    }

    fn exchange(api: &str, provider: &str, path: &str, request: &str) -> String {
        format!(
            r#"{{"n":4,"api":"{api}","provider":"{provider}","path":"{path}","query":"api-version=1","request":{request},"response":{{"status":200}}}}"#
        )
    }

    #[test]
    fn a_request_is_sent_to_its_provider_with_the_key_of_the_environment() {
        let said = r#"{"key":"__REDACTED__","model":"m","system":"it's $HOME `id` ‹dir›"}"#;
        let made = curl(&exchange("anthropic.messages", "anthropic", "/v1/messages", said)).unwrap();
        assert_eq!(
            made.command,
            "curl -N \"${ANTHROPIC_BASE_URL:-https://api.anthropic.com}/v1/messages?api-version=1\" \\\n  \
             -H \"x-api-key: $ANTHROPIC_API_KEY\" \\\n  -H \"anthropic-version: 2023-06-01\" \\\n  \
             -H \"Content-Type: application/json\" \\\n  --data-binary @- <<'JSON'\n{\n  \"key\": \"__REDACTED__\",\n  \
             \"model\": \"m\",\n  \"system\": \"it's $HOME `id` ‹dir›\"\n}\nJSON\n"
        );
        assert_eq!(
            made.note,
            "the key is read from ANTHROPIC_API_KEY; 1 value redacted in it; ‹dir› and ‹home› are folders"
        );
    }

    #[test]
    fn a_shell_runs_nothing_of_a_recorded_path() {
        let path = "/v1/$(id)`id`'/chat/completions";
        let made = curl(&exchange("openai.chat", "openai", path, "{}")).unwrap();
        let url = r#""${OPENAI_BASE_URL:-https://api.openai.com/v1}/%24%28id%29%60id%60%27/chat/completions?api-version=1""#;
        assert!(made.command.contains(url), "{}", made.command);
    }

    #[test]
    fn a_request_that_is_not_kept_has_no_command() {
        for request in [
            r#"{"model":"whisper-1","file":{"file":"a.wav","bytes":6}}"#,
            "null",
        ] {
            let sound = exchange(
                "openai.transcription",
                "openai",
                "/v1/audio/transcriptions",
                request,
            );
            assert!(matches!(curl(&sound), Err(CurlError::NotKept { call: 1 })));
        }
        let elsewhere = exchange("openai.chat", "elsewhere", "/v1/chat/completions", "{}");
        assert!(matches!(
            curl(&elsewhere),
            Err(CurlError::UnknownProvider { call: 1 })
        ));
    }
}
