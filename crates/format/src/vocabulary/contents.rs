//! Sources of prompts, answers, arguments and results (capture, section 1).

use super::Vocabulary::{
    self, AiSdk, ClaudeCode, Codex, GeminiCli, Genkit, GoogleAdk, Haystack, LangSmith, Langfuse, LiveKit,
    Mastra, Mlflow, OpenInference, OpenLlmetry, OtelGenAi, OtelGenAiOld, PydanticAi, Strands, VoltAgent,
};

/// A place of a content.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Content {
    pub(crate) vocabulary: Vocabulary,
    pub(crate) key: &'static str,
    pub(crate) form: ContentForm,
}

/// Storage form of a content.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ContentForm {
    /// Under the key: a value, or its JSON text.
    Value,
    /// Under the key, as text; JSON where the attribute with this name says so, or is missing and the text looks like it.
    Typed(&'static str),
    /// Key by key behind the key and a dot, lists numbered: `llm.input_messages.0.message.role`.
    Flat,
    /// JSON under the key, whose first field of these that says something is the content; without one the whole.
    Field(&'static [&'static str]),
}

macro_rules! contents {
    ($($vocabulary:ident $key:literal $(, $form:ident $(($with:expr))?)?;)+) => {
        &[$(Content {
            vocabulary: $vocabulary,
            key: $key,
            form: contents!(@form $($form $(($with))?)?),
        }),+]
    };
    (@form) => { ContentForm::Value };
    (@form $form:ident) => { ContentForm::$form };
    (@form $form:ident ($with:expr)) => { ContentForm::$form($with) };
}

/// Prompt of a model call, where neither span events nor OpenTelemetry's messages have it.
pub(crate) const PROMPT: &[Content] = contents! {
    OpenInference "llm.input_messages", Flat;
    OpenInference "llm.prompts", Flat;
    OpenLlmetry "gen_ai.prompt", Flat;
    AiSdk "ai.prompt.messages";
    AiSdk "ai.prompt";
    GoogleAdk "gcp.vertex.agent.llm_request";
    OtelGenAiOld "gen_ai.prompt";
    Langfuse "langfuse.observation.input";
    Mlflow "mlflow.spanInputs";
    Genkit "genkit:input";
    LiveKit "lk.chat_ctx";
    OpenInference "input.value", Typed("input.mime_type");
    OpenLlmetry "traceloop.entity.input", Field(&["inputs", "kwargs"]);
    Haystack "haystack.agent.step.llm.input", Field(&["messages"]);
    Haystack "haystack.component.input", Field(&["messages"]);
    VoltAgent "llm.messages";
    VoltAgent "input";
    ClaudeCode "user_prompt";
    Codex "prompt";
    GeminiCli "request_text";
};

/// Response of a model call, where neither span events nor OpenTelemetry's messages have it.
pub(crate) const ANSWER: &[Content] = contents! {
    OpenInference "llm.output_messages", Flat;
    OpenInference "llm.choices", Flat;
    OpenLlmetry "gen_ai.completion", Flat;
    GoogleAdk "gcp.vertex.agent.llm_response";
    OtelGenAiOld "gen_ai.completion";
    Langfuse "langfuse.observation.output";
    Mlflow "mlflow.spanOutputs";
    Genkit "genkit:output", Field(&["message", "candidates"]);
    LiveKit "lk.response.text";
    OpenInference "output.value", Typed("output.mime_type");
    OpenLlmetry "traceloop.entity.output", Field(&["outputs"]);
    Haystack "haystack.agent.step.llm.output", Field(&["replies"]);
    Haystack "haystack.component.output", Field(&["replies"]);
    VoltAgent "output";
    ClaudeCode "response";
    GeminiCli "response_text";
};

/// Answers that are spread over attributes, and the field of a message that each is.
pub(crate) const ANSWER_FIELDS: &[(Vocabulary, &str, &str)] = &[
    (AiSdk, "ai.response.reasoning", "reasoning"),
    (AiSdk, "ai.response.text", "content"),
    (AiSdk, "ai.result.text", "content"),
    (AiSdk, "ai.response.object", "content"),
    (AiSdk, "ai.result.object", "content"),
    (AiSdk, "ai.response.toolCalls", "tool_calls"),
    (AiSdk, "ai.result.toolCalls", "tool_calls"),
];

