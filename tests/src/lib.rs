//! Helpers that the tests share: a data directory of their own, and finished runs that were read back and checked.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::missing_panics_doc,
    reason = "helpers of tests fail by panicking"
)]

pub mod any_value;
pub mod collector;
pub mod credentials;
pub mod data_dir;
pub mod finished;
pub mod guide;
pub mod model_server;
pub mod model_streams;
pub mod program;
pub mod recording;
pub mod schema;
pub mod secrets;
pub mod wait;

pub use collector::Collector;
pub use data_dir::{DataDir, recorded};
pub use finished::Finished;
pub use model_server::ModelServer;
pub use program::Program;
pub use schema::Schema;
pub use wait::wait_until;

#[cfg(doctest)]
#[doc = include_str!("../../docs/gate.md")]
struct Gate;

#[cfg(doctest)]
#[doc = include_str!(concat!(env!("OUT_DIR"), "/instrument-rust.md"))]
struct InstrumentRust;

#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct Readme;

/// How many times a test kills a process: a few by default, `TRACER_TEST_KILLS` in the slow step of CI.
#[must_use]
pub fn kills(by_default: u64) -> u64 {
    let kills = std::env::var("TRACER_TEST_KILLS").ok();
    kills.map_or(by_default, |kills| {
        kills
            .parse()
            .unwrap_or_else(|_| panic!("TRACER_TEST_KILLS is no number: {kills}"))
    })
}
