//! `tracer list`: lists the runs, newest first.

use std::fs;
use std::io::{self, Write};

use tracer_catalog::{FactsStore, ListedRun, PlaceInThread, RunCensus, RunColumn, RunOrder, RunThreads};
use tracer_runs::{RunStore, RunSummary};
use tracer_sdk::format::SPANS_FILE;

use crate::commands::run_selection::{AllRuns, QueryArgs};
use crate::error::CliError;
use crate::outcome::CommandOutcome;
use crate::session::Session;
use crate::terminal::run_list;
use crate::terminal::run_list::TableRun;
use crate::value_parsers::{Sorting, parse_limit, parse_sorting};
use tracer_insight::json::Document;
use tracer_insight::not_run;
use tracer_insight::run_entry::DamagedRun;
#[cfg(test)]
use tracer_insight::run_entry::RunEntry;
use tracer_insight::run_steps::RunSteps;
use tracer_insight::status::RunStatus;
use tracer_insight::text;
use tracer_insight::text::{path_below_home as shown, shell_quoted};
use tracer_insight::units::now;

/// Options of `tracer list`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: tracer list status:failed,loop since:7d")]
pub struct Args {
    #[command(flatten)]
    query: QueryArgs,

    /// List at most N runs, or all
    #[arg(long, value_name = "N", default_value = "20", value_parser = parse_limit)]
    limit: usize,

    /// Sort by started, duration, steps, tokens, cost, llm_calls, tool_calls, errors, loop_warnings, failures, retries, name,
    /// model, tool, status, id or origin
    ///
    /// Numbers are sorted from the largest to the smallest, and a `-` before FIELD reverses that; runs whose number is not
    /// known come last. `model` and `tool` are those with the most calls in a run.
    #[arg(
        long,
        value_name = "FIELD",
        default_value = RunColumn::Started.as_str(),
        value_parser = parse_sorting(RunColumn::from_word, RunColumn::ALL.map(RunColumn::as_str)),
        allow_hyphen_values = true
    )]
    sort: Sorting<RunColumn>,

    /// Also list the trials of gates
    #[arg(long)]
    trials: bool,
}

/// Lists the runs.
pub fn run(args: &Args, session: &mut Session) -> Result<CommandOutcome, CliError> {
    let query = args.query.parse()?;
    let data_dir = session.data_dir()?;
    let (all, survey) = AllRuns::open(session)?;
    let is_for_people = session.ui.is_terminal() && !session.is_json();
    let is_early = is_for_people
        && session.store().is_none()
        && args.is_of_newest()
        && args.limit != usize::MAX
        && survey.unread().1 > SLOW_BYTES;
    if is_early {
        newest_page(args, &data_dir, session)?;
    }
    let is_table = is_for_people && !is_early;
    let order = RunOrder {
        column: args.sort.by,
        is_reversed: args.sort.is_reversed,
        ..RunOrder::default()
    };
    let found = all.ask(survey, session, |runs, session| {
        let selection = all.select(&runs, &query, args.trials, session)?;
        let listed = runs.page(&selection, order, 0, args.limit)?;
        let threads = if is_table {
            runs.threads(&listed, args.trials)?
        } else {
            RunThreads::default()
        };
        Ok((
            listed,
            threads,
            runs.count(&selection)?,
            runs.census(args.trials)?,
        ))
    });
    // The database is closed: the reader of the output may take long, and until then no process could synchronize the bucket.
    let (listed, threads, passing, census) = found?;
    if session.is_json() {
        json(&listed, &all.store, session)?;
    } else if is_for_people {
        if !census.ids.is_empty() {
            let place = match session.store() {
                None => shown(&data_dir.join(tracer_sdk::format::RUNS_FOLDER)),
                Some(_) => session.place(&data_dir),
            };
            let heading = run_list::heading(&place, listed.len(), &census.statuses, session.ui.width());
            session.ui.lines(&heading)?;
            // Early ones are above already.
            if is_table {
                table(&listed, &threads, &census, args.sort.by, &all.store, session)?;
            }
        }
    } else {
        let origin = session.store().map(|_| RunColumn::Origin);
        let columns: Vec<RunColumn> = RunColumn::OF_LINE.into_iter().chain(origin).collect();
        session.ui.plain(&run_list::fields(&columns, RunColumn::key))?;
        for run in &listed {
            session
                .ui
                .plain(&run_list::fields(&columns, |column| column.field(run)))?;
        }
    }
    if !session.is_json() {
        print_remarks(&listed, &census, session);
    }
    let trials = census.hidden_trials;
    if trials == 0 || !census.ids.is_empty() {
        let place = session.place(&data_dir);
        print_omissions(args, census.ids.len(), passing, listed.len(), &place, session);
    }
    if trials > 0 {
        let count = text::counted(trials as u64, "run");
        let with_them = session.command(&format!(
            "list{} --trials{}",
            filters(args),
            args.query.as_last_arguments()
        ));
        let note = format!("{count} from gate trials hidden; list them: {with_them}");
        session.ui.remark(note);
    }
    Ok(CommandOutcome::Done)
}

