//! `tracer export`: writes a run to one file, in the portable envelope or in the format of another tool.
//!
//! Strict: a run with a problem is refused. Runs of any size are streamed.

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::PathBuf;

use tracer_sdk::format::{RecordedStatus, RunMeta};
use tracer_sdk::read::{RecordStream, RunDirectory, RunReader, Strictness};
use tracer_sdk::redaction::Redaction;
use tracer_sdk::settings::Settings;
use tracer_view::HtmlExport;

use crate::cassettes::exchanges_of;
use crate::error::refused;
use crate::error::{CliError, ErrorKind};
use crate::export::folded::Weight;
use crate::export::pieces::{ExportChunk, Pieces};
use crate::export::{ExportError, chrome, envelope, folded, html, lines, ndjson, otlp};
use crate::outcome::CommandOutcome;
use crate::output_file;
use crate::progress::Progress;
use crate::session::Session;
use tracer_insight::run_steps::RunSteps;
use tracer_insight::step_filter::StepFilter;
use tracer_insight::text;
use tracer_insight::text::path_below_home as shown;

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
    /// The calls of models that the run kept, to replay
    Cassette,
}

impl ExportFormat {
    /// Unit that the progress of this format counts.
    const fn unit(self) -> &'static str {
        match self {
            Self::Envelope | Self::Ndjson => "event",
            Self::Html => "step",
            Self::Cassette => "exchange",
            Self::OtlpJson | Self::Chrome | Self::Folded | Self::FoldedTokens => "span",
        }
    }
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
    if args.format == ExportFormat::Cassette {
        return export_cassette(args, &directory, &short_id, session);
    }
    let reading = Progress::begin(&session.ui, "reading", "span", None);
    let opened = RunReader::open(&directory.path, Strictness::Strict)
        .and_then(|run| Ok((run.require_meta()?.clone(), run.records)));
    let (meta, records) = opened.map_err(|invalid| {
        let problems = invalid
            .more_problems
            .saturating_add(invalid.problems.len() as u64);
        let what = format!(
            "failed to export run {short_id}: it has {}",
            text::counted(problems, "problem")
        );
        let show = session.command(&format!("show {short_id}"));
        refused(ErrorKind::Check, what, &invalid).with_hint(format!("show what can be read of it: {show}"))
    })?;
    reading.end(&mut session.ui);
    if meta.status == RecordedStatus::Running {
        let warning = "the run has not ended: exporting what it has recorded so far";
        session.ui.warn(warning);
    }
    let total = records.record_count() as u64;
    let source = match args.format {
        ExportFormat::Html => ExportSource::Page(Box::new(page(&directory, &short_id, session)?)),
        _ => ExportSource::Records(Box::new(meta), records),
    };
    let progress = Progress::begin(&session.ui, "exporting", args.format.unit(), Some(total));
    if args.out.as_os_str() == "-" {
        let redacted = write(args, source, &progress, session.ui.output());
        let redacted = redacted.map_err(|error| failed(&short_id, error))?;
        progress.end(&mut session.ui);
        note_redacted(redacted, session);
        return Ok(CommandOutcome::Done);
    }
    let to_file = output_file::write(&args.out, |writer| write(args, source, &progress, writer));
    let redacted = to_file.map_err(|error| match error {
        ExportError::Write(error) => CliError::input(format!("failed to write `{}`", args.out.display()))
            .with_source(error)
            .with_hint("choose a file in a writable folder, or `-` for standard output"),
        unread @ ExportError::Read(_) => failed(&short_id, unread),
    })?;
    let message = format!(
        "exported {short_id}, {}, to {}",
        text::counted(progress.count(), args.format.unit()),
        shown(&args.out)
    );
    progress.end(&mut session.ui);
    session.ui.say(message);
    note_redacted(redacted, session);
    Ok(CommandOutcome::Done)
}

/// Exports what a run kept of its calls of models: no records of it are read.
fn export_cassette(
    args: &Args,
    directory: &RunDirectory,
    short_id: &str,
    session: &mut Session,
) -> Result<CommandOutcome, CliError> {
    let cassette = exchanges_of(directory, short_id)?;
    if args.out.as_os_str() == "-" {
        let written = session.ui.output().write_all(cassette.text().as_bytes());
        written.map_err(CliError::output)?;
        return Ok(CommandOutcome::Done);
    }
    let written = output_file::write(&args.out, |writer| writer.write_all(cassette.text().as_bytes()));
    written.map_err(|error: io::Error| {
        CliError::input(format!("failed to write `{}`", args.out.display()))
            .with_source(error)
            .with_hint("choose a file in a writable folder, or `-` for standard output")
    })?;
    let count = text::counted(cassette.exchanges.len() as u64, args.format.unit());
    let note = format!("exported {short_id}, {count}, to {}", shown(&args.out));
    session.ui.say(note);
    Ok(CommandOutcome::Done)
}

