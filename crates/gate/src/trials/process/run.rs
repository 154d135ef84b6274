//! One program, from its start until nothing of it is left.

use std::ffi::OsString;
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use tracer_insight::process_exit::ProcessExit;

use super::Orphans;
use super::group;
use super::members::{Members, lead_a_group};
use super::tail::Tail;
use crate::trials::stop::{Stop, TrialsStop};

/// Poll interval.
const POLL_INTERVAL: Duration = Duration::from_millis(5);
/// Time limit for the end of the output, which a process that was not ended keeps open.
const OUTPUT_PATIENCE: Duration = Duration::from_secs(2);

/// A program to run.
#[derive(Debug, Clone)]
pub(crate) struct Launch {
    /// The program.
    pub(crate) program: PathBuf,
    /// Its arguments.
    pub(crate) arguments: Vec<OsString>,
    /// Text on its standard input, which is empty otherwise.
    pub(crate) input: Option<String>,
    /// Its working directory.
    pub(crate) directory: PathBuf,
    /// Variables added to the environment of this process.
    pub(crate) environment: Vec<(&'static str, OsString)>,
    /// Variables removed from the environment of this process, unless set.
    pub(crate) removed: &'static [&'static str],
    /// Time limit.
    pub(crate) timeout: Duration,
}

/// Why a program is no longer running.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProgramEnd {
    /// It ended.
    Exited(ProcessExit),
    /// It took too long.
    TimedOut,
    /// It was not needed or not wanted any more.
    Stopped(TrialsStop),
}

/// End of a program.
#[derive(Debug)]
pub(crate) struct EndedProgram {
    /// Why it is no longer running.
    pub(crate) end: ProgramEnd,
    /// Duration.
    pub(crate) took: Duration,
    /// Some of its processes could not be ended.
    pub(crate) has_survivors: bool,
    /// The end of what it wrote to standard output.
    pub(crate) stdout: String,
    /// It wrote more to it.
    pub(crate) stdout_was_cut: bool,
    /// The end of what it wrote to standard error.
    pub(crate) stderr: String,
}

impl EndedProgram {
    /// Its exit; `None` when it was ended.
    pub(crate) fn exit(&self) -> Option<ProcessExit> {
        match self.end {
            ProgramEnd::Exited(exit) => Some(exit),
            ProgramEnd::TimedOut | ProgramEnd::Stopped(_) => None,
        }
    }
}

/// Runs a program. When this returns, no process of its group is running any more that the system shows, and none of
/// `orphans`, which no other program may have then.
pub(crate) fn run(launch: &Launch, orphans: Option<&Orphans>, stop: &Stop) -> io::Result<EndedProgram> {
    let mut command = Command::new(&launch.program);
    // First: what is set may be among them.
    for name in launch.removed {
        command.env_remove(name);
    }
    command
        .args(&launch.arguments)
        .current_dir(&launch.directory)
        .envs(launch.environment.iter().map(|(name, value)| (name, value)))
        .stdin(if launch.input.is_some() {
            Stdio::piped()
        } else {
            Stdio::null()
        })
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    lead_a_group(&mut command);
    let started = Instant::now();
    let mut child = spawn(&mut command)?;
    let members = Members::new(&child);
    write_input(&mut child, launch.input.clone());
    let waited = read_output(&mut child)
        .and_then(|output| Ok((wait(&mut child, launch.timeout, started, stop)?, output)));
    let took = started.elapsed();
    // Whatever went wrong: no process stays.
    let group_is_gone = group::end(&mut child, &members, stop);
    let are_gone = orphans.is_none_or(Orphans::end) && group_is_gone;
    let (end, (stdout, stderr)) = waited?;
    let deadline = Instant::now() + OUTPUT_PATIENCE;
    Ok(EndedProgram {
        end,
        took,
        has_survivors: !are_gone,
        stdout: stdout.text(deadline),
        stdout_was_cut: stdout.was_cut(),
        stderr: stderr.text(deadline),
    })
}

/// Writes the input of a program as it reads it. A program that does not read it to its end needs no more.
fn write_input(child: &mut Child, input: Option<String>) {
    if let Some((mut stdin, input)) = child.stdin.take().zip(input) {
        thread::spawn(move || stdin.write_all(input.as_bytes()));
    }
}

fn read_output(child: &mut Child) -> io::Result<(Tail, Tail)> {
    match (child.stdout.take(), child.stderr.take()) {
        (Some(stdout), Some(stderr)) => Ok((Tail::of(stdout)?, Tail::of(stderr)?)),
        _ => Err(io::Error::other("the program was started without pipes")),
    }
}

fn wait(child: &mut Child, timeout: Duration, started: Instant, stop: &Stop) -> io::Result<ProgramEnd> {
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(ProgramEnd::Exited(ProcessExit::of(status)));
        }
        if let Some(reason) = stop.reason() {
            return Ok(ProgramEnd::Stopped(reason));
        }
        if started.elapsed() >= timeout {
            return Ok(ProgramEnd::TimedOut);
        }
        thread::sleep(POLL_INTERVAL);
    }
}

/// Time limit and interval of retries for a program that is being written.
const BUSY_PATIENCE: Duration = Duration::from_secs(1);
const BUSY_INTERVAL: Duration = Duration::from_millis(5);

/// Starts a command. The copy of a program cannot be run for a moment where another trial started while it was written:
/// that trial's process has the file open until it runs its own program.
fn spawn(command: &mut Command) -> io::Result<Child> {
    let started = Instant::now();
    loop {
        match command.spawn() {
            Err(error)
                if error.kind() == io::ErrorKind::ExecutableFileBusy && started.elapsed() < BUSY_PATIENCE =>
            {
                thread::sleep(BUSY_INTERVAL);
            }
            spawned => return spawned,
        }
    }
}
