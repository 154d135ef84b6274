//! From trials to a verdict: one row for each check, and one verdict over them (gate, *Verdict*;
//! gate, *Evidence*).
//!
//! Each kind of rule is one file, an implementation of `Judge`: plan, decision, early failure; and its evidence in words.

mod distributional;
mod findings;
mod gate;
mod invariant;
mod measured;
mod plan;
mod rule;
mod statistical;

#[cfg(test)]
mod tests;

pub use gate::Gate;
