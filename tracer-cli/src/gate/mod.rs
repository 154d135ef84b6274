//! What the commands of the gate share: the files that they read, where their results go, and what the environment states.

pub(crate) mod outputs;
pub(crate) mod provenance;
pub(crate) mod sample;
pub(crate) mod stored_run;
