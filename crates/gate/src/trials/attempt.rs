//! One trial: a fresh folder, the program in it, and what it left.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::policy::Policy;
use crate::{FailureReason, ProcessExit, Trial, TrialFailure};
use tracer_capture::cassette::ReplayOutcome;
use tracer_runs::RunDirectory;

use super::captured::TrialCapture;
use super::command_judge::{AttemptOutput, CommandJudge};
use super::evidence;
use super::output::OutputCleaner;
use super::process::{self, EndedProgram, Launch, Orphans, ProgramEnd};
use super::program::TrialProgram;
use super::scratch::Scratch;
use super::stop::{Stop, TrialsStop};
use super::workspace::{self, Workspace};
use tracer_insight::units;
use tracer_sdk::TRACE_PARENT_VARIABLE;

/// Variables with the data directory of emitters of the format.
const DATA_DIR_VARIABLES: [&str; 3] = ["TRACER_DATA_DIR", "MAIDA_DATA_DIR", "AGENTDBG_DATA_DIR"];
/// The number of the trial, from 1.
const INDEX_VARIABLE: &str = "TRACER_TRIAL_INDEX";
/// The gate and the number of the trial.
const ID_VARIABLE: &str = "TRACER_TRIAL_ID";
/// Variables that would make the program record into another run or not at all, or would lead it back to the original
/// workspace: a hook of Git sets the latter.
const REMOVED_VARIABLES: [&str; 6] = [
    TRACE_PARENT_VARIABLE,
    "TRACER_ENABLED",
    "GIT_DIR",
    "GIT_INDEX_FILE",
    "GIT_WORK_TREE",
    "OLDPWD",
];

/// The command of every trial of a gate.
pub struct TrialCommand {
    /// The gate.
    pub gate: String,
    /// The program.
    pub program: TrialProgram,
    /// The command as the user wrote it, which a captured run records.
    pub words: Vec<OsString>,
    /// Its folder.
    pub workspace: Workspace,
    /// Runs in the workspace itself instead of a copy.
    pub in_place: bool,
    /// Time limit of a trial.
    pub timeout: Duration,
    /// Redaction of the output.
    pub output: OutputCleaner,
    /// Capture of its run; `None` of a program that records its own.
    pub capture: Option<TrialCapture>,
}

/// A trial that is over, with what it left as long as this is there.
#[derive(Debug)]
pub(super) struct Attempt {
    /// The trial.
    pub(super) trial: Trial,
    /// The runs that it recorded, which are in the scratch folder.
    pub(super) runs: Vec<RunDirectory>,
    /// Calls that were answered from a cassette.
    pub(super) replay: Option<ReplayOutcome>,
    /// Some of its processes could not be ended.
    pub(super) has_survivors: bool,
    /// Its folder; `None` when it could not be made.
    pub(super) scratch: Option<Scratch>,
}

impl TrialCommand {
    /// Makes one trial; `orphans` end with it where it is alone.
    pub(super) fn attempt(
        &self,
        number: u32,
        policy: &Policy,
        orphans: Option<&Orphans>,
        stop: &Stop,
    ) -> Attempt {
        let (made, scratch) = match Scratch::new() {
            Ok(scratch) => (
                self.attempt_in(&scratch, number, policy, orphans, stop),
                Some(scratch),
            ),
            Err(error) => (Err(error), None),
        };
        let attempt = made.unwrap_or_else(|error| Attempt::not_started(number, &error, stop));
        Attempt { scratch, ..attempt }
    }

