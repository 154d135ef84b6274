//! Runs without the attribute: a guard, a closure, a future.

use std::borrow::Cow;
use std::fmt;
use std::future::Future;
use std::panic::Location;
use std::path::PathBuf;
use std::sync::Arc;

use super::context::Context;
use super::error::ErrorInfo;
use super::given_tags::GivenTags;
use super::observed::{Observed, observed};
use super::panic::watched;
use super::recording::RecordingGuard;
use super::run_state::RunStats;
use super::scope::{Scope, ScopeGuard};
use super::site::Site;
use super::traced::Traced;
use crate::guardrails::{GuardrailExceeded, Guardrails};
use crate::settings::Config;
use crate::write::files::FileSystem;
use tracer_format::TraceId;

/// Starts a run on this thread and returns its guard: the run lasts until the guard is dropped.
///
/// Dropping it is a good end, unless [`RunGuard::fail`] or [`RunGuard::observe`] said otherwise, a guardrail tripped or
/// the thread is panicking. Where a run is active already, it becomes a structural span of that run.
///
/// ```no_run
/// // Not run as a test: it would record below the home directory.
/// fn main() -> Result<(), Box<dyn std::error::Error>> {
///     let run = tracer_sdk::traced_run("nightly summary");
///     tracer_sdk::tool_call("read_file").args("notes.md").result("…").record()?;
///     println!("see: tracer show {}", run.trace_id().map(|id| id.to_string()).unwrap_or_default());
///     Ok(())
/// }
/// ```
///
/// `let _ = traced_run(..)` drops the guard at once and records an empty run; bind it to a name.
#[track_caller]
pub fn traced_run(name: impl Into<Cow<'static, str>>) -> RunGuard {
    Run::new(name).start()
}

/// A run that is being described: name, limits, settings.
///
/// ```
/// use tracer_sdk::{Config, Guardrails, Run, tool_call};
///
/// let folder = tempfile::tempdir()?;
/// let config = Config::new().data_dir(folder.path());
/// let answer = Run::new("support-agent")
///     .config(&config)
///     .guardrails(Guardrails::new().max_tool_calls(20))
///     .try_in_scope(|| tool_call("search").record().map(|()| "Within 14 days."))?;
/// assert_eq!(answer, "Within 14 days.");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "a `Run` only describes a run: call `.start()`, `.try_in_scope(..)` or `.try_instrument(..)`"]
#[derive(Debug, Clone)]
pub struct Run {
    pub(super) site: Site,
    pub(super) config: Config,
    pub(super) tags: GivenTags,
    /// Another one than the machine's own.
    pub(super) file_system: Option<Arc<dyn FileSystem>>,
}

impl Run {
    /// A run with a name. `TRACER_RUN_NAME` wins over it.
    ///
    /// ```
    /// let folder = tempfile::tempdir()?;
    /// let config = tracer_sdk::Config::new().data_dir(folder.path());
    /// let run = tracer_sdk::Run::new("support-agent").config(&config).start();
    /// run.finish();
    /// let run = tracer_runs::RunStore::new(folder.path()).newest()?.load()?;
    /// assert_eq!(run.meta.run_name.as_deref(), Some("support-agent"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[track_caller]
    pub fn new(name: impl Into<Cow<'static, str>>) -> Self {
        let caller = Location::caller();
        let site = Site::new(Some(name.into()), caller.file(), "", caller.line());
        Self::at(site, Config::new())
    }

    pub(super) fn at(site: Site, config: Config) -> Self {
        Self {
            site,
            config,
            tags: GivenTags::default(),
            file_system: None,
        }
    }

    /// Sets the limits that stop the run.
    ///
    /// ```
    /// use tracer_sdk::{Config, Guardrails, Run, llm_call};
    ///
    /// let folder = tempfile::tempdir()?;
    /// let config = Config::new().data_dir(folder.path());
    /// let run = Run::new("careful").config(&config).guardrails(Guardrails::new().max_llm_calls(1)).start();
    /// assert!(llm_call("gpt-5").record().is_ok());
    /// assert!(llm_call("gpt-5").start().is_err()); // refused before it is made
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn guardrails(mut self, guardrails: Guardrails) -> Self {
        self.config = self.config.guardrails(guardrails);
        self
    }

