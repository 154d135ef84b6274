//! Process group of a trial, which its program leads, on Unix.

use std::os::unix::process::CommandExt;
use std::process::{Child, Command};

use nix::errno::Errno;
use nix::sys::signal::{Signal, killpg};
use nix::sys::wait::{WaitPidFlag, waitpid};
use nix::unistd::Pid;

/// Makes a program the leader of a new process group, which the Ctrl-C of a terminal does not reach.
pub(super) fn lead_a_group(command: &mut Command) {
    command.process_group(0);
}

/// The processes of a trial that are in its group; those that left it are [orphans](super::Orphans).
pub(super) struct Members {
    group: Option<Pid>,
}

impl Members {
    pub(super) fn new(leader: &Child) -> Self {
        Self {
            group: i32::try_from(leader.id()).ok().map(Pid::from_raw),
        }
    }

    pub(super) fn ask_to_end(&self) {
        self.signal(Signal::SIGTERM);
    }

    pub(super) fn kill(&self) {
        self.signal(Signal::SIGKILL);
    }

    /// Checks if all of them have ended.
    pub(super) fn are_gone(&self) -> bool {
        self.group.is_none_or(|group| {
            // An adopted process that ended would count until it is waited for.
            let all = Pid::from_raw(-group.as_raw());
            while waitpid(all, Some(WaitPidFlag::WNOHANG)).is_ok_and(|status| status.pid().is_some()) {}
            killpg(group, None) == Err(Errno::ESRCH)
        })
    }

    fn signal(&self, signal: Signal) {
        if let Some(group) = self.group {
            // A process that ended meanwhile needs no signal.
            let _ = killpg(group, signal);
        }
    }
}
