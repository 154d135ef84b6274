//! The chat-completions protocol: the parts of a request and a response that an agent with tools needs.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What the agent asks.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ChatRequest {
    /// The model that shall answer.
    pub model: String,
    /// The conversation up to now.
    pub messages: Vec<Message>,
    /// The tools that the model may ask for, as the protocol describes them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<Value>,
    /// How freely the model answers; 0 is the least.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// Whether the answer shall come in pieces.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stream: bool,
}

/// Who said something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// The agent's author.
    System,
    /// Who asks the agent.
    User,
    /// The model.
    Assistant,
    /// A tool, answering a [`ToolCall`].
    Tool,
}

/// One entry of the conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Message {
    /// Who said it.
    pub role: Role,
    /// What was said; none when the model only asks for tools.
    pub content: Option<String>,
    /// The tools that the model asks for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<ToolCall>,
    /// The call that a tool answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<String>,
}

impl Message {
    /// Instructions of the agent's author.
    pub fn system(text: impl Into<String>) -> Self {
        Self::text(Role::System, text)
    }

    /// What the user asks.
    pub fn user(text: impl Into<String>) -> Self {
        Self::text(Role::User, text)
    }

    /// What the model answers.
    pub fn assistant(text: impl Into<String>) -> Self {
        Self::text(Role::Assistant, text)
    }

    /// What a tool gave for the call with this ID.
    pub fn tool(call_id: impl Into<String>, text: impl Into<String>) -> Self {
        Self {
            tool_call_id: Some(call_id.into()),
            ..Self::text(Role::Tool, text)
        }
    }

    fn text(role: Role, text: impl Into<String>) -> Self {
        Self {
            role,
            content: Some(text.into()),
            tool_calls: Vec::new(),
            tool_call_id: None,
        }
    }
}

/// The model asks for a tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// What the result is sent back under.
    pub id: String,
    /// Always `function`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Which tool, and with what.
    pub function: FunctionCall,
}

/// A tool's name and arguments.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FunctionCall {
    /// The tool.
    pub name: String,
    /// JSON text, as the model wrote it: it need not be valid.
    pub arguments: String,
}

/// What the model answers.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ChatResponse {
    /// The answer's ID.
    pub id: String,
    /// The model that answered.
    pub model: String,
    /// The answers: one, unless more were asked for.
    pub choices: Vec<Choice>,
    /// Token counts of the call; not every endpoint returns them.
    #[serde(default)]
    pub usage: Option<TokenUsage>,
}

/// One answer.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Choice {
    /// Its place among the answers.
    #[serde(default)]
    pub index: u32,
    /// What the model said.
    pub message: Message,
    /// Why it stopped: `stop`, `tool_calls`, `length`, …
    pub finish_reason: Option<String>,
}

/// The tokens of one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenUsage {
    /// Tokens of the conversation.
    pub prompt_tokens: u64,
    /// Tokens of the answer.
    pub completion_tokens: u64,
    /// Both.
    pub total_tokens: u64,
}

/// How an endpoint says that it does not answer.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ErrorResponse {
    /// What is wrong.
    pub error: ErrorDetail,
}

/// What is wrong with a request.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ErrorDetail {
    /// For a person.
    pub message: String,
    /// The class: `invalid_request_error`, …
    #[serde(rename = "type")]
    pub kind: Option<String>,
    /// The field of the request, when one is at fault.
    #[serde(default)]
    pub param: Option<String>,
    /// For a program: `model_not_found`, …
    #[serde(default)]
    pub code: Option<String>,
}