    /// Sets values that win over the environment and the settings files; limits set before are kept.
    ///
    /// ```
    /// use tracer_sdk::{Config, Run};
    ///
    /// let folder = tempfile::tempdir()?;
    /// let config = Config::new().data_dir(folder.path());
    /// let off = Config::new().enabled(false);
    /// let run = Run::new("unrecorded").config(&config).config(&off).start();
    /// assert_eq!(run.trace_id(), None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn config(mut self, config: &Config) -> Self {
        self.config = config.clone().or(&self.config);
        self
    }

    /// Adds a tag, a short text by which the run is found and grouped again; another one of this key is replaced.
    ///
    /// It is recorded as the attribute `tracer.tag.KEY` of the root, redacted, and cut to 256 bytes. A run has at most 64 tags; a
    /// key has 1 to 64 bytes and no space, comma or `=`. What is not a tag is left out, with the SDK's one warning. Tags of
    /// the environment variable `TRACER_TAGS` (`commit=3f2a,team=search`) are added to every run and win over those in code.
    /// Where a run is active already, the tags are recorded on the span that this one becomes.
    ///
    /// ```
    /// let folder = tempfile::tempdir()?;
    /// let config = tracer_sdk::Config::new().data_dir(folder.path());
    /// let run = tracer_sdk::Run::new("support-agent").config(&config).tag("commit", "3f2a").start();
    /// run.finish();
    /// let run = tracer_runs::RunStore::new(folder.path()).newest()?.load()?;
    /// assert_eq!(run.spans[0].attributes["tracer.tag.commit"], "3f2a");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn tag(mut self, key: impl AsRef<str>, value: impl AsRef<str>) -> Self {
        self.tags.set(key.as_ref(), value.as_ref());
        self
    }

    /// Records through another file system than the machine's, for this project's own tests.
    #[doc(hidden)]
    #[cfg(any(test, feature = "testing"))]
    pub fn file_system(mut self, file_system: Arc<dyn FileSystem>) -> Self {
        self.file_system = Some(file_system);
        self
    }

    /// Starts the run on this thread.
    ///
    /// ```
    /// let folder = tempfile::tempdir()?;
    /// let config = tracer_sdk::Config::new().data_dir(folder.path());
    /// let run = tracer_sdk::Run::new("look up").config(&config).start();
    /// tracer_sdk::tool_call("search").record()?;
    /// drop(run); // the run ends here
    /// let listed = tracer_runs::RunStore::new(folder.path()).list()?;
    /// assert_eq!(listed.len(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn start(self) -> RunGuard {
        let scope = Scope::run_as(&self);
        // The program's allocator may record that the settings go.
        let _recording = RecordingGuard::mark();
        let Self {
            site,
            config: _config,
            tags: _tags,
            file_system: _file_system,
        } = self;
        RunGuard {
            _guard: scope.enter(),
            scope,
            site,
        }
    }

    /// Runs a closure that can fail as the run. An `Err` ends the run as failed and is returned.
    ///
    /// ```
    /// let folder = tempfile::tempdir()?;
    /// let config = tracer_sdk::Config::new().data_dir(folder.path());
    /// let answer = tracer_sdk::Run::new("ask").config(&config).try_in_scope(|| "42".parse::<u8>())?;
    /// assert_eq!(answer, 42);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn try_in_scope<T, E: fmt::Display>(self, work: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
        let run = self.start();
        run.observe(watched(work))
    }

    /// Runs a closure as the run and returns what it returns, whose meaning the run does not know: a `Result` goes to
    /// [`try_in_scope`](Self::try_in_scope).
    ///
    /// ```
    /// let folder = tempfile::tempdir()?;
    /// let config = tracer_sdk::Config::new().data_dir(folder.path());
    /// let answer = tracer_sdk::Run::new("ask").config(&config).in_scope(|| 42);
    /// assert_eq!(answer, 42);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn in_scope<R>(self, work: impl FnOnce() -> R) -> R {
        let _run = self.start();
        watched(work)
    }

    /// Makes a future that can fail the run. An `Err` ends the run as failed and is returned; a future that is dropped
    /// before it is ready is recorded as cancelled. The run starts now.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let folder = tempfile::tempdir()?;
    /// let config = tracer_sdk::Config::new().data_dir(folder.path());
    /// let answer = tracer_sdk::Run::new("ask").config(&config).try_instrument(async { "42".parse::<u8>() }).await?;
    /// assert_eq!(answer, 42);
    /// # Ok(()) }
    /// ```
    pub fn try_instrument<F, T, E>(self, future: F) -> Traced<impl Future<Output = Result<T, E>>>
    where
        F: Future<Output = Result<T, E>>,
        E: fmt::Display,
    {
        let scope = Scope::run_as(&self);
        let (observer, site) = (scope.clone(), self.site);
        let observe = move |scope: &Scope, result: &Result<T, E>| observe(scope, &site, result);
        Traced::new(scope, Observed::new(observer, future, |_| None, observe))
    }

    /// Makes a future the run and returns its output, whose meaning the run does not know: a `Result` goes to
    /// [`try_instrument`](Self::try_instrument).
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let folder = tempfile::tempdir()?;
    /// let config = tracer_sdk::Config::new().data_dir(folder.path());
    /// let answer = tracer_sdk::Run::new("ask").config(&config).instrument(async { 42 }).await;
    /// assert_eq!(answer, 42);
    /// # Ok(()) }
    /// ```
    pub fn instrument<F: Future>(self, future: F) -> Traced<F> {
        Traced::new(Scope::run_as(&self), future)
    }
}

