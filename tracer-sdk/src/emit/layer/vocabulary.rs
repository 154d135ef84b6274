//! The names that a layer must know while a span is open: which callsites are recorded, what starts a run, what is content.
//! What the names mean is the projection's (capture, section 1).

use std::path::Path;

use tracing::Metadata;
use tracing::field::FieldSet;

use super::attributes::SentAttributes;
use tracer_format::EventType;

/// Fields with these prefixes belong to agents.
const AGENT_FIELD_PREFIXES: [&str; 8] = [
    "gen_ai.",
    "gcp.vertex.agent.",
    "langfuse.",
    "llm.",
    "mcp.",
    "openinference.",
    "traceloop.",
    "tracer.",
];

/// Further fields of agents.
const AGENT_FIELDS: [&str; 3] = ["agent.name", "function_call.id", "tool.name"];

/// Libraries whose spans are recorded though their fields have names of their own.
const AGENT_TARGETS: [&str; 2] = ["autoagents", "swiftide_agents"];

/// Libraries whose spans and events say nothing of an agent: connections, transports, and this project itself.
const NOISE_TARGETS: [&str; 12] = [
    "h2",
    "hyper",
    "hyper_util",
    "log",
    "mio",
    "reqwest",
    "rmcp",
    "rustls",
    "tokio",
    "tower",
    "tracer_sdk",
    "want",
];

/// Targets under which rig logs the whole request and reply of a model call.
const BODY_TARGETS: [&str; 2] = ["rig::completions", "rig::streaming"];

/// Targets of the model calls of rig's agents.
const AGENT_CALL_TARGETS: [&str; 2] = ["rig::agent_chat", "rig_agent"];

/// Returns whether the model calls of a target are those of an agent that asks until it has an answer. Another agent
/// may end with a tool.
pub(super) fn asks_until_answered(target: &str) -> bool {
    AGENT_CALL_TARGETS.iter().any(|agent| is_below(target, agent))
}

/// Returns whether a target is a module or lies below it.
pub(super) fn is_below(target: &str, module: &str) -> bool {
    target
        .strip_prefix(module)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
}

/// Returns whether a target says nothing of an agent.
pub(super) fn is_noise(target: &str) -> bool {
    NOISE_TARGETS.iter().any(|noise| is_below(target, noise))
}

/// Returns whether the spans of a callsite are recorded.
pub(super) fn is_agent_span(metadata: &Metadata<'_>) -> bool {
    has_agent_field(metadata.fields())
        || AGENT_TARGETS
            .iter()
            .any(|target| is_below(metadata.target(), target))
}

fn has_agent_field(fields: &FieldSet) -> bool {
    fields.iter().any(|field| {
        let name = field.name();
        // The first letter decides for nearly all of the others.
        name.starts_with(['a', 'f', 'g', 'l', 'm', 'o', 't'])
            && (AGENT_FIELD_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
                || AGENT_FIELDS.contains(&name))
    })
}

/// Returns whether events of a target hold requests and replies.
pub(super) fn is_body_target(target: &str) -> bool {
    BODY_TARGETS.contains(&target)
}

/// Returns whether the fields of an event belong to the span around it.
pub(super) fn describes_its_span(fields: &FieldSet) -> bool {
    fields.iter().any(|field| is_span_field(field.name()))
}

/// Returns whether a field of an event belongs to the span around it.
pub(super) fn is_span_field(name: &str) -> bool {
    name.starts_with("langfuse.") || TOOL_EVENT_FIELDS.contains(&name)
}

/// The name of the tool that an event or a span is about, in adk-rust.
pub(super) const NAMED_TOOL: &str = "tool.name";

/// Returns whether the spans or events of a callsite name the tool that they are about.
pub(super) fn names_a_tool(metadata: &Metadata<'_>) -> bool {
    metadata.fields().field(NAMED_TOOL).is_some()
}

/// Fields in which adk-rust logs a tool's arguments and result, which its span does not have.
const TOOL_EVENT_FIELDS: [&str; 2] = ["tool.args", "tool.result"];

/// Returns whether a span starts a run by what it is (capture, section 3, rule 2).
pub(super) fn is_agent(attributes: &SentAttributes, target: &str, name: &str) -> bool {
    let has = |key: &str, words: &[&str]| {
        let text = attributes.text(key);
        text.is_some_and(|text| words.iter().any(|word| text.eq_ignore_ascii_case(word)))
    };
    is_marked(attributes)
        || attributes.says("agent.name")
        || has("gen_ai.operation.name", &["invoke_agent", "invoke_workflow"])
        || has("openinference.span.kind", &["AGENT", "CHAIN"])
        || has("traceloop.span.kind", &["agent", "workflow"])
        || is_below(target, "swiftide_agents") && name.starts_with("agent.")
}

/// Returns whether the user marked a span as a run.
pub(super) fn is_marked(attributes: &SentAttributes) -> bool {
    attributes.says("tracer.run")
}

/// Returns whether a span is work of a model or a tool, which no run is to miss (capture, section 3, rule 3).
pub(super) fn is_call(event_type: EventType, attributes: &SentAttributes) -> bool {
    matches!(event_type, EventType::LlmCall | EventType::ToolCall)
        || attributes.says("gen_ai.operation.name")
        || attributes.says("openinference.span.kind")
}

/// The names of an agent or a workflow, of a span that starts a run.
const AGENT_NAMES: [&str; 4] = [
    "gen_ai.agent.name",
    "agent.name",
    "gen_ai.workflow.name",
    "traceloop.entity.name",
];

/// Name that rig gives an agent without a name.
const UNNAMED: &str = "Unnamed Agent";

/// Name of a run that starts with a span: its agent's, so that the agent's runs are a group; for an agent without a
/// name, and for a call without an agent, the program's.
pub(super) fn run_name(attributes: &SentAttributes, span: &str, is_agent: bool) -> String {
    let agent = attributes.first_text(&AGENT_NAMES);
    if (agent == Some(UNNAMED) || agent.is_none() && !is_agent)
        && let Some(program) = program_name()
    {
        return program;
    }
    let name = agent.or_else(|| attributes.text("otel.name"));
    name.unwrap_or(span).to_owned()
}

fn program_name() -> Option<String> {
    let program = std::env::args_os().next()?;
    let name = Path::new(&program).file_stem()?.to_string_lossy();
    Some(name.into_owned())
}

/// The model of a call.
pub(super) const MODELS: [&str; 6] = [
    "gen_ai.request.model",
    "gen_ai.response.model",
    "llm.model_name",
    "langfuse.model",
    "model.name",
    "llm.request.model",
];

/// The tool of a call.
pub(super) const TOOLS: [&str; 5] = [
    "gen_ai.tool.name",
    "tracer.tool_name",
    "tool.name",
    "traceloop.entity.name",
    "mcp.tool.name",
];

/// The ID that the model gave a call of a tool.
pub(super) const CALL_IDS: [&str; 3] = ["gen_ai.tool.call.id", "function_call.id", "tool_call_id"];

/// Returns whether an attribute shows that a model answered.
pub(super) fn shows_an_answer(key: &str) -> bool {
    const KEYS: [&str; 5] = [
        "gcp.vertex.agent.llm_response",
        "gen_ai.completion",
        "gen_ai.output.messages",
        "langfuse.output",
        "output.value",
    ];
    const PREFIXES: [&str; 4] = [
        "gen_ai.response.",
        "gen_ai.usage.",
        "llm.output_messages",
        "llm.token_count.",
    ];
    KEYS.contains(&key) || PREFIXES.iter().any(|prefix| key.starts_with(prefix))
}
