//! `tracer list`: the runs, newest first.

use std::io::{self, Write};

use tracer_sdk::format::RunStatus;
use tracer_sdk::read::{self, ListedRun, RunStore};

use super::{Verdict, duration, now, standing};
use crate::error::CliError;
use crate::json::Document;
use crate::render::line::{Line, Tone};
use crate::render::run_list::{self, Facts, RunRow};
use crate::render::standing::Standing;
use crate::render::text;
use crate::session::{Session, quoted, shown};

/// Options of `tracer list`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// How many runs to list at most
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..))]
    limit: u32,

    /// List every run
    #[arg(long, conflicts_with = "limit")]
    all: bool,

    /// The metadata of the runs as JSON: `{spec_version, runs}`
    #[arg(long)]
    json: bool,
}

/// Lists the runs.
pub fn run(args: &Args, session: &mut Session) -> Result<Verdict, CliError> {
    let data_dir = session.data_dir()?;
    let runs = RunStore::new(&data_dir)
        .list()
        .map_err(|error| session.store_error(&error))?;
    let limit = if args.all {
        usize::MAX
    } else {
        usize::try_from(args.limit).unwrap_or(usize::MAX)
    };
    let listed: Vec<&ListedRun> = runs.iter().take(limit).collect();
    if args.json {
        json(&listed, session)?;
    } else if session.ui.is_terminal() {
        let standings: Vec<Standing> = runs.iter().map(standing).collect();
        let place = shown(&data_dir.join(tracer_sdk::format::RUNS_FOLDER));
        if !runs.is_empty() {
            let id_length = run_list::id_length(runs.iter().map(|run| run.directory.trace_id));
            table(&listed, id_length, &standings, &place, session)?;
        }
    } else {
        session.ui.plain(run_list::FIELDS)?;
        for run in &listed {
            session.ui.plain(&run_list::fields(&row(run)))?;
        }
    }
    if runs.is_empty() {
        session.ui.note(&Line::of(
            format!("no runs in {} yet", shown(&data_dir)),
            Tone::Plain,
        ));
        session
            .ui
            .hint(&format!("record a first run: {}", session.command("demo")));
    } else if listed.len() < runs.len() {
        let count = format!(
            "{} of {}; ",
            listed.len(),
            text::counted(runs.len() as u64, "run")
        );
        session.ui.note(&Line::of(
            format!("{count}all of them: {}", session.command("list --all")),
            Tone::Muted,
        ));
    }
    Ok(Verdict::Done)
}

fn json(listed: &[&ListedRun], session: &mut Session) -> Result<(), CliError> {
    write_json(listed, session.ui.output()).map_err(|error| CliError::output(&error))?;
    let damaged: Vec<&&ListedRun> = listed.iter().filter(|run| run.meta.is_err()).collect();
    if let Some(first) = damaged.first() {
        let count = text::counted(damaged.len() as u64, "damaged run");
        session.ui.note(&Line::of(
            format!("{count} left out, having no metadata that can be read"),
            Tone::Warning,
        ));
        session.ui.hint(&format!(
            "tracer validate-trace {}",
            quoted(&first.directory.path)
        ));
    }
    Ok(())
}

fn write_json(listed: &[&ListedRun], output: &mut dyn Write) -> io::Result<()> {
    let mut document = Document::begin(output)?;
    document.list("runs", listed.iter().filter_map(|run| run.meta.as_ref().ok()))?;
    document.end()
}

fn table(
    listed: &[&ListedRun],
    id_length: usize,
    standings: &[Standing],
    place: &str,
    session: &mut Session,
) -> Result<(), CliError> {
    let width = session.ui.width();
    let rows: Vec<RunRow> = listed.iter().map(|run| row(run)).collect();
    let heading = run_list::heading(place, rows.len(), standings).fitted(width);
    session.ui.lines(&[heading])?;
    session.ui.lines(&run_list::table(&rows, id_length, now(), width))
}

fn row(run: &ListedRun) -> RunRow {
    let facts = match &run.meta {
        Ok(meta) => Ok(Facts {
            name: meta.run_name.clone(),
            started: meta.started_at.instant(),
            duration: duration(meta),
            counts: match meta.status {
                // The metadata of a run that goes on is older than its spans.
                RunStatus::Running => run
                    .directory
                    .salvage()
                    .map_or(meta.counts, |salvaged| read::count_records(&salvaged.records())),
                _ => meta.counts,
            },
        }),
        Err(problems) => Err(problems.first().map(ToString::to_string).unwrap_or_default()),
    };
    RunRow {
        id: run.directory.trace_id,
        standing: standing(run),
        facts,
    }
}
