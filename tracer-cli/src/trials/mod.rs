//! Running a command several times, each time on its own, and collecting what each time left: a gate's trials.
//!
//! | what | where |
//! |---|---|
//! | what belongs to the workspace, and a copy of it | `workspace` |
//! | the program that a command names | `program` |
//! | the folder of a trial | `scratch` |
//! | running a program, and ending it with all that it started | `process` |
//! | what the trial left | `evidence`, `output` |
//! | one trial | `attempt` |
//! | trials side by side, in order | `schedule`, `stop` |

mod attempt;
mod evidence;
mod output;
mod process;
mod program;
mod schedule;
mod scratch;
mod stop;
mod workspace;

pub(crate) use attempt::{Attempt, TrialCommand};
pub(crate) use output::Output;
pub(crate) use process::Orphans;
pub(crate) use program::Program;
pub(crate) use schedule::{Next, Plan, Watcher, run_trials};
pub(crate) use scratch::Scratch;
pub(crate) use stop::{Stop, StopReason};
pub(crate) use workspace::{Workspace, fingerprint};
