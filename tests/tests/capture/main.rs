//! Recording without code: what other programs send becomes runs, and runs are sent on.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

mod fork;
mod frameworks;
mod proxy;
mod push;
mod record;
mod replay;
mod reported;
