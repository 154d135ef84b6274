//! The variables of a recorded command for its calls of models: those that lead it to the proxy, or keep it from calling
//! anything but a replay (capture, section 5).

use super::environment::{ChildEnvironment, Inherited};
use super::program::Program;
use crate::proxy::{self, BaseUrlVariable};

/// The variables that lead a program's calls of models to a proxy at `base`, with their values: of every provider that has
/// an address.
///
/// ```
/// use std::path::Path;
/// use tracer_capture::record::{Inherited, Program, model_base_urls};
///
/// let program = Program::of_command(&["ollama".into()], Path::new("."));
/// let urls = model_base_urls(&program, &Inherited::default(), &[], "http://127.0.0.1:1/r/TOKEN");
/// assert!(urls.contains(&("ANTHROPIC_BASE_URL", "http://127.0.0.1:1/r/TOKEN/anthropic".to_owned())));
/// assert!(urls.iter().all(|(name, _)| *name != "OLLAMA_HOST")); // where its own server listens
/// ```
#[must_use]
pub fn model_base_urls(
    program: &Program,
    inherited: &Inherited,
    own: &[BaseUrlVariable],
    base: &str,
) -> Vec<(&'static str, String)> {
    let urls = proxy::base_urls(inherited.variables(), own, base).into_iter();
    // It tells Ollama's server where to listen, too.
    let is_of_server = |name: &str| program.name == "ollama" && name == "OLLAMA_HOST";
    urls.filter(|(name, _)| !is_of_server(name)).collect()
}

/// Variables of clients that change what they do: Claude Code leaves things out for a foreign base URL, although the proxy changes
/// nothing, and the Gemini CLI starts itself again, and loses what it was given.
const CLIENTS: [(&str, &str); 3] = [
    ("ENABLE_TOOL_SEARCH", "true"),
    ("CLAUDE_CODE_PROPAGATE_TRACEPARENT", "1"),
    ("GEMINI_CLI_NO_RELAUNCH", "true"),
];
/// Placeholder that a replayed command gets instead of a key.
const PLACEHOLDER_KEY: &str = "replayed-without-a-key";

impl ChildEnvironment {
    /// Variables that keep a replayed command from calling anything but the replay: placeholders instead of keys, for
    /// clients that refuse to start without one, and no export of metrics.
    #[must_use]
    pub(crate) fn of_replay(inherited: &Inherited, providers: &[String]) -> Self {
        let mut environment = Self::default();
        for provider in &proxy::PROVIDERS {
            let is_replayed = providers.iter().any(|replayed| replayed == provider.segment);
            for (position, variable) in provider.key_variables.iter().enumerate() {
                if inherited.get(variable).is_some() || (is_replayed && position == 0) {
                    environment.set(variable, PLACEHOLDER_KEY);
                }
            }
        }
        environment.set("OTEL_METRICS_EXPORTER", "none");
        environment
    }

    /// Variables that lead the clients of model APIs through the proxy. Their earlier values are the upstreams of the
    /// proxy.
    ///
    /// ```
    /// use tracer_capture::record::{ChildEnvironment, Inherited};
    ///
    /// let base = "http://127.0.0.1:1/r/TOKEN/openai/v1".to_owned();
    /// let environment = ChildEnvironment::of_models(&Inherited::default(), [("OPENAI_BASE_URL", base)]);
    /// assert!(environment.value("OPENAI_BASE_URL").is_some());
    /// assert_eq!(environment.value("ENABLE_TOOL_SEARCH"), Some("true"));
    /// ```
    #[must_use]
    pub fn of_models(
        inherited: &Inherited,
        base_urls: impl IntoIterator<Item = (&'static str, String)>,
    ) -> Self {
        let mut environment = Self::default();
        for (name, value) in base_urls {
            environment.set(name, value);
        }
        for (name, value) in CLIENTS {
            environment.add_unless_set(inherited, name, value);
        }
        environment.exempt_loopback(inherited);
        environment
    }
}
