//! The executable from end to end: exit codes, streams, shapes, and what it says when something is wrong.

mod demo;
mod export;
mod list;
mod sandbox;
mod show;
mod usage;
mod validate;