impl Args {
    /// Whether the newest runs are those that are listed.
    fn is_of_newest(&self) -> bool {
        let is_default = self.sort.by == RunColumn::Started && !self.sort.is_reversed;
        is_default && self.query.text().is_empty()
    }
}

/// Logs that have to be read for longer than anybody waits without seeing anything.
const SLOW_BYTES: u64 = 256 * 1024 * 1024;

/// Prints the newest runs before all are read: a store is read whole once, the first time.
fn newest_page(args: &Args, data_dir: &std::path::Path, session: &mut Session) -> Result<(), CliError> {
    let newest = RunStore::new(data_dir)
        .list()
        .map_err(|error| session.store_error(&error))?;
    let newest = newest
        .into_iter()
        .filter(|run| args.trials || !run.meta.as_ref().is_ok_and(|meta| meta.gate().is_some()));
    let newest: Vec<RunSummary> = newest.take(args.limit).collect();
    let newest: Vec<ListedRun> = newest.iter().map(ListedRun::of_summary).collect();
    let row = |run| TableRun {
        run,
        thread: None,
        not_run_calls: 0,
    };
    let rows: Vec<TableRun<'_>> = newest.iter().map(row).collect();
    let width = session.ui.width();
    let id_length = run_list::id_length(newest.iter().map(|run| run.directory.trace_id));
    let columns = run_list::columns(args.sort.by, false);
    let lines = run_list::table(&rows, &columns, id_length, now(), width);
    session.ui.lines(&lines)?;
    session.ui.flush()
}

/// Listed runs whose remarks are printed, the newest first.
const MAX_REMARKED: usize = 8;

/// Prints to standard error which runs are incomplete, and which went on after their end.
fn print_remarks(listed: &[ListedRun], census: &RunCensus, session: &mut Session) {
    let remarked = listed.iter().filter(|run| !run.row.remarks.is_empty());
    let mut remarked = remarked.take(MAX_REMARKED).peekable();
    if remarked.peek().is_none() {
        return;
    }
    let id_length = run_list::id_length(census.ids.iter().copied());
    for run in remarked {
        let id = run.directory.trace_id.to_string();
        let id = id.get(..id_length).unwrap_or(&id);
        let line = format!("{id}: {}", text::one_line(&run.row.remarks.join("; "), 400));
        session.ui.warn(line);
    }
}

/// Prints to standard error what is not listed, and how to list it.
fn print_omissions(
    args: &Args,
    all: usize,
    passing: usize,
    listed: usize,
    data_dir: &str,
    session: &mut Session,
) {
    if all == 0 {
        session.ui.say(format!("no runs in {data_dir} yet"));
        session
            .ui
            .hint(&format!("record a first run: {}", session.command("demo")));
    } else if passing == 0 {
        session.ui.say(format!("no runs match ({all} recorded)"));
        let query = args.query.text();
        // What a field does not hold may be anywhere in the texts.
        let sought = query.rsplit([' ', ':', '~', '=']).next().unwrap_or_default();
        if sought.len() < query.len() && !sought.is_empty() {
            let search = session.command(&format!("search {}", shell_quoted(sought)));
            session.ui.hint(&format!("search all texts: {search}"));
        }
        session
            .ui
            .hint(&format!("list all runs: {}", session.command("list --limit all")));
    } else if listed < passing {
        let matching = if passing < all { "matching " } else { "" };
        let count = text::counted(passing as u64, &format!("{matching}run"));
        let all = session.command(&format!(
            "list{} --limit all{}",
            filters(args),
            args.query.as_last_arguments()
        ));
        let note = format!("{listed} of {count}; list all: {all}");
        session.ui.remark(note);
    }
}

/// The given options, each after a space.
fn filters(args: &Args) -> String {
    let is_default = args.sort.by == RunColumn::Started && !args.sort.is_reversed;
    let sort = (!is_default).then(|| format!(" --sort {}", args.sort.word(RunColumn::as_str)));
    let trials = args.trials.then(|| " --trials".to_owned());
    sort.into_iter().chain(trials).collect()
}

