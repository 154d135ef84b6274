//! `tracer list`: lists the runs, newest first.

use std::io::{self, Write};

use tracer_sdk::format::{RecordedStatus, Timestamp};
use tracer_sdk::read::{NamePattern, RunFilter, RunReader, RunStore, RunSummary, Strictness};

use crate::error::CliError;
use crate::outcome::CommandOutcome;
use crate::session::Session;
use crate::terminal::run_list;
use crate::terminal::run_list::{Facts, RunRow};
use crate::value_parsers::Since;
use tracer_insight::json::Document;
use tracer_insight::line::{Line, Tone};
use tracer_insight::run_entry::{DamagedRun, RunEntry};
use tracer_insight::run_head::recording_remarks;
use tracer_insight::run_preview::RunPreview;
use tracer_insight::status::RunStatus;
use tracer_insight::text;
use tracer_insight::text::{path_below_home as shown, shell_quoted};
use tracer_insight::units::now;
use tracer_insight::units::run_duration as duration;

/// Options of `tracer list`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// List at most N runs
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..))]
    limit: u32,

    /// List all runs
    #[arg(long, conflicts_with = "limit")]
    all: bool,

    /// List only runs with this status [example: failed,interrupted]
    #[arg(long, value_delimiter = ',', value_name = "STATUS,…", value_parser = crate::value_parsers::status_parser(RunStatus::ALL))]
    status: Vec<RunStatus>,

    /// List only runs whose name contains TEXT, ignoring case [example: 'support-*']
    ///
    /// With `*` or `?` in it, TEXT must match the whole name.
    #[arg(long, value_name = "TEXT")]
    name: Option<String>,

    /// List only runs that started since WHEN, an age or a date [example: 2h, 3d or 2026-11-01]
    #[arg(long, value_name = "WHEN")]
    since: Option<Since>,

    /// Also list the trials of gates
    #[arg(long)]
    trials: bool,

    /// Print the runs as JSON: `{spec_version, runs, damaged}`
    #[arg(long)]
    json: bool,
}

/// Lists the runs.
pub fn run(args: &Args, session: &mut Session) -> Result<CommandOutcome, CliError> {
    let data_dir = session.data_dir()?;
    let now = now();
    let mut runs = RunStore::new(&data_dir)
        .list()
        .map_err(|error| session.store_error(&error))?;
    let all = runs.len();
    runs.retain(|run| args.trials || !is_trial(run));
    let trials = all - runs.len();
    // The heading counts all runs by status, and the status depends on the log.
    if session.ui.is_terminal() || !args.status.is_empty() {
        RunSummary::check_all_logs(&runs);
    }
    let passing: Vec<&RunSummary> = matching_runs(&runs, args, now);
    let limit = if args.all {
        usize::MAX
    } else {
        usize::try_from(args.limit).unwrap_or(usize::MAX)
    };
    let listed = passing.get(..limit.min(passing.len())).unwrap_or_default();
    if args.json {
        json(listed, session)?;
    } else if session.ui.is_terminal() {
        if !runs.is_empty() {
            let place = shown(&data_dir.join(tracer_sdk::format::RUNS_FOLDER));
            table(listed, &runs, &place, now, session)?;
        }
    } else {
        session.ui.plain(run_list::FIELDS)?;
        for run in listed {
            session.ui.plain(&run_list::fields(&row(run, None)))?;
        }
    }
    if !args.json {
        print_remarks(listed, &runs, session);
    }
    if trials == 0 || !runs.is_empty() {
        print_omissions(args, &runs, &passing, listed.len(), &shown(&data_dir), session);
    }
    if trials > 0 {
        let count = text::counted(trials as u64, "run");
        let with_them = session.command(&format!("list{} --trials", filters(args)));
        session.ui.note(&Line::of(
            format!("{count} from gate trials hidden; list them: {with_them}"),
            Tone::Muted,
        ));
    }
    Ok(CommandOutcome::Done)
}

/// Whether the run is a trial of a gate.
fn is_trial(run: &RunSummary) -> bool {
    run.meta.as_ref().is_ok_and(|meta| meta.gate().is_some())
}

/// The runs that match the filters.
fn matching_runs<'a>(runs: &'a [RunSummary], args: &Args, now: Timestamp) -> Vec<&'a RunSummary> {
    let filter = RunFilter {
        statuses: args.status.clone(),
        name: args.name.as_deref().map(NamePattern::new),
        since: args.since.map(|since| since.instant(now)),
    };
    runs.iter().filter(|run| filter.passes(run)).collect()
}

/// Bytes that are read for the previews of all runs together.
const MAX_PREVIEW_BYTES: u64 = 64 * 1024 * 1024;
/// Listed runs whose remarks are printed, the newest first.
const MAX_REMARKED: usize = 8;

/// Prints to standard error which runs are incomplete, and which went on after their end.
fn print_remarks(listed: &[&RunSummary], runs: &[RunSummary], session: &mut Session) {
    let id_length = run_list::id_length(runs.iter().map(|run| run.directory.trace_id));
    let remarked = listed.iter().filter_map(|run| {
        let remarks = recording_remarks(run.meta.as_ref().ok()?);
        (!remarks.is_empty()).then(|| (run.directory.trace_id.to_string(), remarks))
    });
    for (id, remarks) in remarked.take(MAX_REMARKED) {
        let id = id.get(..id_length).unwrap_or(&id);
        let line = format!("{id}: {}", text::one_line(&remarks.join("; "), 400));
        session.ui.note(&Line::of(line, Tone::Warning));
    }
}

