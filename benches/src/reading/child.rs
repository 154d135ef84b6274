//! One command, run some times: how long it took, how much it computed, and how much memory it had at most.

use std::error::Error;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use wait4::Wait4;

/// What a command used: medians of its turns.
#[derive(Debug, Clone, Copy)]
pub struct CommandUsage {
    /// From its start to its end.
    pub wall: Duration,
    /// Processor time of all its threads, in the program and in the system.
    pub processor: Duration,
    /// The most memory it had at once, in bytes.
    pub memory: u64,
}

/// Runs a command so often, its output thrown away; `prepare` comes before each turn.
pub fn run(
    rounds: usize,
    mut prepare: impl FnMut() -> Result<(), Box<dyn Error>>,
    command: impl Fn() -> Command,
) -> Result<CommandUsage, Box<dyn Error>> {
    let mut turns = Vec::new();
    for _ in 0..rounds {
        prepare()?;
        turns.push(turn(command())?);
    }
    Ok(CommandUsage {
        wall: median(turns.iter().map(|turn| turn.wall)),
        processor: median(turns.iter().map(|turn| turn.processor)),
        memory: median(turns.iter().map(|turn| turn.memory)),
    })
}

fn turn(mut command: Command) -> Result<CommandUsage, Box<dyn Error>> {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let start = Instant::now();
    let child = command
        .spawn()
        .map_err(|error| format!("{command:?} cannot be started: {error}"))?;
    let used = child.wait4()?;
    let wall = start.elapsed();
    if !used.status.success() {
        return Err(format!("{command:?} ended with {}", used.status).into());
    }
    Ok(CommandUsage {
        wall,
        processor: used.rusage.utime + used.rusage.stime,
        memory: used.rusage.maxrss,
    })
}

fn median<Value: Ord + Copy + Default>(values: impl Iterator<Item = Value>) -> Value {
    let mut sorted: Vec<Value> = values.collect();
    sorted.sort_unstable();
    sorted.get(sorted.len() / 2).copied().unwrap_or_default()
}
