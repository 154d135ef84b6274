//! Spans of libraries that speak `tracing` become runs (capture, section 3).
//!
//! What a library reports is stored as it was sent; the projection understands it on reading. State of a span is in the
//! extensions of its registry and nowhere else: registries use the IDs of spans again, and a program may have several.

mod attributes;
mod bodies;
mod calls;
mod callsites;
mod conversations;
mod outcome;
mod recorder;
mod report;
mod runs;
mod span;
mod tool_events;
mod tools;
mod vocabulary;

use tracing::Subscriber;
use tracing_subscriber::Layer;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::{SubscriberInitExt, TryInitError};

use crate::settings::Config;
pub(crate) use calls::LibraryState;
use callsites::CallsiteFilter;
use conversations::end_with_last_thread;
use recorder::LibraryRecorder;

/// Which spans start a run, where no run is active (capture, section 3).
///
/// ```
/// use tracer_sdk::layer::{self, RunOn};
/// use tracing_subscriber::layer::SubscriberExt;
///
/// let folder = tempfile::tempdir()?;
/// let config = tracer_sdk::Config::new().data_dir(folder.path());
/// let layer = layer::builder().config(&config).run_on(RunOn::Marked).build();
/// tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), || {
///     let _chat = tracing::info_span!("chat", gen_ai.operation.name = "chat").entered(); // no run
///     let _run = tracing::info_span!(parent: None, "nightly", tracer.run = true).entered();
/// });
/// assert_eq!(tracer_runs::RunStore::new(folder.path()).list()?.len(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum RunOn {
    /// An agent span. A model or tool call without an agent starts a run of the outermost span around it.
    #[default]
    Agent,
    /// Every outermost span at level `INFO` or above, whether or not an agent works within it.
    AnyRoot,
    /// A span with the field `tracer.run`.
    Marked,
}

/// A layer that records agents, model calls and tool calls of libraries as runs: rig, genai (feature `otel`), and whatever
/// else has spans with the field names of OpenTelemetry's GenAI conventions.
///
/// It is filtered for itself: other layers see what they saw before, and callsites that are not its own cost next to nothing.
/// Within a run of this SDK (`traced_run`, `#[trace]`) spans of libraries belong to that run, and recorders within a
/// library's span belong under it; a call that both report counts once.
///
/// A layer cannot stop a library. A run that crosses one of its limits is marked as failed, and
/// [`check`](crate::check) reports it to the agent's own loop.
///
/// ```no_run
/// // Not run as a test: it would record below the home directory.
/// use tracing_subscriber::prelude::*;
///
/// tracing_subscriber::registry().with(tracer_sdk::layer()).init();
/// ```
///
/// A span that only its children keep open closes within the last of them. `tracing-subscriber` does that by recursion, with
/// any layer: a chain of some hundred such spans overflows the stack of a thread. A parent that is held, entered or
/// instrumented until its children have closed, as is usual, does not.
///
/// A global filter in front of it hides what it disables; give each layer its own filter (`with_filter`). Spans of
/// libraries are at level `INFO`, requests and replies of rig at `TRACE`.
pub fn layer<S>() -> impl Layer<S> + Send + Sync + 'static
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    builder().build()
}

/// A [`layer`](fn@crate::layer) that is being described.
///
/// ```
/// use tracing_subscriber::layer::SubscriberExt;
///
/// let layer = tracer_sdk::layer::builder().content(false).target("my_agent").build();
/// let subscriber = tracing_subscriber::registry().with(layer);
/// ```
pub fn builder() -> LayerBuilder {
    LayerBuilder {
        options: LayerOptions {
            run_on: RunOn::default(),
            content: true,
            config: Config::new(),
        },
        bodies: true,
        targets: Vec::new(),
    }
}

/// Describes a layer: which spans start runs, what is recorded of them.
///
/// ```
/// use tracer_sdk::layer::{self, RunOn};
/// use tracing_subscriber::layer::SubscriberExt;
///
/// let folder = tempfile::tempdir()?;
/// let config = tracer_sdk::Config::new().data_dir(folder.path());
/// let layer = layer::builder().config(&config).run_on(RunOn::AnyRoot).build();
/// tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), || {
///     let _request = tracing::info_span!("GET /answer").entered();
/// });
/// let run = tracer_runs::RunStore::new(folder.path()).newest()?.load()?;
/// assert_eq!(run.meta.run_name.as_deref(), Some("GET /answer"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
#[must_use = "a `LayerBuilder` only describes a layer: call `.build()` or `.init()`"]
pub struct LayerBuilder {
    options: LayerOptions,
    bodies: bool,
    targets: Vec<String>,
}

/// Options for the spans that a layer sees.
#[derive(Debug, Clone)]
struct LayerOptions {
    run_on: RunOn,
    content: bool,
    config: Config,
}

