//! The state of the process that a `.live` names, where the system lists processes in `/proc`.
//!
//! A number alone is not enough: it is given to later processes, it belongs to a namespace, and the program behind it may
//! be exchanged. The start distinguishes later processes, and the descriptor of the lock the program.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use super::live_file::ProcessIdentity;
use tracer_sdk::disk::{own_boot, own_namespace};

/// State of a process, where it is visible from here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ProcessState {
    /// It is there.
    Alive,
    /// It is gone, though a later process may have its number, or its program may have been replaced by another one.
    Gone,
    /// It belongs to another machine, boot or namespace, or the system does not say.
    Unknown,
}

impl ProcessIdentity {
    /// Returns whether it is this process.
    pub(crate) fn is_own(&self) -> bool {
        self.pid == Some(std::process::id())
            && self.boot == own_boot()
            && self.namespace == own_namespace("pid")
    }

    /// Looks for the process. `lock` is the lock file that it holds and the number of its descriptor, where that is known:
    /// whatever has that file open there is the program that took the lock.
    pub(super) fn state(&self, lock: Option<(&File, u32)>) -> ProcessState {
        let (Some(pid), Some(boot), Some(namespace)) = (self.pid, &self.boot, &self.namespace) else {
            return ProcessState::Unknown;
        };
        if own_boot().as_ref() != Some(boot) || own_namespace("pid").as_ref() != Some(namespace) {
            return ProcessState::Unknown;
        }
        let thread = match living_thread(pid) {
            Ok(Some(thread)) => thread,
            Ok(None) => return ProcessState::Gone,
            Err(_) => return ProcessState::Unknown,
        };
        // Clocks of different time namespaces begin at different times.
        let is_comparable = self.time_namespace.is_none() || self.time_namespace == own_namespace("time");
        let start = self.start.as_ref().filter(|_| is_comparable);
        if start.is_some_and(|start| *start != thread.process_start) {
            return ProcessState::Gone;
        }
        match lock.map(|(file, descriptor)| is_open_as(&thread.path, file, descriptor)) {
            Some(Some(true)) => ProcessState::Alive,
            Some(Some(false)) => ProcessState::Gone,
            Some(None) | None if start.is_some() => ProcessState::Alive,
            Some(None) | None => ProcessState::Unknown,
        }
    }
}

/// A thread of a process that has not ended.
struct Thread {
    path: PathBuf,
    /// When the process started, in clock ticks since the boot.
    process_start: String,
}

/// Looks for a thread of a process that has not ended: the first one may have, while others still run. `None` when
/// there is no such process, or only what is left of one.
fn living_thread(pid: u32) -> io::Result<Option<Thread>> {
    let path = PathBuf::from(format!("/proc/{pid}"));
    let Some((state, process_start)) = status(&path)? else {
        return Ok(None);
    };
    let thread = |path| {
        Some(Thread {
            path,
            process_start: process_start.clone(),
        })
    };
    if !is_over(state) {
        return Ok(thread(path));
    }
    for task in unless_gone(fs::read_dir(path.join("task")))?
        .into_iter()
        .flatten()
    {
        let task = task?.path();
        if status(&task)?.is_some_and(|(state, _)| !is_over(state)) {
            return Ok(thread(task));
        }
    }
    Ok(None)
}

fn is_over(state: char) -> bool {
    matches!(state, 'Z' | 'X' | 'x')
}

/// The state and the start of a thread; `None` when there is no such thread.
fn status(path: &Path) -> io::Result<Option<(char, String)>> {
    let Some(status) = unless_gone(fs::read_to_string(path.join("stat")))? else {
        return Ok(None);
    };
    // The name of the program, in parentheses, may hold anything; state and start are the first and the 20th field behind.
    let read = status.rsplit_once(')').and_then(|(_, fields)| {
        let mut fields = fields.split_whitespace();
        Some((fields.next()?.chars().next()?, fields.nth(18)?.to_owned()))
    });
    read.map(Some).ok_or_else(|| io::ErrorKind::InvalidData.into())
}

