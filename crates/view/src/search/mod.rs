//! Finding steps: by their kind, name, outcome and duration, and by a text anywhere in them.

mod query;
mod scan;

pub(super) use query::SearchQuery;
pub(super) use scan::find;
