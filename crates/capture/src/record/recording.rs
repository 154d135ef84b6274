//! [`Recording`]: the run of a command, from before it starts until what it sent is on the disk.

use std::cmp::Ordering;
use std::ffi::OsString;
use std::io;
use std::process::Command;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use tracer_insight::process_exit::ProcessExit;
use tracer_insight::{text, units};
use tracer_runs::{RunReader, RunStatus, RunStore, Strictness};
use tracer_sdk::TRACE_PARENT_VARIABLE;
use tracer_sdk::format::{ErrorPayload, EventType, Payload, RUNS_FOLDER, Timestamp, TraceId, error_type};

use super::child::{RunningCommand, Signals, StartError, Survivor, exit_words, survivors};
use super::codex::codex_options;
use super::environment::{ChildEnvironment, Inherited, OTLP_ENDPOINT, OtlpEndpoints, Variable};
use super::findings::EnvironmentFindings;
use super::frameworks::{Framework, frameworks_of};
use super::models::model_base_urls;
use super::options::RecordOptions;
use super::program::Program;
use super::reasons::{Observation, likely_reasons};
use super::receiver;
use crate::cassette::{CassetteFile, ExchangeKeeper, KeptHandle, KeptSummary};
use crate::proxy::{self, ModelProxy, ProxiedRuns, ProxyError, ProxyOptions};
use crate::runs::{CaptureError, CollectorOptions, RunCollector, RunEnding, RunIdentity, TraceRuns};
use crate::server::{OtlpServer, ServerError, ServerStatistics};

/// Time-out for an exporter that outlives the command: some send every five seconds, and when they end.
const MAX_FLUSH: Duration = Duration::from_secs(5);
/// Time without an open connection after which the command is taken to have sent everything: an exporter that outlives
/// it may open one after the other.
const SETTLED: Duration = Duration::from_millis(100);
/// Poll interval of open connections.
const POLL: Duration = Duration::from_millis(5);
/// Time-out for the end of the receiver: a sender that outlives the command must not block it.
const STOP_TIMEOUT: Duration = Duration::from_secs(5);

/// Why a recording could not begin.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordingError {
    /// The run cannot be written.
    #[error("failed to begin the run")]
    Run(#[from] CaptureError),
    /// The receiver cannot be started.
    #[error("failed to start the receiver")]
    Receiver(#[from] ServerError),
    /// The proxy for model APIs cannot be started.
    #[error("failed to start the proxy for model APIs")]
    Proxy(#[from] ProxyError),
}

/// A command that is being recorded: its run has begun, and what it is to be started with is known.
///
/// Dropping it leaves the run as it is, and readers see it as interrupted.
///
/// ```
/// use tracer_capture::record::{CommandEnd, Inherited, RecordOptions, Recording};
/// use tracer_insight::process_exit::ProcessExit;
/// use tracer_sdk::settings::Settings;
///
/// let folder = tempfile::tempdir()?;
/// let inherited = Inherited::default();
/// let settings = Settings::with_data_dir(folder.path());
/// let options = RecordOptions::new(settings, vec!["true".into()], &std::env::current_dir()?, &inherited);
/// let recording = Recording::start(options, &inherited)?;
/// assert!(recording.command().status()?.success());
/// let recorded = recording.end(CommandEnd::now(Some(ProcessExit::Code(0))));
/// assert_eq!((recorded.run.is_some(), recorded.model_calls), (true, 0));
/// assert!(!recorded.reasons.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Recording {
    options: RecordOptions,
    collector: Arc<RunCollector>,
    identity: RunIdentity,
    receiver: Option<OtlpServer>,
    proxy: Option<ModelProxy>,
    notices: Vec<String>,
    program: Program,
    findings: EnvironmentFindings,
    environment: ChildEnvironment,
    added: Vec<OsString>,
    kept: Option<KeptHandle>,
}

/// End of a recorded command.
#[derive(Debug, Clone, Copy)]
pub struct CommandEnd {
    /// Its exit; `None` when it was not started, or when it was not waited for.
    pub exit: Option<ProcessExit>,
    /// When it ended.
    pub at: Timestamp,
}

impl CommandEnd {
    /// One that has ended now.
    #[must_use]
    pub fn now(exit: Option<ProcessExit>) -> Self {
        Self {
            exit,
            at: units::now(),
        }
    }
}

/// Result of a recording.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct FinishedRecording {
    /// The run.
    pub run: Option<TraceId>,
    /// Its status; `None` when it cannot be read.
    pub status: Option<RunStatus>,
    /// Number of model calls.
    pub model_calls: u64,
    /// Number of tool calls.
    pub tool_calls: u64,
    /// Their tokens; `None` when no model call says.
    pub tokens: Option<u64>,
    /// It has steps, or it cannot be read.
    pub has_steps: bool,
    /// The likely reasons why there is no model call; empty when there is one.
    pub reasons: Vec<String>,
    /// The frameworks that its program may use, each with what makes its calls seen; empty where that is not the reason.
    pub frameworks: &'static [Framework],
    /// Notes for the user on the captured data.
    pub notes: Vec<String>,
    /// Processes that the command started and that are still running.
    pub survivors: Vec<Survivor>,
    /// Statistics of the receiver.
    pub received: ServerStatistics,
    /// The exchanges that were kept, next to the run or in a cassette.
    pub kept: KeptSummary,
    /// Why the run could not be completed.
    pub error: Option<String>,
}

