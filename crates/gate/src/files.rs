//! Policy, baseline and report files: read within bounds, checked, and named with their digests.

use std::collections::BTreeMap;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use crate::policy::{Overrides, Policy, PolicyError};
use crate::{
    Baseline, EnvironmentFingerprint, Gate, GateDetails, InputError, InputFile, Report, RunContent, Trial,
    TrialOutput,
};
use tracer_insight::digest::sha256_hex;
use tracer_insight::profile::RunProfile;
use tracer_runs::{RecordError, RunReader, read_input};
use tracer_sdk::format::EventType;

use tracer_insight::text;

/// The policy of a project, below its folder.
pub const POLICY_FILE: &str = ".tracer/policy.yaml";

/// The policy of the project: in the working directory, or else in the nearest folder above that has one. The search ends with the
/// repository, and below the home directory, as that for settings does.
#[must_use]
pub fn project_policy() -> Option<PathBuf> {
    let here = std::env::current_dir().unwrap_or_default();
    let home = std::env::home_dir().and_then(|home| home.canonicalize().ok());
    policy_above(&here, home.as_deref())
}

/// The path of the policy from `here`.
fn policy_above(here: &Path, home: Option<&Path>) -> Option<PathBuf> {
    let mut way = PathBuf::new();
    for folder in here.ancestors() {
        if folder != here && Some(folder) == home {
            return None;
        }
        if is_there(&folder.join(POLICY_FILE)) {
            return Some(way.join(POLICY_FILE));
        }
        if is_there(&folder.join(".git")) {
            return None;
        }
        way.push("..");
    }
    None
}

/// The policy of `path` (`-` is standard input), else of the project, else [`Policy::usual`].
pub fn policy(path: Option<&Path>, overrides: &Overrides) -> Result<(Policy, Option<InputFile>), InputError> {
    let Some(path) = path.map(Path::to_owned).or_else(project_policy) else {
        let policy = Policy::usual(overrides).map_err(|error| refused(None, &error))?;
        return Ok((policy, None));
    };
    let bytes = if path == Path::new("-") {
        standard_input(Policy::MAX_BYTES)?
    } else {
        read("policy", &path, Policy::MAX_BYTES, "write one: tracer init")?
    };
    let text = String::from_utf8(bytes).map_err(|_| {
        InputError::new(format!("the policy {} is not UTF-8", path.display())).with_hint("save it as UTF-8")
    })?;
    let policy = Policy::parse(&text, overrides).map_err(|error| refused(Some(&path), &error))?;
    Ok((policy, Some(input(&path, text.as_bytes()))))
}

fn standard_input(max_bytes: u64) -> Result<Vec<u8>, InputError> {
    let refused = |reason: String| InputError::new(format!("the policy on standard input {reason}"));
    let mut bytes = Vec::new();
    io::stdin()
        .lock()
        .take(max_bytes + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| refused(format!("cannot be read: {error}")))?;
    if bytes.len() as u64 > max_bytes {
        return Err(refused(format!("is longer than {max_bytes} bytes")));
    }
    Ok(bytes)
}

/// The error for a policy that cannot be used, with all its mistakes.
fn refused(path: Option<&Path>, error: &PolicyError) -> InputError {
    let Some(path) = path else {
        return InputError::new(format!(
            "no policy found: there is no {POLICY_FILE} here or in a folder above, and no baseline to compare with"
        ))
        .with_hint("write one: tracer init")
        .with_hint("or name one: --policy FILE");
    };
    let mistakes = error.mistakes.iter().map(|mistake| match mistake.position {
        Some(_) => format!("{}:{mistake}", path.display()),
        None => format!("{}: {mistake}", path.display()),
    });
    let mistakes: Vec<String> = mistakes.collect();
    let mut hints: Vec<&str> = Vec::new();
    for hint in error
        .mistakes
        .iter()
        .filter_map(|mistake| mistake.hint.as_deref())
    {
        if !hints.contains(&hint) {
            hints.push(hint);
        }
    }
    if hints.is_empty() {
        hints.push("every key and what it takes: docs/policy.md");
    }
    let refused = InputError::new(format!("the policy cannot be used: {}", mistakes.join("; ")));
    hints.into_iter().fold(refused, InputError::with_hint)
}

/// A baseline and the file that it comes from.
#[derive(Debug)]
pub struct BaselineInput {
    /// The baseline.
    pub baseline: Baseline,
    /// The file, for a report; `None` of a baseline that was just made.
    pub file: Option<InputFile>,
}

impl BaselineInput {
    /// The path of the file.
    #[must_use]
    pub fn path(&self) -> &str {
        self.file.as_ref().map_or("", |file| &file.path)
    }
}

/// The policy and the baseline of a gate.
#[derive(Debug)]
pub struct GateInputs {
    /// The policy.
    pub policy: Policy,
    /// Its file, for a report.
    pub policy_file: Option<InputFile>,
    /// The baseline.
    pub baseline: Option<BaselineInput>,
}

impl GateInputs {
    /// Reads both from their files, the policy as [`policy`] does.
    pub fn read(
        policy: Option<&Path>,
        baseline: Option<&Path>,
        overrides: &Overrides,
    ) -> Result<Self, InputError> {
        let (policy, policy_file) = self::policy(policy, overrides)?;
        let baseline = baseline.map(self::baseline).transpose()?;
        Ok(Self {
            policy,
            policy_file,
            baseline,
        })
    }

