//! `tracer assert`: gates on one recorded run, as if it were the only trial.

use std::path::PathBuf;

use tracer_gate::policy::Overrides;

use crate::error::CliError;
use crate::gate::outputs::{self, OutputArgs};
use crate::gate::stored_run;
use crate::outcome::CommandOutcome;
use crate::session::Session;
use crate::team_store::StoreArgs;
use tracer_gate::{files, one_run};

/// Options of `tracer assert`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: tracer assert --baseline .tracer/baselines/agent.json")]
pub struct Args {
    /// Run to check: ID, unique prefix of it, name, latest or latest~N [default: latest]
    run_id: Option<String>,

    #[command(flatten)]
    store: StoreArgs,

    /// Check against the policy in FILE, - for standard input [default: .tracer/policy.yaml here or in a folder above]
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,

    /// Compare with the baseline in FILE
    #[arg(long, short, value_name = "FILE")]
    baseline: Option<PathBuf>,

    /// Compare even if the baseline belongs to another agent
    #[arg(long, requires = "baseline")]
    force: bool,

    /// Pass or fail when the verdict is INCONCLUSIVE [default: as the policy says]
    #[arg(long, value_enum, value_name = "OUTCOME")]
    inconclusive: Option<outputs::Inconclusive>,

    #[command(flatten)]
    output: OutputArgs,
}

/// Gates on a run.
pub fn run(args: &Args, session: &mut Session) -> Result<CommandOutcome, CliError> {
    let overrides = Overrides {
        on_inconclusive: args.inconclusive.map(Into::into),
        ..Overrides::default()
    };
    let (policy, policy_file) = files::policy(args.policy.as_deref(), &overrides)?;
    let policy = policy.for_one_run();
    let baseline = args.baseline.as_deref().map(files::baseline).transpose()?;
    session.use_store(&args.store)?;
    let stored = stored_run::select(args.run_id.as_deref(), session)?;
    if let Some(input) = baseline.as_ref().filter(|_| !args.force) {
        files::refuse_foreign_run(input, &stored.metrics)?;
    }
    let (baseline, baseline_file) = baseline.map(|input| (input.baseline, input.file)).unzip();
    let report = one_run::judged(
        &policy,
        policy_file,
        baseline.as_ref(),
        baseline_file,
        stored.metrics,
    )?;
    outputs::publish(&report, policy.on_inconclusive, &args.output, session)
}
