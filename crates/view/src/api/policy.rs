//! The judgement of the project's policy on a compared run, in the words of `tracer assert`.

use std::borrow::Cow;
use std::path::PathBuf;

use serde::Serialize;
use tracer_gate::policy::{Overrides, Policy};
use tracer_gate::{Baseline, InputFile, Report, Trial, Verdict};
use tracer_insight::profile::RunProfile;
use tracer_insight::units::now;
use tracer_sdk::format::RecordedStatus;

use tracer_gate::InputError;
use tracer_gate::files::{self, BaselineInput, GateInputs};
use tracer_gate::words::checks;
use tracer_gate::words::checks::CheckRow;
use tracer_gate::words::outcome::CheckOutcome;
use tracer_gate::words::verdict;

/// The judgement of a policy, or its problem.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct PolicyAnswer {
    /// The policy's path from the viewer's working directory.
    file: String,
    /// Why it does not judge; null when it does.
    problem: Option<PolicyProblem>,
    /// The judgement; null when the policy cannot judge.
    judgement: Option<PolicyJudgement>,
}

/// Why a policy does not judge.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct PolicyProblem {
    /// The error.
    message: String,
    /// The next steps.
    hints: Vec<String>,
}

/// The verdict on the run after, and what it rests on.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct PolicyJudgement {
    verdict: Verdict,
    /// The verdict's sign.
    sign: &'static str,
    /// The verdict's word.
    word: &'static str,
    /// Numbers of failed and passed checks, in words.
    tally: String,
    /// Notices about the verdict and the policy.
    notices: Vec<String>,
    /// Those that failed first.
    checks: Vec<PolicyCheck>,
}

/// A check of the policy.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct PolicyCheck {
    name: String,
    outcome: CheckOutcome,
    /// The outcome's sign.
    sign: &'static str,
    /// The outcome's word.
    word: &'static str,
    /// The allowed values, in words; may be empty.
    allowed: String,
    /// The observed value, in words; may be empty.
    seen: String,
}

/// The reference of a judgement.
pub(super) enum Against<'a> {
    /// A baseline of the project.
    Baseline(&'a Baseline),
    /// The run before: a baseline is made of it.
    Run(&'a RunProfile),
}

/// The policy of the project, or what keeps it from being used.
pub(super) struct ProjectPolicy {
    path: PathBuf,
    read: Result<(Policy, Option<InputFile>), InputError>,
}

impl ProjectPolicy {
    /// Reads it; nothing where there is none.
    pub(super) fn read() -> Option<Self> {
        let path = files::project_policy()?;
        let read = files::policy(Some(&path), &Overrides::default());
        Some(Self { path, read })
    }

    /// A text that changes with the policy.
    pub(super) fn version(&self) -> Option<&str> {
        match &self.read {
            Ok((_, file)) => file.as_ref().map(|file| file.sha256.as_str()),
            Err(error) => Some(error.message()),
        }
    }

    /// Judges a run.
    pub(super) fn judge(self, against: Against<'_>, run: RunProfile) -> PolicyAnswer {
        let judged = self.read.and_then(|(policy, file)| {
            let baseline = against.baseline()?.into_owned();
            let inputs = GateInputs {
                policy,
                policy_file: file,
                baseline: Some(BaselineInput { baseline, file: None }),
            };
            inputs.judge_runs(&[Trial::of_run(1, run)], Vec::new())
        });
        let (judgement, problem) = match judged {
            Ok(report) => (Some(PolicyJudgement::of(&report)), None),
            Err(error) => {
                let (message, hints) = (error.message().to_owned(), error.hints().to_vec());
                (None, Some(PolicyProblem { message, hints }))
            }
        };
        PolicyAnswer {
            file: self.path.display().to_string(),
            problem,
            judgement,
        }
    }
}

impl<'a> Against<'a> {
    fn baseline(self) -> Result<Cow<'a, Baseline>, InputError> {
        match self {
            Self::Baseline(baseline) => Ok(Cow::Borrowed(baseline)),
            Self::Run(run) if run.status == RecordedStatus::Running => {
                Err(InputError::new("the run before has not ended")
                    .with_hint("wait until it has, or compare with another run"))
            }
            Self::Run(run) => Ok(Cow::Owned(Baseline::of_run(run, &now().to_string()))),
        }
    }
}

impl PolicyJudgement {
    fn of(report: &Report) -> Self {
        let checks = checks::check_rows(report);
        let undecided = report
            .verdict
            .passed()
            .is_none()
            .then(|| verdict::UNDECIDED.to_owned());
        Self {
            verdict: report.verdict,
            sign: CheckOutcome::from(report.verdict).sign(),
            word: verdict::word(report.verdict),
            tally: checks::tally(&checks),
            notices: undecided
                .into_iter()
                .chain(report.gate.notices.iter().cloned())
                .collect(),
            checks: checks.iter().map(PolicyCheck::from).collect(),
        }
    }
}

impl From<&CheckRow> for PolicyCheck {
    fn from(check: &CheckRow) -> Self {
        Self {
            name: check.printable_name(),
            outcome: check.outcome,
            sign: check.outcome.sign(),
            word: check.outcome.word(),
            allowed: check.allowed.text(),
            seen: check.seen.text(),
        }
    }
}
