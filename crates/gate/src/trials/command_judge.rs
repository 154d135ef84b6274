//! Commands that judge a run, and the outputs of a trial that is over.

use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;
use tracer_insight::process_exit::ProcessExit;
use tracer_runs::read_input;

use super::output::OutputCleaner;
use super::process::{self, EndedProgram, Launch, ProgramEnd};
use super::stop::Stop;
use crate::{Finding, TrialOutput};

/// Time limit of a command that judges.
const TIME_LIMIT: Duration = Duration::from_secs(60);
/// Length of the largest file of a trial that is judged, in bytes.
const MAX_FILE_BYTES: u64 = 1024 * 1024;
/// Characters of a reason that a command gives.
const MAX_REASON: usize = 200;

/// Runs the commands that judge; of a recorded run nothing else is left.
pub struct CommandJudge<'a> {
    /// Redaction of reasons.
    pub cleaner: &'a OutputCleaner,
    /// Working directory of the commands.
    pub directory: &'a Path,
    /// Stops them.
    pub stop: &'a Stop,
}

/// Outputs of a trial whose process has ended.
pub(super) struct AttemptOutput<'a> {
    /// Standard output; `None` where it is longer than what is kept.
    pub(super) stdout: Option<&'a str>,
    /// Why it could not do what it would have done.
    pub(super) cut_short: Option<&'a str>,
    /// The folder in which it ran.
    pub(super) directory: &'a Path,
    pub(super) judge: CommandJudge<'a>,
}

impl TrialOutput for AttemptOutput<'_> {
    fn standard_output(&self) -> Result<String, String> {
        let text = self.stdout.map(str::to_owned);
        text.ok_or_else(|| "standard output is longer than 64 KiB".to_owned())
    }

    fn file(&self, path: &str) -> Result<String, String> {
        let is_inside = Path::new(path)
            .components()
            .all(|part| matches!(part, Component::Normal(_)));
        if !is_inside {
            return Err(format!("the path {path} leads out of the folder of the trial"));
        }
        let bytes = read_input(&self.directory.join(path), MAX_FILE_BYTES);
        let bytes = bytes.map_err(|error| format!("the file {path} cannot be read: {error}"))?;
        String::from_utf8(bytes).map_err(|_| format!("the file {path} is not UTF-8"))
    }

    fn ask(&self, command: &[String], input: &str) -> Finding {
        self.judge.ask(command, input)
    }
}

/// The answer of a command on its standard output.
#[derive(Deserialize)]
struct CommandAnswer {
    pass: Option<bool>,
    score: Option<f64>,
    #[serde(default)]
    reason: String,
}

/// Returns whether a text is meant as the answer of a command, readable or not.
fn is_answer(text: &str) -> bool {
    let value = serde_json::from_str::<Value>(text);
    value.is_ok_and(|value| value.get("pass").is_some() || value.get("score").is_some())
}

impl TrialOutput for CommandJudge<'_> {
    fn ask(&self, command: &[String], input: &str) -> Finding {
        let Some((program, arguments)) = command.split_first() else {
            return Finding::unknown("there is no command");
        };
        let launch = Launch {
            program: PathBuf::from(program),
            arguments: arguments.iter().map(Into::into).collect(),
            input: Some(input.to_owned()),
            directory: self.directory.to_owned(),
            // A judge that asks a model records no run among those that it judges.
            environment: vec![("TRACER_ENABLED", "0".into())],
            removed: &[],
            timeout: TIME_LIMIT,
        };
        match process::run(&launch, None, self.stop) {
            Ok(ended) => self.finding(program, &ended),
            Err(error) => Finding::unknown(format!("{program} was not started: {error}")),
        }
    }
}