fn observe<T, E: fmt::Display>(scope: &Scope, site: &Site, result: &Result<T, E>) {
    if let Err(error) = result {
        scope.fail(ErrorInfo::of(error).at(site.place()));
    }
}

/// Asks whether the current run has crossed one of its limits.
///
/// Recorders ask by themselves. An agent whose model and tool calls are made by a library, and recorded by
/// `tracer_sdk::layer()`, asks in its own loop: a library cannot be stopped from outside.
///
/// ```
/// use tracer_sdk::{Config, Guardrails, Run, tool_call};
///
/// let folder = tempfile::tempdir()?;
/// let config = Config::new().data_dir(folder.path());
/// let limits = Guardrails::new().max_tool_calls(1);
/// let run = Run::new("careful").config(&config).guardrails(limits).start();
/// assert!(tracer_sdk::check().is_ok());
/// let _ = tool_call("search").record();
/// let _ = tool_call("search").record();
/// assert!(tracer_sdk::check().is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// [`GuardrailExceeded`] when it has. Outside of a run there is no limit.
pub fn check() -> Result<(), GuardrailExceeded> {
    let Some(_recording) = RecordingGuard::enter() else {
        return Ok(());
    };
    Context::active().map_or(Ok(()), |context| context.run.check())
}

/// Nothing is known while the thread records something.
fn stats_of(context: Option<Context>) -> RunStats {
    match (context, RecordingGuard::enter()) {
        (Some(context), Some(_recording)) => context.run.stats(),
        _ => RunStats::default(),
    }
}

/// A run that lasts until this guard is dropped. It belongs to its thread:
///
/// ```compile_fail
/// fn must_be_send<T: Send>(_: T) {}
/// must_be_send(tracer_sdk::traced_run("here"));
/// ```
#[must_use = "dropping the guard ends the run: bind it with `let run = traced_run(..)`"]
#[derive(Debug)]
pub struct RunGuard {
    // Dropped first: it restores the context and ends the scope.
    _guard: ScopeGuard,
    scope: Scope,
    site: Site,
}

