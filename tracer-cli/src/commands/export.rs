//! `tracer export`: a run as one file, in the portable envelope or in the format of another tool.
//!
//! Strict: a run with a problem is refused. What is exported is read and written piece by piece, whatever its size.

use std::io::Write;
use std::path::PathBuf;

use tracer_sdk::format::RunStatus;
use tracer_sdk::read::{self, RecordError, RecordStream, StreamedRun};

use super::{Verdict, refused};
use crate::error::{CliError, ErrorKind};
use crate::export::folded::Weight;
use crate::export::lines::{Lines, RecordLines};
use crate::export::{ExportError, chrome, envelope, folded, ndjson, otlp};
use crate::output_file;
use crate::progress::Progress;
use crate::render::line::{Line, Tone};
use crate::render::text;
use crate::session::{Session, shown};

/// The formats.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// One JSON document: `{spec_version, run, events}`
    #[default]
    Envelope,
    /// One event on each line, as JSON
    Ndjson,
    /// OpenTelemetry's file format, with the GenAI attributes
    OtlpJson,
    /// The Trace Event Format, which opens in Perfetto
    Chrome,
    /// Folded stacks, from which flame graphs are drawn
    Folded,
}

impl Format {
    /// What the format is made of.
    const fn unit(self) -> &'static str {
        match self {
            Self::Envelope | Self::Ndjson => "event",
            Self::OtlpJson | Self::Chrome | Self::Folded => "span",
        }
    }
}

/// Options of `tracer export`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The run: its ID, or as much of its beginning as no other run has; the newest when left out
    run_id: Option<String>,

    /// The file to write; `-` is standard output
    #[arg(long, short, value_name = "FILE")]
    out: PathBuf,

    /// The format
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t)]
    format: Format,

    /// What the stacks of `folded` weigh: microseconds of a span itself, or tokens of model calls [default: time]
    #[arg(long, value_enum, value_name = "WEIGHT", hide_default_value = true)]
    weight: Option<Weight>,
}

/// Exports a run.
pub fn run(args: &Args, session: &mut Session) -> Result<Verdict, CliError> {
    if args.weight.is_some() && args.format != Format::Folded {
        return Err(CliError::input("--weight is for --format folded only")
            .with_hint("leave it out, or add --format folded"));
    }
    let (directory, short_id) = session.select(args.run_id.as_deref())?;
    let reading = Progress::begin("reading", "span", None);
    let run = read::stream_run(&directory.path).map_err(|invalid| {
        let problems = invalid
            .more_problems
            .saturating_add(invalid.problems.len() as u64);
        let what = format!(
            "run {short_id} is not exported: {}",
            text::counted(problems, "problem")
        );
        let show = session.command(&format!("show {short_id}"));
        refused(ErrorKind::Check, what, &invalid).with_hint(format!("see what can be read of it: {show}"))
    })?;
    reading.end(&mut session.ui);
    if run.meta.status == RunStatus::Running {
        session.ui.note(&Line::of(
            "the run has not ended: this is what it has recorded so far",
            Tone::Warning,
        ));
    }
    let total = run.records.record_count() as u64;
    let progress = Progress::begin("exporting", args.format.unit(), Some(total));
    if args.out.as_os_str() == "-" {
        write(args, run, &progress, session.ui.output()).map_err(|error| failed(&short_id, error))?;
        progress.end(&mut session.ui);
        return Ok(Verdict::Done);
    }
    let to_file = output_file::write(&args.out, |writer| write(args, run, &progress, writer));
    to_file.map_err(|error| match error {
        ExportError::Write(error) => CliError::input(format!("cannot write {}: {error}", args.out.display()))
            .with_hint("name a file in a folder that you can write to, or `-` for standard output"),
        unread @ ExportError::Read(_) => failed(&short_id, unread),
    })?;
    let told = format!(
        "exported {short_id}, {}, to {}",
        text::counted(progress.count(), args.format.unit()),
        shown(&args.out)
    );
    progress.end(&mut session.ui);
    session.ui.note(&Line::of(told, Tone::Plain));
    Ok(Verdict::Done)
}

/// Writes the run in the format that is asked for.
fn write(
    args: &Args,
    run: StreamedRun,
    progress: &Progress,
    writer: &mut dyn Write,
) -> Result<(), ExportError> {
    let meta = run.meta;
    match args.format {
        Format::Envelope => envelope::write(&meta, lines(&run.records, progress)?, writer),
        Format::Ndjson => ndjson::write(lines(&run.records, progress)?, writer),
        Format::OtlpJson => otlp::write(&meta, counted(run.records.into_spans(), progress), writer),
        Format::Chrome => chrome::write(&meta, counted(run.records.into_spans(), progress), writer),
        Format::Folded => {
            let spans = counted(run.records.into_spans(), progress);
            folded::write(args.weight.unwrap_or_default(), spans, writer)
        }
    }
}

fn lines(
    records: &RecordStream,
    progress: &Progress,
) -> Result<impl Iterator<Item = Result<Lines, ExportError>>, ExportError> {
    let lines = RecordLines::new(records)?;
    Ok(lines.inspect(|lines| {
        if let Ok(lines) = lines {
            progress.steps(lines.count() as u64);
        }
    }))
}

fn counted<Item>(
    items: impl Iterator<Item = Result<Item, RecordError>>,
    progress: &Progress,
) -> impl Iterator<Item = Result<Item, ExportError>> {
    items.map(|item| {
        progress.step();
        item.map_err(ExportError::from)
    })
}

fn failed(short_id: &str, error: ExportError) -> CliError {
    match error {
        ExportError::Write(error) => CliError::output(&error),
        ExportError::Read(reason) => CliError::input(format!("run {short_id} is not exported: {reason}")),
    }
}
