//! Running a program to its end, its time's end, or the user's will, with everything that it started.

mod group;
#[cfg_attr(not(unix), path = "members_elsewhere.rs")]
mod members;
#[cfg_attr(not(target_os = "linux"), path = "orphans_elsewhere.rs")]
mod orphans;
mod run;
mod tail;
#[cfg(unix)]
#[cfg(test)]
mod tests;

pub(crate) use orphans::Orphans;
pub(super) use run::{EndedProgram, Launch, ProgramEnd, run};
