//! Running a program to its end, its time's end, or the user's will, with everything that it started.

mod group;
mod marker;
#[cfg_attr(not(unix), path = "members_elsewhere.rs")]
mod members;
#[cfg_attr(not(target_os = "linux"), path = "orphans_elsewhere.rs")]
mod orphans;
mod run;
#[cfg(target_os = "linux")]
mod strays;
mod tail;
#[cfg(unix)]
#[cfg(test)]
mod tests;

pub(super) use marker::Marker;
pub(crate) use orphans::Orphans;
pub(super) use run::{EndedProgram, Launch, ProgramEnd, run};
