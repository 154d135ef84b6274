//! Processes that left the group of their trial: on Linux this process adopts and ends them.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, waitpid};
use nix::unistd::Pid;

/// Time limit of killing.
const KILLING: Duration = Duration::from_secs(2);
/// Poll interval.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// The orphans that trials leave.
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
    pub(crate) fn end(&self) -> bool {
        let started = Instant::now();
        while self.are_adopted && started.elapsed() < KILLING {
            // What has ended is taken note of, or it would stay as a zombie.
            while waitpid(None, Some(WaitPidFlag::WNOHANG)).is_ok_and(|status| status.pid().is_some()) {}
            let orphans = children();
            if orphans.is_empty() {
                return true;
            }
            for orphan in orphans {
                let _ = kill(orphan, Signal::SIGKILL);
            }
            thread::sleep(POLL_INTERVAL);
        }
        !self.are_adopted
    }
}

/// The children of this process.
fn children() -> Vec<Pid> {
    let ours = Pid::this().as_raw();
    let entries = fs::read_dir("/proc").into_iter().flatten();
    let is_ours = |id: &i32| {
        let stat = fs::read_to_string(format!("/proc/{id}/stat"));
        stat.is_ok_and(|stat| parent(&stat) == Some(ours))
    };
    entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter(is_ours)
        .map(Pid::from_raw)
        .collect()
}

/// The parent in the text of `/proc/<pid>/stat`: `pid (name) state ppid …`, where the name may hold anything.
fn parent(stat: &str) -> Option<i32> {
    let (_, fields) = stat.rsplit_once(") ")?;
    fields.split(' ').nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_brackets_and_spaces_is_no_field() {
        assert_eq!(parent("17 (a) R 5 (b c)) S 4 17 17 0"), Some(4));
        assert_eq!(parent("17 (a"), None);
    }
}
