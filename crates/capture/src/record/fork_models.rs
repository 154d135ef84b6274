//! Forks of one run with one model after the other, each verified by a command.

use std::process::Command;

use tracer_sdk::format::TraceId;

use super::child::{Exit, RunningCommand, Signals, StartError};
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
    pub verified: Option<Exit>,
}

impl ModelFork {
    /// Returns whether it went the recorded way to the fork, and its verification, or else its command, succeeded.
    #[must_use]
    pub fn is_success(&self) -> bool {
        let code = Exit::Code(self.fork.code.into());
        self.fork.outcome.is_verified() && self.verified.unwrap_or(code).is_success()
    }
}

/// The exit code of a command that Ctrl-C ended.
const INTERRUPTED: u8 = 130;

/// Forks with one model after the other, and verifies each fork that went the recorded way. Ctrl-C ends it with the fork that is
/// running.
///
/// # Errors
///
/// The first error of a fork or of a verification.
pub fn fork_models<E>(
    models: impl IntoIterator<Item = Option<String>>,
    mut fork: impl FnMut(Option<&str>) -> Result<ForkedRun, E>,
    verify: impl Fn(TraceId) -> Result<Option<Exit>, E>,
) -> Result<Vec<ModelFork>, E> {
    let mut forks = Vec::new();
    for model in models {
        let fork = fork(model.as_deref())?;
        let run = fork.recorded.run.filter(|_| fork.outcome.is_verified());
        let verified = run.map(&verify).transpose()?.flatten();
        let is_interrupted = fork.code == INTERRUPTED;
        forks.push(ModelFork {
            model,
            fork,
            verified,
        });
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
pub fn verification(command: &str, run: TraceId, signals: &Signals) -> Result<Exit, StartError> {
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
            |_| Ok(Some(Exit::Code(0))),
        );
        let successes = forks
            .unwrap()
            .into_iter()
            .map(|fork| (fork.verified, fork.is_success()));
        let expected = [(Some(Exit::Code(0)), true), (None, false)];
        assert_eq!(successes.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn an_interrupted_fork_is_the_last() {
        let forks = fork_models(
            [None, None],
            |_| Ok::<_, ()>(forked(INTERRUPTED, 1)),
            |_| Ok(None),
        );
        assert_eq!(forks.map(|forks| forks.len()), Ok(1));
    }
}
