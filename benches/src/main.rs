//! What recording, reading and viewing cost, measured side by side. See `README.md`.

mod allocations;
mod arguments;
mod contestants;
mod lines;
mod machine;
mod measure;
mod reading;
mod redacting;
mod report;
mod viewing;
mod work;

use std::process::ExitCode;

use arguments::Command;

#[global_allocator]
static ALLOCATOR: allocations::Counted = allocations::Counted;

fn main() -> ExitCode {
    match arguments::parse(std::env::args().skip(1)) {
        Ok(Command::Emit { plan, style }) => {
            let all = measure::measure(&plan);
            print!("{}", report::report(&plan, &all, style));
            ExitCode::SUCCESS
        }
        Ok(Command::Read { plan, style }) => match reading::measure(&plan, style) {
            Ok(report) => {
                print!("{report}");
                ExitCode::SUCCESS
            }
            Err(error) => {
                eprintln!("\n{error}");
                ExitCode::FAILURE
            }
        },
        Ok(Command::View { plan, style }) => match viewing::measure(&plan, style) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("\n{error}");
                ExitCode::FAILURE
            }
        },
        Ok(Command::Redact { plan }) => match redacting::measure(&plan) {
            Ok((report, true)) => {
                print!("{report}");
                ExitCode::SUCCESS
            }
            Ok((report, false)) => {
                print!("{report}");
                ExitCode::FAILURE
            }
            Err(error) => {
                eprintln!("\n{error}");
                ExitCode::FAILURE
            }
        },
        Ok(Command::Help) => {
            print!("{}", arguments::HELP);
            ExitCode::SUCCESS
        }
        Err(message) => {
            eprintln!("{message}\n\n{}", arguments::HELP);
            ExitCode::from(2)
        }
    }
}
