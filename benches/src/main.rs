//! What recording, reading and viewing cost, measured side by side. See `README.md`.

mod allocations;
mod arguments;
mod contestants;
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
mod viewing;
mod work;

use std::process::ExitCode;

use arguments::BenchCommand;

#[global_allocator]
static ALLOCATOR: allocations::Counted = allocations::Counted;

fn main() -> ExitCode {
    match arguments::parse(std::env::args().skip(1)) {
        Ok(BenchCommand::Emit { plan, style }) => {
            let all = measure::measure(&plan);
            print!("{}", report::report(&plan, &all, style));
            ExitCode::SUCCESS
        }
        Ok(BenchCommand::Layer { plan }) => match layering::measure(&plan) {
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
        },
        Ok(BenchCommand::Read { plan, style }) => match reading::measure(&plan, style) {
            Ok(report) => {
                print!("{report}");
                ExitCode::SUCCESS
            }
            Err(error) => {
                eprintln!("\n{error}");
                ExitCode::FAILURE
            }
        },
        Ok(BenchCommand::Facts { plan, style }) => match facts::measure(&plan, style) {
            Ok(report) => {
                print!("{report}");
                ExitCode::SUCCESS
            }
            Err(error) => {
                eprintln!("\n{error}");
                ExitCode::FAILURE
            }
        },
        Ok(BenchCommand::View { plan, style }) => match viewing::measure(&plan, style) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("\n{error}");
                ExitCode::FAILURE
            }
        },
        Ok(BenchCommand::Receive { plan, style }) => match receiving::measure(&plan, style) {
            Ok(report) => {
                print!("{report}");
                ExitCode::SUCCESS
            }
            Err(error) => {
                eprintln!("\n{error}");
                ExitCode::FAILURE
            }
        },
        Ok(BenchCommand::Redact { plan }) => match redacting::measure(&plan) {
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
        Ok(BenchCommand::Proxy { plan }) => match proxying::measure(&plan) {
            Ok(report) => {
                print!("{report}");
                ExitCode::SUCCESS
            }
            Err(error) => {
                eprintln!("\n{error}");
                ExitCode::FAILURE
            }
        },
        Ok(BenchCommand::Record { plan }) => match recording::measure(&plan) {
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
        },
        Ok(BenchCommand::RecordedCommand { task }) => match recording::recorded_command(&task) {
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
