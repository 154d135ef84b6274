//! How a run is told, in words and rows: pure functions from records to lines, without a terminal and without HTTP,
//! so that every surface tells the same.

pub mod fold;
pub mod gist;
pub mod in_flight;
pub mod layout;
pub mod line;
pub mod message;
pub mod run_list;
pub mod run_page;
pub mod standing;
pub mod step_rows;
pub mod steps;
pub mod summary;
pub mod text;
pub mod units;

#[cfg(test)]
mod samples;