impl FinishedRecording {
    /// Returns whether nothing of the command was seen but that it ran.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        !self.has_steps
    }
}

impl Recording {
    /// Begins the run and starts what captures. Nothing is left when it fails.
    ///
    /// # Errors
    ///
    /// [`RecordingError`] when the data directory cannot be written, or the receiver or the proxy cannot be started.
    pub fn start(mut options: RecordOptions, inherited: &Inherited) -> Result<Self, RecordingError> {
        let program = Program::of_command(&options.command, &options.directory);
        let findings = EnvironmentFindings::of_command(inherited, options.place());
        let identity = identity(&options);
        let mut into_options = CollectorOptions::new(&options.settings);
        into_options.into = TraceRuns::OneRun(identity.clone());
        let collector = RunCollector::open(into_options)?;
        let proxy_token = uuid::Uuid::new_v4().simple().to_string();
        let (mut receiver, mut notices) = (None, Vec::new());
        if options.receives_otlp {
            let upstreams = if options.offline.is_some() {
                &Inherited::default()
            } else {
                inherited
            };
            let sink = Arc::clone(&collector) as _;
            let (server, notice) = receiver::start(sink, upstreams, &proxy_token)?;
            notices.extend(notice);
            receiver = Some(server);
        }
        let (mut proxy, mut kept) = (None, None);
        let data_dir = &options.settings.data_dir;
        if options.proxies_models {
            let mut files: Vec<CassetteFile> = options.cassette.take().into_iter().collect();
            if options.keeps_exchanges {
                let run = data_dir.join(RUNS_FOLDER).join(identity.trace_id.to_string());
                files.push(CassetteFile::beside_run(&run, options.head()));
            }
            let mut proxied = ProxyOptions::default();
            if !files.is_empty() {
                let (keeper, handle) = ExchangeKeeper::new(options.scrubbing(), files);
                proxied.exchanges = Some(Box::new(keeper));
                kept = Some(handle);
            }
            proxied.responder = options.responder.take();
            proxied.is_offline = options.offline.is_some();
            proxied.no_stream_usage = options.no_stream_usage;
            proxied.address.token = Some(proxy_token);
            proxied.base_url_variables.clone_from(&options.base_url_variables);
            proxied.budget.clone_from(&options.budget);
            let runs = ProxiedRuns::One((&identity).into());
            let sink = Arc::clone(&collector) as _;
            let started = ModelProxy::start(runs, inherited.variables(), Some(sink), proxied)?;
            notices.splice(0..0, started.unusable().iter().map(ToString::to_string));
            proxy = Some(started);
        }
        let endpoints = receiver.as_ref().map(OtlpEndpoints::from);
        let base_urls = match (&proxy, &options.offline) {
            (None, _) => Vec::new(),
            (Some(proxy), None) => {
                model_base_urls(&program, inherited, &options.base_url_variables, proxy.base())
            }
            (Some(proxy), Some(providers)) => {
                proxy::replay_base_urls(inherited.variables(), providers, proxy.base())
            }
        };
        let mut environment = ChildEnvironment::default();
        if let Some(providers) = &options.offline {
            environment.extend(ChildEnvironment::of_replay(inherited, providers));
        }
        let parent = identity.traceparent();
        environment.extend(ChildEnvironment::of_run(data_dir, &parent, inherited));
        if let Some(endpoints) = &endpoints {
            environment.extend(ChildEnvironment::of_otlp(inherited, endpoints));
        }
        if let Some(proxy) = &proxy {
            environment.extend(ChildEnvironment::of_models(inherited, base_urls.clone()));
            // By its name a secret, whose value programs with tracer's SDK record nowhere.
            environment.set("TRACER_PROXY_TOKEN", proxy.token());
        }
        let added = codex_options(
            &program,
            &options.command,
            inherited,
            endpoints.as_ref(),
            &base_urls,
        );
        Ok(Self {
            options,
            collector,
            identity,
            receiver,
            proxy,
            notices,
            program,
            findings,
            environment,
            added,
            kept,
        })
    }

