//! Running a command several times, each time on its own, and collecting what each time left: a gate's trials.

mod digest;
mod process;
mod schedule;
mod scratch;
mod stop;
mod workspace;
