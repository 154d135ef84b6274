//! A workspace with a policy and an agent, and the gate called in it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;
use tracer_runs::{RunStore, RunSummary};

/// A traced program of this package.
const TRACED: &str = env!("CARGO_BIN_EXE_traced");
const GATE: &str = env!("CARGO_BIN_EXE_tracer_under_test");

/// Every trial ends well, without a loop.
const POLICY: &str =
    "version: 2\nmetrics:\n  stop_condition_reached: {kind: invariant}\n  no_loops: {kind: invariant}\n";

/// A folder with everything that a gate touches.
pub(crate) struct Workshop {
    folder: TempDir,
}

/// What a gate did.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) code: Option<i32>,
    pub(crate) stderr: String,
    pub(crate) report: Value,
}

impl Outcome {
    /// Why the first trial does not count: `no_trace`.
    pub(crate) fn reason(&self) -> &str {
        self.first_failure()["reason"].as_str().unwrap_or("none")
    }

    /// What more is known of that.
    pub(crate) fn detail(&self) -> &str {
        self.first_failure()["detail"].as_str().unwrap_or_default()
    }

    fn first_failure(&self) -> &Value {
        &self.report["trials"][0]["failure"]
    }

    /// Asserts the verdict and the exit code that it has.
    #[track_caller]
    pub(crate) fn is(&self, verdict: &str) -> &Self {
        assert_eq!(self.report["verdict"], verdict, "{self:#?}");
        let code = i32::from(verdict == "fail");
        assert_eq!(self.code, Some(code), "{self:#?}");
        self
    }

    pub(crate) fn trials(&self) -> &[Value] {
        self.report["trials"].as_array().unwrap()
    }
}

impl Workshop {
    /// With an agent: a shell script, `agent.sh`.
    pub(crate) fn new(agent: &str) -> Self {
        let workshop = Self {
            folder: tempfile::tempdir().unwrap(),
        };
        fs::create_dir(workshop.path("tmp")).unwrap();
        fs::create_dir(workshop.workspace()).unwrap();
        workshop.write("policy.yaml", POLICY, 0o644);
        workshop.write("agent.sh", &format!("#!/bin/sh\n{agent}\n"), 0o755);
        workshop
    }

    /// A file of the workspace.
    pub(crate) fn write(&self, name: &str, text: &str, mode: u32) {
        let path = self.workspace().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn workspace(&self) -> PathBuf {
        self.path("workspace")
    }

    /// What the store has.
    pub(crate) fn runs(&self) -> Vec<RunSummary> {
        RunStore::new(self.path("store")).list().unwrap_or_default()
    }

    /// The tracer, called in the workspace.
    pub(crate) fn tracer(&self) -> Command {
        self.program(GATE)
    }

    /// The traced program, called in the workspace: no trial, but a run like any other.
    pub(crate) fn traced(&self) -> Command {
        self.program(TRACED)
    }

    fn program(&self, executable: &str) -> Command {
        let mut program = Command::new(executable);
        let tracers = std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("TRACER_"));
        for (name, _) in tracers {
            program.env_remove(name);
        }
        program
            .current_dir(self.workspace())
            .env("TRACER_DATA_DIR", self.path("store"))
            .env("TMPDIR", self.path("tmp"))
            .env("TRACED", TRACED)
            .env("OUTSIDE", self.folder.path())
            .env_remove("GITHUB_ACTIONS")
            .stdin(Stdio::null());
        program
    }

    fn command(&self, options: &[&str], command: &[&str]) -> Command {
        let mut gate = self.tracer();
        gate.args(["run", "--policy", "policy.yaml", "--json-out"])
            .arg(self.path("report.json"))
            .args(options)
            .arg("--")
            .args(command)
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        gate
    }

    /// Makes trials of the agent.
    pub(crate) fn gate(&self, options: &[&str]) -> Outcome {
        self.gate_of(options, &["./agent.sh"])
    }

    /// Makes trials of a command.
    pub(crate) fn gate_of(&self, options: &[&str], command: &[&str]) -> Outcome {
        let child = self.command(options, command).spawn().unwrap();
        self.outcome(child)
    }

    /// Makes trials of the agent with another environment.
    pub(crate) fn gate_with(&self, options: &[&str], environment: &[(&str, &str)]) -> Outcome {
        let mut command = self.command(options, &["./agent.sh"]);
        let child = command.envs(environment.iter().copied()).spawn().unwrap();
        self.outcome(child)
    }

    /// Makes trials of the agent and shows the result there.
    pub(crate) fn gate_into(&self, options: &[&str], output: impl Into<Stdio>) -> Outcome {
        let mut command = self.command(options, &["./agent.sh"]);
        let child = command.stdout(output).spawn().unwrap();
        self.outcome(child)
    }

    /// Makes trials of the agent from a shell that runs these commands before it becomes the gate.
    pub(crate) fn gate_after(&self, commands: &str, options: &[&str]) -> Outcome {
        let gate = self.command(options, &["./agent.sh"]);
        let mut shell = Command::new("sh");
        shell
            .args(["-c", &format!("{commands}\nexec \"$@\""), "sh"])
            .arg(gate.get_program())
            .args(gate.get_args())
            .current_dir(self.workspace())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        for (name, value) in gate.get_envs() {
            match value {
                Some(value) => shell.env(name, value),
                None => shell.env_remove(name),
            };
        }
        self.outcome(shell.spawn().unwrap())
    }

    /// Begins to make trials of the agent.
    pub(crate) fn begin(&self, options: &[&str]) -> Child {
        self.command(options, &["./agent.sh"]).spawn().unwrap()
    }

    /// Waits for the gate, and checks that it cleaned up: no folder and no process is left.
    pub(crate) fn outcome(&self, gate: Child) -> Outcome {
        let output = gate.wait_with_output().unwrap();
        let report = fs::read(self.path("report.json")).unwrap_or_default();
        let outcome = Outcome {
            code: output.status.code(),
            stderr: String::from_utf8(output.stderr).unwrap(),
            report: serde_json::from_slice(&report).unwrap_or_default(),
        };
        let left: Vec<_> = fs::read_dir(self.path("tmp")).unwrap().collect();
        assert!(left.is_empty(), "{left:?} is left of {outcome:#?}");
        let processes = processes_in(self.folder.path());
        assert!(processes.is_empty(), "{processes:?} run on after {outcome:#?}");
        outcome
    }
}

/// The processes that were started with this folder in their environment, and those that wrote their number into a
/// file of it whose name begins with `process`.
fn processes_in(folder: &Path) -> Vec<String> {
    let text = folder.to_str().unwrap().as_bytes();
    let noted = fs::read_dir(folder).unwrap().map(Result::unwrap);
    let noted: Vec<String> = noted
        .filter(|entry| entry.file_name().to_string_lossy().starts_with("process"))
        .map(|entry| fs::read_to_string(entry.path()).unwrap().trim().to_owned())
        .collect();
    let ids = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    ids.map(|entry| entry.file_name().to_string_lossy().into_owned())
        .filter(|id| id.bytes().all(|byte| byte.is_ascii_digit()))
        .filter(|id| {
            let environment = fs::read(format!("/proc/{id}/environ")).unwrap_or_default();
            let is_ours = environment.windows(text.len()).any(|part| part == text);
            (is_ours || noted.contains(id)) && is_running(id)
        })
        .collect()
}

pub(crate) fn is_running(id: &str) -> bool {
    fs::read_to_string(format!("/proc/{id}/stat"))
        .is_ok_and(|stat| !stat.rsplit_once(") ").unwrap().1.starts_with('Z'))
}
