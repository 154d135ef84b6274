//! Which commands are measured, on what, and what they are allowed.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::ReadPlan;
use super::child::{self, CommandUsage};
use super::generate;

/// What a command reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subject {
    Nothing,
    /// A store with this many small runs.
    Store(usize),
    /// A run with this many spans.
    Run(usize),
}

impl Subject {
    /// Makes the data, unless it is there.
    pub fn generate(self, folder: &Path) -> Result<(), Box<dyn Error>> {
        match self {
            Self::Nothing => Ok(()),
            Self::Store(runs) => Ok(generate::store(&self.data_dir(folder), runs)?),
            Self::Run(spans) => Ok(generate::run(&self.data_dir(folder), spans)?),
        }
    }

    fn data_dir(self, folder: &Path) -> PathBuf {
        folder.join(match self {
            Self::Nothing => "nothing".to_owned(),
            Self::Store(runs) => format!("store-of-{runs}"),
            Self::Run(spans) => format!("run-of-{spans}"),
        })
    }
}

/// One command on one subject.
#[derive(Debug, Clone, Copy)]
pub struct Case {
    /// The arguments, those that name the run or the file aside.
    pub command: &'static str,
    pub subject: Subject,
    pub is_cold: bool,
    /// The longest that it may take.
    pub time_limit: Option<Duration>,
    pub memory_limit: MemoryLimit,
}

/// The most memory that a command may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemoryLimit {
    None,
    /// This many bytes.
    Bytes(u64),
    /// This many bytes for each span that the larger run has more than the smaller one, on top of what the same command
    /// needs for that.
    BytesForEachSpan(u64),
}

/// What of the plan is measured, with the limits that hold for the sizes of a full measurement.
pub fn of(plan: &ReadPlan) -> Vec<Case> {
    let case = |command, subject| Case {
        command,
        subject,
        is_cold: false,
        time_limit: None,
        memory_limit: MemoryLimit::None,
    };
    let mut cases = vec![Case {
        time_limit: Some(Duration::from_millis(15)),
        ..case("--version", Subject::Nothing)
    }];
    for &runs in &plan.runs {
        let list = Case {
            time_limit: match runs {
                10_000 => Some(Duration::from_millis(200)),
                100_000 => Some(Duration::from_secs(2)),
                _ => None,
            },
            ..case("list", Subject::Store(runs))
        };
        cases.push(list);
        if plan.is_cold {
            cases.push(Case {
                is_cold: true,
                ..list
            });
        }
    }
    let [smaller, larger] = plan.spans;
    let is_full = larger == 1_000_000;
    let seconds = |seconds| is_full.then_some(Duration::from_secs(seconds));
    let memory = |limit| if is_full { limit } else { MemoryLimit::None };
    cases.push(Case {
        time_limit: seconds(3),
        memory_limit: memory(MemoryLimit::Bytes(400_000_000)),
        ..case("show", Subject::Run(larger))
    });
    for command in ["validate-trace", "export"] {
        cases.push(case(command, Subject::Run(smaller)));
        cases.push(Case {
            time_limit: seconds(8),
            memory_limit: memory(MemoryLimit::BytesForEachSpan(64)),
            ..case(command, Subject::Run(larger))
        });
    }
    cases
}

impl Case {
    pub fn name(&self) -> String {
        let cold = if self.is_cold { ", cold" } else { "" };
        match self.subject {
            Subject::Nothing => self.command.to_owned(),
            Subject::Store(runs) => format!("{}, {} runs{cold}", self.command, thousands(runs)),
            Subject::Run(spans) => format!("{}, {} spans", self.command, thousands(spans)),
        }
    }

    /// Measures `tracer`.
    pub fn tracer(
        &self,
        tracer: &Path,
        folder: &Path,
        rounds: usize,
    ) -> Result<CommandUsage, Box<dyn Error>> {
        self.measure(rounds, || self.command_line(tracer, folder, "TRACER_DATA_DIR"))
    }

    /// Measures Python on the same files; `None` where that is not asked, or would take minutes.
    pub fn python(
        &self,
        python: &Path,
        folder: &Path,
        plan: &ReadPlan,
    ) -> Result<Option<CommandUsage>, Box<dyn Error>> {
        let is_long = matches!(self.subject, Subject::Run(spans) if spans >= 1_000_000);
        // `show` has no counterpart that ends.
        if self.command == "show" || (is_long && !plan.is_python_patient) {
            return Ok(None);
        }
        let rounds = if is_long { 1 } else { plan.rounds.min(3) };
        self.measure(rounds, || self.command_line(python, folder, "MAIDA_DATA_DIR"))
            .map(Some)
    }

    fn measure(&self, rounds: usize, command: impl Fn() -> Command) -> Result<CommandUsage, Box<dyn Error>> {
        if !self.is_cold {
            // The first turn warms the caches and is not counted.
            child::run(1, || Ok(()), &command)?;
            return child::run(rounds, || Ok(()), command);
        }
        child::run(rounds, empty_caches, command)
    }

    fn command_line(&self, executable: &Path, folder: &Path, data_dir_variable: &str) -> Command {
        let data_dir = self.subject.data_dir(folder);
        let mut command = Command::new(executable);
        command.env(data_dir_variable, &data_dir).arg(self.command);
        match self.command {
            "show" => command.arg(generate::BIG_RUN),
            "validate-trace" => command.arg(data_dir.join("runs").join(generate::BIG_RUN)),
            "export" => command
                .arg(generate::BIG_RUN)
                .arg("--out")
                .arg(data_dir.join("exported.json")),
            _ => &mut command,
        };
        command
    }
}

/// Makes the system forget what it has read.
pub fn empty_caches() -> Result<(), Box<dyn Error>> {
    const SWITCH: &str = "/proc/sys/vm/drop_caches";
    // Only what is on the disk can be forgotten.
    let _ = Command::new("sync").status();
    fs::write(SWITCH, "3")
        .map_err(|error| format!("--cold needs Linux and the right to write {SWITCH}: {error}").into())
}

/// A number with its thousands apart.
pub fn thousands(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
