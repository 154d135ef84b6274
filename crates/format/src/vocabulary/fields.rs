//! The sources of each field of a call, in the order in which they are tried (capture, section 1).

use super::Vocabulary::{
    self, AgentFramework, AiSdk, ClaudeCode, Codex, GeminiCli, Genkit, GoogleAdk, Haystack, LangSmith,
    Langfuse, LiveKit, Mastra, Mcp, Mlflow, OpenInference, OpenLlmetry, OtelGenAi, OtelGenAiOld, PydanticAi,
    Rig, Strands, Tracer, VoltAgent,
};
use super::kinds::{Pattern, Test};
use crate::names;

/// Possible source of a field.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FieldSource {
    pub(crate) vocabulary: Vocabulary,
    pub(crate) key: &'static str,
    pub(crate) form: SourceForm,
}

/// Form of a field in its source.
#[derive(Debug, Clone, Copy)]
pub(crate) enum SourceForm {
    /// As it is.
    Plain,
    /// Up to the first dot.
    UpToDot,
    /// Behind the first slash, if there is one.
    AfterSlash,
    /// Within the JSON under the key, at this path of keys and places.
    Within(&'static [&'static str]),
}

macro_rules! sources {
    ($($vocabulary:ident $key:expr $(, $form:ident $(($path:expr))?)?;)+) => {
        &[$(FieldSource {
            vocabulary: $vocabulary,
            key: $key,
            form: sources!(@form $($form $(($path))?)?),
        }),+]
    };
    (@form) => { SourceForm::Plain };
    (@form $form:ident) => { SourceForm::$form };
    (@form $form:ident ($path:expr)) => { SourceForm::$form(&$path) };
}

/// The model that was asked.
pub(crate) const MODEL: &[FieldSource] = sources! {
    OtelGenAi "gen_ai.request.model";
    OpenInference "llm.request.model_name";
    OpenInference "llm.model_name";
    AiSdk "ai.model.id";
    Langfuse "langfuse.observation.model.name";
    OpenLlmetry "llm.request.model";
    GoogleAdk "gcp.vertex.agent.llm_request", Within(["model"]);
    OpenInference "llm.invocation_parameters", Within(["model"]);
    Mlflow "mlflow.spanInputs", Within(["model"]);
    Genkit "genkit:name", AfterSlash;
    VoltAgent "llm.model";
    ClaudeCode "model";
};

/// The model that answered.
pub(crate) const RESPONSE_MODEL: &[FieldSource] = sources! {
    OtelGenAi "gen_ai.response.model";
    OpenInference "llm.response.model_name";
    AiSdk "ai.response.model";
    OpenLlmetry "llm.response.model";
    GoogleAdk "gcp.vertex.agent.llm_response", Within(["model_version"]);
    Haystack "haystack.agent.step.llm.output", Within(["replies", "0", "meta", "model"]);
    Haystack "haystack.component.output", Within(["replies", "0", "meta", "model"]);
};

/// The ID that the provider gave the answer.
pub(crate) const RESPONSE_ID: &[FieldSource] = sources! {
    OtelGenAi "gen_ai.response.id";
    AiSdk "ai.response.id";
    OpenLlmetry "llm.response.id";
    ClaudeCode "request_id";
};

/// Whose model it is.
pub(crate) const PROVIDER: &[FieldSource] = sources! {
    AiSdk "ai.model.provider", UpToDot;
    OtelGenAiOld "gen_ai.system";
    OtelGenAi "gen_ai.provider.name";
    OpenInference "llm.provider";
    OpenInference "llm.system";
    LangSmith "langsmith.metadata.ls_provider";
};

macro_rules! implied_providers {
    ($($vocabulary:ident: $test:expr => $provider:literal;)+) => { &[$(($vocabulary, &[$test], $provider)),+] };
}

/// The provider of spans that name none, by their names or by the events that they were.
pub(crate) const IMPLIED_PROVIDERS: &[(Vocabulary, &[Test], &str)] = implied_providers! {
    ClaudeCode: Test::Name(Pattern::Begins("claude_code.")) => "anthropic";
    ClaudeCode: Test::Word("span.type", &["llm_request"]) => "anthropic";
    ClaudeCode: Test::Text("event.name", Pattern::Begins("claude_code.")) => "anthropic";
    Codex: Test::Text("event.name", Pattern::Begins("codex.")) => "openai";
    GeminiCli: Test::Text("event.name", Pattern::Begins("gemini_cli.")) => "gcp.gemini";
    Genkit: Test::Text("genkit:name", Pattern::Begins("googleai/")) => "gcp.gemini";
    Genkit: Test::Text("genkit:name", Pattern::Begins("vertexai/")) => "gcp.vertex_ai";
    Genkit: Test::Text("genkit:name", Pattern::Begins("openai/")) => "openai";
    Genkit: Test::Text("genkit:name", Pattern::Begins("anthropic/")) => "anthropic";
    Genkit: Test::Text("genkit:name", Pattern::Begins("ollama/")) => "ollama";
    Genkit: Test::Text("genkit:name", Pattern::Begins("deepseek/")) => "deepseek";
    Genkit: Test::Text("genkit:name", Pattern::Begins("xai/")) => "x_ai";
};

