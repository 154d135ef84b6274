//! Processes that lost their parent and hide from what tells the processes of a trial: on Linux this process adopts
//! them, and ends them when no trial is running any more.

use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, waitpid};
use nix::unistd::Pid;

use super::strays::{self, Process};

/// Time limit of killing.
const KILLING: Duration = Duration::from_secs(2);
/// Poll interval.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// The orphans that trials leave, from now on until they are ended.
#[derive(Debug)]
pub(crate) struct Orphans {
    are_adopted: bool,
}

impl Orphans {
    /// Makes processes whose parent ends children of this process. Not where it has children already, as a shell leaves
    /// them that started something and then became this program: nothing distinguishes theirs from those of a trial.
    pub(crate) fn adopt() -> Self {
        let are_adopted = children().is_empty() && nix::sys::prctl::set_child_subreaper(true).is_ok();
        Self { are_adopted }
    }

    /// Ends them, and tells whether none is left. To be called when no trial is running.
    pub(crate) fn end(self) -> bool {
        let started = Instant::now();
        while self.are_adopted && started.elapsed() < KILLING {
            // What has ended is taken note of, or it would stay as a zombie.
            while waitpid(None, Some(WaitPidFlag::WNOHANG)).is_ok_and(|status| status.pid().is_some()) {}
            let orphans = children();
            if orphans.is_empty() {
                return true;
            }
            for orphan in orphans {
                let _ = kill(orphan.id, Signal::SIGKILL);
            }
            thread::sleep(POLL_INTERVAL);
        }
        !self.are_adopted
    }
}

fn children() -> Vec<Process> {
    let ours = Pid::this();
    let mut all = strays::all();
    all.retain(|process| process.parent == ours);
    all
}
