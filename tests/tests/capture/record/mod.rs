//! `tracer record` with real programs: what becomes of their exit, their signals, their environment, and of what they send.

mod breakages;
mod budget;
mod correlation;
mod endings;
mod environment;
mod exits;
mod models;
mod runs;
mod signals;
mod tags;
mod trials;

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};

use tracer_runs::{RunStore, RunSummary};
use tracer_tests::{DataDir, Finished};

pub(crate) const TRACER: &str = env!("CARGO_BIN_EXE_tracer_under_test");
pub(crate) const EXPORTER: &str = env!("CARGO_BIN_EXE_exporter");

/// What `tracer record` did.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl From<Output> for Outcome {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

impl Outcome {
    #[track_caller]
    pub(crate) fn says(&self, expected: &str) -> &Self {
        assert!(self.stderr.contains(expected), "{expected:?} is not in {self:#?}");
        self
    }
}

/// The command `tracer record` with a data directory and a working directory of its own.
pub(crate) struct Recorder {
    pub(crate) data: DataDir,
    pub(crate) directory: tempfile::TempDir,
    pub(crate) environment: Vec<(String, String)>,
}

impl Recorder {
    pub(crate) fn new() -> Self {
        Self {
            data: DataDir::new(),
            directory: tempfile::tempdir().unwrap(),
            environment: Vec::new(),
        }
    }

    pub(crate) fn env(mut self, name: &str, value: &str) -> Self {
        self.environment.push((name.to_owned(), value.to_owned()));
        self
    }

    /// `tracer record OPTIONS -- COMMAND`, with an environment that says nothing about telemetry.
    fn command(&self, options: &[&str], command: &[&str]) -> Command {
        let mut tracer = self.tracer();
        tracer.arg("record").args(options).arg("--").args(command);
        tracer
    }

    /// `tracer`, with an environment that says nothing about telemetry.
    pub(crate) fn tracer(&self) -> Command {
        let mut tracer = Command::new(TRACER);
        tracer
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.directory.path())
            .env("LC_ALL", "C.UTF-8")
            .env("TRACER_DATA_DIR", self.data.path())
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .current_dir(self.directory.path())
            .stdin(Stdio::null());
        tracer
    }

    /// As [`Recorder::command`], with no signal ignored, as they are where the tests run in the background of a script.
    fn with_default_signals(&self, options: &[&str], command: &[&str]) -> Command {
        let tracer = self.command(options, command);
        if !cfg!(target_os = "linux") {
            return tracer;
        }
        let variables = tracer.get_envs().filter_map(|(name, value)| Some((name, value?)));
        let mut wrapped = Command::new("env");
        wrapped
            .env_clear()
            .envs(variables)
            .current_dir(self.directory.path())
            .stdin(Stdio::null())
            .arg("--default-signal=HUP,INT,QUIT,TERM,USR1,USR2")
            .arg(tracer.get_program())
            .args(tracer.get_args());
        wrapped
    }

    pub(crate) fn record_with(&self, options: &[&str], command: &[&str]) -> Outcome {
        self.with_default_signals(options, command)
            .output()
            .unwrap()
            .into()
    }

    pub(crate) fn record(&self, command: &[&str]) -> Outcome {
        self.record_with(&[], command)
    }

    /// Records the program that exports.
    fn export(&self, tasks: &[&str]) -> Outcome {
        let command: Vec<&str> = [&[EXPORTER], tasks].concat();
        self.record(&command)
    }

    fn begin(&self, command: &[&str]) -> Child {
        self.with_default_signals(&[], command)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    }

    pub(crate) fn runs(&self) -> Vec<RunSummary> {
        RunStore::new(self.data.path()).list().unwrap_or_default()
    }

    /// The only run, which is valid and has ended.
    pub(crate) fn run(&self) -> Finished {
        self.data.finished()
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }
}
