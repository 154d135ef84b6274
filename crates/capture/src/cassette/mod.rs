//! Cassettes: recorded exchanges with models as a file to keep in a repository, and answers from it instead of a provider's
//! (capture, section 6).
//!
//! | what | where |
//! |---|---|
//! | the file: a head, and an exchange per line | `format`, `file`, `recorded`, `frames` |
//! | how exchanges get there: without secrets, as they end | `keeping`, `replacing` |
//! | when two requests are the same | `normalise`, `shapes`, `rules` |
//! | the results of tools, which need not be the same | `tool_results` |
//! | in what they differ, where not | `compare` |
//! | what the recorded calls cost | `cost` |
//! | a request as a command | `curl` |
//! | which exchange answers a request | `pool`, `replayer` |
//! | which of them answer a run that is forked, and what then | `fork_plan`, `forker` |
//! | the same for a test of `cargo test` | `test_replay` |

mod compare;
mod cost;
mod curl;
mod error;
mod file;
mod fork_plan;
mod forker;
mod format;
mod frames;
mod keeping;
mod normalise;
mod pool;
mod recorded;
mod replacing;
mod replayer;
mod rules;
mod shapes;
mod test_replay;
mod tool_results;

#[cfg(test)]
mod forker_tests;
#[cfg(test)]
mod mutation_tests;
#[cfg(test)]
mod tests;

pub use compare::{Difference, DifferenceOrigin};
pub use curl::{CurlCommand, CurlError};
pub use error::CassetteError;
pub use file::{Cassette, EXCHANGES_FILE};
pub use fork_plan::{CallFault, ForkError, ForkPlan, UnknownCallFault};
pub use forker::{ForkOutcome, Forker};
pub use format::{FORMAT_VERSION, Head};
pub use frames::{Framing, Json, StreamFrame};
pub use keeping::{CassetteFile, ExchangeKeeper, KeptHandle, KeptSummary, Scrubbing};
pub use pool::{Miss, MissReason, Nearest};
pub use recorded::{RecordedBody, RecordedExchange, RecordedResponse};
pub use replayer::{OnMiss, ReplayOptions, ReplayOutcome, Replayer};
pub use shapes::Places;
pub use test_replay::{Replay, ReplayError};
