//! `tracer assert`: gates on recorded runs, as if they were the trials.

use tracer_gate::files;
use tracer_gate::policy::Overrides;

use crate::commands::run_selection;
use crate::error::CliError;
use crate::gate::outputs::{self, GateArgs};
use crate::gate::stored_run::{self, StoredRun};
use crate::outcome::CommandOutcome;
use crate::session::Session;

/// Options of `tracer assert`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example: tracer assert --baseline .tracer/baselines/agent.json
Example: tracer assert --query 'agent:support since:7d' --baseline .tracer/baselines/support.json")]
pub struct Args {
    /// Run to check: ID, unique prefix of it, name, latest or latest~N [default: latest]
    run_id: Option<String>,

    /// Judge all completed runs that match QUERY together: has the agent drifted?
    #[arg(long, value_name = "QUERY", conflicts_with = "run_id")]
    query: Option<String>,

    #[command(flatten)]
    gate: GateArgs,
}

/// Gates on the runs.
pub fn run(args: &Args, session: &mut Session) -> Result<CommandOutcome, CliError> {
    args.gate.output.format.of(session)?;
    let inputs = args.gate.read(&Overrides::default())?;
    let on_inconclusive = inputs.policy.on_inconclusive;
    let trial = |run: StoredRun, number: u32, session: &Session| {
        if let Some(baseline) = inputs.baseline.as_ref().filter(|_| !args.gate.force) {
            files::refuse_foreign_runs(baseline, std::iter::once(&run.metrics))?;
        }
        run.trial(&inputs.policy, number, session)
    };
    let trials = if let Some(query) = &args.query {
        run_selection::completed(query, session, trial)?
    } else {
        session.use_store()?;
        let run = stored_run::select(args.run_id.as_deref(), session)?;
        vec![trial(run, 1, session)?]
    };
    let force = args.gate.force.then(|| "--force".to_owned());
    let report = inputs.judge_runs(&trials, force.into_iter().collect())?;
    outputs::publish(&report, on_inconclusive, &args.gate.output, session)
}
