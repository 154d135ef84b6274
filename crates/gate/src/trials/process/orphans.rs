//! Processes that left the group of their trial: on Linux this process adopts and ends them.

use std::collections::BTreeSet;
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
    /// The processes that there were before the trials: a shell may have started something and then become this program.
    earlier: BTreeSet<ProcessKey>,
}

/// The ID of a process and its start, in clock ticks: another one may get the ID after its end.
type ProcessKey = (i32, u64);

impl Orphans {
    /// Makes processes whose parent ends children of this process.
    pub(crate) fn adopt() -> Self {
        // Where the system refuses, there are no orphans to end.
        let _ = nix::sys::prctl::set_child_subreaper(true);
        Self {
            earlier: processes().map(|(key, _)| key).collect(),
        }
    }

    /// Ends them, and tells whether none is left. To be called when no trial is running.
    pub(crate) fn end(&self) -> bool {
        let started = Instant::now();
        while started.elapsed() < KILLING {
            let orphans = self.orphans();
            if orphans.is_empty() {
                return true;
            }
            for orphan in orphans {
                let _ = kill(orphan, Signal::SIGKILL);
                // An ended process is reaped, or it would stay as a zombie.
                let _ = waitpid(orphan, Some(WaitPidFlag::WNOHANG));
            }
            thread::sleep(POLL_INTERVAL);
        }
        self.orphans().is_empty()
    }

    /// The children of this process that were not there before the trials.
    fn orphans(&self) -> Vec<Pid> {
        let ours = Pid::this().as_raw();
        let is_orphan = |(key, parent): &(ProcessKey, i32)| *parent == ours && !self.earlier.contains(key);
        let orphans = processes().filter(is_orphan);
        orphans.map(|((id, _), _)| Pid::from_raw(id)).collect()
    }
}

/// The processes of the system, each with its parent.
fn processes() -> impl Iterator<Item = (ProcessKey, i32)> {
    let entries = fs::read_dir("/proc").into_iter().flatten();
    let ids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i32>().ok());
    ids.filter_map(|id| {
        let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
        let (parent, started) = parent_and_start(&stat)?;
        Some(((id, started), parent))
    })
}

/// Two fields of `/proc/<pid>/stat`: `pid (name) state ppid … starttime …`, where the name may hold anything.
fn parent_and_start(stat: &str) -> Option<(i32, u64)> {
    let (_, fields) = stat.rsplit_once(") ")?;
    let mut fields = fields.split(' ').skip(1);
    Some((fields.next()?.parse().ok()?, fields.nth(17)?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_brackets_and_spaces_is_no_field() {
        let fields = "S 4 17 17 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 8912 2990080 1 2 3";
        assert_eq!(
            parent_and_start(&format!("17 (a) R 5 (b c)) {fields}")),
            Some((4, 8912))
        );
        assert_eq!(parent_and_start("17 (a"), None);
    }
}
