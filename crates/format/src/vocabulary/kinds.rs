//! The type of a span: the first rule that fits (capture, section 1).

use super::Vocabulary::{
    self, AiSdk, ClaudeCode, Codex, GeminiCli, Genkit, GoogleAdk, Haystack, LangSmith, Langfuse, LiveKit,
    Mcp, Mlflow, OpenInference, OpenLlmetry, OtelGenAi, PydanticAi, VoltAgent,
};
use crate::EventType::{self, LlmCall, ToolCall, Unknown};
use crate::names;

/// A rule: where every test holds, a span has this type.
#[derive(Debug)]
pub(crate) struct KindRule {
    pub(crate) vocabulary: Vocabulary,
    pub(crate) tests: &'static [Test],
    pub(crate) gives: EventType,
}

/// Condition of a rule on a span. A text that is empty is absent; words are compared without regard to case.
#[derive(Debug)]
pub(crate) enum Test {
    /// The text under the key is one of these words.
    Word(&'static str, &'static [&'static str]),
    /// The text under the key fits a pattern.
    Text(&'static str, Pattern),
    /// There is a value under one of the keys.
    Has(&'static [&'static str]),
    /// There is none.
    HasNot(&'static str),
    /// The span's name fits a pattern.
    Name(Pattern),
    /// The span's name is `CLASS.METHOD`, of one of these classes and of these methods.
    Method(&'static [&'static str], &'static [&'static str]),
}

/// A shape of a text.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Pattern {
    /// This text.
    Is(&'static str),
    /// It begins so.
    Begins(&'static str),
    /// Its first word begins with the first text and ends with the second one.
    Word(&'static str, &'static str),
}

impl Pattern {
    /// Returns whether a text has this shape.
    pub(crate) fn fits(self, text: &str) -> bool {
        match self {
            Self::Is(whole) => text == whole,
            Self::Begins(beginning) => text.starts_with(beginning),
            Self::Word(beginning, ending) => {
                let word = text.split_whitespace().next().unwrap_or_default();
                word.len() >= beginning.len() + ending.len()
                    && word.starts_with(beginning)
                    && word.ends_with(ending)
            }
        }
    }
}

const OPERATION: &str = "gen_ai.operation.name";
const LANGFUSE: &str = "langfuse.observation.type";
const LOG_EVENT: &str = "event.name";

/// The operation that asks again for an answer that is made in the background: the call is the one that created the answer,
/// or this one where that is not known.
pub(crate) const FETCH_RESPONSE: &str = "fetch_response";

/// Operations that ask a model for something else than an answer: OpenTelemetry's first, then those that the proxy names.
pub(crate) const SERVICES: &[&str] = &[
    "embeddings",
    "rerank",
    "transcription",
    "translation",
    "speech",
    "image_generation",
    "image_edit",
    "moderation",
];

/// Operations that call a model: OpenTelemetry's, then those of Gemini CLI, `MLflow` and Mastra.
const MODEL_OPERATIONS: &[&str] = &[
    "chat",
    "text_completion",
    "completion",
    "generate_content",
    "generate",
    "chat_streaming",
    "interactions",
    "interactions_streaming",
    FETCH_RESPONSE,
    // Proposed for what is spoken live.
    "generate_live_content",
    "live_inference",
    "realtime_inference",
    "llm_call",
    "response",
    "tool_selection",
];

macro_rules! rules {
    ($($vocabulary:ident: [$($test:expr),+] => $gives:ident;)+) => {
        &[$(KindRule { vocabulary: $vocabulary, tests: &[$($test),+], gives: $gives }),+]
    };
}

/// The rules, the strongest first. Before them come the format's own marks, behind them the names that its own spans have.
pub(crate) const KINDS: &[KindRule] = rules! {
    // Spans that repeat a call of another span.
    PydanticAi: [Test::Word("logfire.span_type", &["pending_span"])] => Unknown;
    GoogleAdk: [Test::Word("gen_ai.tool.name", &["(merged tools)"])] => Unknown;
    GoogleAdk: [Test::Name(Pattern::Is("execute_tool (merged)"))] => Unknown;

    // A year ago it called Instructor's helpers tools.
    OpenInference: [Test::Text(names::SCOPE.written(), Pattern::Is("openinference.instrumentation.instructor")),
        Test::Word("openinference.span.kind", &["TOOL"])] => Unknown;
    OpenInference: [Test::Word("openinference.span.kind", &["LLM"])] => LlmCall;
    OpenInference: [Test::Word("openinference.span.kind", &["TOOL"])] => ToolCall;
    OpenInference: [Test::Word("openinference.span.kind",
        &["AGENT", "CHAIN", "RETRIEVER", "RERANKER", "EMBEDDING", "GUARDRAIL", "EVALUATOR", "PROMPT"])] => Unknown;

    OtelGenAi: [Test::Word(OPERATION, &["execute_tool", "tool_call", "tool.execute"])] => ToolCall;
    OtelGenAi: [Test::Word(OPERATION, MODEL_OPERATIONS)] => LlmCall;
    // Agents, workflows, embeddings, retrieval, memory, plans: never a model call, though they may repeat its tokens.
    OtelGenAi: [Test::Has(&[OPERATION])] => Unknown;

    Mcp: [Test::Word("mcp.method.name", &["tools/call"])] => ToolCall;
    Mcp: [Test::Has(&["mcp.method.name"])] => Unknown;

    AiSdk: [Test::Text("ai.operationId", Pattern::Word("ai.", ".doGenerate"))] => LlmCall;
    AiSdk: [Test::Text("ai.operationId", Pattern::Word("ai.", ".doStream"))] => LlmCall;
    AiSdk: [Test::Text("ai.operationId", Pattern::Is("ai.toolCall"))] => ToolCall;
    AiSdk: [Test::Text("operation.name", Pattern::Word("ai.", ".doGenerate"))] => LlmCall;
    AiSdk: [Test::Text("operation.name", Pattern::Word("ai.", ".doStream"))] => LlmCall;
    AiSdk: [Test::Text("operation.name", Pattern::Word("ai.toolCall", ""))] => ToolCall;
    AiSdk: [Test::Name(Pattern::Word("ai.", ".doGenerate"))] => LlmCall;
    AiSdk: [Test::Name(Pattern::Word("ai.", ".doStream"))] => LlmCall;
    AiSdk: [Test::Name(Pattern::Is("ai.toolCall"))] => ToolCall;
    // The outer spans repeat what their inner ones used.
    AiSdk: [Test::Text("ai.operationId", Pattern::Begins("ai."))] => Unknown;
    AiSdk: [Test::Text("operation.name", Pattern::Begins("ai."))] => Unknown;

    ClaudeCode: [Test::Word("span.type", &["llm_request"])] => LlmCall;
    ClaudeCode: [Test::Word("span.type", &["tool"])] => ToolCall;
    ClaudeCode: [Test::Word("span.type",
        &["tool.execution", "tool.blocked_on_user", "interaction", "hook"])] => Unknown;
    // Names for spans whose type was dropped by a pipeline.
    ClaudeCode: [Test::Name(Pattern::Is("claude_code.llm_request"))] => LlmCall;
    ClaudeCode: [Test::Name(Pattern::Is("claude_code.tool"))] => ToolCall;
    ClaudeCode: [Test::Word(LOG_EVENT, &["claude_code.api_request", "claude_code.api_error",
        "claude_code.api_refusal", "claude_code.api_retries_exhausted"])] => LlmCall;
    ClaudeCode: [Test::Word(LOG_EVENT, &["api_request", "api_error", "api_refusal", "api_retries_exhausted"]),
        Test::Has(&["model"]), Test::Has(&["session.id"])] => LlmCall;
    ClaudeCode: [Test::Word(LOG_EVENT, &["claude_code.tool_result"])] => ToolCall;
    ClaudeCode: [Test::Word(LOG_EVENT, &["tool_result"]), Test::Has(&["tool_name"]), Test::Has(&["session.id"])]
        => ToolCall;
    Codex: [Test::Word(LOG_EVENT, &["codex.sse_event"]), Test::Word("event.kind", &["response.completed"])]
        => LlmCall;
    Codex: [Test::Word(LOG_EVENT, &["codex.tool_result"])] => ToolCall;
    GeminiCli: [Test::Word(LOG_EVENT, &["gemini_cli.api_response", "gemini_cli.api_error"])] => LlmCall;
    GeminiCli: [Test::Word(LOG_EVENT, &["gemini_cli.tool_call"])] => ToolCall;
    ClaudeCode: [Test::Text(LOG_EVENT, Pattern::Begins("claude_code."))] => Unknown;
    Codex: [Test::Text(LOG_EVENT, Pattern::Begins("codex."))] => Unknown;
    GeminiCli: [Test::Text(LOG_EVENT, Pattern::Begins("gemini_cli."))] => Unknown;

    OpenLlmetry: [Test::Word("traceloop.span.kind", &["tool"])] => ToolCall;
    OpenLlmetry: [Test::Word("traceloop.span.kind", &["workflow", "agent", "task"])] => Unknown;
    OpenLlmetry: [Test::Word("llm.request.type", &["chat", "completion"])] => LlmCall;
    OpenLlmetry: [Test::Has(&["llm.request.type"])] => Unknown;

    Langfuse: [Test::Word(LANGFUSE, &["generation"])] => LlmCall;
    Langfuse: [Test::Word(LANGFUSE, &["tool"])] => ToolCall;
    Langfuse: [Test::Word(LANGFUSE, &["span", "event", "agent", "chain", "retriever", "embedding", "evaluator",
        "guardrail"])] => Unknown;
    LangSmith: [Test::Word("langsmith.span.kind", &["llm"])] => LlmCall;
    LangSmith: [Test::Word("langsmith.span.kind", &["tool"])] => ToolCall;
    LangSmith: [Test::Has(&["langsmith.span.kind"])] => Unknown;
    Mlflow: [Test::Word("mlflow.spanType", &["CHAT_MODEL", "LLM"])] => LlmCall;
    Mlflow: [Test::Word("mlflow.spanType", &["TOOL"])] => ToolCall;
    Mlflow: [Test::Has(&["mlflow.spanType"])] => Unknown;
    Genkit: [Test::Word("genkit:metadata:subtype", &["model"])] => LlmCall;
    Genkit: [Test::Word("genkit:metadata:subtype", &["tool", "tool.v2"])] => ToolCall;
    Genkit: [Test::Has(&["genkit:metadata:subtype", "genkit:type"])] => Unknown;
    VoltAgent: [Test::Word("span.type", &["llm"])] => LlmCall;
    // Without content, these have nothing but their names.
    Haystack: [Test::Name(Pattern::Is("haystack.agent.step.llm"))] => LlmCall;
    Haystack: [Test::Name(Pattern::Is("haystack.agent.step.tool"))] => ToolCall;
    Haystack: [Test::Name(Pattern::Is("haystack.chat_generator.run"))] => LlmCall;
    Haystack: [Test::Text("haystack.component.type", Pattern::Word("", "ChatGenerator"))] => LlmCall;
    LiveKit: [Test::Has(&["lk.chat_ctx", "lk.response.text"]), Test::Name(Pattern::Is("llm_node"))] => LlmCall;
    LiveKit: [Test::Has(&["lk.function_tool.name"])] => ToolCall;

    GoogleAdk: [Test::Name(Pattern::Is("call_llm")), Test::Has(&["gcp.vertex.agent.llm_request",
        "gcp.vertex.agent.llm_response", "gen_ai.system", "gen_ai.request.model"])] => LlmCall;
    GoogleAdk: [Test::Name(Pattern::Begins("execute_tool ")), Test::Has(&["tool.name",
        "gcp.vertex.agent.tool_call_args", "gcp.vertex.agent.tool_response"])] => ToolCall;
    GoogleAdk: [Test::Has(&["gcp.vertex.agent.event_id", "gcp.vertex.agent.invocation_id"]),
        Test::Has(&["gen_ai.system"]), Test::HasNot("gen_ai.request.model"), Test::HasNot("gen_ai.tool.name")]
        => Unknown;

    OtelGenAi: [Test::Has(&["gen_ai.tool.name", "gen_ai.tool.call.id", "gen_ai.tool.call_id"])] => ToolCall;
    PydanticAi: [Test::Text("logfire.msg", Pattern::Word("running", "")),
        Test::Has(&["tool_arguments", "tool_response"])] => ToolCall;
    PydanticAi: [Test::Text("logfire.msg", Pattern::Begins("running tool: "))] => ToolCall;
    PydanticAi: [Test::Text("logfire.msg", Pattern::Is("running tool"))] => ToolCall;

    // The format's own model calls name their provider and nothing else.
    OtelGenAi: [Test::Has(&["gen_ai.system", "gen_ai.provider.name"]), Test::HasNot("gen_ai.agent.name")]
        => LlmCall;
};

const LLAMA_INDEX: Test = Test::Text(
    names::SCOPE.written(),
    Pattern::Is("openinference.instrumentation.llama_index"),
);

/// Spans that a library writes for inner steps of its own: they are no rows, and what is in them stands in what is around them.
/// A step of the user's own workflow has a class of its own.
pub(crate) const INNER_STEPS: &[(Vocabulary, &[Test])] = &[
    (
        OpenInference,
        &[
            LLAMA_INDEX,
            Test::Method(
                &[
                    "AgentWorkflow",
                    "BaseWorkflowAgent",
                    "CodeActAgent",
                    "FunctionAgent",
                    "ReActAgent",
                ],
                &[
                    "init_run",
                    "setup_agent",
                    "run_agent_step",
                    "parse_agent_output",
                    "call_tool",
                    "aggregate_tool_results",
                ],
            ),
        ],
    ),
    (
        OpenInference,
        &[
            LLAMA_INDEX,
            Test::Name(Pattern::Word("", "._prepare_chat_with_tools")),
        ],
    ),
    // DSPy's predictor has a span within that names what it predicts, and each answer passes an adapter.
    (
        OpenInference,
        &[
            Test::Text(
                names::SCOPE.written(),
                Pattern::Is("openinference.instrumentation.dspy"),
            ),
            Test::Method(
                &["Predict", "ChatAdapter", "JSONAdapter"],
                &["forward", "aforward", "__call__", "acall"],
            ),
        ],
    ),
    // Mastra's loop, its turns, and what a stream brought in each.
    (
        OtelGenAi,
        &[
            Test::Text(names::SCOPE.written(), Pattern::Begins("@mastra/")),
            Test::Word(OPERATION, &["model_generation", "agent_step", "model_chunk"]),
        ],
    ),
];

/// Structure of a library.
pub(crate) const STRUCTURE: Test = Test::Word("openinference.span.kind", &["AGENT", "CHAIN"]);
/// Keys that each span of such a library has: its kind, who wrote it, how it came here, the API, and the name of an agent.
pub(crate) const BARE_KEYS: [Pattern; 13] = [
    Pattern::Is("openinference.span.kind"),
    Pattern::Is("llm.system"),
    Pattern::Is("agent.name"),
    Pattern::Begins("otel.scope."),
    Pattern::Begins("service."),
    Pattern::Begins("telemetry."),
    Pattern::Begins("process."),
    Pattern::Is("otel.parent_is_remote"),
    Pattern::Is(names::ADOPTED.written()),
    Pattern::Is(names::SOURCE_PARENT.written()),
    Pattern::Is(names::SOURCE_TRACE.written()),
    Pattern::Is(names::ORPHAN.written()),
    Pattern::Is(names::AFTER_END.written()),
];
