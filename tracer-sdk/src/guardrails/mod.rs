//! Guardrails: limits that stop a run (decisions, section 8).
//!
//! Pure: no clock and no file. [`Guardrails`] says what is allowed; a monitor counts what a run does and answers
//! [`GuardrailExceeded`] from the moment a limit is crossed.

mod exceeded;
mod monitor;

pub use crate::settings::table::Guardrails;
pub use crate::settings::words::{DEFAULT_MIN_REPETITIONS, MIN_LOOP_REPETITIONS, StopOnLoop};
pub use exceeded::{Amount, Guardrail, GuardrailExceeded};
#[cfg(feature = "prices")]
pub(crate) use monitor::CallSpend;
pub(crate) use monitor::Monitor;
