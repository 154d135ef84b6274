//! What the options of each recorder come back as.

mod calls;
mod structure;
mod timed;