/// Prints to standard error what is not listed, and how to list it.
fn print_omissions(
    args: &Args,
    runs: &[RunSummary],
    passing: &[&RunSummary],
    listed: usize,
    data_dir: &str,
    session: &mut Session,
) {
    if runs.is_empty() {
        session
            .ui
            .note(&Line::of(format!("no runs in {data_dir} yet"), Tone::Plain));
        session
            .ui
            .hint(&format!("record a first run: {}", session.command("demo")));
    } else if passing.is_empty() {
        let all = runs.len();
        session
            .ui
            .note(&Line::of(format!("no runs match ({all} recorded)"), Tone::Plain));
        session
            .ui
            .hint(&format!("list all runs: {}", session.command("list --all")));
    } else if listed < passing.len() {
        let matching = if passing.len() < runs.len() {
            "matching "
        } else {
            ""
        };
        let count = text::counted(passing.len() as u64, &format!("{matching}run"));
        let all = session.command(&format!("list{} --all", filters(args)));
        session.ui.note(&Line::of(
            format!("{listed} of {count}; list all: {all}"),
            Tone::Muted,
        ));
    }
}

/// The given filters as options, each after a space.
fn filters(args: &Args) -> String {
    let words: Vec<&str> = args.status.iter().map(|status| status.as_str()).collect();
    let status = (!words.is_empty()).then(|| format!(" --status {}", words.join(",")));
    let name = args
        .name
        .as_deref()
        .map(|name| format!(" --name {}", shell_quoted(name)));
    let since = args.since.map(|since| format!(" --since {since}"));
    let trials = args.trials.then(|| " --trials".to_owned());
    [status, name, since, trials].into_iter().flatten().collect()
}

fn json(listed: &[&RunSummary], session: &mut Session) -> Result<(), CliError> {
    write_json(listed, session.ui.output()).map_err(CliError::output)
}

/// Listed runs; a run whose metadata or log cannot be read is in `damaged`.
#[cfg(test)]
#[derive(schemars::JsonSchema)]
#[expect(dead_code, reason = "only the shape is wanted")]
pub(crate) struct RunList<'a> {
    /// The version of the trace format.
    #[schemars(schema_with = "tracer_insight::schema::spec_version")]
    spec_version: String,
    /// The metadata of the runs, newest first.
    runs: Vec<RunEntry<'a>>,
    /// The runs that cannot be read, newest first.
    damaged: Vec<DamagedRun<'a>>,
}

fn write_json(listed: &[&RunSummary], output: &mut dyn Write) -> io::Result<()> {
    let mut document = Document::begin(output)?;
    document.list("runs", listed.iter().filter_map(|run| RunEntry::of(run)))?;
    document.list("damaged", listed.iter().filter_map(|run| DamagedRun::of(run)))?;
    document.end()
}

fn table(
    listed: &[&RunSummary],
    runs: &[RunSummary],
    place: &str,
    now: Timestamp,
    session: &mut Session,
) -> Result<(), CliError> {
    let width = session.ui.width();
    let statuses: Vec<RunStatus> = runs.iter().map(RunSummary::status).collect();
    let id_length = run_list::id_length(runs.iter().map(|run| run.directory.trace_id));
    let mut bytes_left = MAX_PREVIEW_BYTES;
    let mut without_preview = 0;
    let rows: Vec<RunRow> = listed
        .iter()
        .map(|run| {
            if bytes_left == 0 {
                without_preview += 1;
                return row(run, None);
            }
            // A log that cannot be read leaves its cells empty; `show` says why.
            let preview = RunPreview::read(run);
            bytes_left = bytes_left.saturating_sub(preview.as_ref().map_or(0, |preview| preview.read_bytes));
            row(run, preview)
        })
        .collect();
    session
        .ui
        .lines(&run_list::heading(place, rows.len(), &statuses, width))?;
    if !rows.is_empty() {
        session.ui.lines(&run_list::table(&rows, id_length, now, width))?;
    }
    if without_preview > 0 {
        let count = text::counted(without_preview, "run");
        session.ui.note(&Line::of(
            format!("the last {count} are listed without steps, tokens and first input, to save time"),
            Tone::Muted,
        ));
    }
    Ok(())
}

fn row(run: &RunSummary, preview: Option<RunPreview>) -> RunRow {
    let facts = match (&run.meta, run.problems().first()) {
        (Ok(meta), None) => Ok(Facts {
            name: meta.run_name.clone(),
            started: meta.started_at.instant(),
            duration: duration(meta),
            counts: match meta.status {
                // The metadata of a run that goes on is older than its spans.
                RecordedStatus::Running => RunReader::open(&run.directory.path, Strictness::Lenient)
                    .map_or(meta.counts, |outlined| outlined.counts()),
                _ => meta.counts,
            },
            preview,
        }),
        (_, problem) => Err(problem.map(ToString::to_string).unwrap_or_default()),
    };
    RunRow {
        id: run.directory.trace_id,
        status: run.status(),
        facts,
    }
}
