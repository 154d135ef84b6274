//! `tracer rename`: gives a run another name.

use tracer_sdk::maintenance;

use super::{Verdict, not_changed};
use crate::error::{CliError, ErrorKind};
use crate::session::Session;
use tracer_insight::line::{Line, Tone};
use tracer_insight::step_summary;

/// Options of `tracer rename`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Run to rename: ID, unique prefix of it, name, latest or latest~N
    run_id: String,

    /// New name; secrets in it are redacted
    name: String,
}

/// Renames a run.
pub fn run(args: &Args, session: &mut Session) -> Result<Verdict, CliError> {
    if args.name.trim().is_empty() {
        return Err(CliError::input("a run needs a name").with_hint("give one that tells it from others"));
    }
    let settings = session.settings()?;
    let (directory, short_id) = session.select(Some(&args.run_id))?;
    let name = maintenance::rename_run(&directory, &args.name, &settings).map_err(|error| {
        let what = format!("run {short_id} is not renamed");
        not_changed(ErrorKind::Input, &what, &directory, &error, session)
    })?;
    session.ui.lines(&[Line::of("✓ ", Tone::Good)
        .with(format!("{short_id} is "), Tone::Plain)
        .with(step_summary::word(&name), Tone::Strong)])?;
    Ok(Verdict::Done)
}
