//! Processes as Linux shows them under `/proc`: those of a trial, wherever they went.
//!
//! A process that made itself a session is no longer in the trial's group. It still has the trial's mark in its
//! environment; one that took that away as well is the child of a process that is found, or else an
//! [orphan](super::orphans).

use std::collections::HashSet;
use std::fs;

use nix::unistd::Pid;

use super::Marker;

/// A process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Process {
    pub(super) id: Pid,
    pub(super) parent: Pid,
    pub(super) group: Pid,
    has_ended: bool,
}

/// The running processes of a trial; `None` where `/proc` does not tell.
pub(super) fn of_trial(group: Option<Pid>, marker: &Marker) -> Option<Vec<Process>> {
    let all = all();
    let ours = Pid::this();
    if all.iter().all(|process| process.id != ours) {
        return None;
    }
    let mut found: HashSet<Pid> = all
        .iter()
        .filter(|process| Some(process.group) == group || is_marked(process.id, marker))
        .map(|process| process.id)
        .collect();
    loop {
        let before = found.len();
        let children = all.iter().filter(|process| found.contains(&process.parent));
        let children: Vec<Pid> = children.map(|process| process.id).collect();
        found.extend(children);
        if found.len() == before {
            break;
        }
    }
    let is_running =
        |process: &Process| found.contains(&process.id) && !process.has_ended && process.id != ours;
    Some(all.into_iter().filter(is_running).collect())
}

/// All processes.
pub(super) fn all() -> Vec<Process> {
    let entries = fs::read_dir("/proc").into_iter().flatten();
    entries
        .filter_map(|entry| {
            let name = entry.ok()?.file_name();
            let id: i32 = name.to_str()?.parse().ok()?;
            parse_stat(&fs::read_to_string(format!("/proc/{id}/stat")).ok()?)
        })
        .collect()
}

/// The first fields of `/proc/<pid>/stat`: `pid (name) state ppid pgrp …`, where the name may hold anything.
fn parse_stat(text: &str) -> Option<Process> {
    let (id, rest) = text.split_once(" (")?;
    let mut fields = rest.rsplit_once(") ")?.1.split(' ');
    let state = fields.next()?;
    let mut process = || fields.next()?.parse().ok().map(Pid::from_raw);
    Some(Process {
        id: Pid::from_raw(id.parse().ok()?),
        parent: process()?,
        group: process()?,
        has_ended: matches!(state, "Z" | "X"),
    })
}

/// Checks if the environment of a process has the mark. That of other users' processes cannot be read.
fn is_marked(process: Pid, marker: &Marker) -> bool {
    fs::read(format!("/proc/{process}/environ")).is_ok_and(|environment| {
        environment
            .split(|byte| *byte == 0)
            .any(|variable| marker.is(variable))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_read_whatever_its_name_is() {
        let process = parse_stat("42 (a) b (c) S 7 40 40 0 -1 4194560").unwrap();
        let expected = Process {
            id: Pid::from_raw(42),
            parent: Pid::from_raw(7),
            group: Pid::from_raw(40),
            has_ended: false,
        };
        assert_eq!(process, expected);
        assert!(parse_stat("42 (x) Z 7 40 40").unwrap().has_ended);
        assert_eq!(parse_stat("42 (x"), None);
    }

    #[test]
    fn this_process_is_seen_and_never_among_those_of_a_trial() {
        let ours = all().into_iter().find(|process| process.id == Pid::this());
        let group = ours.unwrap().group;
        let marker = Marker::new("TRACER_TRIAL_ID", "of no process");
        let found = of_trial(Some(group), &marker).unwrap();
        assert!(found.iter().all(|one| one.id != Pid::this()));
    }
}
