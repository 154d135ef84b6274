//! Meaning of a recorded run: steps, conversation, loops, comparison of two runs.
//!
//! Every sentence, label and number that more than one surface shows (terminal, page, HTML file, Markdown, API) is
//! composed here, once. Nothing here performs I/O or knows a terminal, a server or the gate.

mod calls;
mod cause_kind;
pub mod comparison;
pub mod context_bill;
pub mod conversation;
pub mod cost;
pub mod digest;
pub mod failure;
pub mod fold;
mod in_flight;
pub mod json;
pub mod json_pointer;
pub mod key_steps;
pub mod last_answer;
pub mod line;
pub mod lineage;
pub mod loops;
pub mod markdown;
pub mod marked_text;
pub mod metric_words;
pub mod not_run;
pub mod outline;
pub mod process_exit;
pub mod profile;
mod repeats;
pub mod run_entry;
pub mod run_head;
pub mod run_steps;
#[cfg(any(test, feature = "testing"))]
#[doc(hidden)]
pub mod sample_run;
pub mod schema;
pub mod signature;
pub mod stack;
pub mod status;
pub mod step_detail;
pub mod step_filter;
pub mod step_kind;
pub mod step_order;
pub mod step_remarks;
pub mod step_summary;
pub mod steps;
mod summary;
pub mod table;
#[cfg(any(test, feature = "testing"))]
#[doc(hidden)]
pub mod testing;
pub mod text;
pub mod totals;
pub mod units;
pub mod value_differences;
pub mod value_lines;
pub mod value_summary;
#[cfg(any(test, feature = "testing"))]
mod vectors;
mod volatile;
