//! Outputs of a gate: standard output, files, annotations of GitHub Actions.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use tracer_gate::files::GateInputs;
use tracer_gate::policy::{OnInconclusive, Overrides};
use tracer_gate::{InputError, Report, Verdict as GateVerdict};

use crate::error::{CliError, ErrorKind};
use crate::outcome::CommandOutcome;
use crate::output_file;
use crate::session::Session;
use crate::terminal::gate_report;
use tracer_gate::formats::annotations;
use tracer_gate::formats::annotations::Annotation;
use tracer_gate::formats::next;
use tracer_gate::formats::{junit, markdown};
use tracer_gate::words::checks;
use tracer_gate::words::outcome::CheckOutcome;
use tracer_insight::line::Line;

/// Format of a result on standard output.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum ResultFormat {
    /// Text for people
    #[default]
    Text,
    /// One JSON document for programs
    Json,
    /// Markdown for a pull request comment
    Markdown,
}

impl ResultFormat {
    /// The format: JSON with `--json`, which no other one goes with.
    pub(crate) fn of(self, session: &Session) -> Result<Self, CliError> {
        match self {
            Self::Markdown if session.is_json() => Err(CliError::input(
                "`--format markdown` and `--json` are two formats",
            )
            .with_hint("leave out one of them; --json-out FILE writes JSON as well")),
            _ if session.is_json() => Ok(Self::Json),
            format => Ok(format),
        }
    }
}

/// Exit code of an INCONCLUSIVE result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Inconclusive {
    /// Exit with 0
    Pass,
    /// Exit with 1
    Fail,
}

impl From<Inconclusive> for OnInconclusive {
    fn from(inconclusive: Inconclusive) -> Self {
        match inconclusive {
            Inconclusive::Pass => Self::Pass,
            Inconclusive::Fail => Self::Fail,
        }
    }
}

/// Options of the commands that judge runs.
#[derive(Debug, clap::Args)]
pub(crate) struct GateArgs {
    /// Check against the policy in FILE, - for standard input [default: .tracer/policy.yaml here or in a folder above]
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,

    /// Compare with the baseline in FILE [example: .tracer/baselines/agent.json]
    #[arg(long, short, value_name = "FILE")]
    baseline: Option<PathBuf>,

    /// Proceed although the baseline belongs to another agent
    #[arg(long, requires = "baseline")]
    pub(crate) force: bool,

    /// Pass or fail when the verdict is INCONCLUSIVE [default: as the policy says]
    #[arg(long, value_enum, value_name = "OUTCOME")]
    pub(crate) inconclusive: Option<Inconclusive>,

    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

impl GateArgs {
    /// Reads the policy, with these overrides, and the baseline.
    pub(crate) fn read(&self, overrides: &Overrides) -> Result<GateInputs, InputError> {
        let overrides = Overrides {
            on_inconclusive: self.inconclusive.map(Into::into),
            ..*overrides
        };
        GateInputs::read(self.policy.as_deref(), self.baseline.as_deref(), &overrides)
    }
}

/// Options for the results of a gate.
#[derive(Debug, clap::Args)]
pub(crate) struct OutputArgs {
    /// Print the result as FORMAT
    #[arg(long, short, value_enum, value_name = "FORMAT", default_value_t)]
    pub(crate) format: ResultFormat,

    /// Also write the report as JSON to FILE
    #[arg(long, value_name = "FILE")]
    pub(crate) json_out: Option<PathBuf>,

