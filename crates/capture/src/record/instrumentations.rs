//! What makes a library for models or agents export OpenTelemetry: the tables behind the advice of a recording that saw no
//! model call.

/// A library, and what to install for it.
struct Library {
    /// Its module, or its package.
    name: &'static str,
    /// What exports its model calls; `None` for a library that exports them itself, once it is switched on.
    package: Option<&'static str>,
    /// What to write in the program, for a library that needs it.
    switch: Option<&'static str>,
    /// Whether it calls models through other libraries: their own instrumentation is not needed then.
    is_framework: bool,
}

const fn framework(name: &'static str, package: &'static str) -> Library {
    Library {
        name,
        package: Some(package),
        switch: None,
        is_framework: true,
    }
}

const fn client(name: &'static str, package: &'static str) -> Library {
    Library {
        name,
        package: Some(package),
        switch: None,
        is_framework: false,
    }
}

const fn own(name: &'static str, switch: Option<&'static str>) -> Library {
    Library {
        name,
        package: None,
        switch,
        is_framework: true,
    }
}

/// The module of each library, and the Python package that instruments it.
const PYTHON: &[Library] = &[
    own("pydantic_ai", Some("Agent.instrument_all()")),
    own("strands", Some("StrandsTelemetry().setup_otlp_exporter()")),
    own("google.adk", None),
    framework("langgraph", "openinference-instrumentation-langchain"),
    framework("langchain", "openinference-instrumentation-langchain"),
    framework("langchain_core", "openinference-instrumentation-langchain"),
    framework("langchain_openai", "openinference-instrumentation-langchain"),
    framework("langchain_anthropic", "openinference-instrumentation-langchain"),
    framework("agents", "openinference-instrumentation-openai-agents"),
    framework("llama_index", "openinference-instrumentation-llama-index"),
    framework("crewai", "openinference-instrumentation-crewai"),
    framework("smolagents", "openinference-instrumentation-smolagents"),
    framework("dspy", "openinference-instrumentation-dspy"),
    framework("haystack", "openinference-instrumentation-haystack"),
    framework(
        "autogen_agentchat",
        "openinference-instrumentation-autogen-agentchat",
    ),
    framework("agno", "openinference-instrumentation-agno"),
    framework("litellm", "openinference-instrumentation-litellm"),
    client("openai", "opentelemetry-instrumentation-genai-openai"),
    client("anthropic", "openinference-instrumentation-anthropic"),
    client("google.genai", "openinference-instrumentation-google-genai"),
    client("mistralai", "openinference-instrumentation-mistralai"),
    client("groq", "openinference-instrumentation-groq"),
    client("boto3", "openinference-instrumentation-bedrock"),
];

/// The package of each library, and the npm package that instruments it.
const NODE: &[Library] = &[
    own("ai", Some("experimental_telemetry: { isEnabled: true }")),
    framework(
        "@langchain/core",
        "@arizeai/openinference-instrumentation-langchain",
    ),
    client("openai", "@arizeai/openinference-instrumentation-openai"),
    client(
        "@anthropic-ai/sdk",
        "@arizeai/openinference-instrumentation-anthropic",
    ),
];

/// What to do about the libraries that a program uses.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Instrumentation {
    /// The libraries that are known, as the program names them.
    pub(super) libraries: Vec<&'static str>,
    /// The packages to install.
    pub(super) packages: Vec<&'static str>,
    /// What to write in the program.
    pub(super) switches: Vec<&'static str>,
}

/// What exports the model calls of a Python program.
pub(super) fn for_python(used: &[String]) -> Option<Instrumentation> {
    choose(PYTHON, used)
}

/// What exports the model calls of a JavaScript program.
pub(super) fn for_node(used: &[String]) -> Option<Instrumentation> {
    choose(NODE, used)
}

/// `None` when no library is known.
fn choose(table: &'static [Library], used: &[String]) -> Option<Instrumentation> {
    let is_used = |library: &&Library| used.iter().any(|name| name == library.name);
    let mut libraries: Vec<&Library> = table.iter().filter(is_used).collect();
    if libraries.iter().any(|library| library.is_framework) {
        libraries.retain(|library| library.is_framework);
    }
    let mut chosen = Instrumentation::default();
    for library in libraries {
        chosen.libraries.push(library.name);
        let package = library
            .package
            .filter(|package| !chosen.packages.contains(package));
        chosen.packages.extend(package);
        chosen.switches.extend(library.switch);
    }
    (!chosen.libraries.is_empty()).then_some(chosen)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn python(used: &[&str]) -> Option<Instrumentation> {
        let used: Vec<String> = used.iter().map(|name| (*name).to_owned()).collect();
        for_python(&used)
    }

    #[test]
    fn a_framework_needs_no_instrumentation_of_its_clients() {
        let chosen = python(&["langgraph", "langchain_openai", "openai", "os"]).unwrap();
        assert_eq!(chosen.packages, ["openinference-instrumentation-langchain"]);
        assert_eq!(chosen.libraries, ["langgraph", "langchain_openai"]);
    }

    #[test]
    fn every_client_is_instrumented() {
        let chosen = python(&["openai", "anthropic"]).unwrap();
        assert_eq!(
            chosen.packages,
            [
                "opentelemetry-instrumentation-genai-openai",
                "openinference-instrumentation-anthropic"
            ]
        );
        assert_eq!(python(&["os", "json"]), None);
    }

    #[test]
    fn the_tables_name_each_library_once() {
        for table in [PYTHON, NODE] {
            let mut names: Vec<_> = table.iter().map(|library| library.name).collect();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), table.len());
        }
    }
}
