//! End of the processes of a trial: a polite signal first, then a kill.

use std::process::Child;
use std::thread;
use std::time::{Duration, Instant};

use super::members::Members;
use crate::trials::stop::Stop;

/// Grace period of processes before they are killed.
const GRACE: Duration = Duration::from_secs(2);
/// Time limit of killing: a program that starts processes faster than they can be killed must not hold up the gate.
const KILLING: Duration = Duration::from_secs(5);
/// Poll interval.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// Ends every process of a trial, and tells whether none is left. A second Ctrl-C ends the patience with them.
pub(super) fn end(leader: &mut Child, members: &Members, stop: &Stop) -> bool {
    // The leader's end is taken note of, or it would stay as a zombie.
    let are_gone = |leader: &mut Child| {
        let leader_is_gone = !matches!(leader.try_wait(), Ok(None));
        leader_is_gone && members.are_gone()
    };
    if are_gone(leader) {
        return true;
    }
    members.ask_to_end();
    let asked = Instant::now();
    while asked.elapsed() < GRACE && !stop.is_urgent() {
        if are_gone(leader) {
            return true;
        }
        thread::sleep(POLL_INTERVAL);
    }
    let killing = Instant::now();
    while killing.elapsed() < KILLING {
        // The leader may be all there is to end: not every system has process groups.
        let _ = leader.kill();
        members.kill();
        if are_gone(leader) {
            return true;
        }
        thread::sleep(POLL_INTERVAL);
    }
    false
}
