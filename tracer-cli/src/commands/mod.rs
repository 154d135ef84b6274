//! The commands, one file each, and what they share.

pub mod accept;
pub mod assert;
pub mod baseline;
pub mod completions;
pub mod delete;
pub mod demo;
pub mod diff;
pub mod doctor;
pub mod export;
pub mod fork;
pub mod freeze;
pub mod import;
mod import_sessions;
pub mod init;
pub mod list;
pub mod man;
pub mod mcp;
pub mod prices;
pub mod prune;
pub mod push;
pub mod receive;
pub mod record;
pub mod rename;
pub mod repair;
pub mod replay;
pub mod run;
mod run_selection;
pub mod search;
pub mod show;
pub mod stats;
pub mod validate_trace;
pub mod view;
pub mod why;

use tracer_runs::RunDirectory;
use tracer_runs::maintenance::MaintenanceError;

use crate::error::{CliError, ErrorKind};
use crate::session::{Session, quoted};

/// Error for a run that could not be changed; `damaged` is the kind of error for a damaged run.
fn not_changed(
    damaged: ErrorKind,
    what: String,
    run: &RunDirectory,
    error: MaintenanceError,
    session: &Session,
) -> CliError {
    let refused = match &error {
        MaintenanceError::RunDamaged { problems, .. } => CliError::new(damaged, what)
            .with_details(problems.iter().map(ToString::to_string))
            .with_hint(format!(
                "list every problem: tracer validate-trace {}",
                quoted(&run.path)
            )),
        MaintenanceError::RunActive => CliError::input(what).with_hint("wait until it has ended"),
        MaintenanceError::LivenessUnknown => CliError::input(what)
            .with_hint(session.next_step("show what it has recorded", &format!("show {}", run.trace_id))),
        _ => CliError::input(what).with_hint("nothing is lost: correct the cause and try again"),
    };
    refused.with_source(error)
}

fn not_removed(short_id: &str, error: MaintenanceError) -> CliError {
    CliError::input(format!("failed to remove run {short_id}"))
        .with_source(error)
        .with_hint("check the permissions of its folder, and try again")
}
