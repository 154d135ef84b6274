//! The HTTP APIs of models: which one a request speaks, what its body asks, and what was answered, streamed or not
//! (capture, section 5).

mod assemble;
mod change;
mod error_body;
mod event_stream;
mod facts;
mod form;
mod frames;
mod merge;
mod partial_arguments;
mod reply;
mod tool_fragments;
mod vendor;

#[cfg(test)]
mod tests;

use serde_json::Value;

pub use assemble::readable_text;
pub use assemble::{Assembled, assemble};
pub use error_body::{error_body, of_refusal};
pub use facts::{RequestFacts, ResponseFacts};
pub use form::{form_fields, is_form};
pub use frames::EVENT_BEGINNINGS;
pub use reply::ModelReply;
pub use vendor::Vendor;

/// An API that models are called by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ModelApi {
    /// `OpenAI`'s chat completions, which most others are compatible with.
    ChatCompletions,
    /// `OpenAI`'s responses.
    Responses,
    /// `OpenAI`'s shortening of a conversation, which a model does.
    Compaction,
    /// Gemini's interactions.
    Interactions,
    /// `OpenAI`'s completions of a text.
    Completions,
    /// Embeddings, of whichever vendor.
    Embeddings,
    /// The ranking of documents by a question, of Cohere, Jina, Voyage.
    Rerank,
    /// Text of recorded speech.
    Transcription,
    /// English text of recorded speech.
    Translation,
    /// Spoken text.
    Speech,
    /// Images of a description.
    ImageGeneration,
    /// Changed images.
    ImageEdit,
    /// Judgements of content.
    Moderation,
    /// Anthropic's messages.
    Messages,
    /// Amazon Bedrock's Converse.
    Converse,
    /// Gemini's `generateContent` and `streamGenerateContent`.
    GenerateContent,
    /// Ollama's chat.
    OllamaChat,
    /// Ollama's completion of a text.
    OllamaGenerate,
}

/// Path ending of each API. The first match counts: `/chat/completions` ends in `/completions` too.
const PATH_ENDINGS: [(&str, ModelApi); 22] = [
    ("/chat/completions", ModelApi::ChatCompletions),
    ("/responses", ModelApi::Responses),
    ("/responses/compact", ModelApi::Compaction),
    ("/interactions", ModelApi::Interactions),
    ("/completions", ModelApi::Completions),
    ("/embeddings", ModelApi::Embeddings),
    ("/embed", ModelApi::Embeddings),
    (":embedContent", ModelApi::Embeddings),
    (":batchEmbedContents", ModelApi::Embeddings),
    ("/rerank", ModelApi::Rerank),
    ("/audio/transcriptions", ModelApi::Transcription),
    ("/audio/translations", ModelApi::Translation),
    ("/audio/speech", ModelApi::Speech),
    ("/images/generations", ModelApi::ImageGeneration),
    ("/images/edits", ModelApi::ImageEdit),
    ("/images/variations", ModelApi::ImageEdit),
    ("/moderations", ModelApi::Moderation),
    ("/messages", ModelApi::Messages),
    (":generateContent", ModelApi::GenerateContent),
    (":streamGenerateContent", ModelApi::GenerateContent),
    ("/api/chat", ModelApi::OllamaChat),
    ("/api/generate", ModelApi::OllamaGenerate),
];

/// Path endings of Vertex AI and Bedrock that name neither the operation nor the format: the model before them does.
/// The first match counts.
const PREDICTIONS: [(&str, &str, ModelApi); 13] = [
    ("anthropic.", "/invoke", ModelApi::Messages),
    ("anthropic.", "/invoke-with-response-stream", ModelApi::Messages),
    ("/model/", "/converse", ModelApi::Converse),
    ("/model/", "/converse-stream", ModelApi::Converse),
    ("/publishers/anthropic/", ":rawPredict", ModelApi::Messages),
    ("/publishers/anthropic/", ":streamRawPredict", ModelApi::Messages),
    ("/publishers/", ":rawPredict", ModelApi::ChatCompletions),
    ("/publishers/", ":streamRawPredict", ModelApi::ChatCompletions),
    ("/models/imagen", ":predict", ModelApi::ImageGeneration),
    ("/models/imagegeneration", ":predict", ModelApi::ImageGeneration),
    ("/models/text-embedding", ":predict", ModelApi::Embeddings),
    (
        "/models/text-multilingual-embedding",
        ":predict",
        ModelApi::Embeddings,
    ),
    ("/models/gemini-embedding", ":predict", ModelApi::Embeddings),
];

/// Path endings of requests that agents make in addition to model calls: token counts, files, lists of models.
const AUXILIARY_ENDINGS: [&str; 9] = [
    "/count_tokens",
    ":countTokens",
    ":loadCodeAssist",
    ":onboardUser",
    "/files",
    "/api/show",
    "/api/tags",
    "/cancel",
    "/telemetry",
];

/// Returns whether a request of no [`ModelApi`] is one that agents make in addition to their model calls.
#[must_use]
pub fn is_auxiliary(path: &str) -> bool {
    let path = path.trim_end_matches('/');
    AUXILIARY_ENDINGS.iter().any(|ending| path.ends_with(ending))
}

