//! `#[trace]` compiles on every shape of function, without a warning under the lints that careful projects deny, and changes
//! nothing of what the function gives. A binary of its own: some of those lints are a whole crate's.

#![deny(
    warnings,
    future_incompatible,
    let_underscore,
    nonstandard_style,
    rust_2018_idioms,
    rust_2024_compatibility,
    unused,
    unreachable_pub,
    single_use_lifetimes,
    trivial_casts,
    trivial_numeric_casts,
    unused_lifetimes,
    unused_qualifications,
    unused_results,
    clippy::all,
    clippy::pedantic,
    clippy::shadow_unrelated,
    clippy::shadow_same,
    clippy::shadow_reuse,
    clippy::absolute_paths,
    clippy::large_futures,
    clippy::future_not_send,
    clippy::redundant_closure_call,
    clippy::let_underscore_must_use,
    clippy::unwrap_used
)]
#![allow(clippy::unused_async, reason = "what is tested is the shape")]

mod awaited;
mod drops;
mod names;
mod plain;
mod sizes;
