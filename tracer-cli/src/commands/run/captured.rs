//! Trials whose runs are captured: each is recorded as `tracer record` records a command, and may be answered from a cassette
//! as `tracer replay` does.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::{Map, Value};
use tracer_capture::cassette::{Cassette, ReplayOptions, ReplayOutcome, Replayer, Scrubbing};
use tracer_capture::record::{
    CommandEnd, Exit, Inherited, Program, RecordOptions, Recording, RecordingHooks,
};
use tracer_gate::ProcessExit;
use tracer_gate::trials::{PreparedTrial, TrialEnd, TrialEnvironment, TrialRemarks, TrialStart};
use tracer_sdk::format::{RUNS_FOLDER, Timestamp};
use tracer_sdk::settings::Settings;

use crate::tags;

/// Trials that are recorded from outside.
#[derive(Debug)]
pub(super) struct CapturedEnvironment {
    settings: Settings,
    replay: Option<TrialReplay>,
    /// The attributes of each root that hold its tags.
    tags: Map<String, Value>,
}

/// The cassette that every trial is answered from, each with all of it.
#[derive(Debug, Clone)]
pub(super) struct TrialReplay {
    cassette: Arc<Cassette>,
    outcomes: Arc<Mutex<Vec<ReplayOutcome>>>,
}

impl TrialReplay {
    pub(super) fn new(cassette: Arc<Cassette>) -> Self {
        Self {
            cassette,
            outcomes: Arc::default(),
        }
    }

    /// What came of each trial that has ended.
    pub(super) fn outcomes(&self) -> Vec<ReplayOutcome> {
        self.outcomes.lock().clone()
    }
}

impl CapturedEnvironment {
    /// With the redaction and limits of these settings.
    pub(super) fn new(settings: Settings, replay: Option<TrialReplay>) -> Self {
        Self {
            settings,
            replay,
            tags: tags::attributes(&tags::of_environment().0),
        }
    }
}

impl TrialEnvironment for CapturedEnvironment {
    fn prepare(&self, trial: &TrialStart<'_>) -> io::Result<Box<dyn PreparedTrial>> {
        let program = trial.program.as_os_str().to_owned();
        let command: Vec<OsString> = [program]
            .into_iter()
            .chain(trial.arguments.iter().cloned())
            .collect();
        let mut settings = self.settings.clone();
        settings.data_dir = trial.data_dir.into();
        let mut hooks = RecordingHooks::default();
        hooks.attributes.clone_from(&self.tags);
        let replayer = self.replay.as_ref().map(|replay| {
            let scrubbing = Scrubbing::of_program(&self.settings, trial.directory);
            let cassette = Arc::clone(&replay.cassette);
            hooks.offline = Some(cassette.providers());
            Arc::new(Replayer::new(cassette, scrubbing, ReplayOptions::default()))
        });
        if let Some(replayer) = &replayer {
            hooks.responder = Some(Arc::clone(replayer) as _);
        }
        let options = RecordOptions {
            name: Program::of_command(&command, trial.directory).run_name(&command),
            settings,
            command,
            directory: trial.directory.to_owned(),
            receives_otlp: true,
            proxies_models: true,
            keeps_exchanges: true,
            no_stream_usage: false,
        };
        let recording =
            Recording::start_with(options, &Inherited::of_process(), hooks).map_err(io::Error::other)?;
        Ok(Box::new(CapturedTrial {
            // The run takes as long as its process, however long it takes to prepare the recording.
            started_at: recording.started_at(),
            recording,
            replay: self.replay.clone().zip(replayer),
            runs_directory: trial.data_dir.join(RUNS_FOLDER),
        }))
    }
}

/// A trial that is being recorded.
struct CapturedTrial {
    recording: Recording,
    replay: Option<(TrialReplay, Arc<Replayer>)>,
    runs_directory: PathBuf,
    started_at: Timestamp,
}

impl PreparedTrial for CapturedTrial {
    fn variables(&self) -> Vec<(&'static str, OsString)> {
        let variables = &self.recording.environment().variables;
        variables
            .iter()
            .map(|variable| (variable.name, OsString::from(&variable.value)))
            .collect()
    }

    fn arguments(&self, own: Vec<OsString>) -> Vec<OsString> {
        let mut arguments = own;
        let position = self
            .recording
            .options_position()
            .saturating_sub(1)
            .min(arguments.len());
        arguments.splice(position..position, self.recording.added_options().iter().cloned());
        arguments
    }

    fn finish(self: Box<Self>, ended: TrialEnd) -> TrialRemarks {
        let took = i64::try_from(ended.took.as_micros()).unwrap_or(i64::MAX);
        let ended_at = self.started_at.unix_microseconds().saturating_add(took);
        let recorded = self.recording.end(CommandEnd {
            exit: ended.exit.map(|exit| match exit {
                ProcessExit::Code(code) => Exit::Code(code),
                ProcessExit::Signal(signal) => Exit::Signal(signal),
            }),
            at: Timestamp::from_unix_microseconds(ended_at),
        });
        let mut remarks = TrialRemarks::default();
        if let Some((replay, replayer)) = self.replay {
            let outcome = replayer.outcome();
            remarks.cut_short = outcome.misses.first().map(|miss| {
                let text = miss.to_string();
                text.lines().map(str::trim).collect::<Vec<_>>().join("; ")
            });
            replay.outcomes.lock().push(outcome);
        }
        if !recorded.is_empty() {
            return remarks;
        }
        // A run of which nothing was seen but that it ran is no evidence: the trial left no trace.
        for trace_id in &recorded.runs {
            // What stays is a run without a step, and fails the policy as one.
            let _ = std::fs::remove_dir_all(self.runs_directory.join(trace_id.to_string()));
        }
        remarks.no_run = Some(recorded.reasons.join("; "));
        remarks
    }
}
