//! What the example programs are made of.
//!
//! - [`model`] speaks the OpenAI-compatible chat-completions protocol, as the side that asks;
//! - [`stand_in`] is a small server that speaks it as the side that answers, so that the examples run anywhere;
//! - [`tools`] are what the model may ask the agent to do.
//!
//! The programs themselves are in `src/bin`: `agent`, and `word_count`.

pub mod model;
pub mod stand_in;
pub mod tools;
