//! Forks of one run with one model after the other, each verified by a command.

use std::ops::RangeInclusive;
use std::process::Command;

use tracer_insight::process_exit::ProcessExit;
use tracer_sdk::format::TraceId;

use super::child::{RunningCommand, Signals, StartError};
use super::recording::FinishedRecording;
use crate::cassette::ForkOutcome;

/// A fork that has ended.
#[derive(Debug)]
pub struct ForkedRun {
    /// The exit code of its command, as shells have it.
    pub code: u8,
    /// Its recording.
    pub recorded: FinishedRecording,
    /// Outcome of its calls.
    pub outcome: ForkOutcome,
}

/// A fork with a model, and whether it did what it should.
#[derive(Debug)]
pub struct ModelFork {
    /// The model; `None` for the recorded one.
    pub model: Option<String>,
    /// The fork.
    pub fork: ForkedRun,
    /// Exit of the verification; `None` where nothing was verified.
    pub verified: Option<ProcessExit>,
}

impl ModelFork {
    /// Returns whether it went the recorded way to the fork, asked its model, and its verification, or else its command,
    /// succeeded.
    #[must_use]
    pub fn is_success(&self) -> bool {
        let code = ProcessExit::Code(self.fork.code.into());
        self.is_verifiable() && self.verified.unwrap_or(code).is_success()
    }

    /// Returns whether its model, if it has one, was asked, and no other.
    #[must_use]
    pub fn asked_its_model(&self) -> bool {
        let outcome = &self.fork.outcome;
        self.model.is_none() || outcome.live > 0 && outcome.unchanged == 0
    }

    fn is_verifiable(&self) -> bool {
        self.fork.outcome.is_verified() && self.asked_its_model()
    }
}

/// The exit codes, as shells have them, of commands that a signal ended, as Ctrl-C does.
const OF_SIGNALS: RangeInclusive<u8> = 129..=159;

/// Forks with one model after the other, and verifies each fork that went the recorded way and asked its model. A signal that ends
/// a fork or its verification, as Ctrl-C does, ends it with that fork.
///
/// # Errors
///
/// The first error of a fork or of a verification.
pub fn fork_models<E>(
    models: impl IntoIterator<Item = Option<String>>,
    mut fork: impl FnMut(Option<&str>) -> Result<ForkedRun, E>,
    verify: impl Fn(TraceId) -> Result<Option<ProcessExit>, E>,
) -> Result<Vec<ModelFork>, E> {
    let mut forks = Vec::new();
    for model in models {
        let mut forked = ModelFork {
            fork: fork(model.as_deref())?,
            model,
            verified: None,
        };
        let run = forked.fork.recorded.run.filter(|_| forked.is_verifiable());
        forked.verified = run.map(&verify).transpose()?.flatten();
        let verified = forked.verified.map(ProcessExit::shell_code);
        let is_interrupted = [Some(forked.fork.code), verified]
            .iter()
            .flatten()
            .any(|code| OF_SIGNALS.contains(code));
        forks.push(forked);
        if is_interrupted {
            break;
        }
    }
    Ok(forks)
}

/// Runs a command line of the shell to verify a run, whose ID it finds in `TRACER_RUN_ID`.
///
/// # Errors
///
/// [`StartError`] when there is no shell.
pub fn verification(command: &str, run: TraceId, signals: &Signals) -> Result<ProcessExit, StartError> {
    let mut shell = Command::new("sh");
    shell.args(["-c", command]).env("TRACER_RUN_ID", run.to_string());
    Ok(RunningCommand::start(shell, signals)?.wait()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn forked(code: u8, verified: u64) -> ForkedRun {
        ForkedRun {
            code,
            recorded: FinishedRecording {
                run: TraceId::from_u128(1),
                ..FinishedRecording::default()
            },
            outcome: ForkOutcome {
                before: 1,
                verified,
                live: 1,
                ..ForkOutcome::default()
            },
        }
    }

    #[test]
    fn only_forks_of_the_recorded_way_are_verified() {
        let models = ["a", "b"].map(|model| Some(model.to_owned()));
        let forks = fork_models(
            models,
            |model| Ok::<_, ()>(forked(0, u64::from(model == Some("a")))),
            |_| Ok(Some(ProcessExit::Code(0))),
        );
        let successes = forks
            .unwrap()
            .into_iter()
            .map(|fork| (fork.verified, fork.is_success()));
        let expected = [(Some(ProcessExit::Code(0)), true), (None, false)];
        assert_eq!(successes.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn a_model_that_was_not_asked_is_not_verified() {
        for (live, unchanged) in [(0, 0), (2, 1)] {
            let mut fork = forked(0, 1);
            fork.outcome.live = live;
            fork.outcome.unchanged = unchanged;
            let mut fork = Some(fork);
            let forks = fork_models(
                [Some("a".to_owned())],
                |_| fork.take().ok_or(()),
                |_| Ok(Some(ProcessExit::Code(0))),
            )
            .unwrap();
            assert_eq!((forks[0].verified, forks[0].is_success()), (None, false));
        }
    }

    #[test]
    fn an_interrupted_fork_is_the_last() {
        let count = |code, verified| {
            let forks = fork_models([None, None], |_| Ok::<_, ()>(forked(code, 1)), |_| Ok(verified));
            forks.map(|forks| forks.len())
        };
        for code in [130, 137, 143] {
            assert_eq!(count(code, None), Ok(1), "{code}");
        }
        assert_eq!(count(0, Some(ProcessExit::Signal(2))), Ok(1), "its verification");
        assert_eq!(
            count(255, Some(ProcessExit::Code(1))),
            Ok(2),
            "failures of their own"
        );
    }
}
