//! Which processes belong to a trial, on Unix: the process group that its program leads. On Linux also those that left
//! the group, see [`strays`](super::strays).

use std::os::unix::process::CommandExt;
use std::process::{Child, Command};

use nix::errno::Errno;
#[cfg(target_os = "linux")]
use nix::sys::signal::kill;
use nix::sys::signal::{Signal, killpg};
use nix::sys::wait::{WaitPidFlag, waitpid};
use nix::unistd::Pid;

use super::Marker;
#[cfg(target_os = "linux")]
use super::strays;

/// Makes a program the leader of a new process group, which the Ctrl-C of a terminal does not reach.
pub(super) fn lead_a_group(command: &mut Command) {
    command.process_group(0);
}

/// The processes of a trial.
pub(super) struct Members {
    group: Option<Pid>,
    #[cfg(target_os = "linux")]
    marker: Marker,
}

impl Members {
    pub(super) fn new(leader: &Child, marker: &Marker) -> Self {
        #[cfg(not(target_os = "linux"))]
        let _ = marker;
        Self {
            group: i32::try_from(leader.id()).ok().map(Pid::from_raw),
            #[cfg(target_os = "linux")]
            marker: marker.clone(),
        }
    }

    pub(super) fn ask_to_end(&self) {
        self.signal(Signal::SIGTERM);
    }

    pub(super) fn kill(&self) {
        self.signal(Signal::SIGKILL);
    }
}

#[cfg(target_os = "linux")]
impl Members {
    /// Checks if all of them have ended.
    pub(super) fn are_gone(&self) -> bool {
        match strays::of_trial(self.group, &self.marker) {
            Some(running) => running.is_empty(),
            None => self.group_is_gone(),
        }
    }

    fn signal(&self, signal: Signal) {
        let Some(running) = strays::of_trial(self.group, &self.marker) else {
            self.signal_group(signal);
            return;
        };
        // All of a group at once: it cannot grow meanwhile. A process that ended meanwhile needs no signal.
        if running.iter().any(|one| Some(one.group) == self.group) {
            self.signal_group(signal);
        }
        for stray in running.iter().filter(|one| Some(one.group) != self.group) {
            let _ = kill(stray.id, signal);
        }
    }
}

#[cfg(not(target_os = "linux"))]
impl Members {
    /// Checks if all of them have ended.
    pub(super) fn are_gone(&self) -> bool {
        self.group_is_gone()
    }

    fn signal(&self, signal: Signal) {
        self.signal_group(signal);
    }
}

impl Members {
    fn group_is_gone(&self) -> bool {
        self.group.is_none_or(|group| {
            // An adopted process that ended would count until it is waited for.
            let all = Pid::from_raw(-group.as_raw());
            while waitpid(all, Some(WaitPidFlag::WNOHANG)).is_ok_and(|status| status.pid().is_some()) {}
            killpg(group, None) == Err(Errno::ESRCH)
        })
    }

    fn signal_group(&self, signal: Signal) {
        if let Some(group) = self.group {
            // A process that ended meanwhile needs no signal.
            let _ = killpg(group, signal);
        }
    }
}
