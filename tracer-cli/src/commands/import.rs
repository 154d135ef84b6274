//! `tracer import`: makes runs of coding agents' sessions, and of files of OpenTelemetry spans and logs.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};
use tracer_capture::otlp::files::{FileContent, OtlpFile};
use tracer_capture::runs::{CodingAgent, CollectorOptions, CollectorSummary, RunCollector};
use tracer_capture::{OtlpSink, Refused};

use super::import_sessions;
use crate::error::{CliError, ErrorKind, with_causes};
use crate::outcome::CommandOutcome;
use crate::progress::Progress;
use crate::session::Session;
use tracer_insight::line::{Line, Tone};
use tracer_insight::text;
use tracer_sdk::format::TraceId;

/// Damaged documents of one file that are reported one by one; the rest are counted.
const MAX_REPORTED: usize = 5;

/// Options of `tracer import`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example: tracer import claude-code\n\nWithout arguments, the sessions of coding agents on this machine are listed. AGENT is claude-code, codex or \
                  gemini-cli; paths after one are its transcripts, or folders of them. Any other FILE holds OTLP as JSON or as JSON lines (the Collector's \
                  file exporter), plain or gzip: the content decides. Importing twice changes nothing; a session that has grown gets what is new."
)]
pub struct Args {
    /// Agents whose sessions to import, or files to import; - is standard input
    #[arg(value_name = "AGENT|FILE")]
    files: Vec<PathBuf>,

    /// Go on importing sessions as they grow, until Ctrl-C
    #[arg(long)]
    watch: bool,

    /// Also keep traces without a model call, a tool call or an agent
    #[arg(long)]
    all_traces: bool,

    /// Omit prompts, answers, arguments and results; keep their shapes, names, sizes, tokens and times
    #[arg(long)]
    no_content: bool,
}

/// Counts of one file.
struct ImportedFile {
    /// The path, as it was given.
    file: String,
    /// New runs.
    runs: u64,
    /// New spans; those made of log records are among them.
    spans: u64,
    /// Spans that were there already.
    duplicates: u64,
    /// Spans and log records that cannot be taken, such as those without IDs.
    rejected: u64,
    /// Documents that cannot be read: a damaged line, a cut message.
    unreadable: u64,
}

/// Imports files.
pub fn run(args: &Args, session: &mut Session) -> Result<CommandOutcome, CliError> {
    let agents = args
        .files
        .iter()
        .map_while(|word| CodingAgent::from_word(word.to_str()?));
    let agents: Vec<CodingAgent> = agents.collect();
    let paths = args.files.get(agents.len()..).unwrap_or_default();
    if args.files.is_empty() && !args.watch {
        return import_sessions::list(session);
    }
    if args.watch && agents.is_empty() {
        return Err(
            CliError::input("--watch needs the agents whose sessions to import")
                .with_hint("for example: tracer import claude-code --watch"),
        );
    }
    if !agents.is_empty() {
        return import_sessions::run(&agents, paths, (args.watch, args.no_content), session);
    }
    // All of them first: nothing is imported when a name is wrong.
    let sources: Vec<(&Path, Box<dyn Read>)> = args
        .files
        .iter()
        .map(|file| open(file).map(|source| (file.as_path(), source)))
        .collect::<Result<_, _>>()?;
    let mut options = CollectorOptions::new(&session.settings()?);
    options.keep_all = args.all_traces;
    options.without_content = args.no_content;
    let collector = RunCollector::open(options)
        .map_err(|error| CliError::input("failed to open the data directory").with_source(error))?;
    let progress = Progress::begin(&session.ui, "importing", "document", None);
    let mut files = Vec::new();
    let mut problems = Vec::new();
    let mut failure = None;
    for (file, source) in sources {
        let before = collector.summary();
        let unreadable = match import_file(file, source, &collector, &progress, &mut problems) {
            Ok(unreadable) => unreadable,
            Err(error) => {
                failure = Some(error);
                break;
            }
        };
        files.push(imported_file(file, &before, &collector.summary(), unreadable));
    }
    let summary = collector.close();
    progress.end(&mut session.ui);
    if let Some(error) = failure {
        return Err(error);
    }
    if let Some(error) = &summary.last_error {
        return Err(
            CliError::new(ErrorKind::Internal, format!("failed to complete a run: {error}"))
                .with_hint("import the file again: what is there is not imported twice"),
        );
    }
    let unreadable: u64 = files.iter().map(|file| file.unreadable).sum();
    show(&files, &summary, session.is_json(), session)?;
    if unreadable == 0 {
        return Ok(CommandOutcome::Done);
    }
    let hidden = usize::try_from(unreadable)
        .unwrap_or(usize::MAX)
        .saturating_sub(problems.len());
    let more = (hidden > 0).then(|| format!("… and {hidden} more"));
    let what = text::counted(unreadable, "document");
    Err(CliError::new(
        ErrorKind::Check,
        format!("{what} could not be read; the others were imported"),
    )
    .with_details(problems.into_iter().chain(more)))
}

