//! The table: each command with what it needed, what it is allowed, and what Python needed.

use std::fmt::Write;
use std::path::Path;
use std::time::Duration;

use super::cases::{Case, MemoryLimit, Subject};
use super::{MeasuredCase, ReadPlan};
use crate::machine;
use crate::report::{Style, draw};

const NOTE: &str = "\
Medians. `time` is from the start of the process to its end, `processor` the processor time of all its threads, which \
moves less with the machine's load; `memory` is the most that was resident at once, in which a file that is read does not \
count. The files are in the system's caches unless a row says `cold`.";

/// The whole report as text.
pub fn report(plan: &ReadPlan, folder: &Path, all: &[MeasuredCase], style: Style) -> String {
    let mut text = machine::facts(folder);
    let _ = writeln!(text, "{} rounds.\n\n{NOTE}\n", plan.rounds);
    text.push_str(&draw(&rows(plan, all), style));
    text
}

fn rows(plan: &ReadPlan, all: &[MeasuredCase]) -> Vec<Vec<String>> {
    let mut header = vec!["command", "time", "limit", "processor", "memory", "limit", "held"];
    if plan.python.is_some() {
        header.extend(["Python, time", "x", "Python, memory"]);
    }
    let mut rows = vec![header.into_iter().map(str::to_owned).collect()];
    rows.extend(all.iter().map(|measured| row(plan, measured, all)));
    rows
}

fn row(plan: &ReadPlan, measured: &MeasuredCase, all: &[MeasuredCase]) -> Vec<String> {
    let MeasuredCase { case, tracer, python } = measured;
    let memory_limit = memory_limit(case, all);
    let holds = [
        case.time_limit.map(|limit| tracer.wall <= limit),
        memory_limit.map(|limit| tracer.memory <= limit),
    ];
    let held = match (holds.contains(&Some(false)), holds.contains(&Some(true))) {
        (true, _) => "NO",
        (false, true) => "yes",
        (false, false) => "",
    };
    let mut row = vec![
        case.name(),
        time(tracer.wall),
        case.time_limit.map(time).unwrap_or_default(),
        time(tracer.processor),
        memory(tracer.memory),
        memory_limit.map(memory).unwrap_or_default(),
        held.to_owned(),
    ];
    if plan.python.is_some() {
        row.extend(match python {
            Some(python) => [
                time(python.wall),
                format!("{:.0}", python.wall.as_secs_f64() / tracer.wall.as_secs_f64()),
                memory(python.memory),
            ],
            None => [String::new(), String::new(), String::new()],
        });
    }
    row
}

/// The most memory that a command may have, in bytes.
fn memory_limit(case: &Case, all: &[MeasuredCase]) -> Option<u64> {
    match case.memory_limit {
        MemoryLimit::None => None,
        MemoryLimit::Bytes(bytes) => Some(bytes),
        MemoryLimit::BytesForEachSpan(bytes) => {
            let smaller = all
                .iter()
                .find(|other| other.case.command == case.command && other.case.subject != case.subject)?;
            match (smaller.case.subject, case.subject) {
                (Subject::Run(few), Subject::Run(many)) => {
                    Some(smaller.tracer.memory + bytes * many.saturating_sub(few) as u64)
                }
                _ => None,
            }
        }
    }
}

fn time(duration: Duration) -> String {
    let seconds = duration.as_secs_f64();
    if seconds < 1.0 {
        format!("{:.1} ms", seconds * 1_000.0)
    } else {
        format!("{seconds:.2} s")
    }
}

fn memory(bytes: u64) -> String {
    format!("{:.0} MB", bytes as f64 / 1_000_000.0)
}
