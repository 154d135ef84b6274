//! What recording, reading and viewing cost, measured side by side. See `README.md`.

mod allocations;
mod arguments;
mod contestants;
mod correlating;
mod facts;
mod layering;
mod lines;
mod machine;
mod measure;
mod proxying;
mod reading;
mod receiving;
mod recording;
mod redacting;
mod report;
mod team_store;
mod viewing;
mod work;

use std::fmt::Display;
use std::process::ExitCode;

use arguments::BenchCommand;

#[global_allocator]
static ALLOCATOR: allocations::Counted = allocations::Counted;

fn main() -> ExitCode {
    match arguments::parse(std::env::args().skip(1)) {
        Ok(BenchCommand::Emit(plan, style)) => {
            let all = measure::measure(&plan);
            print!("{}", report::report(&plan, &all, style));
            ExitCode::SUCCESS
        }
        Ok(BenchCommand::Layer(plan)) => finish(layering::measure(&plan)),
        Ok(BenchCommand::Read(plan, style)) => finish(reading::measure(&plan, style).map(kept)),
        Ok(BenchCommand::Facts(plan, style)) => finish(facts::measure(&plan, style).map(kept)),
        Ok(BenchCommand::View(plan, style)) => {
            finish(viewing::measure(&plan, style).map(|()| kept(String::new())))
        }
        Ok(BenchCommand::Receive(plan, style)) => finish(receiving::measure(&plan, style).map(kept)),
        Ok(BenchCommand::Store(plan)) => finish(team_store::measure(&plan)),
        Ok(BenchCommand::Redact(plan)) => finish(redacting::measure(&plan)),
        Ok(BenchCommand::Correlate(plan)) => finish(correlating::measure(&plan)),
        Ok(BenchCommand::Proxy(plan)) => finish(proxying::measure(&plan).map(kept)),
        Ok(BenchCommand::Record(plan)) => finish(recording::measure(&plan)),
        Ok(BenchCommand::RecordedCommand(task)) => match recording::recorded_command(&task) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("{error}");
                ExitCode::FAILURE
            }
        },
        Ok(BenchCommand::Help) => {
            print!("{}", arguments::HELP);
            ExitCode::SUCCESS
        }
        Err(message) => {
            eprintln!("{message}\n\n{}", arguments::HELP);
            ExitCode::from(2)
        }
    }
}

/// A report of a measurement that promises nothing.
fn kept(report: String) -> (String, bool) {
    (report, true)
}

/// Prints a report, and fails where it shows a promise that is not kept, or where nothing could be measured.
fn finish(measured: Result<(String, bool), impl Display>) -> ExitCode {
    match measured {
        Ok((report, is_kept)) => {
            print!("{report}");
            if is_kept {
                ExitCode::SUCCESS
            } else {
                ExitCode::FAILURE
            }
        }
        Err(error) => {
            eprintln!("\n{error}");
            ExitCode::FAILURE
        }
    }
}