fn open(file: &Path) -> Result<Box<dyn Read>, CliError> {
    if file == Path::new("-") {
        return Ok(Box::new(io::stdin()));
    }
    let opened = File::open(file).and_then(|opened| {
        if opened.metadata()?.is_dir() {
            return Err(io::Error::other("it is a directory"));
        }
        Ok(opened)
    });
    match opened {
        Ok(opened) => Ok(Box::new(opened)),
        Err(error) => {
            let message = format!("failed to read {}", text::path_below_home(file));
            Err(CliError::input(message).with_source(error))
        }
    }
}

/// Imports the documents of one file, and gives how many of them cannot be read.
fn import_file(
    file: &Path,
    source: Box<dyn Read>,
    collector: &Arc<RunCollector>,
    progress: &Progress,
    problems: &mut Vec<String>,
) -> Result<u64, CliError> {
    let mut unreadable = 0;
    for document in OtlpFile::new(source) {
        progress.step();
        let accepted = match document {
            Ok(FileContent::Spans(spans)) => {
                collector.note_repairs(&spans.repairs);
                collector.accept_spans(spans.resources)
            }
            Ok(FileContent::Logs(logs)) => {
                collector.note_repairs(&logs.repairs);
                collector.accept_logs(logs.resources)
            }
            Ok(_) => continue,
            Err(error) => {
                unreadable += 1;
                if unreadable <= MAX_REPORTED as u64 {
                    problems.push(format!(
                        "{}: {}",
                        text::path_below_home(file),
                        with_causes(&error)
                    ));
                }
                continue;
            }
        };
        accepted.map_err(not_stored)?;
    }
    Ok(unreadable)
}

fn not_stored(refused: Refused) -> CliError {
    CliError::input("failed to store the spans")
        .with_source(refused)
        .with_hint("import the file again when the cause is gone: what is there is not imported twice")
}

fn imported_file(
    file: &Path,
    before: &CollectorSummary,
    after: &CollectorSummary,
    unreadable: u64,
) -> ImportedFile {
    ImportedFile {
        file: file.display().to_string(),
        runs: after.started_runs - before.started_runs,
        spans: after.spans - before.spans,
        duplicates: (after.duplicates + after.differing + after.recorded_elsewhere)
            - (before.duplicates + before.differing + before.recorded_elsewhere),
        rejected: after.rejected - before.rejected,
        unreadable,
    }
}

fn show(
    files: &[ImportedFile],
    summary: &CollectorSummary,
    json: bool,
    session: &mut Session,
) -> Result<(), CliError> {
    if json {
        let files: Vec<Value> = files.iter().map(file_json).collect();
        return session.ui.json(&json!({
            "files": files, "runs": summary.runs, "ignored_traces": summary.ignored_traces,
        }));
    }
    let lines: Vec<Line> = files.iter().map(file_line).collect();
    session.ui.lines(&lines)?;
    for note in summary.notes() {
        session.ui.remark(note);
    }
    if summary.ignored_traces > 0 {
        let traces = text::counted(summary.ignored_traces, "trace");
        let note = format!("{traces} without a model call, a tool call or an agent ignored");
        session.ui.remark(note);
        session.ui.hint("keep them too: --all-traces");
    }
    suggest_runs(&summary.runs, "list", session);
    Ok(())
}

/// Suggests what shows the runs that were imported.
pub(super) fn suggest_runs(runs: &[TraceId], list: &str, session: &mut Session) {
    if let [run] = runs {
        let id = run.to_string();
        let short = id.get(..8).unwrap_or(&id);
        session.suggest("show it", &format!("show {short}"));
    } else if !runs.is_empty() {
        session.suggest("list them", list);
    }
}

fn file_json(file: &ImportedFile) -> Value {
    json!({
        "file": file.file,
        "runs": file.runs,
        "spans": file.spans,
        "duplicates": file.duplicates,
        "rejected": file.rejected,
        "unreadable": file.unreadable,
    })
}

fn file_line(file: &ImportedFile) -> Line {
    let mut counts = vec![
        text::counted(file.runs, "new run"),
        text::counted(file.spans, "new span"),
    ];
    for (count, what) in [
        (file.duplicates, "known before"),
        (file.rejected, "rejected"),
        (file.unreadable, "unreadable"),
    ] {
        if count > 0 {
            counts.push(format!("{count} {what}"));
        }
    }
    let sign = if file.rejected + file.unreadable == 0 {
        Line::of("✓ ", Tone::Good)
    } else {
        Line::of("! ", Tone::Warning)
    };
    sign.with(format!("{}  ", file.file), Tone::Strong)
        .with(counts.join(", "), Tone::Plain)
}