/// `None` for what is not there, which includes what ended while it was read.
fn unless_gone<T>(outcome: io::Result<T>) -> io::Result<Option<T>> {
    match outcome {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.kind() == io::ErrorKind::NotFound || is_no_such_process(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(unix)]
fn is_no_such_process(error: &io::Error) -> bool {
    rustix::io::Errno::from_io_error(error) == Some(rustix::io::Errno::SRCH)
}

#[cfg(not(unix))]
fn is_no_such_process(_error: &io::Error) -> bool {
    false
}

/// Returns whether a thread has this file open under this descriptor; `None` when the system does not say.
#[cfg(unix)]
fn is_open_as(thread: &Path, file: &File, descriptor: u32) -> Option<bool> {
    use std::os::unix::fs::MetadataExt;
    let held = unless_gone(fs::metadata(thread.join("fd").join(descriptor.to_string()))).ok()?;
    let file = file.metadata().ok()?;
    Some(held.is_some_and(|held| (held.dev(), held.ino()) == (file.dev(), file.ino())))
}

#[cfg(not(unix))]
fn is_open_as(_thread: &Path, _file: &File, _descriptor: u32) -> Option<bool> {
    None
}

#[cfg(target_os = "linux")]
#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd;

    use super::*;

    fn this_process() -> ProcessIdentity {
        let pid = std::process::id();
        ProcessIdentity {
            pid: Some(pid),
            start: living_thread(pid).unwrap().map(|thread| thread.process_start),
            boot: own_boot(),
            namespace: own_namespace("pid"),
            time_namespace: own_namespace("time"),
        }
    }

    #[test]
    fn this_process_is_alive_one_with_another_start_is_gone_and_one_of_another_boot_or_namespace_unknown() {
        let this = this_process();
        assert_eq!(this.state(None), ProcessState::Alive);
        let other = || Some("other".to_owned());
        let with = |change: fn(&mut ProcessIdentity)| {
            let mut identity = this.clone();
            change(&mut identity);
            identity.state(None)
        };
        assert_eq!(with(|of| of.start = Some("1".into())), ProcessState::Gone);
        assert_eq!(with(|of| of.boot = None), ProcessState::Unknown);
        assert_eq!(with(|of| of.namespace = None), ProcessState::Unknown);
        assert_eq!(with(|of| of.pid = None), ProcessState::Unknown);
        assert_eq!(with(|of| of.start = None), ProcessState::Unknown);
        let (boot, namespace) = (other(), other());
        assert_eq!(
            ProcessIdentity { boot, ..this.clone() }.state(None),
            ProcessState::Unknown
        );
        assert_eq!(
            ProcessIdentity {
                namespace,
                ..this.clone()
            }
            .state(None),
            ProcessState::Unknown
        );
    }

    #[test]
    fn a_start_of_another_clock_is_not_believed() {
        let of_another_clock = ProcessIdentity {
            start: Some("1".into()),
            time_namespace: Some("time:[1]".into()),
            ..this_process()
        };
        assert_eq!(of_another_clock.state(None), ProcessState::Unknown);
        let file = tempfile::tempfile().unwrap();
        let descriptor = u32::try_from(file.as_raw_fd()).unwrap();
        assert_eq!(
            of_another_clock.state(Some((&file, descriptor))),
            ProcessState::Alive
        );
        let other = tempfile::tempfile().unwrap();
        assert_eq!(
            of_another_clock.state(Some((&other, descriptor))),
            ProcessState::Gone
        );
        assert_eq!(
            of_another_clock.state(Some((&file, 1_000_000))),
            ProcessState::Gone
        );
    }

    #[test]
    fn a_process_that_let_go_of_the_lock_is_not_the_one_that_took_it() {
        let file = tempfile::tempfile().unwrap();
        assert_eq!(this_process().state(Some((&file, 1_000_000))), ProcessState::Gone);
    }
}
