//! The table of frameworks: for each, the line that makes a recording see its calls.

use super::program::ProgramKind;

/// A framework, and what its author writes or installs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Framework {
    /// Its name.
    pub name: &'static str,
    /// The line to write, or the package to install.
    pub advice: &'static str,
}

/// The frameworks that a program of this kind may use, whatever it does use: nothing of it is read.
///
/// ```
/// use tracer_capture::record::{ProgramKind, frameworks_of};
///
/// let rows = frameworks_of(ProgramKind::Node);
/// assert!(rows.iter().any(|row| row.name == "AI SDK 7" && row.advice.contains("registerTelemetry")));
/// assert!(frameworks_of(ProgramKind::Container).is_empty());
/// ```
#[must_use]
pub fn frameworks_of(kind: ProgramKind) -> &'static [Framework] {
    match kind {
        ProgramKind::Python => PYTHON,
        ProgramKind::Node => NODE,
        ProgramKind::Native => RUST,
        _ => &[],
    }
}

const fn row(name: &'static str, advice: &'static str) -> Framework {
    Framework { name, advice }
}

const PYTHON: &[Framework] = &[
    row("pydantic-ai", "Agent.instrument_all()"),
    row("Strands", "StrandsTelemetry().setup_otlp_exporter()"),
    row(
        "agent-framework",
        "configure_otel_providers(enable_sensitive_data=True)",
    ),
    row(
        "LangChain, LangGraph",
        "pip install openinference-instrumentation-langchain",
    ),
    row(
        "OpenAI Agents",
        "pip install openinference-instrumentation-openai-agents (its own traces go to OpenAI)",
    ),
    row(
        "LlamaIndex",
        "pip install openinference-instrumentation-llama-index",
    ),
    row(
        "Haystack",
        "pip install opentelemetry-haystack; tracing.enable_tracing(OpenTelemetryTracer(trace.get_tracer(\"agent\")))",
    ),
    row("CrewAI", "pip install openinference-instrumentation-crewai"),
    row(
        "AutoGen",
        "pip install openinference-instrumentation-autogen-agentchat",
    ),
    row(
        "smolagents",
        "pip install openinference-instrumentation-smolagents",
    ),
    row("DSPy", "pip install openinference-instrumentation-dspy"),
    row("Agno", "pip install openinference-instrumentation-agno"),
    row("LiteLLM", "pip install openinference-instrumentation-litellm"),
    row(
        "OpenAI's client",
        "pip install opentelemetry-instrumentation-genai-openai",
    ),
    row("Bedrock", "pip install openinference-instrumentation-bedrock"),
];

const NODE: &[Framework] = &[
    row(
        "AI SDK 7",
        "npm install @ai-sdk/otel; registerTelemetry(new OpenTelemetry())",
    ),
    row(
        "AI SDK 6 and before",
        "experimental_telemetry: { isEnabled: true } with each call",
    ),
    row(
        "AI SDK, Mastra: Google",
        "createGoogleGenerativeAI({ baseURL: process.env.GOOGLE_GEMINI_BASE_URL + '/v1beta' })",
    ),
    row(
        "LangChain: Google",
        "new ChatGoogleGenerativeAI({ baseUrl: process.env.GOOGLE_GEMINI_BASE_URL })",
    ),
    row(
        "Genkit",
        "enableTelemetry({ spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter())] }) of genkit/tracing",
    ),
    row(
        "Genkit: Google",
        "googleAI({ baseUrl: process.env.GOOGLE_GEMINI_BASE_URL })",
    ),
    row(
        "LangChain",
        "npm install @arizeai/openinference-instrumentation-langchain, and register it",
    ),
    row(
        "OpenAI Agents",
        "npm install @arizeai/openinference-instrumentation-openai-agents, and register it (its own traces go to OpenAI)",
    ),
    row(
        "Mastra",
        "npm install @mastra/otel-exporter; exporters: [new OtelExporter({ provider: { custom: { endpoint } } })]",
    ),
    row(
        "VoltAgent",
        "npm install @opentelemetry/sdk-node, and start a NodeSDK before it is imported",
    ),
];

const RUST: &[Framework] = &[
    row("rig", "openai::Client::from_env()"),
    row(
        "genai",
        "a ServiceTargetResolver with the endpoint of OPENAI_BASE_URL",
    ),
    row("ollama-rs", "Ollama::try_new(std::env::var(\"OLLAMA_HOST\")?)"),
    row(
        "adk-rust",
        "OpenAIConfig::compatible(key, std::env::var(\"OPENAI_BASE_URL\")?, model)",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_table_names_a_framework_once() {
        for table in [PYTHON, NODE, RUST] {
            let mut names: Vec<_> = table.iter().map(|row| row.name).collect();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), table.len());
        }
    }
}
