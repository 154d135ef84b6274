//! Policy, baseline and report files: read within bounds, checked, and named with their digests.

use std::io;
use std::path::{Path, PathBuf};

use crate::policy::{Overrides, Policy, PolicyError, PolicyErrorCode};
use crate::{Baseline, Gate, InputFile};
use tracer_insight::digest::sha256_hex;
use tracer_insight::profile::RunProfile;
use tracer_sdk::read::read_input;

use tracer_insight::text;

/// Why a file or an argument of the gate cannot be used, and what to do next.
///
/// ```
/// use tracer_gate::files::InputError;
///
/// let error = InputError::new("no policy found").with_hint("write one: tracer init");
/// assert_eq!(error.to_string(), "no policy found");
/// assert_eq!(error.hints(), ["write one: tracer init"]);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct InputError {
    message: String,
    hints: Vec<String>,
}

impl InputError {
    /// An error without hints.
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            hints: Vec::new(),
        }
    }

    /// The error with a next step.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// What failed.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The next steps, the most likely one first.
    #[must_use]
    pub fn hints(&self) -> &[String] {
        &self.hints
    }
}

/// Where the policy is looked for when no option names one.
pub const POLICY_FILE: &str = ".tracer/policy.yaml";

/// The policy: from the file that is named, else from the usual place, else what the options alone say.
pub fn policy(path: Option<&Path>, overrides: &Overrides) -> Result<(Policy, Option<InputFile>), InputError> {
    let path = match path {
        Some(path) => path.to_owned(),
        None if is_there(Path::new(POLICY_FILE)) => PathBuf::from(POLICY_FILE),
        None => {
            let policy = Policy::without_file(overrides).map_err(|error| refused(None, &error))?;
            return Ok((policy, None));
        }
    };
    let bytes = read("policy", &path, Policy::MAX_BYTES, "write one: tracer init")?;
    let text = String::from_utf8(bytes).map_err(|_| {
        InputError::new(format!("the policy {} is not UTF-8", path.display())).with_hint("save it as UTF-8")
    })?;
    let policy = Policy::parse(&text, overrides).map_err(|error| refused(Some(&path), &error))?;
    Ok((policy, Some(input(&path, text.as_bytes()))))
}

/// What is said of a policy that cannot be used; a mistake in an option is not one of the file.
pub fn refused(path: Option<&Path>, error: &PolicyError) -> InputError {
    if path.is_none() && error.code == PolicyErrorCode::NothingToCheck {
        return InputError::new(format!(
            "no policy found: {POLICY_FILE} does not exist, and no option sets a check that decides"
        ))
        .with_hint("write one: tracer init")
        .with_hint("or name one: --policy FILE");
    }
    let place = match path {
        Some(path) if error.position.is_some() => format!("{}:", path.display()),
        _ => String::new(),
    };
    let refused = InputError::new(format!("the policy cannot be used: {place}{error}"));
    match &error.hint {
        Some(hint) => refused.with_hint(hint),
        None => refused.with_hint("every key and what it takes: docs/policy.md"),
    }
}

/// A baseline and the file that it comes from.
#[derive(Debug)]
pub struct BaselineInput {
    /// The baseline.
    pub baseline: Baseline,
    /// The file, for a report.
    pub file: InputFile,
}

/// The baseline in a file.
pub fn baseline(path: &Path) -> Result<BaselineInput, InputError> {
    let bytes = read(
        "baseline",
        path,
        Baseline::MAX_BYTES,
        "make one from a passing report: tracer baseline --from-report FILE",
    )?;
    baseline_of(path, &bytes)
}

/// The baseline that bytes hold which are kept elsewhere than in a file; `place` is where, for messages and a report.
pub fn baseline_of(place: &Path, bytes: &[u8]) -> Result<BaselineInput, InputError> {
    let baseline = Baseline::parse(bytes).map_err(|error| {
        InputError::new(format!(
            "the baseline {} cannot be used: {error}",
            place.display()
        ))
        .with_hint(error.hint())
    })?;
    Ok(BaselineInput {
        file: input(place, bytes),
        baseline,
    })
}

/// The text of a report: which of it is used is the SDK's matter.
pub fn report(path: &Path) -> Result<Vec<u8>, InputError> {
    read(
        "report",
        path,
        Baseline::MAX_BYTES,
        "write one: tracer run --json-out FILE -- COMMAND",
    )
}

/// Refuses a run of another agent than that of the baseline.
pub fn refuse_foreign_run(input: &BaselineInput, run: &RunProfile) -> Result<(), InputError> {
    match input.baseline.foreign_agent(run) {
        Some(agent) => Err(foreign_baseline(&input.baseline, &input.file.path, agent)),
        None => Ok(()),
    }
}

/// What is said of a baseline whose agent is not the one that is judged.
pub fn foreign_baseline(baseline: &Baseline, path: &str, agent: &str) -> InputError {
    let known = baseline.agent().unwrap_or_default();
    InputError::new(format!(
        "the baseline {path} is of the agent {}, and this is {}",
        named(known),
        named(agent)
    ))
    .with_hint("take the baseline of this agent, or make one: tracer baseline --from-report FILE")
    .with_hint("or say that it is meant: --force")
}

/// Where runs have no name, the program that was run tells agents apart; it is known before the first trial.
pub fn refuse_baseline_of_another_program(
    baseline: &Baseline,
    path: &str,
    command: &[String],
) -> Result<(), InputError> {
    let program = |command: &[String]| {
        let name = Path::new(command.first()?).file_name()?;
        Some(name.to_string_lossy().into_owned())
    };
    let known = baseline.x_tracer.as_ref().and_then(|ours| program(&ours.command));
    match (baseline.agent(), known, program(command)) {
        (None, Some(known), Some(this)) if known != this => Err(InputError::new(format!(
            "the baseline {path} is of the program {}, and this is {}",
            named(&known),
            named(&this)
        ))
        .with_hint("take the baseline of this program, or say that it is meant: --force")),
        _ => Ok(()),
    }
}

fn named(name: &str) -> String {
    text::printable(&text::one_line(name, 80)).into_owned()
}

fn input(path: &Path, bytes: &[u8]) -> InputFile {
    InputFile {
        path: path.display().to_string(),
        sha256: sha256_hex(bytes),
    }
}

/// Whether anything has this name, a link to nowhere too: what cannot be read is said, and never passed over.
pub fn is_there(path: &Path) -> bool {
    !matches!(
        path.symlink_metadata().map_err(|error| error.kind()),
        Err(io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
    )
}

fn read(what: &str, path: &Path, max_bytes: u64, hint: &str) -> Result<Vec<u8>, InputError> {
    read_input(path, max_bytes).map_err(|error| {
        InputError::new(format!("the {what} {} cannot be read: {error}", path.display())).with_hint(hint)
    })
}

/// What the reader of a result should know about the policy and how it goes with the baseline.
pub fn notices(policy: &Policy, gate: &Gate<'_>) -> Vec<String> {
    let warnings = policy.warnings.iter().map(ToString::to_string);
    warnings.chain(gate.notices().iter().cloned()).collect()
}
