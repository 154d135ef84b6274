//! `tracer view` over TCP: its paths and errors, who may ask, and what it bears.

mod api;
mod changes;
pub(crate) mod client;
mod command;
mod comparison;
mod guard;
mod limits;
mod live;
mod pages;
mod policy;
mod stalled;
mod steps;