    /// Makes one trial in its folder; the error is that of one that was not started.
    fn attempt_in(
        &self,
        scratch: &Scratch,
        number: u32,
        policy: &Policy,
        orphans: Option<&Orphans>,
        stop: &Stop,
    ) -> io::Result<Attempt> {
        let directory = self.prepare(scratch, stop)?;
        let mut launch = self.launch(number, scratch, directory);
        let capture = self.capture.as_ref();
        let captured = capture
            .map(|capture| capture.begin(&scratch.data_dir(), self, &mut launch))
            .transpose()?;
        let ended = process::run(&launch, orphans, stop);
        let (exit, took) = match &ended {
            Ok(ended) => (ended.exit(), ended.took),
            Err(_) => (None, Duration::ZERO),
        };
        let (replay, no_run) = captured
            .map(|captured| captured.end(exit, took))
            .unwrap_or_default();
        let ended = ended?;
        let was_stopped = matches!(ended.end, ProgramEnd::Stopped(_));
        let miss = replay.as_ref().filter(|_| !was_stopped);
        let miss = miss.and_then(|replay| replay.misses.first());
        let cut_short = miss.map(|miss| {
            let text = miss.to_string();
            text.lines().map(str::trim).collect::<Vec<_>>().join("; ")
        });
        let output = AttemptOutput {
            stdout: (!ended.stdout_was_cut).then_some(&*ended.stdout),
            directory: &launch.directory,
            cut_short: cut_short.as_deref(),
            judge: CommandJudge {
                cleaner: &self.output,
                directory: self.workspace.root(),
                stop,
            },
        };
        let (runs, mut trial) = evidence::collect(number, &scratch.data_dir(), policy, &output);
        if let (Some(failure), Some(no_run)) = (&mut trial.failure, no_run)
            && failure.reason == FailureReason::NoTrace
            && failure.detail.is_empty()
        {
            failure.detail = no_run;
        }
        self.record_process(&mut trial, &ended);
        if let Some(reason) = &cut_short {
            trial.cut_short(reason);
        }
        trial.stderr_tail = if trial.is_sound() {
            self.output.last_lines(&ended.stderr)
        } else {
            self.output.last_words(&ended.stderr, &ended.stdout)
        };
        scratch.remove_all_but_data();
        Ok(Attempt {
            trial,
            runs,
            replay,
            has_survivors: ended.has_survivors,
            scratch: None,
        })
    }

    fn prepare(&self, scratch: &Scratch, stop: &Stop) -> io::Result<PathBuf> {
        if self.in_place {
            return Ok(self.workspace.root().to_owned());
        }
        let directory = scratch.workspace();
        workspace::copy(&self.workspace, &directory, || stop.reason().is_some())?;
        Ok(directory)
    }

    fn launch(&self, number: u32, scratch: &Scratch, directory: PathBuf) -> Launch {
        let data_dir = scratch.data_dir().into_os_string();
        let mut environment: Vec<(&str, OsString)> =
            DATA_DIR_VARIABLES.map(|name| (name, data_dir.clone())).into();
        environment.push((INDEX_VARIABLE, number.to_string().into()));
        environment.push((ID_VARIABLE, format!("{}.{number}", self.gate).into()));
        // Programs believe it, and this process has another one.
        environment.push(("PWD", directory.clone().into_os_string()));
        environment.extend(own_temporary_folder(&scratch.temporary()));
        Launch {
            program: self.program.called_in(&directory),
            arguments: self.words.iter().skip(1).cloned().collect(),
            input: None,
            directory,
            environment,
            removed: &REMOVED_VARIABLES,
            timeout: self.timeout,
        }
    }

    /// Adds what the process tells; that it failed comes before what is wrong with its trace.
    fn record_process(&self, trial: &mut Trial, ended: &EndedProgram) {
        trial.wall_time_ms = u64::try_from(ended.took.as_millis()).ok();
        trial.exit = ended.exit();
        let failure = match ended.end {
            ProgramEnd::Exited(ProcessExit::Code(0)) => return,
            ProgramEnd::Exited(exit) => {
                TrialFailure::new(FailureReason::ProcessFailed).with(exit.to_string())
            }
            ProgramEnd::TimedOut => {
                let limit = u64::try_from(self.timeout.as_micros()).unwrap_or(u64::MAX);
                TrialFailure::new(FailureReason::Timeout)
                    .with(format!("ended after {}", units::duration(limit)))
            }
            ProgramEnd::Stopped(TrialsStop::Interrupted | TrialsStop::Decided) => {
                TrialFailure::new(FailureReason::Interrupted)
            }
        };
        trial.failure = Some(match &trial.failure {
            Some(trace) if failure.reason == FailureReason::ProcessFailed => {
                let detail = format!("{}, and {trace}", failure.detail);
                failure.with(detail)
            }
            _ => failure,
        });
    }
}

impl Attempt {
    fn not_started(number: u32, error: &io::Error, stop: &Stop) -> Self {
        let failure = match stop.reason() {
            Some(_) => TrialFailure::new(FailureReason::Interrupted),
            None => TrialFailure::new(FailureReason::NotStarted).with(error.to_string()),
        };
        Self {
            trial: Trial::failed(number, failure),
            runs: Vec::new(),
            replay: None,
            has_survivors: false,
            scratch: None,
        }
    }
}

/// Temporary files of trials must not meet, and must not stay.
fn own_temporary_folder(folder: &Path) -> Vec<(&'static str, OsString)> {
    let names: &[&'static str] = if cfg!(windows) {
        &["TMP", "TEMP"]
    } else {
        &["TMPDIR"]
    };
    names.iter().map(|name| (*name, folder.into())).collect()
}
