//! How a run is told, in words and rows: pure functions from records to lines, without a terminal and without HTTP,
//! so that every surface tells the same.

pub mod characters;
pub mod conversation;
pub mod differences;
pub mod fold;
pub mod follow_rows;
pub mod gate;
pub mod gist;
pub mod in_flight;
pub mod layout;
pub mod line;
pub mod loop_card;
pub mod loops;
pub mod message;
pub mod remarks;
mod row_cells;
pub mod run_list;
pub mod run_page;
pub mod run_subtitle;
pub mod since;
pub mod stack;
pub mod standing;
pub mod step_filter;
pub mod step_page;
pub mod step_rows;
pub mod steps;
pub mod summary;
pub mod telling;
pub mod text;
pub mod totals;
pub mod transcript;
pub mod trial_progress;
pub mod turns;
pub mod units;
pub mod value_lines;
pub mod waterfall;

#[cfg(test)]
pub(crate) mod samples;
