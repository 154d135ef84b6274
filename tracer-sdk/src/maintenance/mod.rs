//! Keeping a store in order: completing runs that were interrupted, renaming, removing, choosing what to remove, and
//! taking in the runs of a gate's trials.
//!
//! The only code that changes files of runs that nobody records any more. What to do is worked out by pure functions;
//! doing it goes through the same file system as recording does.

mod adopt;
mod completion;
mod error;
mod prune;
mod remove;
mod rename;
mod repair;
mod trash;

#[cfg(test)]
mod tests;

pub use adopt::adopt_run;
pub use completion::{Completion, INTERRUPTED};
pub use error::MaintenanceError;
pub use prune::{Candidate, PruneRules, choose};
pub use remove::{directory_bytes, remove_leftovers, remove_run};
pub use rename::rename_run;
pub use repair::{Repair, plan_repair, repair};
pub use trash::Trash;
