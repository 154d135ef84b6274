//! `tracer why`: shows where a value of a run came from.

use tracer_insight::lineage::Lineage;

use super::show::{OpenedRun, views};
use crate::error::CliError;
use crate::outcome::CommandOutcome;
use crate::session::Session;
use crate::terminal::lineage;

/// Options of `tracer why`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: tracer why latest ORD-1042")]
pub struct Args {
    /// Run to search: ID, unique prefix of it, name, latest or latest~N
    run_id: String,

    /// Value to trace back: a text, a number, a date
    #[arg(allow_hyphen_values = true)]
    value: String,

    /// Trace it back from step N [default: the first call that was passed the value]
    #[arg(long, value_name = "N")]
    step: Option<usize>,
}

/// Shows the origin of the value.
pub fn run(args: &Args, session: &mut Session) -> Result<CommandOutcome, CliError> {
    if args.value.trim().is_empty() {
        return Err(CliError::input("the value is empty").with_hint("name a text, a number or a date"));
    }
    session.use_store()?;
    let (directory, short_id) = session.select(Some(&args.run_id))?;
    let opened = OpenedRun::open(&directory, &short_id, session)?;
    let found = Lineage::of_run(&opened.contents, &args.value, args.step)?;
    let Some(found) = found else {
        return Err(views::no_such_step(
            &opened,
            args.step.unwrap_or_default(),
            session,
        ));
    };
    if session.is_json() {
        session.ui.json(&found)?;
        return Ok(CommandOutcome::Done);
    }
    session.ui.lines(&lineage::lines(&found, session.ui.width()))?;
    let place = found
        .sources
        .first()
        .or(found.candidates.first())
        .or(found.asked_by.as_ref());
    if let Some(step) = place.and_then(|place| place.step) {
        session.suggest("show the step", &format!("show {short_id} --step {step}"));
    }
    Ok(CommandOutcome::Done)
}
