//! `tracer baseline`: writes a baseline, the file that later runs are compared with.

use std::path::PathBuf;

use crate::error::CliError;
use crate::gate::sample::{self, SampleArgs};
use crate::outcome::CommandOutcome;
use crate::output_file;
use crate::session::{Session, quoted};
use tracer_gate::Demanded;
use tracer_insight::text;
use tracer_insight::text::path_below_home as shown;

/// Options of `tracer baseline`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: tracer baseline --out .tracer/baselines/agent.json")]
pub struct Args {
    #[command(flatten)]
    sample: SampleArgs,

    /// Write the baseline to FILE [default: .tracer/baselines/NAME.json, named after the run]
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,

    /// Proceed although the file exists, the report did not pass or the run failed
    #[arg(long)]
    force: bool,
}

/// Writes a baseline.
pub fn run(args: &Args, session: &mut Session) -> Result<CommandOutcome, CliError> {
    session.use_store()?;
    let demanded = if args.force {
        Demanded::Nothing
    } else {
        Demanded::Pass
    };
    let baseline = sample::take(&args.sample, demanded, session)?;
    let content = baseline.to_json();
    let path = if let Some(path) = &args.out {
        output_file::write_new(path, args.force, content.as_bytes())?;
        path.clone()
    } else {
        let path = tracer_gate::usual_path(&baseline);
        output_file::write_in_project(&path, args.force, content.as_bytes())?;
        path
    };
    let message = format!(
        "wrote {}, a baseline of {}",
        shown(&path),
        text::counted(baseline.trials.len() as u64, "run")
    );
    session.ui.done(message)?;
    let next = format!("run --baseline {} -- COMMAND", quoted(&path));
    session.print_next("compare with it:  ", &next);
    Ok(CommandOutcome::Done)
}