fn json(listed: &[ListedRun], store: &FactsStore, session: &mut Session) -> Result<(), CliError> {
    // The metadata itself is in the files alone.
    let summaries = store.summaries(listed.iter().map(|run| run.directory.clone()));
    let listed: Vec<(RunSummary, &ListedRun)> = summaries.into_iter().zip(listed).collect();
    write_json(&listed, store, session.ui.output()).map_err(CliError::output)
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

fn write_json(
    listed: &[(RunSummary, &ListedRun)],
    store: &FactsStore,
    output: &mut dyn Write,
) -> io::Result<()> {
    let mut document = Document::begin(output)?;
    let entries = listed.iter().filter_map(|(summary, run)| {
        let origin = run.origin().unwrap_or(RunColumn::THIS_MACHINE);
        run.entry(summary, store.team().map(|_| origin))
    });
    document.list("runs", entries)?;
    document.list(
        "damaged",
        listed.iter().filter_map(|(run, _)| DamagedRun::of(run)),
    )?;
    document.end()
}

fn table(
    listed: &[ListedRun],
    threads: &RunThreads,
    census: &RunCensus,
    sort: RunColumn,
    store: &FactsStore,
    session: &mut Session,
) -> Result<(), CliError> {
    let now = now();
    let width = session.ui.width();
    let id_length = run_list::id_length(census.ids.iter().copied());
    let rows = rows(listed, threads, store);
    if !rows.is_empty() {
        let columns = run_list::columns(sort, store.team().is_some());
        let lines = run_list::table(&rows, &columns, id_length, now, width);
        session.ui.lines(&lines)?;
    }
    Ok(())
}

fn rows<'a>(listed: &'a [ListedRun], threads: &RunThreads, store: &FactsStore) -> Vec<TableRun<'a>> {
    let row = |(at, run)| TableRun {
        run,
        thread: threads.place(run).as_ref().map(thread_words),
        not_run_calls: if at < MAX_READ_ROWS {
            not_run_calls(run, store)
        } else {
            0
        },
    };
    listed.iter().enumerate().map(row).collect()
}

/// Rows whose runs are read whole for their calls that never ran.
const MAX_READ_ROWS: usize = 100;

/// Number of calls of a run of this machine that ended ok which were asked for and never ran.
fn not_run_calls(run: &ListedRun, store: &FactsStore) -> u64 {
    let may_have = run.status == RunStatus::Ok && run.row.llm_calls > 0 && run.origin().is_none();
    let steps = usize::try_from(run.row.steps).unwrap_or(usize::MAX);
    let log_bytes = || fs::metadata(run.directory.path.join(SPANS_FILE)).map_or(0, |log| log.len());
    if !may_have || !not_run::is_short(steps, log_bytes()) {
        return 0;
    }
    let steps = RunSteps::open(run.directory.clone(), store.prices().clone());
    steps.totals().not_run_calls
}

/// The place of a run in its thread: `2/3 in chat-1`.
fn thread_words(place: &PlaceInThread<'_>) -> String {
    format!("{}/{} in {}", place.number, place.count, place.thread)
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tracer_sdk::{Config, Run, llm_call, tool_call};

    use super::*;

    #[test]
    fn a_run_with_calls_that_never_ran_is_marked_and_has_the_steps_that_are_shown() {
        let folder = tempfile::tempdir().unwrap();
        let run = Run::new("open")
            .config(&Config::new().data_dir(folder.path()))
            .start();
        let left = run.context().unwrap().in_scope(|| {
            let call = json!({"id": "1", "function": {"name": "read", "arguments": "{\"path\": "}});
            let answer = json!({"role": "assistant", "tool_calls": [call]});
            llm_call("gpt-5").prompt("Go").response(&answer).record().unwrap();
            let answered = json!([{"role": "tool", "tool_call_id": "1", "content": "invalid JSON"}]);
            llm_call("gpt-5")
                .prompt(&answered)
                .response("Sorry")
                .record()
                .unwrap();
            tool_call("write").start().unwrap()
        });
        run.finish();
        let store = FactsStore::new(folder.path());
        let listed = FactsStore::read(store.runs().list_directories().unwrap());
        let rows = rows(&listed, &RunThreads::default(), &store);
        let columns = run_list::columns(RunColumn::Steps, false);
        let lines = run_list::table(&rows, &columns, 8, now(), 160);
        let line = lines[1].text();
        assert!(line.contains("open  1 call not run"), "{line}");
        let shown = RunSteps::open(listed[0].directory.clone(), store.prices().clone());
        assert_eq!((shown.totals().steps, shown.totals().not_run_calls), (3, 1));
        assert_eq!(listed[0].row.steps, 3);
        drop(left);
    }
}