/// Arguments of a tool call.
pub(crate) const ARGUMENTS: &[Content] = contents! {
    OtelGenAi "gen_ai.tool.call.arguments";
    AiSdk "ai.toolCall.args";
    AiSdk "ai.toolCall.input";
    PydanticAi "tool_arguments";
    GoogleAdk "gcp.vertex.agent.tool_call_args";
    GoogleAdk "tool.args";
    LiveKit "lk.function_tool.arguments";
    OpenInference "input.value", Typed("input.mime_type");
    OpenLlmetry "traceloop.entity.input";
    Langfuse "langfuse.observation.input";
    Mlflow "mlflow.spanInputs";
    Genkit "genkit:input";
    LangSmith "gen_ai.prompt";
    GeminiCli "gen_ai.input.messages";
    ClaudeCode "tool_input";
    ClaudeCode "tool_parameters";
    Codex "arguments";
    GeminiCli "function_args";
    Haystack "haystack.agent.step.tool.input";
    Mastra "gen_ai.tool.input";
    VoltAgent "input";
};

/// Arguments that are spread over attributes, and the name of each.
pub(crate) const ARGUMENT_FIELDS: &[(Vocabulary, &str, &str)] = &[
    (ClaudeCode, "file_path", "file_path"),
    (ClaudeCode, "full_command", "command"),
];

/// Result of a tool call.
pub(crate) const RESULT: &[Content] = contents! {
    OtelGenAi "gen_ai.tool.call.result";
    AiSdk "ai.toolCall.result";
    AiSdk "ai.toolCall.output";
    PydanticAi "tool_response";
    GoogleAdk "gcp.vertex.agent.tool_response";
    GoogleAdk "tool.result";
    LiveKit "lk.function_tool.output";
    OpenInference "output.value", Typed("output.mime_type");
    OpenLlmetry "traceloop.entity.output", Field(&["outputs"]);
    Langfuse "langfuse.observation.output";
    Mlflow "mlflow.spanOutputs";
    Genkit "genkit:output";
    LangSmith "gen_ai.completion";
    GeminiCli "gen_ai.output.messages";
    Haystack "haystack.agent.step.tool.output";
    Mastra "gen_ai.tool.output";
    // VoltAgent's, too.
    Codex "output";
};

/// A span event that is a message of the conversation.
#[derive(Debug)]
pub(crate) struct MessageEvent {
    #[cfg_attr(not(test), expect(dead_code, reason = "the page of vocabularies names it"))]
    pub(crate) vocabulary: Vocabulary,
    pub(crate) name: &'static str,
    /// The role of a message that names none.
    pub(crate) role: &'static str,
    /// `true` for an answer.
    pub(crate) is_answer: bool,
    /// `true` when only this convention has it, and not the format's own model calls too.
    pub(crate) is_telling: bool,
}

const fn message(name: &'static str, role: &'static str, is_answer: bool, is_telling: bool) -> MessageEvent {
    MessageEvent {
        vocabulary: OtelGenAiOld,
        name,
        role,
        is_answer,
        is_telling,
    }
}

/// The span events of OpenTelemetry's versions 1.28 to 1.36.
pub(crate) const MESSAGE_EVENTS: &[MessageEvent] = &[
    message("gen_ai.system.message", "system", false, true),
    message("gen_ai.user.message", "user", false, false),
    message("gen_ai.assistant.message", "assistant", false, false),
    message("gen_ai.tool.message", "tool", false, true),
    message("gen_ai.choice", "assistant", true, true),
];

/// A span event that holds a content under one of its keys.
#[derive(Debug)]
pub(crate) struct ContentEvent {
    #[cfg_attr(not(test), expect(dead_code, reason = "the page of vocabularies names it"))]
    pub(crate) vocabulary: Vocabulary,
    pub(crate) name: &'static str,
    pub(crate) keys: &'static [&'static str],
    /// `true` for an answer.
    pub(crate) is_answer: bool,
}

macro_rules! content_events {
    ($($vocabulary:ident $name:literal, $keys:expr, is_answer: $is_answer:literal;)+) => {
        &[$(ContentEvent { vocabulary: $vocabulary, name: $name, keys: &$keys, is_answer: $is_answer }),+]
    };
}

/// The span events of versions before 1.28, which `OpenLIT` still sends.
pub(crate) const CONTENT_EVENTS: &[ContentEvent] = content_events! {
    OtelGenAiOld "gen_ai.content.prompt", ["gen_ai.prompt"], is_answer: false;
    OtelGenAiOld "gen_ai.content.completion", ["gen_ai.completion"], is_answer: true;
};

/// The span events that hold a tool's arguments and result.
pub(crate) const OUTPUT_EVENTS: &[ContentEvent] = content_events! {
    Strands "gen_ai.tool.message", ["content"], is_answer: false;
    Strands "gen_ai.choice", ["message", "content"], is_answer: true;
    ClaudeCode "tool.output", ["output", "tool_output", "content", "stdout"], is_answer: true;
};

/// Objects around the items of flattened lists.
pub(crate) const WRAPPERS: &[&str] = &["message", "message_content", "tool_call", "prompt", "completion"];
