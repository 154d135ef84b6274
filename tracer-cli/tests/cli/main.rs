//! The executable from end to end: exit codes, streams, shapes, and what it says when something is wrong.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test says what went wrong by panicking"
)]

mod after_the_end;
mod all_runs;
mod context;
mod conversation;
mod demo;
mod doctor;
mod export;
mod follow;
mod for_llm;
mod formats;
mod gate;
mod gate_pending;
mod gate_regressions;
mod generated_runs;
mod import;
mod import_sessions;
mod init;
mod list;
mod list_filters;
mod loops;
mod mcp;
#[cfg(target_os = "linux")]
mod odd_files;
#[cfg(target_os = "linux")]
mod output_files;
mod policy_reference;
mod prices;
mod push;
mod push_to_bucket;
mod receive;
mod reference;
mod sandbox;
mod schemas;
mod show;
mod statuses;
mod surfaces;
mod team_store;
mod tidy;
mod usage;
mod validate;
mod view;
mod views;
mod why;
