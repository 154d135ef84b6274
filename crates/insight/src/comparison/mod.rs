//! In what two runs differ: numbers, tools, models, and their calls put side by side (gate, *Comparison*).
//!
//! *Before* is always what was, *after* what is now; every pair says which is which.

mod align;
mod aligned;
mod build;
mod change;
mod lookup;
mod model;
pub mod words;

pub use crate::calls::{Call, CallList};
pub use aligned::{AlignedCalls, ArgumentDifference, CallChange, CallPair};
pub use model::{
    Comparison, MetricChange, NameChanges, RepeatedTool, Side, SideKind, ToolChanges, TypeCount, UsualProfile,
};

#[cfg(test)]
mod tests;