impl RunGuard {
    /// The run's ID; `None` when recording is off.
    ///
    /// ```
    /// let folder = tempfile::tempdir()?;
    /// let config = tracer_sdk::Config::new().data_dir(folder.path());
    /// let run = tracer_sdk::Run::new("look up").config(&config).start();
    /// let id = run.trace_id().expect("recording is on");
    /// assert!(run.dir().unwrap().ends_with(id.to_string()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn trace_id(&self) -> Option<TraceId> {
        self.scope.context().map(|context| context.trace_id())
    }

    /// The run's directory; `None` when recording is off.
    ///
    /// ```
    /// let folder = tempfile::tempdir()?;
    /// let config = tracer_sdk::Config::new().data_dir(folder.path());
    /// let run = tracer_sdk::Run::new("look up").config(&config).start();
    /// let directory = run.dir().expect("recording is on");
    /// assert!(directory.starts_with(folder.path().join("runs")));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn dir(&self) -> Option<PathBuf> {
        self.scope
            .context()
            .map(|context| context.run.directory().to_owned())
    }

    /// The run's context, to be carried into threads and tasks; `None` when recording is off.
    ///
    /// ```
    /// let folder = tempfile::tempdir()?;
    /// let config = tracer_sdk::Config::new().data_dir(folder.path());
    /// let run = tracer_sdk::Run::new("fan out").config(&config).start();
    /// let context = run.context().expect("recording is on");
    /// std::thread::spawn(context.wrap(|| tracer_sdk::tool_call("search").record())).join().unwrap()?;
    /// assert_eq!(run.stats().written, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn context(&self) -> Option<Context> {
        self.scope.context()
    }

    /// Ends the run as failed, whatever happens later. The first failure is the run's description.
    ///
    /// ```
    /// let folder = tempfile::tempdir()?;
    /// let config = tracer_sdk::Config::new().data_dir(folder.path());
    /// let run = tracer_sdk::Run::new("ask").config(&config).start();
    /// run.fail("the customer hung up");
    /// run.finish();
    /// let run = tracer_runs::RunStore::new(folder.path()).newest()?.load()?;
    /// assert_eq!(run.spans[0].status_description, "the customer hung up");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn fail<E: fmt::Display + ?Sized>(&self, error: &E) {
        if self.scope.is_recording() {
            self.scope.fail(ErrorInfo::of(error).at(self.site.place()));
        }
    }

    /// Observes a result and returns it; an `Err` ends the run as failed.
    ///
    /// ```
    /// use tracer_sdk::format::RecordedStatus;
    ///
    /// let folder = tempfile::tempdir()?;
    /// let config = tracer_sdk::Config::new().data_dir(folder.path());
    /// let run = tracer_sdk::Run::new("ask").config(&config).start();
    /// assert!(run.observe("x".parse::<u8>()).is_err());
    /// run.finish();
    /// let run = tracer_runs::RunStore::new(folder.path()).newest()?.load()?;
    /// assert_eq!(run.meta.status, RecordedStatus::Error);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn observe<T, E: fmt::Display>(&self, result: Result<T, E>) -> Result<T, E> {
        observed(&self.scope, result, |scope, result| {
            observe(scope, &self.site, result);
        })
    }

    /// Asks whether the run has crossed one of its limits, its duration included.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tracer_sdk::{Config, Guardrail, Guardrails};
    ///
    /// let folder = tempfile::tempdir()?;
    /// let config = Config::new().data_dir(folder.path());
    /// let limits = Guardrails::new().max_duration(Duration::ZERO);
    /// let run = tracer_sdk::Run::new("long").config(&config).guardrails(limits).start();
    /// assert_eq!(run.check().unwrap_err().guardrail, Guardrail::MaxDuration);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`GuardrailExceeded`] when it has.
    pub fn check(&self) -> Result<(), GuardrailExceeded> {
        match (self.scope.context(), RecordingGuard::enter()) {
            (Some(context), Some(_recording)) => context.run.check(),
            _ => Ok(()),
        }
    }

    /// Writes whatever waits in a batch.
    ///
    /// ```
    /// use tracer_sdk::settings::Flush;
    ///
    /// let folder = tempfile::tempdir()?;
    /// let config = tracer_sdk::Config::new().data_dir(folder.path());
    /// let run = tracer_sdk::Run::new("busy").config(&config.flush(Flush::Batched)).start();
    /// tracer_sdk::tool_call("search").record()?;
    /// run.flush();
    /// assert_eq!(run.stats().written, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn flush(&self) {
        if let (Some(context), Some(_recording)) = (self.scope.context(), RecordingGuard::enter()) {
            context.run.flush();
        }
    }

    /// Number of spans of this run in the file, and of lost ones. With batching, spans that wait are neither.
    ///
    /// ```
    /// let folder = tempfile::tempdir()?;
    /// let config = tracer_sdk::Config::new().data_dir(folder.path());
    /// let run = tracer_sdk::Run::new("look up").config(&config).start();
    /// tracer_sdk::tool_call("search").record()?;
    /// assert_eq!(run.stats().written, 1); // the run's own span follows when it ends
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn stats(&self) -> RunStats {
        stats_of(self.scope.context())
    }

    /// Ends the run now, and tells what became of its spans, the run's own among them. Dropping the guard ends it as well.
    ///
    /// ```
    /// let folder = tempfile::tempdir()?;
    /// let config = tracer_sdk::Config::new().data_dir(folder.path());
    /// let run = tracer_sdk::Run::new("look up").config(&config).start();
    /// tracer_sdk::tool_call("search").record()?;
    /// let stats = run.finish();
    /// assert_eq!((stats.written, stats.dropped), (2, 0));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn finish(self) -> RunStats {
        let scope = self.scope.clone();
        drop(self);
        stats_of(scope.context())
    }
}
