//! Handlers of the API, one file per subject; `docs/the-viewer.md` describes them.

pub(super) mod baselines;
pub(super) mod changes;
pub(super) mod columns;
pub(super) mod context;
pub(super) mod diff;
pub(super) mod export;
pub(super) mod files;
pub(super) mod lineage;
pub(super) mod list;
pub(super) mod overview;
pub(super) mod policy;
pub(super) mod request;
pub(super) mod rows;
pub(super) mod search;
pub(super) mod stats;
pub(super) mod step;
pub(super) mod stream;
pub(super) mod table;
pub(super) mod transcript;
