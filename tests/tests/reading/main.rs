//! What readers give: of what the SDK wrote, of what other emitters wrote, and of what fuzzing found.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "helpers of tests fail by panicking"
)]

mod fuzz_corpus;
mod schemas;
#[cfg(feature = "shared-data")]
mod shared_fixtures;
mod words;
