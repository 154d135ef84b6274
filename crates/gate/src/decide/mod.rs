//! From trials to a verdict: one row for each check, and one verdict over them (gate-contract, sections 7
//! and 8; gate, section 1).

mod distributional;
mod gate;
mod invariant;
mod measured;
mod outcome;
mod outcomes;
mod plan;
mod rows;
mod statistical;

#[cfg(test)]
mod tests;

pub use gate::Gate;
