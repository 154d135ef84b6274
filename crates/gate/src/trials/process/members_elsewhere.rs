//! Which processes belong to a trial where there are no process groups: its program, which ends alone.

use std::process::{Child, Command};

pub(super) fn lead_a_group(_: &mut Command) {}

/// No process but the program itself.
pub(super) struct Members;

impl Members {
    pub(super) fn new(_: &Child) -> Self {
        Self
    }

    pub(super) fn are_gone(&self) -> bool {
        true
    }

    pub(super) fn ask_to_end(&self) {}

    pub(super) fn kill(&self) {}
}
