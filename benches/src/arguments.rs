//! The command line.

use std::path::PathBuf;

use crate::correlating;
use crate::facts;
use crate::layering;
use crate::measure::EmitPlan;
use crate::proxying;
use crate::reading;
use crate::receiving;
use crate::recording;
use crate::redacting;
use crate::report::Style;
use crate::team_store;
use crate::viewing;
use crate::work::SpanWork;

pub const HELP: &str = "\
Usage: tracer-benches emit [OPTIONS]
       tracer-benches layer [OPTIONS]
       tracer-benches read [OPTIONS]
       tracer-benches facts [OPTIONS]
       tracer-benches store [OPTIONS]
       tracer-benches view [OPTIONS]
       tracer-benches redact [OPTIONS]
       tracer-benches correlate [OPTIONS]
       tracer-benches record [OPTIONS]
       tracer-benches receive [OPTIONS]
       tracer-benches proxy [OPTIONS]

emit measures what recording costs: tracer-sdk, its peers and the limits, side by side.

  --quick           A smoke run of some seconds; do not quote its numbers
  --markdown        Tables for documentation
  --rounds N        How often everything is measured [default: 100]
  --spans N         Spans of one turn [default: 400]
  --threads N       One number of threads instead of 1 and 4
  --work WORK       tool, model or span instead of all three
  --only WORD       Only recorders with this word in their names, and the bare write
  --directory PATH  Where the files are written [default: the system's folder for temporary files]

layer measures what the layer for `tracing` costs: callsites and spans that are not its own, and recorded ones beside recorders; it
fails when one is above its limit.

  --quick           A smoke run of a second
  --rounds N        How often everything is measured [default: 600]
  --spans N         Recorded spans of one turn, which is short so that most are not interrupted [default: 20]
  --directory PATH  Where the runs are written [default: the system's folder for temporary files]

read measures what reading costs: the `tracer` executable on generated data, beside its limits.

  --quick           Small data, for a smoke run; the limits hold for the full sizes only
  --markdown        A table for documentation
  --rounds N        How often each command runs [default: 5]
  --runs N          One store of N runs instead of two of 10000 and 100000
  --spans N         The larger run; the smaller one has a tenth of it [default: 1000000]
  --cold            `list` also with empty caches; needs root and Linux, and slows the machine for a while
  --tracer PATH     The executable [default: the workspace's target/release/tracer]
  --python PATH     The `maida` executable, measured on the same files
  --python-patient  Python reads a run of a million spans, too
  --folder PATH     Where the data is made, or found again [default: a folder that is removed again]

facts measures what questions over all runs cost: `list`, the page's filters and sorts, `search`, and a large run opened again
in another viewer, beside their limits.

  --quick           Small data, for a smoke run; the limits hold for the full sizes only
  --markdown        A table for documentation
  --rounds N        How often everything is measured [default: 5]
  --runs N          Runs that are listed [default: 100000]
  --spans N         Spans that are searched, and spans of the large run [default: 1000000]
  --cold            `list` also with empty caches; needs root and Linux, and slows the machine for a while
  --tracer PATH     The executable [default: the workspace's target/release/tracer]
  --folder PATH     Where the data is made, or found again [default: a folder that is removed again]

store measures what a team's bucket costs its readers: the first synchronization of its facts, one with nothing new, and commands
over all runs, on a folder; it fails when a limit is not held.

  --quick           Few runs, for a smoke run; the limits hold for the full size only
  --rounds N        How often everything is measured [default: 3]
  --runs N          Runs in the bucket [default: 1000000]
  --tracer PATH     The executable [default: the workspace's target/release/tracer]
  --folder PATH     Where the data is made, or found again [default: a folder that is removed again]

view measures what the pages of `tracer view` cost in headless Chromium, beside their limits; needs Node.js.

  --quick           The smaller runs only, each measured once
  --markdown        A table for documentation
  --rounds N        How often everything is measured [default: 3]
  --spans N         One run of N spans instead of those of 1000, 10000, 100000 and 1000000
  --tracer PATH     The executable [default: the workspace's target/release/tracer]
  --python PATH     The `maida` executable, whose viewer opens the same runs as far as it can
  --folder PATH     Where the data is made, or found again [default: a folder that is removed again]

redact measures what looking for secrets costs in texts that are made to be costly, in times of prose of the same length; it fails
when one takes more than ten times as long.

  --quick           Each text twice, for a smoke run
  --rounds N        How often each text is looked through; the fastest counts [default: 15]
  --bytes N         How long the texts are [default: 16000]
  --only WORD       Only texts with this word in their names, all of them shown
  --directory PATH  Where the runs are written [default: the system's folder for temporary files]

correlate measures what opening a run costs of which three reporters tell: 10,000 and 100,000 calls in 1,000 conversations at once. It fails
when a call of the larger run takes more than 1.3 times as long.

  --quick           2,000 and 10,000 calls, for a smoke run
  --rounds N        How often each run is opened; the fastest counts [default: 5]
  --directory PATH  Where the runs are written [default: the system's folder for temporary files]

receive measures what `tracer receive` costs: spans of 1 kB over OTLP/HTTP, in batches of 512, beside its limit.

  --quick           A tenth of the spans, for a smoke run
  --markdown        A table for documentation
  --spans N         Spans that are sent; half of them are measured before, to show what grows [default: 400000]
  --connections N   Connections that send at once [default: 2]
  --tracer PATH     The executable [default: the workspace's target/release/tracer]
  --directory PATH  Where the runs are written [default: the system's folder for temporary files]

proxy measures what the recording proxy for model APIs costs, beside the same requests without it.

  --quick           A smoke run of some seconds
  --requests N      How many requests are timed [default: 2000]
  --megabytes N     How large the large answer is [default: 1000]
  --streams N       How many streams are open at once [default: 200]
  --directory PATH  Where the run is written [default: the system's folder for temporary files]

record measures what `tracer record` adds to a command until it starts and after its end; it fails when either is more than 50 ms.

  --quick           A smoke run
  --rounds N        How often the command runs, alone and recorded in turns [default: 50]
  --tracer PATH     The executable [default: the workspace's target/release/tracer]
";

/// What is asked for.
#[derive(Debug)]
pub enum BenchCommand {
    Emit(EmitPlan, Style),
    Layer(layering::LayerPlan),
    Read(reading::ReadPlan, Style),
    Facts(facts::FactsPlan, Style),
    Store(team_store::TeamStorePlan),
    View(viewing::ViewPlan, Style),
    Redact(redacting::RedactPlan),
    Correlate(correlating::CorrelatePlan),
    Record(recording::RecordPlan),
    RecordedCommand(String),
    Receive(receiving::ReceivePlan, Style),
    Proxy(proxying::ProxyPlan),
    Help,
}

/// Reads the arguments behind the program's name.
pub fn parse(mut arguments: impl Iterator<Item = String>) -> Result<BenchCommand, String> {
    match arguments.next().as_deref() {
        Some("emit") => emit(arguments),
        Some("layer") => layer(arguments),
        Some("read") => read(arguments),
        Some("facts") => facts(arguments),
        Some("store") => store(arguments),
        Some("view") => view(arguments),
        Some("redact") => redact(arguments),
        Some("correlate") => correlate(arguments),
        Some("record") => record(arguments),
        // What `record` runs.
        Some("recorded-command") => Ok(BenchCommand::RecordedCommand(
            arguments.next().unwrap_or_default(),
        )),
        Some("receive") => receive(arguments),
        Some("proxy") => proxy(arguments),
        None | Some("help" | "--help" | "-h") => Ok(BenchCommand::Help),
        Some(other) => Err(format!("unknown command: {other}")),
    }
}

fn emit(mut arguments: impl Iterator<Item = String>) -> Result<BenchCommand, String> {
    let mut plan = EmitPlan {
        rounds: 100,
        spans: 400,
        burst: 16_000,
        threads: vec![1, 4],
        works: SpanWork::ALL.to_vec(),
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
            "--help" | "-h" => return Ok(BenchCommand::Help),
            other => return Err(format!("unknown option: {other}")),
        }
    }
    Ok(BenchCommand::Emit(plan, style))
}

fn layer(mut arguments: impl Iterator<Item = String>) -> Result<BenchCommand, String> {
    let mut plan = layering::LayerPlan {
        rounds: 600,
        spans: 20,
        directory: std::env::temp_dir(),
    };
    while let Some(option) = arguments.next() {
        let mut value = || arguments.next().ok_or_else(|| format!("{option} needs a value"));
        match option.as_str() {
            "--quick" => plan.rounds = 20,
            "--rounds" => plan.rounds = number(&value()?)?,
            "--spans" => plan.spans = number(&value()?)?,
            "--directory" => plan.directory = PathBuf::from(value()?),
            "--help" | "-h" => return Ok(BenchCommand::Help),
            other => return Err(format!("unknown option: {other}")),
        }
    }
    Ok(BenchCommand::Layer(plan))
}

fn record(mut arguments: impl Iterator<Item = String>) -> Result<BenchCommand, String> {
    let mut plan = recording::RecordPlan {
        rounds: 50,
        tracer: None,
    };
    while let Some(option) = arguments.next() {
        let mut value = || arguments.next().ok_or_else(|| format!("{option} needs a value"));
        match option.as_str() {
            "--quick" => plan.rounds = 3,
            "--rounds" => plan.rounds = number(&value()?)?,
            "--tracer" => plan.tracer = Some(PathBuf::from(value()?)),
            "--help" | "-h" => return Ok(BenchCommand::Help),
            other => return Err(format!("unknown option: {other}")),
        }
    }
    Ok(BenchCommand::Record(plan))
}

fn read(mut arguments: impl Iterator<Item = String>) -> Result<BenchCommand, String> {
    let mut plan = reading::ReadPlan {
        rounds: 5,
        runs: vec![10_000, 100_000],
        spans: [100_000, 1_000_000],
        tracer: None,
        python: None,
        is_python_patient: false,
        is_cold: false,
        folder: None,
    };
    let mut style = Style::Plain;
    while let Some(option) = arguments.next() {
        let mut value = || arguments.next().ok_or_else(|| format!("{option} needs a value"));
        match option.as_str() {
            "--quick" => (plan.rounds, plan.runs, plan.spans) = (3, vec![1_000], [2_000, 20_000]),
            "--markdown" => style = Style::Markdown,
            "--rounds" => plan.rounds = number(&value()?)?,
            "--runs" => plan.runs = vec![number(&value()?)?],
            "--spans" => {
                let spans = number(&value()?)?;
                plan.spans = [(spans / 10).max(1), spans];
            }
            "--cold" => plan.is_cold = true,
            "--tracer" => plan.tracer = Some(PathBuf::from(value()?)),
            "--python" => plan.python = Some(PathBuf::from(value()?)),
            "--python-patient" => plan.is_python_patient = true,
            "--folder" => plan.folder = Some(PathBuf::from(value()?)),
            "--help" | "-h" => return Ok(BenchCommand::Help),
            other => return Err(format!("unknown option: {other}")),
        }
    }
    Ok(BenchCommand::Read(plan, style))
}

fn facts(mut arguments: impl Iterator<Item = String>) -> Result<BenchCommand, String> {
    let mut plan = facts::FactsPlan {
        runs: 100_000,
        spans: 1_000_000,
        rounds: 5,
        is_cold: false,
        tracer: None,
        folder: None,
    };
    let mut style = Style::Plain;
    while let Some(option) = arguments.next() {
        let mut value = || arguments.next().ok_or_else(|| format!("{option} needs a value"));
        match option.as_str() {
            "--quick" => (plan.rounds, plan.runs, plan.spans) = (3, 1_000, 50_000),
            "--markdown" => style = Style::Markdown,
            "--rounds" => plan.rounds = number(&value()?)?,
            "--runs" => plan.runs = number(&value()?)?,
            "--spans" => plan.spans = number(&value()?)?,
            "--cold" => plan.is_cold = true,
            "--tracer" => plan.tracer = Some(PathBuf::from(value()?)),
            "--folder" => plan.folder = Some(PathBuf::from(value()?)),
            "--help" | "-h" => return Ok(BenchCommand::Help),
            other => return Err(format!("unknown option: {other}")),
        }
    }
    Ok(BenchCommand::Facts(plan, style))
}

fn store(mut arguments: impl Iterator<Item = String>) -> Result<BenchCommand, String> {
    let mut plan = team_store::TeamStorePlan {
        runs: 1_000_000,
        rounds: 3,
        tracer: None,
        folder: None,
    };
    while let Some(option) = arguments.next() {
        let mut value = || arguments.next().ok_or_else(|| format!("{option} needs a value"));
        match option.as_str() {
            "--quick" => (plan.rounds, plan.runs) = (1, 5_000),
            "--rounds" => plan.rounds = number(&value()?)?,
            "--runs" => plan.runs = number(&value()?)?,
            "--tracer" => plan.tracer = Some(PathBuf::from(value()?)),
            "--folder" => plan.folder = Some(PathBuf::from(value()?)),
            "--help" | "-h" => return Ok(BenchCommand::Help),
            other => return Err(format!("unknown option: {other}")),
        }
    }
    Ok(BenchCommand::Store(plan))
}

fn view(mut arguments: impl Iterator<Item = String>) -> Result<BenchCommand, String> {
    let mut plan = viewing::ViewPlan {
        spans: vec![1_000, 10_000, 100_000, 1_000_000],
        rounds: 3,
        tracer: None,
        python: None,
        folder: None,
    };
    let mut style = Style::Plain;
    while let Some(option) = arguments.next() {
        let mut value = || arguments.next().ok_or_else(|| format!("{option} needs a value"));
        match option.as_str() {
            "--quick" => (plan.rounds, plan.spans) = (1, vec![1_000, 10_000]),
            "--markdown" => style = Style::Markdown,
            "--rounds" => plan.rounds = number(&value()?)?,
            "--spans" => plan.spans = vec![number(&value()?)?],
            "--tracer" => plan.tracer = Some(PathBuf::from(value()?)),
            "--python" => plan.python = Some(PathBuf::from(value()?)),
            "--folder" => plan.folder = Some(PathBuf::from(value()?)),
            "--help" | "-h" => return Ok(BenchCommand::Help),
            other => return Err(format!("unknown option: {other}")),
        }
    }
    Ok(BenchCommand::View(plan, style))
}

fn redact(mut arguments: impl Iterator<Item = String>) -> Result<BenchCommand, String> {
    let mut plan = redacting::RedactPlan {
        rounds: 15,
        bytes: 16_000,
        only: None,
        directory: std::env::temp_dir(),
    };
    while let Some(option) = arguments.next() {
        let mut value = || arguments.next().ok_or_else(|| format!("{option} needs a value"));
        match option.as_str() {
            "--quick" => plan.rounds = 2,
            "--rounds" => plan.rounds = number(&value()?)?,
            "--bytes" => plan.bytes = number(&value()?)?,
            "--only" => plan.only = Some(value()?),
            "--directory" => plan.directory = PathBuf::from(value()?),
            "--help" | "-h" => return Ok(BenchCommand::Help),
            other => return Err(format!("unknown option: {other}")),
        }
    }
    Ok(BenchCommand::Redact(plan))
}

fn correlate(mut arguments: impl Iterator<Item = String>) -> Result<BenchCommand, String> {
    let mut plan = correlating::CorrelatePlan {
        calls: [10_000, 100_000],
        rounds: 5,
        directory: std::env::temp_dir(),
    };
    while let Some(option) = arguments.next() {
        let mut value = || arguments.next().ok_or_else(|| format!("{option} needs a value"));
        match option.as_str() {
            "--quick" => (plan.calls, plan.rounds) = ([2_000, 10_000], 1),
            "--rounds" => plan.rounds = number(&value()?)?,
            "--directory" => plan.directory = PathBuf::from(value()?),
            "--help" | "-h" => return Ok(BenchCommand::Help),
            other => return Err(format!("unknown option: {other}")),
        }
    }
    Ok(BenchCommand::Correlate(plan))
}

fn receive(mut arguments: impl Iterator<Item = String>) -> Result<BenchCommand, String> {
    let mut plan = receiving::ReceivePlan {
        spans: 400_000,
        connections: 2,
        tracer: None,
        directory: std::env::temp_dir(),
    };
    let mut style = Style::Plain;
    while let Some(option) = arguments.next() {
        let mut value = || arguments.next().ok_or_else(|| format!("{option} needs a value"));
        match option.as_str() {
            "--quick" => plan.spans = 40_000,
            "--markdown" => style = Style::Markdown,
            "--spans" => plan.spans = number(&value()?)?,
            "--connections" => plan.connections = number(&value()?)?,
            "--tracer" => plan.tracer = Some(PathBuf::from(value()?)),
            "--directory" => plan.directory = PathBuf::from(value()?),
            "--help" | "-h" => return Ok(BenchCommand::Help),
            other => return Err(format!("unknown option: {other}")),
        }
    }
    Ok(BenchCommand::Receive(plan, style))
}

fn proxy(mut arguments: impl Iterator<Item = String>) -> Result<BenchCommand, String> {
    let mut plan = proxying::ProxyPlan {
        requests: 2_000,
        megabytes: 1_000,
        streams: 200,
        directory: std::env::temp_dir(),
    };
    while let Some(option) = arguments.next() {
        let mut value = || arguments.next().ok_or_else(|| format!("{option} needs a value"));
        match option.as_str() {
            "--quick" => (plan.requests, plan.megabytes, plan.streams) = (200, 100, 20),
            "--requests" => plan.requests = number(&value()?)?,
            "--megabytes" => plan.megabytes = number(&value()?)?,
            "--streams" => plan.streams = number(&value()?)?,
            "--directory" => plan.directory = PathBuf::from(value()?),
            "--help" | "-h" => return Ok(BenchCommand::Help),
            other => return Err(format!("unknown option: {other}")),
        }
    }
    Ok(BenchCommand::Proxy(plan))
}

fn number(text: &str) -> Result<usize, String> {
    text.parse()
        .ok()
        .filter(|&number| number > 0)
        .ok_or_else(|| format!("not a number above 0: {text}"))
}

fn work(word: &str) -> Result<SpanWork, String> {
    SpanWork::ALL
        .into_iter()
        .find(|work| work.word() == word)
        .ok_or_else(|| format!("not tool, model or span: {word}"))
}