    /// The run.
    #[must_use]
    pub fn trace_id(&self) -> TraceId {
        self.identity.trace_id
    }

    /// The time at which the run began.
    #[must_use]
    pub fn started_at(&self) -> Timestamp {
        self.identity.started_at
    }

    /// Variables of the command's environment.
    #[must_use]
    pub fn environment(&self) -> &ChildEnvironment {
        &self.environment
    }

    /// Options that the command gets behind its program, without which it would not export.
    #[must_use]
    pub fn added_options(&self) -> &[OsString] {
        &self.added
    }

    /// Position of the options: the number of words of the command before them.
    #[must_use]
    pub fn options_position(&self) -> usize {
        (self.program.position + 1).min(self.options.command.len())
    }

    /// Notices for the user before the command starts.
    #[must_use]
    pub fn notices(&self) -> &[String] {
        &self.notices
    }

    /// The command as it is to be started: with the streams and the working directory of this process.
    #[must_use]
    pub fn command(&self) -> Command {
        let mut words = self.options.command.clone();
        let position = self.options_position();
        words.splice(position..position, self.added.iter().cloned());
        let mut words = words.into_iter();
        let mut command = Command::new(words.next().unwrap_or_default());
        command.args(words);
        for Variable { name, value } in &self.environment.variables {
            command.env(name, value);
        }
        command
    }

    /// Runs the command to its end. Gives its exit code as shells have it, and what was recorded.
    ///
    /// # Errors
    ///
    /// [`StartError`]; the run says that the command was not started.
    pub fn run(self, signals: &Signals) -> Result<(u8, FinishedRecording), StartError> {
        match RunningCommand::start(self.command(), signals) {
            Ok(running) => {
                let exit = self.wait(&running)?;
                let recorded = self.end(CommandEnd::now(Some(exit)));
                Ok((exit.shell_code(), recorded))
            }
            Err(error) => {
                let _ = self.end(CommandEnd::now(None));
                Err(error)
            }
        }
    }

    /// Waits for the end of the command, or ends it when its time is over.
    fn wait(&self, running: &RunningCommand) -> io::Result<ProcessExit> {
        let budget = self.options.budget.as_ref();
        let Some((budget, left)) = budget.and_then(|budget| Some((budget, budget.time_left()?))) else {
            return running.wait();
        };
        if let Some(exit) = running.wait_for(left)? {
            return Ok(exit);
        }
        budget.stop_at_time();
        running.end(|| survivors(&self.marks()))
    }

