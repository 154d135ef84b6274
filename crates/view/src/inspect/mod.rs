//! Everything about one step, as the page's inspector shows it: common facts, then those of its kind.

mod call;
mod cut;
mod error;
mod llm;
pub(super) mod loops;
mod messages;
mod state;
mod step;

pub(super) use cut::{ShownValue, StepAddress, StepPart, part_of};
pub(super) use error::{ErrorDetails, error};
pub(super) use llm::TokensUsed;
pub(super) use messages::{MessageAnswer, media_text, messages};
pub(super) use state::{StateDetails, of as state};
#[cfg(test)]
pub(super) use step::StepJson;
pub(super) use step::{inspect, raw};
