//! What a recorded run means: its steps, its conversation, its loops, and how two runs differ.
//!
//! Every sentence, label and number that more than one surface shows (terminal, page, HTML file, Markdown, API) is
//! composed here, once. Nothing here performs I/O or knows a terminal, a server or the gate.

pub mod comparison;
pub mod conversation;
pub mod digest;
pub mod profile;
mod repeats;
#[cfg(feature = "schema")]
mod schema;
pub mod signature;
#[cfg(any(test, feature = "testing"))]
#[doc(hidden)]
pub mod testing;
#[cfg(any(test, feature = "testing"))]
mod vectors;
mod volatile;
