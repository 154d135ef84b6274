//! `tracer run` with real programs: good ones, bad ones, and a user who has enough (gate, *Trials*; gate, *Evidence*).

mod agents;
mod exit_codes;
mod interruption;
mod isolation;
mod misbehaviour;
mod workshop;
