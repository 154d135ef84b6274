//! `tracer assert`: judges one recorded run by the rules of the gate, as if it were its only trial.

use std::path::PathBuf;

use tracer_gate::policy::{Bound, ExpectedStatus, Overrides};

use super::Verdict;
use crate::error::CliError;
use crate::gate::outputs::{self, OutputArgs};
use crate::gate::stored_run;
use crate::session::Session;
use tracer_gate::{files, one_run};

/// Options of `tracer assert`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The run: its ID, or as much of its beginning as no other run has; the newest when left out
    run_id: Option<String>,

    /// The policy [default: .tracer/policy.yaml where it exists]
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,

    /// The baseline to compare with
    #[arg(long, short, value_name = "FILE")]
    baseline: Option<PathBuf>,

    /// Compare with the baseline although it is one of another agent
    #[arg(long, requires = "baseline")]
    force: bool,

    #[command(flatten)]
    rules: Rules,

    #[command(flatten)]
    output: OutputArgs,
}

/// Options that stand for rules of a policy.
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Rules")]
#[expect(clippy::struct_excessive_bools, reason = "each is an option of its own")]
struct Rules {
    /// The most steps
    #[arg(long, value_name = "N")]
    max_steps: Option<u64>,

    /// How many more steps than in the baseline, as a share
    #[arg(long, value_name = "SHARE")]
    step_tolerance: Option<f64>,

    /// The most tool calls
    #[arg(long, value_name = "N")]
    max_tool_calls: Option<u64>,

    /// How many more tool calls than in the baseline, as a share
    #[arg(long, value_name = "SHARE")]
    tool_call_tolerance: Option<f64>,

    /// The most tokens
    #[arg(long, value_name = "N")]
    max_cost_tokens: Option<u64>,

    /// How many more tokens than in the baseline, as a share
    #[arg(long, value_name = "SHARE")]
    cost_tolerance: Option<f64>,

    /// The longest duration, in milliseconds
    #[arg(long, value_name = "MS")]
    max_duration_ms: Option<u64>,

    /// How much longer than in the baseline, as a share
    #[arg(long, value_name = "SHARE")]
    duration_tolerance: Option<f64>,

    /// No tool that the baseline does not know
    #[arg(long, requires = "baseline")]
    no_new_tools: bool,

    /// Every tool that all runs of the baseline call
    #[arg(long, requires = "baseline")]
    still_called: bool,

    /// No call over and over with the same arguments
    #[arg(long)]
    no_loops: bool,

    /// No guardrail stops the run
    #[arg(long)]
    no_guardrails: bool,

    /// How the run must end
    #[arg(long, value_enum, value_name = "STATUS")]
    expect_status: Option<Status>,

    /// A check that is told and does not count; may be given several times
    #[arg(long, value_name = "CHECK")]
    ignore_check: Vec<String>,

    /// Whether an INCONCLUSIVE result fails
    #[arg(long, value_enum, value_name = "WHAT")]
    inconclusive: Option<outputs::Inconclusive>,
}

/// How a run ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Status {
    /// Well
    Ok,
    /// In any other way
    Error,
}

impl Rules {
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
                Status::Ok => ExpectedStatus::Ok,
                Status::Error => ExpectedStatus::Error,
            }),
            ignored_checks: self.ignore_check.clone(),
            on_inconclusive: self.inconclusive.map(Into::into),
            ..Overrides::default()
        }
    }
}

/// Judges a run.
pub fn run(args: &Args, session: &mut Session) -> Result<Verdict, CliError> {
    let (policy, policy_file) = files::policy(args.policy.as_deref(), &args.rules.overrides())?;
    let policy = policy.for_one_run();
    let baseline = args.baseline.as_deref().map(files::baseline).transpose()?;
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
