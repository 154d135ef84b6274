//! Maintenance of a store: repairing interrupted runs, renaming, deleting, pruning, and adopting the runs of a gate's
//! trials.
//!
//! The only code that changes files of runs that are no longer recorded. Plans are worked out by pure functions;
//! applying them goes through the same file system as recording does.

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
pub use prune::{PlannedRemoval, PruneError, PrunePlan, PruneResult, PruneRules};
pub use remove::remove_run;
pub use rename::rename_run;
pub use repair::{Repair, plan_repair, repair};
pub use trash::Trash;
