//! `tracer assert`: gates on one recorded run, as if it were the only trial.

use tracer_gate::files;
use tracer_gate::policy::Overrides;

use crate::error::CliError;
use crate::gate::outputs::{self, GateArgs};
use crate::gate::stored_run;
use crate::outcome::CommandOutcome;
use crate::session::Session;

/// Options of `tracer assert`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: tracer assert --baseline .tracer/baselines/agent.json")]
pub struct Args {
    /// Run to check: ID, unique prefix of it, name, latest or latest~N [default: latest]
    run_id: Option<String>,

    #[command(flatten)]
    gate: GateArgs,
}

/// Gates on a run.
pub fn run(args: &Args, session: &mut Session) -> Result<CommandOutcome, CliError> {
    args.gate.output.format.of(session)?;
    let inputs = args.gate.read(&Overrides::default())?;
    let on_inconclusive = inputs.policy.on_inconclusive;
    session.use_store()?;
    let stored = stored_run::select(args.run_id.as_deref(), session)?;
    if let Some(baseline) = inputs.baseline.as_ref().filter(|_| !args.gate.force) {
        files::refuse_foreign_runs(baseline, [&stored.metrics].into_iter())?;
    }
    let force = args.gate.force.then(|| "--force".to_owned());
    let trial = stored.trial(&inputs.policy, 1, session)?;
    let report = inputs.judge_runs(&[trial], force.into_iter().collect())?;
    outputs::publish(&report, on_inconclusive, &args.gate.output, session)
}
