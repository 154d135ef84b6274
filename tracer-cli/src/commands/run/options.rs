//! The options of `tracer run`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use tracer_gate::policy::{Bound, Overrides};

use crate::amounts;
use crate::gate::outputs::{Inconclusive, OutputArgs};

/// Options of `tracer run`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Each trial runs in a fresh copy of the working directory (what git tracks, and what it neither tracks nor ignores), with \
its own TRACER_DATA_DIR, TRACER_TRIAL_INDEX (from 1) and TMPDIR. It counts when its process ends with 0 and leaves exactly \
one completed run. The runs are kept: tracer list --trials.

Exit codes: 0 passed, or undecided where the policy allows that; 1 failed, timed out or interrupted; 2 bad policy, \
baseline or usage; 10 internal error.")]
#[expect(clippy::struct_excessive_bools, reason = "each is an option of its own")]
pub struct Args {
    /// What is demanded [default: .tracer/policy.yaml where there is one]
    #[arg(long, value_name = "FILE")]
    pub(super) policy: Option<PathBuf>,

    /// What is usual: a file that `tracer baseline` wrote
    #[arg(long, short, value_name = "FILE")]
    pub(super) baseline: Option<PathBuf>,

    /// Compare with the baseline although it is one of another agent
    #[arg(long, requires = "baseline")]
    pub(super) force: bool,

    /// How many trials, instead of what the policy says
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    trials: Option<u32>,

    /// How many trials at once, instead of what the policy says; the verdict is the same
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    jobs: Option<u32>,

    /// How long a trial may take, instead of what the policy says: 90, 90s, 10m, 1h
    #[arg(long, value_name = "TIME", value_parser = amounts::time)]
    timeout: Option<Duration>,

    /// Stop as soon as the verdict is known
    #[arg(long, overrides_with = "no_fail_fast")]
    fail_fast: bool,

    /// Make every trial, whatever the verdict
    #[arg(long)]
    no_fail_fast: bool,

    /// What an undecided gate means for the exit code, instead of what the policy says
    #[arg(long, value_enum, value_name = "OUTCOME")]
    inconclusive: Option<Inconclusive>,

    /// The threshold of the policy's `task_pass_rate`, from 0 to 1
    #[arg(long, value_name = "RATE")]
    pass_rate_threshold: Option<f64>,

    /// The confidence of the policy's `task_pass_rate`, between 0 and 1
    #[arg(long, value_name = "LEVEL")]
    confidence_level: Option<f64>,

    /// The limit of the policy's `step_count`
    #[arg(long, value_name = "N")]
    max_steps: Option<u64>,

    /// Run the trials in the working directory itself, instead of copies
    #[arg(long)]
    pub(super) in_place: bool,

    #[command(flatten)]
    pub(super) output: OutputArgs,

    /// The command of a trial, in any language
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub(super) command: Vec<OsString>,
}

impl Args {
    /// What the options say over the policy.
    pub(super) fn overrides(&self) -> Overrides {
        Overrides {
            trials: self.trials,
            fail_fast: (self.fail_fast || self.no_fail_fast).then_some(!self.no_fail_fast),
            confidence_level: self.confidence_level,
            pass_rate_threshold: self.pass_rate_threshold,
            steps: Bound {
                max: self.max_steps,
                tolerance: None,
            },
            on_inconclusive: self.inconclusive.map(Into::into),
            jobs: self.jobs,
            timeout: self.timeout,
            ..Overrides::default()
        }
    }
}
