//! One program, from its start until nothing of it is left.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::Marker;
use super::group;
use super::members::{Members, lead_a_group};
use super::tail::Tail;
use crate::trials::stop::{Stop, StopReason};

/// How often it is looked whether a program has ended.
const GLANCE: Duration = Duration::from_millis(5);
/// How long the end of the output is waited for when every process is gone.
const OUTPUT_PATIENCE: Duration = Duration::from_secs(2);

/// What to run.
#[derive(Debug, Clone)]
pub(crate) struct Launch {
    /// The program.
    pub(crate) program: PathBuf,
    /// Its arguments.
    pub(crate) arguments: Vec<OsString>,
    /// Its working directory.
    pub(crate) directory: PathBuf,
    /// What its environment has besides that of this process.
    pub(crate) environment: Vec<(&'static str, OsString)>,
    /// What its environment does not have.
    pub(crate) removed: &'static [&'static str],
    /// What tells its processes.
    pub(crate) marker: Marker,
    /// How long it may take.
    pub(crate) timeout: Duration,
}

/// Why a program is no longer running.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// It ended.
    Exited(ExitStatus),
    /// It took too long.
    TimedOut,
    /// It was not needed or not wanted any more.
    Stopped(StopReason),
}

/// What became of a program.
#[derive(Debug)]
pub(crate) struct Ended {
    /// Why it is no longer running.
    pub(crate) end: End,
    /// How long it ran.
    pub(crate) took: Duration,
    /// Whether some of its processes could not be ended.
    pub(crate) has_survivors: bool,
    /// The end of what it wrote to standard output.
    pub(crate) stdout: String,
    /// The end of what it wrote to standard error.
    pub(crate) stderr: String,
}

/// Runs a program. When this returns, nothing that it started is running any more, as far as the system tells.
pub(crate) fn run(launch: &Launch, stop: &Stop) -> io::Result<Ended> {
    let mut command = Command::new(&launch.program);
    command
        .args(&launch.arguments)
        .current_dir(&launch.directory)
        .envs(launch.environment.iter().map(|(name, value)| (name, value)))
        .env(launch.marker.name, &launch.marker.value)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    for name in launch.removed {
        command.env_remove(name);
    }
    lead_a_group(&mut command);
    let started = Instant::now();
    let mut child = command.spawn()?;
    let members = Members::new(&child, &launch.marker);
    let waited = read_output(&mut child)
        .and_then(|output| Ok((wait(&mut child, launch.timeout, started, stop)?, output)));
    let took = started.elapsed();
    // Whatever went wrong: no process stays.
    let are_gone = group::end(&mut child, &members, stop);
    let (end, (stdout, stderr)) = waited?;
    Ok(Ended {
        end,
        took,
        has_survivors: !are_gone,
        stdout: stdout.text(OUTPUT_PATIENCE),
        stderr: stderr.text(OUTPUT_PATIENCE),
    })
}

fn read_output(child: &mut Child) -> io::Result<(Tail, Tail)> {
    match (child.stdout.take(), child.stderr.take()) {
        (Some(stdout), Some(stderr)) => Ok((Tail::of(stdout)?, Tail::of(stderr)?)),
        _ => Err(io::Error::other("the program was started without pipes")),
    }
}

fn wait(child: &mut Child, timeout: Duration, started: Instant, stop: &Stop) -> io::Result<End> {
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(End::Exited(status));
        }
        if let Some(reason) = stop.reason() {
            return Ok(End::Stopped(reason));
        }
        if started.elapsed() >= timeout {
            return Ok(End::TimedOut);
        }
        thread::sleep(GLANCE);
    }
}
