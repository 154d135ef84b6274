//! A run as the viewer holds it: its steps, its problems, and the state of its files.

pub(super) mod columns;
pub(super) mod open_run;
pub(super) mod row;
pub(super) mod stamp;

#[cfg(test)]
mod tests;
