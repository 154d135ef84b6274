//! Processes that lost their parent and hide from what tells the processes of a trial: on Linux this process adopts
//! them, and ends them when no trial is running any more.

use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, waitpid};
use nix::unistd::Pid;

use super::strays::{self, Process};

/// How long killing is tried.
const KILLING: Duration = Duration::from_secs(2);
/// How often it is looked whether they are gone.
const GLANCE: Duration = Duration::from_millis(10);

/// From now on, processes whose parent ends become children of this process.
pub(crate) fn adopt_orphans() {
    // Without it, a process that hides may stay; nothing else depends on it.
    let _ = nix::sys::prctl::set_child_subreaper(true);
}

/// Ends every child of this process that is left, and tells whether none is. To be called when no trial is running.
pub(crate) fn end_orphans() -> bool {
    let started = Instant::now();
    while started.elapsed() < KILLING {
        // What has ended is taken note of, or it would stay as a zombie.
        while waitpid(None, Some(WaitPidFlag::WNOHANG)).is_ok_and(|status| status.pid().is_some()) {}
        let ours = Pid::this();
        let orphans: Vec<Process> = strays::all()
            .into_iter()
            .filter(|process| process.parent == ours)
            .collect();
        if orphans.is_empty() {
            return true;
        }
        for orphan in orphans {
            let _ = kill(orphan.id, Signal::SIGKILL);
        }
        thread::sleep(GLANCE);
    }
    false
}
