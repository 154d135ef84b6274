//! [`RecordOptions`]: a command to record, and the answers to its model calls.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Map, Value};
use tracer_sdk::format::{ForkOrigin, TAGS_VARIABLE, Tags, TraceId, names};
use tracer_sdk::settings::Settings;

use super::environment::Inherited;
use super::program::Program;
use crate::cassette::{
    Cassette, CassetteError, CassetteFile, ForkPlan, Forker, Head, OnMiss, ReplayOptions, Replayer, Scrubbing,
};
use crate::exchange::Responder;
use crate::proxy::{BaseUrlVariable, CallBudget};

/// A command to record, and how.
#[non_exhaustive]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a choice of its own, and any combination has a meaning"
)]
#[derive(Debug)]
pub struct RecordOptions {
    /// Data directory, redaction and limits.
    pub settings: Settings,
    /// Name of the run.
    pub name: String,
    /// The program and its arguments.
    pub command: Vec<OsString>,
    /// Its working directory, as the run records it.
    pub directory: PathBuf,
    /// Copy of the directory in which the command runs, where it runs in one.
    pub working_copy: Option<PathBuf>,
    /// Receives OTLP.
    pub receives_otlp: bool,
    /// Sends calls of model APIs through the recording proxy.
    pub proxies_models: bool,
    /// Stores the exchanges with the run, so that it can be replayed.
    pub keeps_exchanges: bool,
    /// Leaves requests for streams as they are, also where they then bring no tokens.
    pub no_stream_usage: bool,
    /// Attributes of the run's root, its tags among them.
    pub attributes: Map<String, Value>,
    /// Further variables that the command reads base URLs from.
    pub base_url_variables: Vec<BaseUrlVariable>,
    /// Limits of what the command may use.
    pub budget: Option<Arc<CallBudget>>,
    pub(super) cassette: Option<CassetteFile>,
    pub(super) responder: Option<Arc<dyn Responder>>,
    /// Providers of the recorded calls, where no provider is called: the command gets placeholders for keys.
    pub(super) offline: Option<Vec<String>>,
    pub(super) fork: Option<ForkOrigin>,
}

impl RecordOptions {
    /// Records everything of a command, live. `TRACER_RUN_NAME` names its run, else the program does; `TRACER_TAGS` tags it.
    #[must_use]
    pub fn new(settings: Settings, command: Vec<OsString>, directory: &Path, inherited: &Inherited) -> Self {
        let name = match inherited.get("TRACER_RUN_NAME") {
            Some(name) => name.to_owned(),
            None => Program::of_command(&command, directory).run_name(&command),
        };
        let (tags, _) = Tags::from_variable(inherited.get(TAGS_VARIABLE).unwrap_or_default());
        let mut options = Self {
            settings,
            name,
            command,
            directory: directory.to_owned(),
            working_copy: None,
            receives_otlp: true,
            proxies_models: true,
            keeps_exchanges: true,
            no_stream_usage: false,
            attributes: Map::new(),
            base_url_variables: Vec::new(),
            budget: None,
            cassette: None,
            responder: None,
            offline: None,
            fork: None,
        };
        options.tag(&tags);
        options
    }

    /// Tags the run.
    pub fn tag(&mut self, tags: &Tags) {
        self.attributes.extend(tags.iter().map(|(key, value)| {
            let name = format!("{}{key}", names::TAG_PREFIXES[0]);
            (name, Value::from(value))
        }));
    }

    /// Also writes the model calls to a cassette; an existing one is replaced with `replaces` only.
    ///
    /// # Errors
    ///
    /// [`CassetteError`] when it exists or cannot be written.
    pub fn write_cassette(&mut self, path: &Path, replaces: bool) -> Result<(), CassetteError> {
        self.cassette = Some(CassetteFile::create(path, &self.head(), replaces)?);
        Ok(())
    }

    /// Answers the model calls from a cassette.
    ///
    /// # Errors
    ///
    /// [`CassetteError`] when misses are recorded and the cassette cannot be appended to.
    pub fn replay(
        &mut self,
        cassette: &Arc<Cassette>,
        options: ReplayOptions,
    ) -> Result<Arc<Replayer>, CassetteError> {
        if options.on_miss == OnMiss::Record {
            self.cassette = Some(CassetteFile::append(cassette)?);
        }
        self.offline = (options.on_miss == OnMiss::Fail).then(|| cassette.providers());
        let replayer = Arc::new(Replayer::new(Arc::clone(cassette), self.scrubbing(), options));
        self.responder = Some(Arc::clone(&replayer) as _);
        Ok(replayer)
    }

    /// Answers the model calls as `run` recorded them, up to where the plan forks it.
    pub fn fork(&mut self, forker: &Arc<Forker>, plan: &ForkPlan, run: TraceId) {
        self.responder = Some(Arc::clone(forker) as _);
        self.fork = Some(ForkOrigin {
            run,
            at: plan.at,
            changes: plan.changes(),
        });
    }

    /// The words of the command, as text.
    pub(super) fn words(&self) -> impl Iterator<Item = String> {
        let words = self.command.iter();
        words.map(|word| word.to_string_lossy().into_owned())
    }

    /// The head of a file of its exchanges.
    pub(super) fn head(&self) -> Head {
        self.scrubbing().head(self.words())
    }

    pub(super) fn scrubbing(&self) -> Scrubbing {
        Scrubbing::of_program(&self.settings, self.place())
    }

    /// The folder in which the command runs.
    pub(super) fn place(&self) -> &Path {
        self.working_copy.as_deref().unwrap_or(&self.directory)
    }
}
