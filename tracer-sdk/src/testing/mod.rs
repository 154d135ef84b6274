//! Testing support, behind the feature `testing`: what a piece of code records, without a disk.
//!
//! [`capture`] runs a closure as a run in memory and gives the spans, the projected records and a readable tree of it:
//!
//! ```
//! use serde_json::json;
//! use tracer_sdk::testing::capture;
//! use tracer_sdk::{Usage, llm_call, tool_call};
//!
//! fn answer(question: &str) -> Result<String, tracer_sdk::GuardrailExceeded> {
//!     tool_call("search").args(&json!({"query": question})).result(&json!(["refunds.md"])).record()?;
//!     llm_call("gpt-5").prompt(question).response("Within 14 days.").usage(Usage::new(40, 6)).record()?;
//!     Ok("Within 14 days.".to_owned())
//! }
//!
//! let captured = capture(|| answer("How do refunds work?"));
//! assert_eq!(captured.result.as_deref(), Ok("Within 14 days."));
//! assert_eq!(captured.meta.counts.llm_calls, 1);
//! assert_eq!(
//!     captured.tree(),
//!     r#"run captured
//! ├─ tool search {"query":"How do refunds work?"} → ["refunds.md"]
//! └─ llm gpt-5 "How do refunds work?" → "Within 14 days."
//! "#
//! );
//! ```
//!
//! The captured code is the run, named `captured`; a function with `#[trace]`, a `traced_run` or a
//! [`Run`](crate::Run) inside of it becomes a structural span, as it does in every run that is active already, so
//! limits that these name do not apply: give the capture its own with [`Capture::guardrails`].
//!
//! A capture is the same every time: the environment, the settings files and the time of the machine play no part.
//! Captures in parallel do not see each other, and a thread belongs to none unless it was given the
//! [`Context`](crate::Context).
//!
//! [`Captured::save`] writes a capture to a data directory, to be viewed as any other run.
//!
//! [`redacted`] returns what recording would leave of a text.

mod capture;
mod captured;
mod redacted;
mod tree;

/// File systems for this project's own tests. Not part of the API.
#[doc(hidden)]
pub mod file_systems {
    pub use crate::write::faulty::{Fault, Faulty, Operation};
    pub use crate::write::files::{Disk, FileIdentity, FileSystem, OpenFile, OpenMode};
    pub use crate::write::memory::Memory;
}

pub use capture::{Capture, capture, capture_async};
pub use captured::Captured;
pub use redacted::redacted;
