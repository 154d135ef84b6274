//! `tracer export`: writes a run to standard output or to one file, in the portable envelope or another format.

use std::io::Write;
use std::path::PathBuf;

use tracer_export::folded::Weight;
use tracer_export::{ExportError, RecordFormat, html, process_redaction};
use tracer_insight::run_steps::RunSteps;
use tracer_insight::step_filter::StepFilter;
use tracer_insight::text::{self, path_below_home as shown};
use tracer_runs::{InvalidRun, RunDirectory, RunReader, Strictness};
use tracer_sdk::format::RecordedStatus;

use crate::cassettes::exchanges_of;
use crate::error::{CliError, ErrorKind, refused};
use crate::outcome::CommandOutcome;
use crate::output_file;
use crate::progress::Progress;
use crate::session::Session;

/// Export formats.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum ExportFormat {
    /// One JSON document: `{spec_version, run, events}`
    #[default]
    Envelope,
    /// One JSON event on each line
    Ndjson,
    /// OpenTelemetry's file format, with the GenAI attributes
    OtlpJson,
    /// The Trace Event Format, which opens in Perfetto
    Chrome,
    /// Folded stacks for flame graphs, weighed by time
    Folded,
    /// Folded stacks for flame graphs, weighed by tokens
    FoldedTokens,
    /// One self-contained page, with a second redaction pass
    Html,
    /// The recorded model calls, to replay
    Cassette,
}

/// Options of `tracer export`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: tracer export latest --format html --out run.html")]
pub struct Args {
    /// Run to export: ID, unique prefix of it, name, latest or latest~N [default: latest]
    run_id: Option<String>,

    /// Write to FILE; `-` is standard output [default: -]
    #[arg(
        long,
        short,
        value_name = "FILE",
        default_value = "-",
        hide_default_value = true
    )]
    out: PathBuf,

    /// Export as FORMAT
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t)]
    format: ExportFormat,
}

/// Exports a run.
pub fn run(args: &Args, session: &mut Session) -> Result<CommandOutcome, CliError> {
    session.use_store()?;
    let (directory, short_id) = session.select(args.run_id.as_deref())?;
    let (unit, format) = match args.format {
        ExportFormat::Html => return page(args, &directory, &short_id, session),
        ExportFormat::Cassette => return cassette(args, &directory, &short_id, session),
        ExportFormat::Envelope => ("event", RecordFormat::Envelope),
        ExportFormat::Ndjson => ("event", RecordFormat::Ndjson),
        ExportFormat::OtlpJson => ("span", RecordFormat::OtlpJson),
        ExportFormat::Chrome => ("span", RecordFormat::Chrome),
        ExportFormat::Folded => ("span", RecordFormat::Folded(Weight::Time)),
        ExportFormat::FoldedTokens => ("span", RecordFormat::Folded(Weight::Tokens)),
    };
    let run = open(&directory, &short_id, session)?;
    let meta = run
        .require_meta()
        .map_err(|invalid| damaged(&short_id, &invalid, session))?;
    let progress = Progress::begin(
        &session.ui,
        "exporting",
        unit,
        Some(run.records.record_count() as u64),
    );
    write(args, &short_id, progress, session, |progress, writer| {
        tracer_export::write(
            format,
            meta,
            run.records.clone(),
            |items| progress.steps(items),
            writer,
        )
    })
}

/// Opens a run that has no problem.
fn open(directory: &RunDirectory, short_id: &str, session: &mut Session) -> Result<RunReader, CliError> {
    let reading = Progress::begin(&session.ui, "reading", "span", None);
    let run = RunReader::open(&directory.path, Strictness::Strict)
        .map_err(|invalid| damaged(short_id, &invalid, session))?;
    reading.end(&mut session.ui);
    if run.status == Some(RecordedStatus::Running) {
        let warning = "the run has not ended: exporting what it has recorded so far";
        session.ui.warn(warning);
    }
    Ok(run)
}

fn damaged(short_id: &str, invalid: &InvalidRun, session: &Session) -> CliError {
    let problems = invalid
        .more_problems
        .saturating_add(invalid.problems.len() as u64);
    let what = format!(
        "failed to export run {short_id}: it has {}",
        text::counted(problems, "problem")
    );
    let show = format!("show {short_id}");
    refused(ErrorKind::Check, what, invalid)
        .with_hint(session.next_step("show what can be read of it", &show))
}

fn page(
    args: &Args,
    directory: &RunDirectory,
    short_id: &str,
    session: &mut Session,
) -> Result<CommandOutcome, CliError> {
    open(directory, short_id, session)?;
    let steps = RunSteps::open_readable(directory, session.prices()?)
        .map_err(|invalid| damaged(short_id, &invalid, session))?;
    let redaction = process_redaction(&session.settings()?);
    let progress = Progress::begin(&session.ui, "exporting", "step", Some(steps.len() as u64));
    let mut redacted = 0;
    write(args, short_id, progress, session, |progress, writer| {
        let all = StepFilter::default();
        redacted = html::write_run(&steps, &all, &redaction, |count| progress.steps(count), writer)?;
        Ok(())
    })?;
    if redacted > 0 {
        let values = text::counted(redacted, "value");
        session
            .ui
            .warn(format!("redacted {values} that looked like a secret"));
    }
    Ok(CommandOutcome::Done)
}

fn cassette(
    args: &Args,
    directory: &RunDirectory,
    short_id: &str,
    session: &mut Session,
) -> Result<CommandOutcome, CliError> {
    let cassette = exchanges_of(directory, short_id)?;
    let progress = Progress::begin(&session.ui, "exporting", "exchange", None);
    write(args, short_id, progress, session, |progress, writer| {
        progress.steps(cassette.exchanges.len() as u64);
        Ok(writer.write_all(cassette.text().as_bytes())?)
    })
}

/// Writes to standard output or to the file, and names the file.
fn write(
    args: &Args,
    short_id: &str,
    progress: Progress,
    session: &mut Session,
    content: impl FnOnce(&Progress, &mut dyn Write) -> Result<(), ExportError>,
) -> Result<CommandOutcome, CliError> {
    let unread = |reason: String| CliError::input(format!("failed to export run {short_id}: {reason}"));
    if args.out.as_os_str() == "-" {
        content(&progress, session.ui.output()).map_err(|error| match error {
            ExportError::Write(error) => CliError::output(error),
            ExportError::Read(reason) => unread(reason),
        })?;
        progress.end(&mut session.ui);
        return Ok(CommandOutcome::Done);
    }
    output_file::write(&args.out, |writer| content(&progress, writer)).map_err(|error| match error {
        ExportError::Write(error) => CliError::input(format!("failed to write `{}`", args.out.display()))
            .with_source(error)
            .with_hint("choose a file in a writable folder, or `-` for standard output"),
        ExportError::Read(reason) => unread(reason),
    })?;
    let items = progress.counted();
    progress.end(&mut session.ui);
    let message = format!("exported {short_id}, {items}, to {}", shown(&args.out));
    session.ui.say(message);
    Ok(CommandOutcome::Done)
}
