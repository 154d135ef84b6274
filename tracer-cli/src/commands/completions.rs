//! `tracer completions`: generates shell completions.

use clap_complete::Shell;

use crate::error::CliError;
use crate::outcome::CommandOutcome;
use crate::session::Session;

/// Options of `tracer completions`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example: tracer completions bash > ~/.local/share/bash-completion/completions/tracer"
)]
pub struct Args {
    /// Shell to generate completions for
    #[arg(value_enum)]
    shell: Shell,
}

/// Writes the script to standard output.
pub fn run(args: &Args, session: &mut Session) -> Result<CommandOutcome, CliError> {
    // Made in memory, because the generator panics when it cannot write.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut (session.program)(), "tracer", &mut script);
    session.ui.output().write_all(&script).map_err(CliError::output)?;
    Ok(CommandOutcome::Done)
}