    /// Waits until the exporters of a command that has ended have sent everything, and ends its run.
    #[must_use]
    pub fn end(mut self, end: CommandEnd) -> FinishedRecording {
        self.wait_until_settled();
        let started = self.started_at();
        let survivors = survivors(&self.marks());
        let received = self.receiver.take();
        let received = received.map(|receiver| receiver.shut_down(STOP_TIMEOUT));
        let received = received.unwrap_or_default();
        let proxied = self.proxy.take().map(ModelProxy::shut_down);
        let proxied = proxied.unwrap_or_default();
        let ended = self.collector.end_run(&self.ending(end));
        let summary = self.collector.close();
        let mut recorded = self.read_back();
        recorded.error = match ended {
            Err(error) => Some(error.to_string()),
            Ok(()) => summary.last_error.clone(),
        };
        recorded.notes = proxied.notes();
        let counted = recorded.model_calls;
        let past = counted.saturating_sub(proxied.counted_calls);
        match &self.options.budget {
            // Says what went past the limits.
            Some(budget) if past > 0 => recorded.notes.extend(budget.notes(past)),
            budget => {
                let notes = budget.iter().flat_map(|budget| budget.notes(0));
                recorded.notes.extend(notes);
                recorded.notes.extend(difference(proxied.counted_calls, counted));
            }
        }
        recorded.notes.extend(summary.notes());
        recorded.kept = self.kept.as_ref().map(KeptHandle::read).unwrap_or_default();
        recorded.survivors = survivors;
        recorded.received = received;
        recorded.reasons = likely_reasons(&Observation {
            program: &self.program,
            environment: &self.findings,
            receives_otlp: self.options.receives_otlp,
            proxies_models: self.options.proxies_models,
            proxied: &proxied,
            received,
            model_calls: recorded.model_calls,
            exit: end.exit,
            duration: u64::try_from(end.at.microseconds_since(started)).ok(),
        });
        let has_asked = proxied.requests() > 0 || !proxied.refused_routes.is_empty();
        if !recorded.reasons.is_empty() && !has_asked {
            recorded.frameworks = frameworks_of(self.program.kind);
        }
        recorded
    }

    /// Waits until no connection was open for a moment, and not longer than exporters take to send.
    fn wait_until_settled(&self) {
        let started = Instant::now();
        let mut closed_since = Instant::now();
        while started.elapsed() < MAX_FLUSH {
            if self.has_open_connections() {
                closed_since = Instant::now();
            } else if closed_since.elapsed() >= SETTLED {
                return;
            }
            thread::sleep(POLL);
        }
    }

    fn has_open_connections(&self) -> bool {
        let receiver = self.receiver.as_ref().map(OtlpServer::statistics);
        let open_requests = self.proxy.as_ref().map(ModelProxy::open_requests);
        receiver.is_some_and(|received| received.open_connections > 0)
            || open_requests.is_some_and(|open| open > 0)
    }

    /// Ending of the run: that of the command, or a failure when its budget stopped it, or when it exceeded its own limit and
    /// still exited with 0.
    fn ending(&self, end: CommandEnd) -> RunEnding {
        let ending = ending(end);
        let budget = self.options.budget.as_ref();
        if let Some(exceeded) = budget.and_then(|budget| budget.stopped_by()) {
            return ending.stopped_by(&exceeded);
        }
        match self.exceeded_limit(self.trace_id()) {
            Some(exceeded) if end.exit == Some(ProcessExit::Code(0)) => {
                ending.failed(&exceeded.error_type, &exceeded.message)
            }
            _ => ending,
        }
    }

    /// The limit that a part of the run has crossed, as the command says it.
    fn exceeded_limit(&self, run: TraceId) -> Option<ErrorPayload> {
        let store = RunStore::new(&self.options.settings.data_dir);
        let directory = store.select(&run.to_string()).ok()?;
        let mut run = RunReader::open(&directory.path, Strictness::Lenient).ok()?;
        (0..run.records.record_count()).find_map(|number| {
            let header = run.records.header(number)?;
            if header.event_type != EventType::Unknown || !header.outcome.is_failure() {
                return None;
            }
            match run.records.read_record(number).ok()??.payload {
                Payload::Unknown { error, .. } => {
                    error.filter(|error| error_type::is_guardrail(&error.error_type))
                }
                _ => None,
            }
        })
    }

