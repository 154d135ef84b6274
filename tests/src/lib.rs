//! Helpers that the tests share: a data directory of their own, and finished runs that were read back and checked.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::missing_panics_doc,
    reason = "helpers of tests fail by panicking"
)]

pub mod any_value;
pub mod data_dir;
pub mod finished;
pub mod gate_vectors;
pub mod guide;
pub mod program;
pub mod recording;
pub mod schema;
pub mod secrets;
pub mod wait;

pub use data_dir::{DataDir, recorded};
pub use finished::Finished;
pub use program::Program;
pub use schema::Schema;
pub use wait::wait_until;

#[cfg(doctest)]
#[doc = include_str!("../../docs/gate-your-agent-in-ci.md")]
struct GateYourAgentInCi;

#[cfg(doctest)]
#[doc = include_str!(concat!(env!("OUT_DIR"), "/instrument-your-agent.md"))]
struct InstrumentYourAgent;

#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct Readme;
