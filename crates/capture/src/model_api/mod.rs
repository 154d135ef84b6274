//! The HTTP APIs of models: which one a request speaks, what its body asks, and what was answered, streamed or not
//! (capture-facts, section D.3).

mod assemble;
mod change;
mod error_body;
mod facts;
mod frames;
mod merge;
mod partial_arguments;
mod reply;
mod tool_fragments;

#[cfg(test)]
mod tests;

use serde_json::Value;

pub(crate) use assemble::readable_text;
pub use assemble::{Assembled, assemble};
pub(crate) use error_body::of_refusal;
pub use facts::{RequestFacts, ResponseFacts};
pub(crate) use frames::EVENT_BEGINNINGS;
pub use reply::ModelReply;

/// An API that models are called by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ModelApi {
    /// `OpenAI`'s chat completions, which most others are compatible with.
    ChatCompletions,
    /// `OpenAI`'s responses.
    Responses,
    /// `OpenAI`'s completions of a text.
    Completions,
    /// `OpenAI`'s embeddings.
    Embeddings,
    /// Anthropic's messages.
    Messages,
    /// Gemini's `generateContent` and `streamGenerateContent`.
    GenerateContent,
    /// Ollama's chat.
    OllamaChat,
    /// Ollama's completion of a text.
    OllamaGenerate,
}

/// How the path of each API ends. The first that fits: `/chat/completions` ends in `/completions` too.
const PATH_ENDINGS: [(&str, ModelApi); 15] = [
    ("/chat/completions", ModelApi::ChatCompletions),
    ("/responses", ModelApi::Responses),
    ("/responses/compact", ModelApi::Responses),
    ("/completions", ModelApi::Completions),
    ("/embeddings", ModelApi::Embeddings),
    // Cohere's, and Ollama's `/api/embed`.
    ("/embed", ModelApi::Embeddings),
    (":embedContent", ModelApi::Embeddings),
    (":batchEmbedContents", ModelApi::Embeddings),
    ("/messages", ModelApi::Messages),
    // Anthropic's models on Vertex.
    (":rawPredict", ModelApi::Messages),
    (":streamRawPredict", ModelApi::Messages),
    (":generateContent", ModelApi::GenerateContent),
    (":streamGenerateContent", ModelApi::GenerateContent),
    ("/api/chat", ModelApi::OllamaChat),
    ("/api/generate", ModelApi::OllamaGenerate),
];

/// How paths end that agents ask beside their calls of models: counts of tokens, files, lists of models.
const AUXILIARY_ENDINGS: [&str; 10] = [
    "/count_tokens",
    ":countTokens",
    ":loadCodeAssist",
    ":onboardUser",
    "/files",
    "/moderations",
    "/api/show",
    "/api/tags",
    "/cancel",
    "/telemetry",
];

/// Whether a request of no [`ModelApi`] is one that agents make beside their calls of models.
#[must_use]
pub(crate) fn is_auxiliary(path: &str) -> bool {
    let path = path.trim_end_matches('/');
    AUXILIARY_ENDINGS.iter().any(|ending| path.ends_with(ending))
}

/// The items of a member that is a list; none of any other.
fn list_items(member: Option<&Value>) -> impl Iterator<Item = &Value> {
    member.and_then(Value::as_array).into_iter().flatten()
}

/// The APIs by the names that files have.
const NAMES: [(ModelApi, &str); 8] = [
    (ModelApi::ChatCompletions, "openai.chat"),
    (ModelApi::Responses, "openai.responses"),
    (ModelApi::Completions, "openai.completions"),
    (ModelApi::Embeddings, "openai.embeddings"),
    (ModelApi::Messages, "anthropic.messages"),
    (ModelApi::GenerateContent, "gemini.generate_content"),
    (ModelApi::OllamaChat, "ollama.chat"),
    (ModelApi::OllamaGenerate, "ollama.generate"),
];

impl ModelApi {
    /// Its name in files and messages: the vendor that it comes from, and the call.
    ///
    /// ```
    /// assert_eq!(tracer_capture::model_api::ModelApi::Messages.name(), "anthropic.messages");
    /// ```
    #[must_use]
    pub fn name(self) -> &'static str {
        let found = NAMES.iter().find(|(api, _)| *api == self);
        found.map_or("", |(_, name)| name)
    }

    /// The API of this name.
    ///
    /// ```
    /// use tracer_capture::model_api::ModelApi;
    ///
    /// assert_eq!(ModelApi::from_name("ollama.chat"), Some(ModelApi::OllamaChat));
    /// assert_eq!(ModelApi::from_name("telepathy"), None);
    /// ```
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        let found = NAMES.iter().find(|(_, known)| *known == name);
        found.map(|(api, _)| *api)
    }

    /// The API that a `POST` to this path calls.
    ///
    /// ```
    /// use tracer_capture::model_api::ModelApi;
    ///
    /// assert_eq!(ModelApi::from_path("/v1/chat/completions"), Some(ModelApi::ChatCompletions));
    /// assert_eq!(ModelApi::from_path("/v1/messages/count_tokens"), None);
    /// ```
    #[must_use]
    pub fn from_path(path: &str) -> Option<Self> {
        let path = path.trim_end_matches('/');
        let found = PATH_ENDINGS.iter().find(|(ending, _)| path.ends_with(ending));
        found.map(|(_, api)| *api)
    }

    /// `gen_ai.operation.name` of its calls.
    ///
    /// ```
    /// assert_eq!(tracer_capture::model_api::ModelApi::Messages.operation(), "chat");
    /// ```
    #[must_use]
    pub const fn operation(self) -> &'static str {
        match self {
            Self::ChatCompletions | Self::Responses | Self::Messages | Self::OllamaChat => "chat",
            Self::Completions | Self::OllamaGenerate => "text_completion",
            Self::Embeddings => "embeddings",
            Self::GenerateContent => "generate_content",
        }
    }

    /// The model that the path names, where the API has it there: `/v1beta/models/gemini-3-pro:generateContent`, and
    /// Azure's deployments.
    #[must_use]
    pub(crate) fn model_in_path(self, path: &str) -> Option<&str> {
        self.path_around_model(path).map(|(_, model, _)| model)
    }

    /// What is before the model that the path names, the model, and what is behind it.
    fn path_around_model(self, path: &str) -> Option<(&str, &str, &str)> {
        let (marker, start) = match path.rfind("/models/") {
            // Google's methods stand behind the model.
            Some(start) if self == Self::GenerateContent || path.get(start..)?.contains(':') => {
                ("/models/", start)
            }
            _ => ("/deployments/", path.find("/deployments/")?),
        };
        let (before, rest) = path.split_at_checked(start + marker.len())?;
        let (model, behind) = rest.split_at_checked(rest.find([':', '/']).unwrap_or(rest.len()))?;
        (!model.is_empty()).then_some((before, model, behind))
    }
}