/// The API and the ID of the answer that a request reads again, or cancels: one that is made in the background.
pub fn answer_asked_again<'a>(method: &str, path: &'a str) -> Option<(ModelApi, &'a str)> {
    let path = path.trim_end_matches('/');
    let path = match method {
        "GET" => path,
        "POST" => path.strip_suffix("/cancel")?,
        _ => return None,
    };
    let (collection, id) = path.rsplit_once('/')?;
    let api = ModelApi::from_path(collection)?;
    (api.has_background() && !id.is_empty()).then_some((api, id))
}

/// The items of a member that is a list; none of any other.
fn list_items(member: Option<&Value>) -> impl Iterator<Item = &Value> {
    member.and_then(Value::as_array).into_iter().flatten()
}

impl ModelApi {
    /// Its name in files and messages: the vendor that it comes from, and the call.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.row().0
    }

    /// The API of this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        // Each has a path: it is recognized by nothing else.
        let of_endings = PATH_ENDINGS.iter().map(|(_, api)| *api);
        let mut apis = of_endings.chain(PREDICTIONS.iter().map(|(.., api)| *api));
        apis.find(|api| api.name() == name)
    }

    /// The API that a `POST` to this path calls.
    #[must_use]
    pub fn from_path(path: &str) -> Option<Self> {
        let path = path.trim_end_matches('/');
        let found = PATH_ENDINGS.iter().find(|(ending, _)| path.ends_with(ending));
        found.map(|(_, api)| *api).or_else(|| {
            let fits =
                |(part, ending, _): &&(&str, &str, Self)| path.ends_with(ending) && path.contains(part);
            PREDICTIONS.iter().find(fits).map(|(_, _, api)| *api)
        })
    }

    /// `gen_ai.operation.name` of its calls.
    #[must_use]
    pub fn operation(self) -> &'static str {
        self.row().1
    }

    /// Does something else than answering: its calls are steps, and no model calls.
    pub fn is_service(self) -> bool {
        self.row().2
    }

    /// Its name in files, the operation, and `true` of a service, whose calls are steps and no model calls.
    const fn row(self) -> (&'static str, &'static str, bool) {
        match self {
            Self::ChatCompletions => ("openai.chat", "chat", false),
            Self::Responses => ("openai.responses", "chat", false),
            Self::Compaction => ("openai.compaction", "chat", false),
            Self::Interactions => ("gemini.interactions", "interactions", false),
            Self::Completions => ("openai.completions", "text_completion", false),
            // The name that cassettes have from when there was one vendor's.
            Self::Embeddings => ("openai.embeddings", "embeddings", true),
            Self::Rerank => ("rerank", "rerank", true),
            Self::Transcription => ("openai.transcription", "transcription", true),
            Self::Translation => ("openai.translation", "translation", true),
            Self::Speech => ("openai.speech", "speech", true),
            Self::ImageGeneration => ("openai.image_generation", "image_generation", true),
            Self::ImageEdit => ("openai.image_edit", "image_edit", true),
            Self::Moderation => ("openai.moderation", "moderation", true),
            Self::Messages => ("anthropic.messages", "chat", false),
            Self::Converse => ("bedrock.converse", "chat", false),
            Self::GenerateContent => ("gemini.generate_content", "generate_content", false),
            Self::OllamaChat => ("ollama.chat", "chat", false),
            Self::OllamaGenerate => ("ollama.generate", "text_completion", false),
        }
    }

    /// Costs something, and is no model call.
    pub fn is_charged_service(self) -> bool {
        self.is_service() && !matches!(self, Self::Moderation)
    }

    /// Has an answer of numbers, sounds or images, which is not shown as text.
    pub const fn has_binary_answer(self) -> bool {
        matches!(
            self,
            Self::Embeddings | Self::Speech | Self::ImageGeneration | Self::ImageEdit
        )
    }

    /// May answer in the background: the answer is polled by its ID until it is there.
    pub(crate) const fn has_background(self) -> bool {
        matches!(self, Self::Responses | Self::Interactions)
    }

    /// The model that the path names, where the API has it there: `/v1beta/models/gemini-3-pro:generateContent`, and
    /// Azure's deployments.
    #[must_use]
    pub fn model_in_path(self, path: &str) -> Option<&str> {
        self.path_around_model(path).map(|(_, model, _)| model)
    }

    /// Splits the path at the model that it names: the part before it, the model, and the part after it.
    fn path_around_model(self, path: &str) -> Option<(&str, &str, &str)> {
        // A model that is in the path of a method, Azure's deployment, Amazon's model.
        let last = path.rsplit('/').next();
        let is_method = self == Self::GenerateContent || last.is_some_and(|last| last.contains(':'));
        let (start, marker) = if is_method {
            (path.rfind("/models/"), "/models/")
        } else {
            let azure = path.find("/deployments/").map(|start| (start, "/deployments/"));
            let (start, marker) = azure.or_else(|| Some((path.find("/model/")?, "/model/")))?;
            (Some(start), marker)
        };
        let (before, rest) = path.split_at_checked(start? + marker.len())?;
        let end = if marker == "/model/" {
            rest.find('/')
        } else {
            rest.find([':', '/'])
        };
        let (model, behind) = rest.split_at_checked(end.unwrap_or(rest.len()))?;
        (!model.is_empty()).then_some((before, model, behind))
    }
}
