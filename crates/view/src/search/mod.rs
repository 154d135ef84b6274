//! Finding steps of one run, as [`StepQuery`](tracer_catalog::query::StepQuery) asks for them.

mod scan;

pub(super) use scan::find;
