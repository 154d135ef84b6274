//! `tracer assert`: gates on one recorded run, as if it were the only trial.

use std::path::PathBuf;

use tracer_gate::policy::{Bound, ExpectedStatus, Overrides};

use crate::error::CliError;
use crate::gate::outputs::{self, OutputArgs};
use crate::gate::stored_run;
use crate::outcome::CommandOutcome;
use crate::session::Session;
use crate::team_store::StoreArgs;
use tracer_gate::{files, one_run};

/// Options of `tracer assert`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: tracer assert --max-steps 20 --no-loops")]
pub struct Args {
    /// Run to check: ID, unique prefix of it, name, latest or latest~N [default: latest]
    run_id: Option<String>,

    #[command(flatten)]
    store: StoreArgs,

    /// Check against the policy in FILE [default: .tracer/policy.yaml here or in a folder above]
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,

    /// Compare with the baseline in FILE
    #[arg(long, short, value_name = "FILE")]
    baseline: Option<PathBuf>,

    /// Compare even if the baseline belongs to another agent
    #[arg(long, requires = "baseline")]
    force: bool,

    #[command(flatten)]
    rules: RuleOverrides,

    #[command(flatten)]
    output: OutputArgs,
}

/// Options that override rules of the policy.
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Rules")]
#[expect(clippy::struct_excessive_bools, reason = "each is an option of its own")]
struct RuleOverrides {
    /// Allow at most N steps
    #[arg(long, value_name = "N")]
    max_steps: Option<u64>,

    /// Allow SHARE more steps than the baseline [example: 0.25]
    #[arg(long, value_name = "SHARE")]
    step_tolerance: Option<f64>,

    /// Allow at most N tool calls
    #[arg(long, value_name = "N")]
    max_tool_calls: Option<u64>,

    /// Allow SHARE more tool calls than the baseline [example: 0.25]
    #[arg(long, value_name = "SHARE")]
    tool_call_tolerance: Option<f64>,

    /// Allow at most N tokens
    #[arg(long, value_name = "N")]
    max_cost_tokens: Option<u64>,

    /// Allow SHARE more tokens than the baseline [example: 0.25]
    #[arg(long, value_name = "SHARE")]
    cost_tolerance: Option<f64>,

    /// Allow at most MS milliseconds [example: 30000]
    #[arg(long, value_name = "MS")]
    max_duration_ms: Option<u64>,

    /// Allow SHARE more time than the baseline [example: 0.5]
    #[arg(long, value_name = "SHARE")]
    duration_tolerance: Option<f64>,

    /// Fail when the run calls a tool that no run of the baseline called
    #[arg(long, requires = "baseline")]
    no_new_tools: bool,

    /// Fail when the run misses a tool that every run of the baseline called
    #[arg(long, requires = "baseline")]
    still_called: bool,

    /// Fail when the run repeats the same calls with the same arguments
    #[arg(long)]
    no_loops: bool,

    /// Fail when a guardrail stopped the run
    #[arg(long)]
    no_guardrails: bool,

    /// Require the run to end with STATUS
    #[arg(long, value_enum, value_name = "STATUS")]
    expect_status: Option<RequiredStatus>,

    /// Report CHECK without gating on it; repeatable [example: cost_tokens]
    #[arg(long, value_name = "CHECK")]
    ignore_check: Vec<String>,

    /// Pass or fail when the verdict is INCONCLUSIVE [default: as the policy says]
    #[arg(long, value_enum, value_name = "OUTCOME")]
    inconclusive: Option<outputs::Inconclusive>,
}

/// Status that a run must end with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum RequiredStatus {
    /// The run ended without an error
    Ok,
    /// The run ended in any other way
    Error,
}

impl RuleOverrides {
    fn overrides(&self) -> Overrides {
        let bound = |max, tolerance| Bound { max, tolerance };
        Overrides {
            steps: bound(self.max_steps, self.step_tolerance),
            tool_calls: bound(self.max_tool_calls, self.tool_call_tolerance),
            cost_tokens: bound(self.max_cost_tokens, self.cost_tolerance),
            duration_ms: bound(self.max_duration_ms, self.duration_tolerance),
            no_new_tools: self.no_new_tools,
            still_called: self.still_called,
            no_loops: self.no_loops,
            no_guardrails: self.no_guardrails,
            expect_status: self.expect_status.map(|status| match status {
                RequiredStatus::Ok => ExpectedStatus::Ok,
                RequiredStatus::Error => ExpectedStatus::Error,
            }),
            ignored_checks: self.ignore_check.clone(),
            on_inconclusive: self.inconclusive.map(Into::into),
            ..Overrides::default()
        }
    }
}

/// Gates on a run.
pub fn run(args: &Args, session: &mut Session) -> Result<CommandOutcome, CliError> {
    let (policy, policy_file) = files::policy(args.policy.as_deref(), &args.rules.overrides())?;
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
