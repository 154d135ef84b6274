//! `tracer demo`: records a simulated support agent, and prints where its run is and what to type next.

mod recorded;
mod regression;

use crate::demo_agent;
use crate::error::CliError;
use crate::outcome::CommandOutcome;
use crate::session::Session;
use tracer_insight::line::{Line, Tone};

/// Options of `tracer demo`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: tracer demo --regression")]
pub struct Args {
    /// Show a gate that fails after the agent changed for the worse
    #[arg(long)]
    regression: bool,
}

/// Records the demo.
pub fn run(args: &Args, session: &mut Session) -> Result<CommandOutcome, CliError> {
    if args.regression {
        return regression::run(session);
    }
    let question = format!(
        "A simulated support agent answers {:?} (no network, no keys) …",
        demo_agent::QUESTION
    );
    session.ui.remark(question);
    let recorded = recorded::record(demo_agent::answer_ticket, session)?;
    let id = &recorded.short_id;
    session.ui.lines(&[Line::of("✓ ", Tone::Good)
        .with("recorded ", Tone::Plain)
        .with(demo_agent::NAME, Tone::Strong)
        .with(
            format!("  {id}  in {}", recorded.directory.display()),
            Tone::Plain,
        )])?;
    for (what, next) in [
        ("show this run: ", format!("show {id}")),
        ("list all runs: ", "list".to_owned()),
        ("export it:     ", format!("export {id} --out run.json")),
        ("try the gate:  ", "demo --regression".to_owned()),
    ] {
        session.print_next(what, &next);
    }
    Ok(CommandOutcome::Done)
}
