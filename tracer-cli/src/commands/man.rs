//! `tracer man`: generates the manual pages, one for each command.

use std::fs;
use std::path::PathBuf;

use crate::error::CliError;
use crate::outcome::CommandOutcome;
use crate::session::Session;
use tracer_insight::text;
use tracer_insight::text::path_below_home as shown;

/// Options of `tracer man`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: tracer man ~/.local/share/man/man1")]
pub struct Args {
    /// Folder to write the pages to; created if it is missing
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

/// Writes the pages.
pub fn run(args: &Args, session: &mut Session) -> Result<CommandOutcome, CliError> {
    let pages = fs::create_dir_all(&args.folder).and_then(|()| {
        clap_mangen::generate_to((session.program)(), &args.folder)?;
        Ok(fs::read_dir(&args.folder)?.count())
    });
    let pages = pages.map_err(|error| {
        CliError::input(format!("failed to write to `{}`", args.folder.display()))
            .with_source(error)
            .with_hint("choose a writable folder")
    })?;
    let message = format!(
        "{} in {}",
        text::counted(pages as u64, "file"),
        shown(&args.folder)
    );
    session.ui.say(message);
    Ok(CommandOutcome::Done)
}
