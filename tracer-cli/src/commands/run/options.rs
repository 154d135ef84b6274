//! The options of `tracer run`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::ValueEnum;
use tracer_gate::policy::Overrides;

use crate::gate::outputs::{GateArgs, Inconclusive};
use crate::value_parsers;

/// Options of `tracer run`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example: tracer run --capture --trials 5 -- python agent.py

Each trial runs in a fresh copy of the working directory (tracked and untracked files, without those that git ignores), \
with its own TRACER_DATA_DIR, TRACER_TRIAL_INDEX (from 1) and TMPDIR. It counts when its process exits with 0 and leaves \
exactly one completed run. List the recorded trials with: tracer list --trials.

Exit codes: 0 passed, or INCONCLUSIVE where the policy allows it; 1 failed, timed out or interrupted; 2 bad policy, \
baseline or usage; 10 internal error.")]
pub struct Args {
    #[command(flatten)]
    pub(super) gate: GateArgs,

    /// Run the command N times [default: as the policy says]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    trials: Option<u32>,

    /// Run N trials at a time; the verdict does not depend on it [default: as the policy says]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    jobs: Option<u32>,

    /// Fail a trial that takes longer than TIME [default: as the policy says] [example: 90s, 10m or 1h]
    #[arg(long, value_name = "TIME", value_parser = value_parsers::parse_duration)]
    timeout: Option<Duration>,

    /// Run every trial, even after the verdict is certain
    #[arg(long)]
    no_fail_fast: bool,

    /// Record each trial from outside, as `tracer record` does: for agents that do not record themselves
    #[arg(long)]
    pub(super) capture: bool,

    /// Answer the calls of models from the cassette FILE, in one trial unless --trials says more
    #[arg(long, value_name = "FILE", conflicts_with = "capture")]
    pub(super) cassette: Option<PathBuf>,

    /// Run the trials in the working directory itself instead of copies of it
    #[arg(long)]
    pub(super) in_place: bool,

    /// Command to run in each trial, in any language
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub(super) command: Vec<OsString>,
}

impl Args {
    /// The options as overrides of the policy.
    pub(super) fn overrides(&self) -> Overrides {
        Overrides {
            // A replayed trial says the same every time.
            trials: self.trials.or(self.cassette.as_ref().map(|_| 1)),
            fail_fast: self.no_fail_fast.then_some(false),
            on_inconclusive: None,
            jobs: self.jobs,
            timeout: self.timeout,
        }
    }

    /// The options that another run of the same gate needs, without its policy and its baseline. Where the results went, how
    /// many trials ran at a time, and whether every one was made, is decided again.
    pub(super) fn to_repeat(&self) -> Vec<String> {
        let path = |path: &PathBuf| path.display().to_string();
        let outcome = |outcome: Inconclusive| {
            outcome
                .to_possible_value()
                .map(|value| value.get_name().to_owned())
        };
        let values = [
            ("--trials", self.trials.map(|trials| trials.to_string())),
            (
                "--timeout",
                self.timeout.map(|timeout| format!("{}s", timeout.as_secs_f64())),
            ),
            ("--inconclusive", self.gate.inconclusive.and_then(outcome)),
            ("--cassette", self.cassette.as_ref().map(path)),
        ];
        let switches = [
            ("--force", self.gate.force),
            ("--capture", self.capture),
            ("--in-place", self.in_place),
        ];
        let switches = switches.into_iter().filter(|(_, is_set)| *is_set);
        values
            .into_iter()
            .filter_map(|(option, value)| Some([option.to_owned(), value?]))
            .flatten()
            .chain(switches.map(|(option, _)| option.to_owned()))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use clap::{Args as _, Command, FromArgMatches as _};

    use super::*;

    fn parsed(options: &[String]) -> Args {
        let words = ["run".to_owned()].into_iter().chain(options.iter().cloned());
        let words = words.chain(["--".to_owned(), "agent".to_owned()]);
        let matches = Args::augment_args(Command::new("run")).get_matches_from(words);
        Args::from_arg_matches(&matches).unwrap()
    }

    #[test]
    fn a_gate_is_repeated_with_the_options_that_made_it() {
        let given: Vec<String> = [
            "--trials=7",
            "--timeout=1.5m",
            "--inconclusive=pass",
            "--capture",
            "--in-place",
        ]
        .map(str::to_owned)
        .to_vec();
        let args = parsed(&given);
        let repeated = parsed(&args.to_repeat());
        assert_eq!(format!("{repeated:?}"), format!("{args:?}"));
        let cassette = parsed(&["--cassette".to_owned(), "calls/answer.jsonl".to_owned()]);
        assert_eq!(cassette.to_repeat(), ["--cassette", "calls/answer.jsonl"]);
        assert!(parsed(&[]).to_repeat().is_empty());
    }
}
