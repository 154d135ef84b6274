//! The client: one request, one answer, over HTTP.

use serde_json::{Value, json};
use tracer_sdk::{GuardrailExceeded, Usage, llm_call};

use super::{ChatRequest, ChatResponse, Choice, ErrorResponse, Message, TokenUsage};

/// The temperature that the agent asks with: the least, so that the same question gives the same run.
const TEMPERATURE: f64 = 0.0;

/// Where a model is, and what opens the door.
pub struct Endpoint {
    /// The address that the protocol's paths are appended to, such as `https://api.openai.com/v1`.
    pub base_url: String,
    /// Sent as a bearer token; never recorded.
    pub api_key: String,
}

impl Endpoint {
    /// The endpoint that `OPENAI_BASE_URL` and `OPENAI_API_KEY` name, when both are set.
    pub fn from_environment() -> Option<Self> {
        let set = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
        Some(Self {
            base_url: set("OPENAI_BASE_URL")?,
            api_key: set("OPENAI_API_KEY")?,
        })
    }

    /// Whether the endpoint is on this machine.
    fn is_local(&self) -> bool {
        reqwest::Url::parse(&self.base_url)
            .is_ok_and(|url| matches!(url.host_str(), Some("localhost" | "127.0.0.1" | "[::1]")))
    }
}

/// A model behind an endpoint.
pub struct Model {
    http: reqwest::Client,
    endpoint: Endpoint,
    name: String,
    provider: &'static str,
}

/// What the model answered.
pub struct Completion {
    /// What it said, or the tools that it asks for.
    pub message: Message,
    /// Token counts of the call, if the endpoint returns them.
    pub usage: Option<TokenUsage>,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    /// The HTTP client could not be made, the endpoint not be reached, or what it sent not be understood.
    #[error("the model could not be asked: {}", reasons(.0))]
    Http(#[from] reqwest::Error),
    /// The endpoint refused the request.
    #[error("the endpoint answered {status}: {message}")]
    Refused {
        /// The HTTP status.
        status: u16,
        /// What the endpoint said.
        message: String,
    },
    /// The endpoint answered, but with no message.
    #[error("the endpoint sent an answer without a message")]
    Empty,
    /// The run has crossed one of its limits: the model must not be asked any more.
    #[error(transparent)]
    Stopped(#[from] GuardrailExceeded),
}

/// What `reqwest` says, and why: the reason is in the error's sources.
fn reasons(error: &reqwest::Error) -> String {
    let sources = std::iter::successors(std::error::Error::source(error), |error| error.source());
    std::iter::once(error.to_string())
        .chain(sources.map(ToString::to_string))
        .collect::<Vec<_>>()
        .join(": ")
}

impl Model {
    /// The model called `name` behind this endpoint.
    pub fn new(endpoint: Endpoint, name: impl Into<String>) -> Result<Self, ModelError> {
        // TLS needs one provider of cryptography per process. Another part of the program may have chosen one first.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let local = endpoint.is_local();
        let mut http = reqwest::Client::builder();
        if local {
            // A proxy cannot reach what is on this machine.
            http = http.no_proxy();
        }
        if endpoint.base_url.starts_with("http://") {
            // Without TLS the system's certificates are not needed: do not fail where there are none.
            http = http.tls_certs_only([]);
        }
        let provider = if local { "local" } else { "openai" };
        Ok(Self {
            http: http.build()?,
            endpoint,
            name: name.into(),
            provider,
        })
    }

    /// The model's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Ask the model for the next message of a conversation, and record the call.
    pub async fn complete(&self, messages: &[Message], tools: &[Value]) -> Result<Completion, ModelError> {
        // From here to `end`, or to the drop when `?` leaves early, is the duration of the call in the trace.
        let mut call = llm_call(&self.name)
            .provider(self.provider)
            .prompt(&json!({"messages": messages}))
            .temperature(TEMPERATURE)
            .start()?;
        let (choice, usage) = self.first_choice(messages, tools).await.inspect_err(|error| {
            call.fail(error);
        })?;
        call.response(&choice.message);
        if let Some(usage) = usage {
            call.usage(Usage::new(usage.prompt_tokens, usage.completion_tokens));
        }
        if let Some(reason) = &choice.finish_reason {
            call.stop_reason(reason);
        }
        call.end()?;
        Ok(Completion {
            message: choice.message,
            usage,
        })
    }

    async fn first_choice(
        &self,
        messages: &[Message],
        tools: &[Value],
    ) -> Result<(Choice, Option<TokenUsage>), ModelError> {
        let request = ChatRequest {
            model: self.name.clone(),
            messages: messages.to_vec(),
            tools: tools.to_vec(),
            temperature: Some(TEMPERATURE),
            stream: false,
        };
        let response = self.send(&request).await?;
        let choice = response.choices.into_iter().next().ok_or(ModelError::Empty)?;
        Ok((choice, response.usage))
    }

    /// One exchange over HTTP.
    async fn send(&self, request: &ChatRequest) -> Result<ChatResponse, ModelError> {
        let url = format!(
            "{}/chat/completions",
            self.endpoint.base_url.trim_end_matches('/')
        );
        let response = self
            .http
            .post(url)
            .bearer_auth(&self.endpoint.api_key)
            .json(request)
            .send()
            .await?;
        let status = response.status();
        if status.is_success() {
            return Ok(response.json().await?);
        }
        let body = response.text().await?;
        let message = serde_json::from_str::<ErrorResponse>(&body).map_or_else(
            |_| "no further explanation".to_owned(),
            |answer| answer.error.message,
        );
        Err(ModelError::Refused {
            status: status.as_u16(),
            message,
        })
    }
}
