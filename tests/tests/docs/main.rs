//! The documentation: what it cites exists, and what it tells a reader to type works.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

mod citations;
mod examples;
mod first_contact;
mod pages;
mod settings;
mod ten_questions;
