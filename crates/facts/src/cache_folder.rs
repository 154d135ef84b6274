//! The folder in a data directory for what can be computed again.

pub(crate) const CACHE_FOLDER: &str = "cache";
