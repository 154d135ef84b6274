//! A client for any OpenAI-compatible endpoint, which records every call.

mod client;
mod protocol;

pub use client::{Completion, Endpoint, Model, ModelError};
pub use protocol::{
    ChatRequest, ChatResponse, Choice, ErrorDetail, ErrorResponse, FunctionCall, Message, Role, TokenUsage,
    ToolCall,
};
