//! Trials whose runs are captured: each is recorded as `tracer record` records a command, and may be answered from a cassette
//! as `tracer replay` does.

use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::sync::Arc;

use parking_lot::Mutex;
use tracer_capture::cassette::{Cassette, ReplayOptions, ReplayOutcome, Replayer};
use tracer_capture::record::{CommandEnd, Exit, Inherited, RecordOptions, Recording};
use tracer_gate::ProcessExit;
use tracer_gate::trials::{FinishTrial, Launch, TrialEnd, TrialRemarks};
use tracer_sdk::format::{RUNS_FOLDER, Timestamp};
use tracer_sdk::settings::Settings;

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

    /// Outcomes of the trials that have ended.
    pub(super) fn outcomes(&self) -> Vec<ReplayOutcome> {
        self.outcomes.lock().clone()
    }
}

/// Prepares a trial that is recorded from outside, with this redaction and these limits.
pub(super) fn prepare(
    mut settings: Settings,
    replay: Option<TrialReplay>,
    data_dir: &Path,
    launch: &mut Launch,
) -> io::Result<Box<FinishTrial>> {
    let program = launch.program.as_os_str().to_owned();
    let command = [&[program], &*launch.arguments].concat();
    settings.data_dir = data_dir.into();
    let inherited = Inherited::of_process();
    let mut options = RecordOptions::new(settings, command, &launch.directory, &inherited);
    let replay = match replay {
        Some(replay) => {
            let replayer = options.replay(&replay.cassette, ReplayOptions::default());
            Some((replay, replayer.map_err(io::Error::other)?))
        }
        None => None,
    };
    let recording = Recording::start(options, &inherited).map_err(io::Error::other)?;
    let variables = recording.environment().variables.iter();
    let variables = variables.map(|variable| (variable.name, OsString::from(&variable.value)));
    launch.environment.extend(variables);
    let position = recording
        .options_position()
        .saturating_sub(1)
        .min(launch.arguments.len());
    let options = recording.added_options().iter().cloned();
    launch.arguments.splice(position..position, options);
    let runs_directory = data_dir.join(RUNS_FOLDER);
    Ok(Box::new(move |ended| {
        finish(recording, replay, &runs_directory, ended)
    }))
}

/// Ends the recording of a trial.
fn finish(
    recording: Recording,
    replay: Option<(TrialReplay, Arc<Replayer>)>,
    runs_directory: &Path,
    ended: TrialEnd,
) -> TrialRemarks {
    // The run takes as long as its process, however long it takes to prepare the recording.
    let took = i64::try_from(ended.took.as_micros()).unwrap_or(i64::MAX);
    let ended_at = recording.started_at().unix_microseconds().saturating_add(took);
    let recorded = recording.end(CommandEnd {
        exit: ended.exit.map(|exit| match exit {
            ProcessExit::Code(code) => Exit::Code(code),
            ProcessExit::Signal(signal) => Exit::Signal(signal),
        }),
        at: Timestamp::from_unix_microseconds(ended_at),
    });
    let mut remarks = TrialRemarks::default();
    if let Some((replay, replayer)) = replay {
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
    // A run without any step is no evidence: the trial left no trace.
    if let Some(trace_id) = recorded.run {
        // A run without a step stays, and fails the policy as one.
        let _ = std::fs::remove_dir_all(runs_directory.join(trace_id.to_string()));
    }
    remarks.no_run = Some(recorded.reasons.join("; "));
    remarks
}
