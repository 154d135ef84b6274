//! What `#[trace]` records of the functions that it stands on, read back from real run directories.

mod calls;
mod errors;
mod futures;
mod hygiene;
mod limits;
mod runs;