    /// Also write the result as JUnit XML to FILE
    #[arg(long, value_name = "FILE")]
    pub(crate) junit: Option<PathBuf>,
}

/// Finds out whether the files can be written, before the trials are paid for.
pub(crate) fn prepare(args: &OutputArgs) -> Result<(), CliError> {
    for path in args.json_out.iter().chain(&args.junit) {
        output_file::prepare(path)?;
    }
    Ok(())
}

/// Writes the files, shows the result, and gives what it means for the exit code.
pub(crate) fn publish(
    report: &Report,
    on_inconclusive: OnInconclusive,
    args: &OutputArgs,
    session: &mut Session,
) -> Result<CommandOutcome, CliError> {
    let inconclusive_fails = on_inconclusive == OnInconclusive::Fail;
    write_files(report, inconclusive_fails, args)?;
    match show(report, args, session) {
        // The reader closed the pipe; the verdict is still the exit code.
        Err(error) if error.kind() == ErrorKind::ClosedPipe => {}
        shown => shown?,
    }
    write_github_outputs(report, inconclusive_fails, args, session);
    Ok(match report.verdict {
        GateVerdict::Pass => CommandOutcome::Done,
        GateVerdict::Inconclusive if !inconclusive_fails => CommandOutcome::Done,
        GateVerdict::Inconclusive | GateVerdict::Fail => CommandOutcome::CheckFailed,
    })
}

fn write_files(report: &Report, inconclusive_fails: bool, args: &OutputArgs) -> Result<(), CliError> {
    if let Some(path) = &args.json_out {
        let mut json = serde_json::to_vec_pretty(report).map_err(internal)?;
        json.push(b'\n');
        output_file::write_new(path, true, &json)?;
    }
    if let Some(path) = &args.junit {
        let xml = junit::document(report, inconclusive_fails).map_err(internal)?;
        output_file::write_new(path, true, xml.as_bytes())?;
    }
    Ok(())
}

/// Internal error: no report should bring it about.
fn internal(error: impl std::fmt::Display) -> CliError {
    CliError::new(
        ErrorKind::Internal,
        format!("the report cannot be written: {error}"),
    )
}

fn show(report: &Report, args: &OutputArgs, session: &mut Session) -> Result<(), CliError> {
    match args.format.of(session)? {
        ResultFormat::Json => session.ui.json(report),
        ResultFormat::Markdown => {
            let document = document(report, args);
            session.ui.plain(document.trim_end())
        }
        ResultFormat::Text => {
            let lines = gate_report::lines(report, session.ui.width());
            session.ui.lines(&lines)?;
            let steps = next::steps(report, report_file(args));
            if !steps.is_empty() {
                session.ui.remark_line(&Line::new());
            }
            for step in steps {
                let what = format!("{:23}", format!("{}:", step.what));
                session.print_next(&what, &step.arguments);
            }
            Ok(())
        }
    }
}

/// The report as Markdown, with commands as anybody types them who has the repository.
pub(crate) fn document(report: &Report, args: &OutputArgs) -> String {
    let name = args.json_out.as_deref().and_then(Path::file_name);
    let file = name.and_then(|name| name.to_str());
    let next = next::without_runs(report, file);
    markdown::document(report, &next)
}

fn report_file(args: &OutputArgs) -> Option<&str> {
    args.json_out.as_deref().and_then(Path::to_str)
}

/// Annotations and the summary of the job, where GitHub Actions runs this.
fn write_github_outputs(report: &Report, inconclusive_fails: bool, args: &OutputArgs, session: &mut Session) {
    if std::env::var_os("GITHUB_ACTIONS").is_none_or(|value| value != "true") {
        return;
    }
    for command in annotations::commands(annotations(report, inconclusive_fails)) {
        session.ui.workflow_command(&command);
    }
    let Some(path) = std::env::var_os("GITHUB_STEP_SUMMARY").filter(|path| !path.is_empty()) else {
        return;
    };
    let written = OpenOptions::new()
        .create(true)
        .append(true)
        .open(&path)
        .and_then(|mut file| file.write_all(document(report, args).as_bytes()));
    if let Err(error) = written {
        let note = format!("the job summary cannot be written: {error}");
        session.ui.warn(note);
    }
}

/// Annotations of the checks that did not pass, at the policy that demands it where the change can show that file.
fn annotations(report: &Report, inconclusive_fails: bool) -> Vec<Annotation> {
    let file = report
        .gate
        .policy
        .as_ref()
        .map(|file| next::in_repository(&file.path))
        .filter(|path| Path::new(path).is_relative() && fs::exists(path).unwrap_or(false));
    checks::check_rows(report)
        .into_iter()
        .filter(|check| check.outcome.is_missed())
        .map(|check| Annotation {
            is_error: check.outcome == CheckOutcome::Failed || inconclusive_fails,
            file: file.map(str::to_owned),
            title: format!("Agent gate: {}", check.name),
            message: check.sentence(),
        })
        .collect()
}