/// The sampling temperature.
pub(crate) const TEMPERATURE: &[FieldSource] = sources! {
    OtelGenAi "gen_ai.request.temperature";
    OpenInference "llm.invocation_parameters", Within(["temperature"]);
    AiSdk "ai.settings.temperature";
    Langfuse "langfuse.observation.model.parameters", Within(["temperature"]);
    OpenLlmetry "llm.temperature";
    GoogleAdk "gcp.vertex.agent.llm_request", Within(["config", "temperature"]);
};

/// Time to the first chunk of a streamed answer, with the microseconds per unit of the number.
pub(crate) const FIRST_CHUNK: &[(super::Vocabulary, &str, f64)] = &[
    (Tracer, "tracer.time_to_first_chunk_ms", 1_000.0),
    (OtelGenAi, "gen_ai.response.time_to_first_chunk", 1_000_000.0),
    (AiSdk, "ai.response.msToFirstChunk", 1_000.0),
    (ClaudeCode, "ttft_ms", 1_000.0),
];

/// Why the model stopped.
pub(crate) const FINISH_REASON: &[FieldSource] = sources! {
    OtelGenAi "gen_ai.response.finish_reasons";
    AiSdk "ai.response.finishReason";
    AiSdk "gen_ai.finishReason";
    AiSdk "ai.finishReason";
    OpenInference "llm.finish_reason";
    OpenLlmetry "gen_ai.response.finish_reason";
    OpenLlmetry "gen_ai.response.stop_reason";
    OpenLlmetry "llm.response.finish_reason";
    OpenLlmetry "llm.response.stop_reason";
    OpenLlmetry "gen_ai.completion.0.finish_reason";
    GoogleAdk "gcp.vertex.agent.llm_response", Within(["finish_reason"]);
    Genkit "genkit:output", Within(["finishReason"]);
    Haystack "haystack.agent.step.llm.output", Within(["replies", "0", "meta", "finish_reason"]);
    Haystack "haystack.component.output", Within(["replies", "0", "meta", "finish_reason"]);
    ClaudeCode "stop_reason";
    GeminiCli "finish_reasons";
};

/// The tool that ran.
pub(crate) const TOOL_NAME: &[FieldSource] = sources! {
    Tracer "tracer.tool_name";
    Tracer "maida.tool_name";
    Tracer "agentdbg.tool_name";
    OtelGenAi "gen_ai.tool.name";
    OpenInference "tool.name";
    AiSdk "ai.toolCall.name";
    LiveKit "lk.function_tool.name";
    OpenLlmetry "traceloop.entity.name";
    Genkit "genkit:name";
    Haystack "haystack.tool.name";
    ClaudeCode "tool_name";
    GeminiCli "function_name";
};

/// The ID that the model gave the tool call.
pub(crate) const CALL_ID: &[FieldSource] = sources! {
    OtelGenAi "gen_ai.tool.call.id";
    GeminiCli "gen_ai.tool.call_id";
    OpenInference "tool.id";
    OpenInference "tool_call.id";
    AiSdk "ai.toolCall.id";
    GoogleAdk "function_call.id";
    LiveKit "lk.function_tool.id";
    VoltAgent "tool.call.id";
    ClaudeCode "tool_use_id";
    Codex "call_id";
};

/// Placeholder for a call's ID where the emitter knows none.
pub(crate) const NO_CALL_ID: &[(Vocabulary, &str)] = &[(GoogleAdk, "<not specified>")];

