//! The terminal: what is shown of runs, as lines of a given width.
//!
//! Pure functions; what they mean is composed in `tracer-insight`, and [`crate::ui`] is the only place that writes.

pub mod cassette;
pub mod characters;
pub mod comparison;
pub mod context_bill;
pub mod follow_rows;
pub mod fork_table;
pub mod gate_report;
pub mod layout;
pub mod lineage;
mod row_cells;
pub mod run_list;
pub mod run_page;
pub mod step_page;
pub mod step_rows;
#[cfg(test)]
pub(crate) mod tests;
pub mod transcript;
pub mod trial_progress;
pub mod waterfall;
