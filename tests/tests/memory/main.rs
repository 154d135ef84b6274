//! How much memory recording and reading take. A binary of its own: it replaces the allocator to count.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

mod depth;
mod recording;