/// Tests for a failed span, in addition to its status code and our own status.
pub(crate) const FAILURES: &[(Vocabulary, &[Test])] = &[
    (OtelGenAi, &[Test::Has(&["error.type"])]),
    (OtelGenAi, &[Test::Word("otel.status_code", &["error"])]),
    (Rig, &[Test::Word("gen_ai.tool.call.outcome", &["error"])]),
    (Strands, &[Test::Word("gen_ai.tool.status", &["error"])]),
    (Haystack, &[Test::Word("haystack.tool.error", &["true"])]),
    (Mastra, &[Test::Word("gen_ai.tool.success", &["false"])]),
    (
        OtelGenAi,
        &[Test::Word(
            "gen_ai.response.finish_reasons",
            &["error", r#"["error"]"#],
        )],
    ),
    // A call that was refused did not run.
    (
        OtelGenAi,
        &[Test::Word("gen_ai.tool.call.decision.outcome", &["deny"])],
    ),
    (AgentFramework, &[Test::Has(&["gen_ai.tool.error"])]),
    (Langfuse, &[Test::Word("langfuse.observation.level", &["error"])]),
    (
        ClaudeCode,
        &[
            Test::Has(&["span.type", "event.name"]),
            Test::Word("success", &["false"]),
        ],
    ),
    (
        ClaudeCode,
        &[Test::Word(
            "event.name",
            &[
                "claude_code.api_error",
                "claude_code.api_retries_exhausted",
                "api_error",
                "api_retries_exhausted",
            ],
        )],
    ),
    (GeminiCli, &[Test::Word("event.name", &["gemini_cli.api_error"])]),
];

/// The exit code of the program that a tool ran: any other than 0 makes it a failed one.
pub(crate) const EXIT_CODE: &str = "process.exit.code";

/// Tests for a successful span without a status, whatever else of it was recorded.
pub(crate) const SUCCESSES: &[(Vocabulary, &[Test])] = &[
    (OtelGenAi, &[Test::Word("otel.status_code", &["ok"])]),
    (Rig, &[Test::Word("gen_ai.tool.call.outcome", &["success"])]),
    (Strands, &[Test::Word("gen_ai.tool.status", &["success"])]),
    (
        ClaudeCode,
        &[
            Test::Has(&["span.type", "event.name"]),
            Test::Word("success", &["true"]),
        ],
    ),
];

/// Tests for a call that waits for a person.
pub(crate) const WAITS: &[(Vocabulary, &[Test])] = &[
    (PydanticAi, &[Test::Has(&["pydantic_ai.tool.deferral.name"])]),
    // A long-running tool gives nothing yet.
    (
        GoogleAdk,
        &[Test::Word(
            "gcp.vertex.agent.tool_response",
            &["<not specified>", r#"{"result": "<not specified>"}"#],
        )],
    ),
];

/// Tests for a model call whose answer was still being generated when the span ended: in the background.
pub(crate) const UNFINISHED: &[(Vocabulary, &[Test])] = &[(
    OtelGenAi,
    &[Test::Word(
        "gen_ai.response.finish_reasons",
        &["queued", "in_progress", r#"["queued"]"#, r#"["in_progress"]"#],
    )],
)];

/// The class of a failure; our own names come before, an `exception` event behind.
pub(crate) const ERROR_TYPE: &[FieldSource] = sources! {
    OtelGenAi "error.type";
    Rig "gen_ai.tool.error.type";
    OtelGenAi "exception.type";
    ClaudeCode "error_type";
    ClaudeCode "status_code";
    Mcp "rpc.response.status_code";
};

/// Error message of a failure; our own names come before, an `exception` event and the status description after.
pub(crate) const ERROR_MESSAGE: &[FieldSource] = sources! {
    OtelGenAi "exception.message";
    OtelGenAi "error.message";
    OtelGenAi "otel.status_description";
    AgentFramework "gen_ai.tool.error";
    Langfuse "langfuse.observation.status_message";
    Haystack "haystack.agent.step.tool.output", Within(["error"]);
    ClaudeCode "error";
};

/// The name of a run, of its root.
pub(crate) const RUN_NAME: &[FieldSource] = sources! {
    Tracer "tracer.run_name";
    Tracer "maida.run_name";
    Tracer "agentdbg.run_name";
    OtelGenAi "gen_ai.agent.name";
    OtelGenAi "gen_ai.workflow.name";
    OpenLlmetry "traceloop.workflow.name";
    AiSdk "ai.telemetry.functionId";
    LangSmith "langsmith.trace.name";
    Langfuse "langfuse.trace.name";
    PydanticAi "agent_name";
    OpenInference "agent.name";
};

/// The name of an agent.
pub(crate) const AGENT_NAME: &[FieldSource] = sources! {
    OtelGenAi "gen_ai.agent.name";
    PydanticAi "agent_name";
    OpenInference "agent.name";
};

/// Which instrumentation recorded a span: two that differ may have recorded one call.
pub(crate) const SOURCE: &[FieldSource] = sources! {
    OtelGenAi names::SCOPE.written();
    Tracer names::SOURCE.written();
    Tracer names::LAYER.written();
    Tracer names::FROM_LOG.written();
};
