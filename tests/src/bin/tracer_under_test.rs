//! The executable `tracer`, for tests of this package: Cargo tells them the path only of programs of their own package.

fn main() -> std::process::ExitCode {
    tracer_cli::main()
}