/// HTML files as the viewer exports them.
#[derive(Debug)]
pub(crate) struct HtmlFiles {
    settings: Settings,
}

impl HtmlFiles {
    /// Files without the secrets that the settings and the environment name.
    pub(crate) const fn new(settings: Settings) -> Self {
        Self { settings }
    }
}

impl HtmlExport for HtmlFiles {
    fn write(&self, steps: &mut RunSteps, filter: &StepFilter, writer: &mut dyn Write) -> io::Result<()> {
        let redaction = Redaction::new(&self.settings, environment());
        let written = html::write_run(steps, filter, &redaction, |_| {}, writer);
        written.map(drop).map_err(|error| match error {
            ExportError::Write(error) => error,
            ExportError::Read(error) => io::Error::other(error),
        })
    }
}

/// Data to export.
enum ExportSource {
    /// The records or spans of a run.
    Records(Box<RunMeta>, RecordStream),
    /// The steps of a run, for the HTML page.
    Page(Box<Page>),
}

/// Contents of the HTML page.
struct Page {
    contents: RunSteps,
    redaction: Redaction,
}

fn page(directory: &RunDirectory, short_id: &str, session: &Session) -> Result<Page, CliError> {
    let contents = RunSteps::open(directory, session.prices()?).map_err(|invalid| {
        let what = format!("failed to export run {short_id}");
        refused(ErrorKind::Input, what, &invalid)
    })?;
    Ok(Page {
        contents,
        redaction: Redaction::new(&session.settings()?, environment()),
    })
}

/// The process's own variables, as far as they are text.
fn environment() -> impl Iterator<Item = (String, String)> {
    let text =
        |(name, value): (OsString, OsString)| Some((name.into_string().ok()?, value.into_string().ok()?));
    std::env::vars_os().filter_map(text)
}

fn note_redacted(redacted: u64, session: &mut Session) {
    if redacted > 0 {
        let message = format!(
            "redacted {} that looked like a secret",
            text::counted(redacted, "value")
        );
        session.ui.warn(message);
    }
}

/// Writes the run in the requested format; returns the number of redacted secrets.
fn write(
    args: &Args,
    source: ExportSource,
    progress: &Progress,
    writer: &mut dyn Write,
) -> Result<u64, ExportError> {
    let (meta, records) = match source {
        ExportSource::Records(meta, records) => (meta, records),
        ExportSource::Page(mut page) => {
            return html::write_run(
                &mut page.contents,
                &StepFilter::default(),
                &page.redaction,
                |steps| progress.steps(steps),
                writer,
            );
        }
    };
    match args.format {
        // HTML and cassettes have their own sources, handled above.
        ExportFormat::Html | ExportFormat::Cassette | ExportFormat::Envelope => {
            let records = counted(lines::of_records(&records)?, progress);
            envelope::write(&meta, records, writer)
        }
        ExportFormat::Ndjson => ndjson::write(counted(lines::of_records(&records)?, progress), writer),
        ExportFormat::OtlpJson => {
            let spans = otlp::lines(&records.into_spans())?;
            otlp::write(&meta, counted(spans, progress), writer)
        }
        ExportFormat::Chrome => {
            let spans = chrome::bars(&meta, &records.into_spans())?;
            chrome::write(&meta, counted(spans, progress), writer)
        }
        ExportFormat::Folded | ExportFormat::FoldedTokens => {
            let weight = match args.format {
                ExportFormat::FoldedTokens => Weight::Tokens,
                _ => Weight::Time,
            };
            let spans = folded::frames(weight, &records.into_spans())?;
            folded::write(counted(spans, progress), writer)
        }
    }?;
    Ok(0)
}

/// Adds what is written to the progress.
fn counted<P: ExportChunk>(
    pieces: Pieces<P>,
    progress: &Progress,
) -> impl Iterator<Item = Result<P, ExportError>> {
    pieces.inspect(|piece| {
        if let Ok(piece) = piece {
            progress.steps(piece.count() as u64);
        }
    })
}

fn failed(short_id: &str, error: ExportError) -> CliError {
    match error {
        ExportError::Write(error) => CliError::output(error),
        ExportError::Read(reason) => CliError::input(format!("failed to export run {short_id}: {reason}")),
    }
}