impl CommandJudge<'_> {
    fn finding(&self, program: &str, ended: &EndedProgram) -> Finding {
        let code = match ended.end {
            ProgramEnd::Exited(ProcessExit::Code(code)) => Some(code),
            ProgramEnd::Exited(ProcessExit::Signal(_)) => None,
            ProgramEnd::TimedOut => {
                let limit = TIME_LIMIT.as_secs();
                return Finding::unknown(format!("{program} did not answer within {limit} s"));
            }
            ProgramEnd::Stopped(_) => return Finding::unknown(format!("{program} was interrupted")),
        };
        let last = ended.stdout.trim().lines().last().unwrap_or_default();
        let answer = [last, ended.stdout.trim()]
            .into_iter()
            .find(|text| is_answer(text));
        let answer = match answer.map(serde_json::from_str::<CommandAnswer>).transpose() {
            Ok(answer) => answer,
            // Its exit code refuses all the same.
            Err(_) if code == Some(1) => None,
            Err(_) => return Finding::unknown(format!("{program} gave an answer that cannot be read")),
        };
        let outcome = match (code, answer.as_ref().and_then(|answer| answer.pass)) {
            (Some(0), Some(pass)) => Some(pass),
            (Some(0), None) => Some(true),
            (Some(1), _) => Some(false),
            _ => None,
        };
        let given = answer
            .as_ref()
            .map(|answer| answer.reason.as_str())
            .filter(|given| !given.is_empty());
        let reason = match (outcome, given) {
            (Some(true), _) => String::new(),
            (_, Some(given)) => self.cleaner.last_lines(given).chars().take(MAX_REASON).collect(),
            (Some(false), None) => format!("{program} does not accept it"),
            (None, None) => {
                let code = code.map_or_else(|| "a signal".to_owned(), |code| format!("exit code {code}"));
                format!("{program} ended with {code}, which is no verdict")
            }
        };
        let score = answer.and_then(|answer| answer.score);
        Finding {
            outcome,
            reason: reason.into(),
            // Metrics are never below zero.
            score: score.filter(|score| *score >= 0.0 && outcome.is_some()),
        }
    }
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use rstest::rstest;
    use tracer_sdk::settings::Settings;

    use super::*;

    #[rstest]
    #[case::accepts("grep -q polite", Some(true), None, "")]
    #[case::refuses("grep -q rude", Some(false), None, "sh does not accept it")]
    #[case::a_score("echo log; echo '{\"score\": 0.4}'", Some(true), Some(0.4), "")]
    #[case::its_own_verdict(
        "echo '{\"pass\": false, \"score\": 1, \"reason\": \"rude\"}'",
        Some(false),
        Some(1.0),
        "rude"
    )]
    #[case::a_score_below_zero("echo '{\"score\": -1}'", Some(true), None, "")]
    #[case::an_unreadable_verdict(
        "echo '{\"pass\": \"no\"}'",
        None,
        None,
        "sh gave an answer that cannot be read"
    )]
    #[case::an_unreadable_score(
        "echo '{\"score\": \"high\"}'",
        None,
        None,
        "sh gave an answer that cannot be read"
    )]
    #[case::a_refusal_with_an_unreadable_verdict(
        "echo '{\"pass\": \"no\"}'; exit 1",
        Some(false),
        None,
        "sh does not accept it"
    )]
    #[case::an_object_of_a_log("echo '{\"level\": \"info\"}'", Some(true), None, "")]
    #[case::a_crash("exit 7", None, None, "sh ended with exit code 7, which is no verdict")]
    #[case::a_signal("kill -9 $$", None, None, "sh ended with a signal, which is no verdict")]
    #[case::endless_output("yes | head -c 9000000; echo '{\"pass\": true}'", Some(true), None, "")]
    fn a_command_answers_by_its_end_or_its_last_line(
        #[case] script: &str,
        #[case] outcome: Option<bool>,
        #[case] score: Option<f64>,
        #[case] reason: &str,
    ) {
        let judge = CommandJudge {
            cleaner: &OutputCleaner::new(&Settings::with_data_dir("unused")),
            directory: Path::new("/"),
            stop: &Stop::unasked(),
        };
        let command = ["sh", "-c", script].map(str::to_owned);
        let finding = judge.ask(&command, "it is polite");
        let reason = reason.into();
        assert_eq!(
            finding,
            Finding {
                outcome,
                reason,
                score
            }
        );
        let absent = judge.ask(&["./absent".to_owned()], "");
        assert!(absent.outcome.is_none() && absent.reason.text().starts_with("./absent was not started"));
    }

    #[test]
    fn a_file_is_read_in_the_folder_of_the_trial_only() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("answer.txt"), "37.50").unwrap();
        let mut output = AttemptOutput {
            stdout: Some("said"),
            cut_short: None,
            directory: folder.path(),
            judge: CommandJudge {
                cleaner: &OutputCleaner::new(&Settings::with_data_dir("unused")),
                directory: Path::new("/"),
                stop: &Stop::unasked(),
            },
        };
        assert_eq!(output.file("answer.txt").as_deref(), Ok("37.50"));
        assert_eq!(output.standard_output().as_deref(), Ok("said"));
        output.stdout = None;
        let reason = "standard output is longer than 64 KiB".to_owned();
        assert_eq!(output.standard_output(), Err(reason));
        for outside in ["../answer.txt", "/etc/hostname", "a/../../x"] {
            let reason = output.file(outside).unwrap_err();
            assert!(reason.contains("leads out of the folder"), "{reason}");
        }
        assert!(output.file("absent.txt").unwrap_err().contains("cannot be read"));
    }
}
