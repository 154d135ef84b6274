//! The coding agents whose conversations are one run, though they are split over many traces or log records.

use serde_json::{Map, Value};

use super::attributes::text;

tracer_sdk::words! {
    /// A coding agent that names the conversation in what it sends, and writes it to the disk.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum CodingAgent in tracer_capture::runs {
        /// Anthropic's Claude Code.
        ClaudeCode = "claude-code",
        /// `OpenAI`'s Codex.
        Codex = "codex",
        /// Google's Gemini CLI.
        GeminiCli = "gemini-cli",
    }
}

impl CodingAgent {
    /// The agent that logged an event.
    pub(super) fn of_event(name: &str, service: &str, scope: &str) -> Option<Self> {
        if name.starts_with("claude_code.")
            || scope.contains("claude_code")
            || service.starts_with("claude-code")
        {
            return Some(Self::ClaudeCode);
        }
        if name.starts_with("codex.") {
            return Some(Self::Codex);
        }
        (name.starts_with("gemini_cli.") || service == "gemini-cli").then_some(Self::GeminiCli)
    }

    /// The agent that sent a span.
    pub(super) fn of_span(name: &str, attributes: &Map<String, Value>) -> Option<Self> {
        let named = |key: &str| text(attributes, key).unwrap_or_default();
        let (service, scope) = (named("service.name"), named("otel.scope.name"));
        if name.starts_with("claude_code.") || scope.contains("claude_code") {
            return Some(Self::ClaudeCode);
        }
        if service.starts_with("codex") {
            return Some(Self::Codex);
        }
        (service == "gemini-cli").then_some(Self::GeminiCli)
    }

    /// `gen_ai.provider.name` of its model calls.
    pub(crate) const fn provider(self) -> &'static str {
        match self {
            Self::ClaudeCode => "anthropic",
            Self::Codex => "openai",
            Self::GeminiCli => "gcp.gemini",
        }
    }

    /// The keys that may hold the conversation's ID.
    const fn conversation_keys(self) -> &'static [&'static str] {
        match self {
            Self::ClaudeCode => &["session.id"],
            Self::Codex => &["conversation.id", "conversation_id"],
            Self::GeminiCli => &["session.id", "gen_ai.conversation.id", "conversation.id"],
        }
    }

    /// The conversation that a span or an event belongs to.
    pub(super) fn conversation(self, attributes: &Map<String, Value>) -> Option<&str> {
        let mut keys = self.conversation_keys().iter();
        keys.find_map(|key| text(attributes, key))
    }
}

/// Takes out what a coding agent says about its user.
pub(super) fn remove_personal(attributes: &mut Map<String, Value>) {
    const PERSONAL: [&str; 3] = ["user.", "organization.", "enduser."];
    attributes.retain(|key, _| !PERSONAL.iter().any(|person| key.starts_with(person)));
}
