//! `tracer mcp`: serves recorded runs to coding agents, over standard input and output.

use std::sync::Arc;

use tracer_mcp::{RunsServer, serve_standard_streams};

use crate::error::{CliError, ErrorKind};
use crate::outcome::CommandOutcome;
use crate::runtime;
use crate::session::Session;
use crate::team_store::SynchronizedStore;

/// Options of `tracer mcp`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: claude mcp add tracer -- tracer mcp")]
pub struct Args {}

/// Serves until the client closes standard input.
pub fn run(_: &Args, session: &mut Session) -> Result<CommandOutcome, CliError> {
    session.use_store()?;
    let mut server = RunsServer::new(session.data_dir()?, session.prices()?);
    let _reading = session.store().map(|store| {
        server = server.clone().with_team(Arc::clone(&store.team));
        SynchronizedStore::start(&store.reader)
    });
    if std::io::IsTerminal::is_terminal(&std::io::stdin()) {
        session
            .ui
            .hint("a coding agent starts this command and speaks to it; Ctrl-C ends it");
    }
    runtime::block_on(serve_standard_streams(server))?.map_err(|error| {
        CliError::new(ErrorKind::Input, "the connection to the coding agent ended early")
            .with_source(error)
            .with_hint("let a coding agent start this command: see docs/read-runs.md")
    })?;
    Ok(CommandOutcome::Done)
}
