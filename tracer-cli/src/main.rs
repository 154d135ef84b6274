//! The executable `tracer`; everything is in the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    tracer_cli::main()
}
