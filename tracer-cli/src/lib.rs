//! The library behind the executable `tracer`: lists, shows, exports and validates recorded runs.
//!
//! A command is a short story: it selects runs, calls the SDK and renders. What it tells is made by [`render`], which
//! knows no terminal; what it writes goes through [`ui`], which is the only place that writes. The exit codes are those
//! of [`error::ErrorKind`].

pub mod error;
pub mod json;
pub mod render;
pub mod ui;
