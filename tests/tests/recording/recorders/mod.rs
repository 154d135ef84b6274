//! What the options of each recorder come back as.

mod calls;
mod futures;
mod structure;
mod timed;
mod vendor_events;
