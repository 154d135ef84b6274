//! In what two runs differ: numbers, tools, models, and their calls put side by side (`spec/gate.md`, section 4).
//!
//! *Before* is always what was, *after* what is now; every pair says which is which.

mod align;
mod aligned;
mod build;
mod calls;
mod change;
mod counted;
mod differences;
mod lookup;
mod model;

pub use aligned::{AlignedCalls, CallChange, CallPair, Difference};
pub use calls::{Call, CallList};
pub(super) use counted::SUMMARY_KEYS;
pub use counted::{CountedDiff, ToolPathDiff};
pub use model::{
    Comparison, MetricChange, NameChanges, RepeatedTool, Side, SideKind, ToolChanges, TypeCount,
};

#[cfg(test)]
mod tests;
