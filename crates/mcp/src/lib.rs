//! Recorded runs for coding agents: a server of the Model Context Protocol that only reads.
//!
//! [`RunsServer`] answers the protocol; each of its tools is a function from arguments to a text within a budget of tokens, in
//! which whatever comes from a trace is marked as content. Nothing is written but the kept facts of runs, and nothing is
//! read but the data directory.

mod arguments;
mod compare;
mod error;
mod list;
mod page;
mod run;
mod search;
mod selection;
mod server;
mod stats;
#[cfg(test)]
mod tests;
mod tools;

pub use error::ServeError;
pub use server::{RunsServer, serve_standard_streams};
