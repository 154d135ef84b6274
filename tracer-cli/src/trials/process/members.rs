//! Which processes belong to a trial, on Unix: the process group that its program leads. On Linux also those that left
//! the group, see [`strays`](super::strays).

use std::os::unix::process::CommandExt;
use std::process::{Child, Command};

use nix::sys::signal::{Signal, killpg};
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
    /// Whether none of them is running any more.
    pub(super) fn are_gone(&self) -> bool {
        self.running().is_empty()
    }

    fn running(&self) -> Vec<strays::Process> {
        strays::of_trial(self.group, &self.marker)
    }

    fn signal(&self, signal: Signal) {
        let running = self.running();
        // All of a group at once: it cannot grow meanwhile. Whoever ended meanwhile needs no signal.
        if let Some(group) = self
            .group
            .filter(|group| running.iter().any(|one| one.group == *group))
        {
            let _ = killpg(group, signal);
        }
        for stray in running.iter().filter(|one| Some(one.group) != self.group) {
            let _ = nix::sys::signal::kill(stray.id, signal);
        }
    }
}

#[cfg(not(target_os = "linux"))]
impl Members {
    /// Whether none of them is running any more.
    pub(super) fn are_gone(&self) -> bool {
        self.group
            .is_none_or(|group| killpg(group, None) == Err(nix::errno::Errno::ESRCH))
    }

    fn signal(&self, signal: Signal) {
        if let Some(group) = self.group {
            // Whoever ended meanwhile needs no signal.
            let _ = killpg(group, signal);
        }
    }
}