    /// The gate of both.
    pub fn gate(&self) -> Result<Gate<'_>, InputError> {
        let baseline = self.baseline.as_ref().map(|input| &input.baseline);
        let path = self.policy_file.as_ref().map(|file| Path::new(&file.path));
        Gate::new(&self.policy, baseline).map_err(|error| refused(path, &error))
    }

    /// The report on recorded runs, as if they were the trials; `options` are those of the command without its files.
    pub fn judge_runs(mut self, trials: &[Trial], options: Vec<String>) -> Result<Report, InputError> {
        if trials.len() == 1 {
            self.policy = self.policy.for_one_run();
        }
        self.policy.trials = u32::try_from(trials.len()).unwrap_or(u32::MAX);
        let gate = self.gate()?;
        let details = GateDetails {
            tracer_version: env!("CARGO_PKG_VERSION").to_owned(),
            options,
            policy: self.policy_file.clone(),
            baseline: self.baseline.as_ref().and_then(|input| input.file.clone()),
            notices: gate.notices().to_vec(),
            ..GateDetails::default()
        };
        let baseline = self.baseline.as_ref().map(|input| &input.baseline);
        let judgement = gate.judge(trials);
        let environment = EnvironmentFingerprint::new();
        Ok(Report::new(judgement, trials, baseline, environment, details))
    }
}

/// A recorded run as a trial; its content is judged where the policy asks for that.
///
/// # Errors
///
/// The first error of reading its records.
pub fn recorded_trial(
    policy: &Policy,
    number: u32,
    run: &RunReader,
    profile: RunProfile,
    output: &dyn TrialOutput,
) -> Result<Trial, RecordError> {
    let meta = run.meta.as_ref().filter(|_| policy.needs_content());
    let findings = match meta {
        Some(meta) => {
            let mut stream = run.records.clone();
            let (mut records, mut attributes) = (Vec::new(), Vec::new());
            for number in 0..stream.record_count() {
                if let Some((record, span)) = stream.read_record_with_span(number)? {
                    let is_model_call = record.event_type() == EventType::LlmCall;
                    let span = span.filter(|_| is_model_call);
                    attributes.push(span.map(|span| span.attributes).unwrap_or_default());
                    records.push(record);
                }
            }
            policy.findings(&RunContent {
                meta,
                records: &records,
                attributes: &attributes,
                profile: &profile,
                trial: output,
            })
        }
        None => BTreeMap::new(),
    };
    Ok(Trial::of_run(number, profile).with_findings(findings))
}

/// The baseline in a file.
pub fn baseline(path: &Path) -> Result<BaselineInput, InputError> {
    let bytes = read(
        "baseline",
        path,
        Baseline::MAX_BYTES,
        "make one from a passing report: tracer baseline --from-report FILE",
    )?;
    let baseline = Baseline::parse(&bytes)
        .map_err(|error| error.about(format_args!("the baseline {} cannot be used", path.display())))?;
    Ok(BaselineInput {
        file: Some(input(path, &bytes)),
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

/// Refuses runs of another agent than that of the baseline.
pub fn refuse_foreign_runs<'a>(
    input: &BaselineInput,
    mut runs: impl Iterator<Item = &'a RunProfile>,
) -> Result<(), InputError> {
    match runs.find_map(|run| input.baseline.foreign_agent(run)) {
        Some(agent) => Err(foreign_baseline(input, agent)),
        None => Ok(()),
    }
}

/// The error for a baseline of another agent.
pub fn foreign_baseline(input: &BaselineInput, agent: &str) -> InputError {
    let known = input.baseline.agent.as_deref().unwrap_or_default();
    InputError::new(format!(
        "the baseline {} is of the agent {}, and this is {}",
        input.path(),
        named(known),
        named(agent)
    ))
    .with_hint("take the baseline of this agent, or make one: tracer baseline --from-report FILE")
    .with_hint("or pass --force")
}

/// Refuses, where runs have no name, a baseline of another program; the program is known before the first trial.
pub fn refuse_baseline_of_another_program(
    input: &BaselineInput,
    command: &[String],
) -> Result<(), InputError> {
    let program = |command: &[String]| {
        let name = Path::new(command.first()?).file_name()?;
        Some(name.to_string_lossy().into_owned())
    };
    let known = program(&input.baseline.command);
    match (&input.baseline.agent, known, program(command)) {
        (None, Some(known), Some(this)) if known != this => Err(InputError::new(format!(
            "the baseline {} is of the program {}, and this is {}",
            input.path(),
            named(&known),
            named(&this)
        ))
        .with_hint("take the baseline of this program, or pass --force")),
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

/// Checks if the path exists, dangling links included.
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

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_subfolder_has_its_projects_policy() {
        let folder = tempfile::tempdir().unwrap();
        let project = folder.path().join("home/project");
        let inner = project.join("crates/agent");
        fs::create_dir_all(&inner).unwrap();
        let write = |folder: &Path| {
            fs::create_dir_all(folder.join(".tracer")).unwrap();
            fs::write(folder.join(POLICY_FILE), "version: 2").unwrap();
        };
        let home = folder.path().join("home");
        let found = |here: &Path| policy_above(here, Some(&home));
        // What lies beside the runs of the home directory is no project's, and neither is what is above a repository.
        write(&home);
        assert_eq!(found(&inner), None);
        assert_eq!(found(&home), Some(PathBuf::from(POLICY_FILE)));
        write(&project);
        assert_eq!(found(&inner), Some(Path::new("../..").join(POLICY_FILE)));
        assert_eq!(found(&project), Some(PathBuf::from(POLICY_FILE)));
        fs::create_dir(inner.join(".git")).unwrap();
        assert_eq!(found(&inner), None);
        write(&inner);
        assert_eq!(found(&inner), Some(PathBuf::from(POLICY_FILE)));
    }
}
