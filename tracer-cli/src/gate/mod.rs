//! Shared parts of the commands of the gate: samples, stored runs, and outputs.

pub(crate) mod outputs;
pub(crate) mod sample;
pub(crate) mod stored_run;
