//! The command line.

use std::path::PathBuf;

use crate::measure::Plan;
use crate::report::Style;
use crate::work::Work;

pub const HELP: &str = "\
Usage: tracer-benches emit [OPTIONS]

Measures what recording costs: tracer-sdk, its peers and the limits, side by side.

  --quick           A smoke run of some seconds; do not quote its numbers
  --markdown        Tables for documentation
  --rounds N        How often everything is measured [default: 100]
  --spans N         Spans of one turn [default: 400]
  --threads N       One number of threads instead of 1 and 4
  --work WORK       tool, model or span instead of all three
  --only WORD       Only recorders with this word in their names, and the bare write
  --directory PATH  Where the files are written [default: the system's folder for temporary files]
";

/// What is asked for.
#[derive(Debug)]
pub enum Command {
    Emit { plan: Plan, style: Style },
    Help,
}

/// Reads the arguments behind the program's name.
pub fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Command, String> {
    match arguments.next().as_deref() {
        Some("emit") => {}
        None | Some("help" | "--help" | "-h") => return Ok(Command::Help),
        Some(other) => return Err(format!("unknown command: {other}")),
    }
    let mut plan = Plan {
        rounds: 100,
        spans: 400,
        burst: 16_000,
        threads: vec![1, 4],
        works: Work::ALL.to_vec(),
        only: None,
        directory: std::env::temp_dir(),
    };
    let mut style = Style::Plain;
    while let Some(option) = arguments.next() {
        let mut value = || arguments.next().ok_or_else(|| format!("{option} needs a value"));
        match option.as_str() {
            "--quick" => (plan.rounds, plan.spans, plan.burst) = (5, 200, 2_000),
            "--markdown" => style = Style::Markdown,
            "--rounds" => plan.rounds = number(&value()?)?,
            "--spans" => plan.spans = number(&value()?)?,
            "--threads" => plan.threads = vec![number(&value()?)?],
            "--work" => plan.works = vec![work(&value()?)?],
            "--only" => plan.only = Some(value()?),
            "--directory" => plan.directory = PathBuf::from(value()?),
            "--help" | "-h" => return Ok(Command::Help),
            other => return Err(format!("unknown option: {other}")),
        }
    }
    Ok(Command::Emit { plan, style })
}

fn number(text: &str) -> Result<usize, String> {
    text.parse()
        .ok()
        .filter(|&number| number > 0)
        .ok_or_else(|| format!("not a number above 0: {text}"))
}

fn work(word: &str) -> Result<Work, String> {
    Work::ALL
        .into_iter()
        .find(|work| work.word() == word)
        .ok_or_else(|| format!("not tool, model or span: {word}"))
}
