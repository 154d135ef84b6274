//! A run as the viewer holds it: the index of its log, the order of its rows, and its status.

mod attempts;
pub(super) mod changes;
pub(super) mod columns;
pub(super) mod open_run;
pub(super) mod problems;
pub(super) mod row;
pub(super) mod stamp;
pub(super) mod telling;
pub(super) mod timeline;
