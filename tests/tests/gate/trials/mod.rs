//! `tracer run` with real programs: good ones, bad ones, and a user who has enough (gate, sections 1 and 3).

mod agents;
mod exit_codes;
mod interruption;
mod isolation;
mod misbehaviour;
mod workshop;