impl LayerBuilder {
    /// Sets which spans start a run.
    ///
    /// ```
    /// use tracer_sdk::layer::{self, RunOn};
    /// use tracing_subscriber::layer::SubscriberExt;
    ///
    /// let layer = layer::builder().run_on(RunOn::Marked).build();
    /// let subscriber = tracing_subscriber::registry().with(layer);
    /// ```
    pub fn run_on(mut self, run_on: RunOn) -> Self {
        self.options.run_on = run_on;
        self
    }

    /// Sets whether prompts, answers, arguments and results are recorded; they are unless this says otherwise. Without
    /// them their texts are replaced by their lengths. Models, tokens, times and errors always are recorded.
    ///
    /// ```
    /// use tracing_subscriber::layer::SubscriberExt;
    ///
    /// let folder = tempfile::tempdir()?;
    /// let config = tracer_sdk::Config::new().data_dir(folder.path());
    /// let layer = tracer_sdk::layer::builder().config(&config).content(false).build();
    /// tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), || {
    ///     tracing::info_span!("chat", gen_ai.operation.name = "chat", gen_ai.prompt = "Why is the sky blue?");
    /// });
    /// let run = tracer_runs::RunStore::new(folder.path()).newest()?.load()?;
    /// assert_eq!(run.spans[0].attributes["gen_ai.prompt"], "__OMITTED__ (20 bytes)");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn content(mut self, content: bool) -> Self {
        self.options.content = content;
        self
    }

    /// Sets whether requests and replies that a library logs at level `TRACE` are read (rig: targets `rig::completions`
    /// and `rig::streaming`); they are unless this says otherwise. Without them the most verbose level that the program
    /// needs is `INFO`.
    ///
    /// ```
    /// use tracing_subscriber::layer::SubscriberExt;
    /// use tracing::level_filters::LevelFilter;
    /// use tracing::Subscriber;
    ///
    /// let layer = tracer_sdk::layer::builder().bodies(false).build();
    /// let subscriber = tracing_subscriber::registry().with(layer);
    /// assert_eq!(subscriber.max_level_hint(), Some(LevelFilter::INFO));
    /// ```
    pub fn bodies(mut self, bodies: bool) -> Self {
        self.bodies = bodies;
        self
    }

    /// Records the spans of a target and of those below it as structure of their run, whatever their fields and level.
    ///
    /// ```
    /// use tracing_subscriber::layer::SubscriberExt;
    ///
    /// let folder = tempfile::tempdir()?;
    /// let config = tracer_sdk::Config::new().data_dir(folder.path());
    /// let layer = tracer_sdk::layer::builder().config(&config).target("planner").build();
    /// tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), || {
    ///     let _agent = tracing::info_span!("agent", agent.name = "researcher").entered();
    ///     tracing::debug_span!(target: "planner::steps", "plan").in_scope(|| ());
    /// });
    /// let run = tracer_runs::RunStore::new(folder.path()).newest()?.load()?;
    /// assert_eq!(run.spans[0].name, "plan");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn target(mut self, prefix: impl Into<String>) -> Self {
        self.targets.push(prefix.into());
        self
    }

    /// Sets values for the runs of this layer that win over the environment and the settings files.
    ///
    /// ```
    /// use tracer_sdk::{Config, Guardrails};
    /// use tracing_subscriber::layer::SubscriberExt;
    ///
    /// let config = Config::new().guardrails(Guardrails::new().max_llm_calls(50));
    /// let layer = tracer_sdk::layer::builder().config(&config).build();
    /// let subscriber = tracing_subscriber::registry().with(layer);
    /// ```
    pub fn config(mut self, config: &Config) -> Self {
        self.options.config = config.clone().or(&self.options.config);
        self
    }

    /// Makes the layer.
    ///
    /// ```
    /// use tracing_subscriber::layer::SubscriberExt;
    ///
    /// let subscriber = tracing_subscriber::registry().with(tracer_sdk::layer::builder().build());
    /// ```
    pub fn build<S>(self) -> impl Layer<S> + Send + Sync + 'static
    where
        S: Subscriber + for<'a> LookupSpan<'a>,
    {
        report::layer_made();
        end_with_last_thread();
        let filter = CallsiteFilter::new(self.targets, self.bodies);
        LibraryRecorder::new(self.options, filter.clone()).with_filter(filter)
    }

    /// Makes the layer the program's only one.
    ///
    /// ```no_run
    /// // Not run as a test: it would record below the home directory.
    /// tracer_sdk::layer::builder().content(false).init()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// When the program has a subscriber already: add the layer there, with
    /// `tracing_subscriber::registry().with(tracer_sdk::layer())`.
    pub fn init(self) -> Result<(), TryInitError> {
        tracing_subscriber::registry().with(self.build()).try_init()
    }
}
