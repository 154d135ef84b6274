//! The viewer: a server on this machine that gives runs to its own page and to local tools (decisions, section 12).
//!
//! A request passes `guard`, which admits the page and local tools only; `routes` finds its handler: a
//! page of `pages`, a file of `assets`, or a function of `api`. These ask `runs` for a run, which keeps the
//! indexes of the last ones open. Reading happens on threads that may wait, never on those that serve.

mod admission;
mod answer;
mod api;
mod assets;
mod guard;
mod headers;
mod inspect;
mod known_facts;
mod markdown;
mod options;
#[cfg(test)]
mod page_types_tests;
mod pages;
mod routes;
mod run;
mod runs;
mod search;
mod server;
mod shell;
mod streamed_body;
mod viewer;
mod work;

pub use options::{CommandWords, Options};
pub use server::{BoundViewer, bind};
