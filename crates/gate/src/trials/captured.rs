//! Trials whose runs are captured: each is recorded as `tracer record` records a command, and may be answered from a cassette
//! as `tracer replay` does.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tracer_capture::cassette::{Cassette, ReplayOptions, ReplayOutcome, Replayer};
use tracer_capture::record::{CommandEnd, Inherited, RecordOptions, Recording};
use tracer_insight::process_exit::ProcessExit;
use tracer_sdk::format::{RUNS_FOLDER, Timestamp};
use tracer_sdk::settings::Settings;

use super::attempt::TrialCommand;
use super::process::Launch;

/// Capture of the runs of trials.
#[derive(Debug)]
pub struct TrialCapture {
    /// Redaction and limits.
    pub settings: Settings,
    /// Answers the calls of models; each trial begins with all of it.
    pub cassette: Option<Arc<Cassette>>,
}

/// A trial that is being captured.
pub(super) struct CapturedTrial {
    recording: Recording,
    replayer: Option<Arc<Replayer>>,
    runs_directory: PathBuf,
}

impl TrialCapture {
    /// Begins the capture of a trial, whose run is in this data directory; the error is the reason why it cannot be started.
    pub(super) fn begin(
        &self,
        data_dir: &Path,
        command: &TrialCommand,
        launch: &mut Launch,
    ) -> io::Result<CapturedTrial> {
        let mut settings = self.settings.clone();
        settings.data_dir = data_dir.into();
        let inherited = Inherited::of_process();
        // The copy is gone when somebody runs the command again.
        let (words, directory) = (command.words.clone(), command.workspace.root());
        let mut options = RecordOptions::new(settings, words, directory, &inherited);
        options.working_copy = Some(launch.directory.clone());
        let replayer = self.cassette.as_ref();
        let replayer = replayer
            .map(|cassette| options.replay(cassette, ReplayOptions::default()))
            .transpose()
            .map_err(io::Error::other)?;
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
        Ok(CapturedTrial {
            recording,
            replayer,
            runs_directory: data_dir.join(RUNS_FOLDER),
        })
    }
}

impl CapturedTrial {
    /// Ends the capture when the process has ended, and gives what was answered, and why there is no run.
    pub(super) fn end(
        self,
        exit: Option<ProcessExit>,
        took: Duration,
    ) -> (Option<ReplayOutcome>, Option<String>) {
        // The run takes as long as its process, however long it takes to prepare the recording.
        let took = i64::try_from(took.as_micros()).unwrap_or(i64::MAX);
        let started_at = self.recording.started_at().unix_microseconds();
        let at = Timestamp::from_unix_microseconds(started_at.saturating_add(took));
        let recorded = self.recording.end(CommandEnd { exit, at });
        let replay = self.replayer.map(|replayer| replayer.outcome());
        if !recorded.is_empty() {
            return (replay, None);
        }
        // A run without any step is no evidence: the trial left no trace.
        if let Some(trace_id) = recorded.run {
            // A run without a step stays, and fails the policy as one.
            let _ = std::fs::remove_dir_all(self.runs_directory.join(trace_id.to_string()));
        }
        (replay, Some(recorded.reasons.join("; ")))
    }
}
