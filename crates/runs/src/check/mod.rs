//! Checks across spans and files: the structure of the spans, and whether `meta.json` and times agree with them.

mod consistency;
mod structure;

pub(crate) use consistency::{RootSpan, meta_against_spans, span_times};
pub(crate) use structure::{Expectations, structure_problems};
