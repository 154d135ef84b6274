//! The executable from end to end: exit codes, streams, shapes, and what it says when something is wrong.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test says what went wrong by panicking"
)]

mod after_the_end;
mod conversation;
mod demo;
mod export;
mod follow;
mod formats;
mod gate;
mod gate_pending;
mod init;
mod list;
mod list_filters;
mod loops;
#[cfg(target_os = "linux")]
mod odd_files;
#[cfg(target_os = "linux")]
mod output_files;
mod policy_reference;
mod reference;
mod sandbox;
mod schemas;
mod show;
mod statuses;
mod surfaces;
mod tidy;
mod usage;
mod validate;
mod view;
mod views;
