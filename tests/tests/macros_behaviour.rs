//! What `#[trace]` records of the functions that it stands on, read back from real run directories.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot be set up fails"
)]

#[path = "macros_behaviour/calls.rs"]
mod calls;
#[path = "macros_behaviour/errors.rs"]
mod errors;
#[path = "macros_behaviour/futures.rs"]
mod futures;
#[path = "macros_behaviour/limits.rs"]
mod limits;
#[path = "macros_behaviour/runs.rs"]
mod runs;
