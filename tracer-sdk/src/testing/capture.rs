//! Running code as a run in memory.

use std::future::Future;
use std::path::Path;
use std::sync::Arc;

use super::Captured;
use crate::emit::scope::Scope;
use crate::emit::start_captured_run;
use crate::emit::traced::Traced;
use crate::guardrails::Guardrails;
use crate::settings::{Config, Sources, resolve};
use crate::write::files::FileSystem;
use crate::write::memory::Memory;

/// Runs a closure as a run in memory, see the [module](super).
///
/// Whatever the closure returns is handed on in [`Captured::result`]; an `Err` does not make the run fail, because a
/// closure may return anything. A panic is handed on after the run was ended; catch it inside of the closure to inspect
/// what was recorded before.
///
/// ```
/// use tracer_sdk::testing::capture;
///
/// let captured = capture(|| tracer_sdk::tool_call("search").record());
/// assert_eq!(captured.tree(), "run captured\n└─ tool search\n");
/// ```
pub fn capture<R>(work: impl FnOnce() -> R) -> Captured<R> {
    Capture::new().run(work)
}

/// Polls a future as a run in memory, as [`capture`] does with a closure.
///
/// ```
/// use tracer_sdk::testing::capture_async;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let captured = capture_async(async { tracer_sdk::tool_call("search").record() }).await;
/// assert_eq!(captured.tree(), "run captured\n└─ tool search\n");
/// # }
/// ```
pub async fn capture_async<F: Future>(future: F) -> Captured<F::Output> {
    Capture::new().run_async(future).await
}

/// A capture that is being described: name, limits, settings.
///
/// ```
/// use tracer_sdk::Guardrails;
/// use tracer_sdk::testing::Capture;
///
/// let captured = Capture::new()
///     .guardrails(Guardrails::new().max_tool_calls(1))
///     .run(|| {
///         tracer_sdk::tool_call("search").record()?;
///         tracer_sdk::tool_call("search").record()
///     });
/// assert!(captured.result.is_err());
/// assert!(captured.tree().contains("error GuardrailExceeded"));
/// ```
#[derive(Debug, Clone)]
#[must_use = "a `Capture` only describes a capture: call `.run(..)` or `.run_async(..)`"]
pub struct Capture {
    name: String,
    config: Config,
}

impl Default for Capture {
    fn default() -> Self {
        Self::new()
    }
}

impl Capture {
    /// A run named `captured`, with the default of every setting.
    ///
    /// ```
    /// use tracer_sdk::testing::Capture;
    ///
    /// let captured = Capture::new().run(|| ());
    /// assert_eq!(captured.tree(), "run captured\n");
    /// ```
    pub fn new() -> Self {
        Self {
            name: "captured".to_owned(),
            config: Config::new(),
        }
    }

    /// The name of the run.
    ///
    /// ```
    /// use tracer_sdk::testing::Capture;
    ///
    /// let captured = Capture::new().name("support-agent").run(|| ());
    /// assert_eq!(captured.meta.run_name.as_deref(), Some("support-agent"));
    /// ```
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// The limits that stop the run.
    ///
    /// ```
    /// use tracer_sdk::testing::Capture;
    /// use tracer_sdk::{Guardrails, llm_call};
    ///
    /// let no_calls = Guardrails::new().max_llm_calls(0);
    /// let captured = Capture::new().guardrails(no_calls).run(|| llm_call("gpt-5").record());
    /// assert!(captured.result.is_err());
    /// ```
    pub fn guardrails(mut self, guardrails: Guardrails) -> Self {
        self.config = self.config.guardrails(guardrails);
        self
    }

    /// Settings other than the default ones; limits set before are kept. A data directory means nothing here.
    ///
    /// ```
    /// use tracer_sdk::testing::Capture;
    /// use tracer_sdk::{Config, tool_call};
    ///
    /// let config = Config::new().redact_keys(["iban"]);
    /// let captured = Capture::new()
    ///     .config(&config)
    ///     .run(|| tool_call("pay").args(&serde_json::json!({"iban": "DE02 1203"})).record());
    /// assert_eq!(captured.tree(), "run captured\n└─ tool pay {\"iban\":\"__REDACTED__\"}\n");
    /// ```
    pub fn config(mut self, config: &Config) -> Self {
        self.config = config.clone().or(&self.config);
        self
    }

    /// Runs a closure as the run, see [`capture`].
    ///
    /// ```
    /// use tracer_sdk::testing::Capture;
    ///
    /// let captured = Capture::new().run(|| "42".parse::<u8>());
    /// assert_eq!(captured.result, Ok(42));
    /// ```
    pub fn run<R>(self, work: impl FnOnce() -> R) -> Captured<R> {
        let (memory, scope) = self.start();
        let guard = scope.enter();
        let result = work();
        drop(guard);
        drop(scope);
        Captured::of(result, &memory)
    }

    /// Polls a future as the run, see [`capture_async`]. The run starts now.
    ///
    /// ```
    /// use tracer_sdk::testing::Capture;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let captured = Capture::new().run_async(async { "42".parse::<u8>() }).await;
    /// assert_eq!(captured.result, Ok(42));
    /// # }
    /// ```
    pub fn run_async<F: Future>(self, future: F) -> impl Future<Output = Captured<F::Output>> {
        let (memory, scope) = self.start();
        let work = Traced::new(scope, future);
        async move {
            let result = work.await;
            Captured::of(result, &memory)
        }
    }

    /// Starts the run; threads that are not given its context do not attach to it.
    fn start(self) -> (Memory, Scope) {
        let memory = Memory::new();
        let file_system: Arc<dyn FileSystem> = Arc::new(memory.clone());
        let config = self.config.data_dir(Path::new("/captured"));
        // The code itself is the only source.
        let (settings, _problems) = resolve(&config, &Sources::default());
        let run = start_captured_run(&self.name, &settings, &file_system);
        (memory, Scope::of_run(run))
    }
}

#[cfg(test)]
mod tests;