    /// The run as readers see it.
    fn read_back(&self) -> FinishedRecording {
        let store = RunStore::new(&self.options.settings.data_dir);
        let mut recorded = FinishedRecording {
            run: Some(self.trace_id()),
            ..FinishedRecording::default()
        };
        let Ok(directory) = store.select(&self.trace_id().to_string()) else {
            return recorded;
        };
        let run = directory.read_summary();
        if run.meta.is_ok() {
            let counts = run.counts();
            recorded.model_calls = counts.llm_calls;
            recorded.tool_calls = counts.tool_calls;
        }
        recorded.status = Some(run.status());
        match RunReader::open(&run.directory.path, Strictness::Lenient) {
            Ok(read) => {
                let is_step =
                    |event_type: &EventType| !matches!(event_type, EventType::RunStart | EventType::RunEnd);
                let steps = read
                    .records_by_type
                    .iter()
                    .filter(|(event_type, _)| is_step(event_type));
                recorded.has_steps = steps.map(|(_, count)| count).sum::<u64>() > 0;
                recorded.tokens = read.tokens.total_tokens;
            }
            // A log that cannot be read may hold anything.
            Err(_) => recorded.has_steps = true,
        }
        recorded
    }

    /// The variables that only processes of the command have: the port of the receiver, the run.
    fn marks(&self) -> Vec<(&str, &str)> {
        let marks = [OTLP_ENDPOINT, TRACE_PARENT_VARIABLE];
        let variables = &self.environment.variables;
        let marks = variables.iter().filter(|variable| marks.contains(&variable.name));
        marks
            .map(|variable| (variable.name, variable.value.as_str()))
            .collect()
    }
}

/// A sentence for a run that counts other model calls than the proxy saw; none of a run that the proxy saw nothing of, whose
/// calls are what the program reports.
fn difference(on_the_wire: u64, counted: u64) -> Option<String> {
    let why = match on_the_wire.cmp(&counted) {
        _ if on_the_wire == 0 => return None,
        Ordering::Equal => return None,
        Ordering::Less => "the others went past it, or are reported twice under names that do not agree",
        Ordering::Greater => {
            "the others could not be written, or are taken for calls that were reported before"
        }
    };
    let saw = text::counted(on_the_wire, "model call");
    Some(format!(
        "the proxy saw {saw}, and the run counts {counted}: {why}"
    ))
}

fn identity(options: &RecordOptions) -> RunIdentity {
    let mut identity = RunIdentity::new(&options.name, units::now());
    identity.attributes.clone_from(&options.attributes);
    identity.fork.clone_from(&options.fork);
    identity.arguments = options.words().collect();
    identity.working_directory = options.directory.display().to_string();
    identity
}

/// The exit code of programs that Ctrl-C ends: 128 and the number of SIGINT.
const INTERRUPTED_CODE: i32 = 130;

fn ending(end: CommandEnd) -> RunEnding {
    let mut ending = RunEnding::new(end.at);
    match end.exit {
        Some(ProcessExit::Code(code)) => {
            ending
                .attributes
                .insert("process.exit.code".to_owned(), code.into());
            if code == INTERRUPTED_CODE {
                ending = ending.failed("Interrupted", "the command was interrupted (exit code 130)");
            } else if code != 0 {
                ending = ending.failed("ExitCode", &format!("the command ended with exit code {code}"));
            }
        }
        Some(ProcessExit::Signal(signal)) if signal == INTERRUPTED_CODE - 128 => {
            ending = ending.failed("Interrupted", "the command was interrupted (SIGINT)");
        }
        Some(exit @ ProcessExit::Signal(_)) => {
            ending = ending.failed(
                "Signal",
                &format!("the command was ended by {}", exit_words(exit)),
            );
        }
        None => ending = ending.failed("Interrupted", "the command was ended before it had done its work"),
    }
    ending
}
