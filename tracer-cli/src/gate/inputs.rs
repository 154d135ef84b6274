//! The policy, the baseline and the report that a command of the gate is given: read, checked, and told by digest.

use std::io;
use std::path::{Path, PathBuf};

use tracer_gate::policy::{Overrides, Policy, PolicyError, PolicyErrorCode};
use tracer_gate::{Baseline, Gate, InputFile};
use tracer_insight::digest::sha256_hex;
use tracer_insight::profile::RunProfile;
use tracer_sdk::read::read_input;

use crate::error::CliError;
use tracer_insight::text;

/// Where the policy is looked for when no option names one.
pub(crate) const POLICY_FILE: &str = ".tracer/policy.yaml";

/// The policy: from the file that is named, else from the usual place, else what the options alone say.
pub(crate) fn policy(
    path: Option<&Path>,
    overrides: &Overrides,
) -> Result<(Policy, Option<InputFile>), CliError> {
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
        CliError::input(format!("the policy {} is not UTF-8", path.display())).with_hint("save it as UTF-8")
    })?;
    let policy = Policy::parse(&text, overrides).map_err(|error| refused(Some(&path), &error))?;
    Ok((policy, Some(input(&path, text.as_bytes()))))
}

/// What is said of a policy that cannot be used; a mistake in an option is not one of the file.
pub(crate) fn refused(path: Option<&Path>, error: &PolicyError) -> CliError {
    if path.is_none() && error.code == PolicyErrorCode::NothingToCheck {
        return CliError::input(format!(
            "no policy found: {POLICY_FILE} does not exist, and no option sets a check that decides"
        ))
        .with_hint("write one: tracer init")
        .with_hint("or name one: --policy FILE");
    }
    let place = match path {
        Some(path) if error.position.is_some() => format!("{}:", path.display()),
        _ => String::new(),
    };
    let refused = CliError::input(format!("the policy cannot be used: {place}{error}"));
    match &error.hint {
        Some(hint) => refused.with_hint(hint),
        None => refused.with_hint("every key and what it takes: docs/policy.md"),
    }
}

/// A baseline and the file that it comes from.
#[derive(Debug)]
pub(crate) struct BaselineInput {
    pub(crate) baseline: Baseline,
    pub(crate) file: InputFile,
}

/// The baseline in a file.
pub(crate) fn baseline(path: &Path) -> Result<BaselineInput, CliError> {
    let bytes = read(
        "baseline",
        path,
        Baseline::MAX_BYTES,
        "make one from a passing report: tracer baseline --from-report FILE",
    )?;
    let baseline = Baseline::parse(&bytes).map_err(|error| {
        CliError::input(format!("the baseline {} cannot be used: {error}", path.display()))
            .with_hint(error.hint())
    })?;
    Ok(BaselineInput {
        file: input(path, &bytes),
        baseline,
    })
}

/// The text of a report: which of it is used is the SDK's matter.
pub(crate) fn report(path: &Path) -> Result<Vec<u8>, CliError> {
    read(
        "report",
        path,
        Baseline::MAX_BYTES,
        "write one: tracer run --json-out FILE -- COMMAND",
    )
}

/// Refuses a run of another agent than that of the baseline.
pub(crate) fn refuse_foreign_run(input: &BaselineInput, run: &RunProfile) -> Result<(), CliError> {
    match input.baseline.foreign_agent(run) {
        Some(agent) => Err(foreign_baseline(&input.baseline, &input.file.path, agent)),
        None => Ok(()),
    }
}

/// What is said of a baseline whose agent is not the one that is judged.
pub(crate) fn foreign_baseline(baseline: &Baseline, path: &str, agent: &str) -> CliError {
    let known = baseline.agent().unwrap_or_default();
    CliError::input(format!(
        "the baseline {path} is of the agent {}, and this is {}",
        named(known),
        named(agent)
    ))
    .with_hint("take the baseline of this agent, or make one: tracer baseline --from-report FILE")
    .with_hint("or say that it is meant: --force")
}

/// Where runs have no name, the program that was run tells agents apart; it is known before the first trial.
pub(crate) fn refuse_baseline_of_another_program(
    baseline: &Baseline,
    path: &str,
    command: &[String],
) -> Result<(), CliError> {
    let program = |command: &[String]| {
        let name = Path::new(command.first()?).file_name()?;
        Some(name.to_string_lossy().into_owned())
    };
    let known = baseline.x_tracer.as_ref().and_then(|ours| program(&ours.command));
    match (baseline.agent(), known, program(command)) {
        (None, Some(known), Some(this)) if known != this => Err(CliError::input(format!(
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
pub(crate) fn is_there(path: &Path) -> bool {
    !matches!(
        path.symlink_metadata().map_err(|error| error.kind()),
        Err(io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
    )
}

fn read(what: &str, path: &Path, max_bytes: u64, hint: &str) -> Result<Vec<u8>, CliError> {
    read_input(path, max_bytes).map_err(|error| {
        CliError::input(format!("the {what} {} cannot be read: {error}", path.display())).with_hint(hint)
    })
}

/// What the reader of a result should know about the policy and how it goes with the baseline.
pub(crate) fn notices(policy: &Policy, gate: &Gate<'_>) -> Vec<String> {
    let warnings = policy.warnings.iter().map(ToString::to_string);
    warnings.chain(gate.notices().iter().cloned()).collect()
}
