//! `tracer prune`: removes runs by age, count, size and status after a confirmation.

use tracer_catalog::FactsStore;
use tracer_insight::line::{Line, Tone};
use tracer_insight::run_head::display_name;
use tracer_insight::status::RunStatus;
use tracer_insight::text;
use tracer_insight::units::{self, now};
use tracer_runs::RunStore;
use tracer_runs::maintenance::{PlannedRemoval, PrunePlan, PruneRules};
use tracer_sdk::format::{Timestamp, TraceId};

use super::not_removed;
use crate::error::CliError;
use crate::outcome::CommandOutcome;
use crate::progress::Progress;
use crate::session::Session;
use crate::terminal::run_list;
use crate::value_parsers::{self, Since};

/// Runs listed before the confirmation; the rest are counted.
const MAX_LISTED_RUNS: usize = 20;

/// The statuses of runs that can be removed.
const ENDED: [RunStatus; 5] = [
    RunStatus::Interrupted,
    RunStatus::Failed,
    RunStatus::Looped,
    RunStatus::Ok,
    RunStatus::Damaged,
];

/// Options of `tracer prune`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example: tracer prune --older-than 30d --keep 100 --dry-run\n\nA run that is, or may be, still recording is never removed; a damaged run only with --status damaged."
)]
pub struct Args {
    /// Remove runs that started before WHEN, an age or a date [example: 30d or 2026-11-01]
    #[arg(long, value_name = "WHEN")]
    older_than: Option<Since>,

    /// Remove the oldest runs until the store is at most SIZE [example: 2GB]
    #[arg(long, value_name = "SIZE", value_parser = value_parsers::parse_size)]
    max_size: Option<u64>,

    /// Always keep the newest N runs, with --status the newest N of those; alone, remove all others
    #[arg(long, value_name = "N")]
    keep: Option<usize>,

    /// Remove only runs with this status [example: failed,interrupted]
    #[arg(long, value_delimiter = ',', value_name = "STATUS,…", value_parser = value_parsers::status_parser(ENDED))]
    status: Vec<RunStatus>,

    /// Print what would be removed, and remove nothing
    #[arg(long)]
    dry_run: bool,

    /// Remove without asking
    #[arg(long, short)]
    yes: bool,
}

impl Args {
    fn rules(&self, now: Timestamp) -> PruneRules {
        PruneRules {
            statuses: self.status.clone(),
            keep: self.keep,
            before: self.older_than.map(|since| since.instant(now)),
            max_bytes: self.max_size,
        }
    }
}

/// Prunes the store.
pub fn run(args: &Args, session: &mut Session) -> Result<CommandOutcome, CliError> {
    let rules = args.rules(now());
    if rules.is_empty() {
        return Err(CliError::input("no rule selects the runs to remove")
            .with_hint("give a rule: --older-than 30d, --keep 100, --max-size 2GB or --status failed")
            .with_hint("preview it with --dry-run"));
    }
    let store = RunStore::new(session.data_dir()?);
    let runs = store.list().map_err(|error| session.store_error(&error))?;
    let reading = Progress::begin(&session.ui, "reading", "run", Some(runs.len() as u64));
    let plan = PrunePlan::compute(&runs, &rules, || reading.step());
    reading.end(&mut session.ui);
    let all_runs = runs.len() as u64;
    let planned = removed_of(plan.removals.len() as u64, all_runs, plan.bytes());
    if plan.removals.is_empty() {
        session.ui.say(format!("nothing to remove: {planned}"));
        return Ok(CommandOutcome::Done);
    }
    let rows = rows(
        &plan,
        run_list::id_length(runs.iter().map(|run| run.directory.trace_id)),
    );
    if args.dry_run {
        session.ui.lines(&rows)?;
        let line = format!("would remove {planned}");
        session.ui.lines(&[Line::of(line, Tone::Warning)])?;
        return Ok(CommandOutcome::Done);
    }
    let question = format!("remove {planned} permanently?");
    if !args.yes
        && !session
            .ui
            .confirm("removing runs", "confirm with --yes", rows, &question)?
    {
        return Ok(CommandOutcome::Done);
    }
    let removing = Progress::begin(&session.ui, "removing", "run", Some(plan.removals.len() as u64));
    let result = plan
        .apply(&store, || removing.step())
        .map_err(|error| match &error.run {
            Some(run) => not_removed(&run_list::short_id(run.trace_id, []), error.source),
            None => CliError::input("failed to clean up the store").with_source(error.source),
        })?;
    removing.end(&mut session.ui);
    let removed: Vec<TraceId> = plan
        .removals
        .iter()
        .map(|removal| removal.run.directory.trace_id)
        .collect();
    FactsStore::new(store.data_dir()).forget(&removed);
    let removed = removed_of(result.removed_runs as u64, all_runs, result.removed_bytes);
    session.ui.done(format!("removed {removed}"))?;
    Ok(CommandOutcome::Done)
}

/// The runs to remove, as they are shown before.
fn rows(plan: &PrunePlan, id_length: usize) -> Vec<Line> {
    let listed = plan.removals.iter().take(MAX_LISTED_RUNS);
    let mut rows: Vec<Line> = listed.map(|removal| row(removal, id_length)).collect();
    let hidden = plan.removals.len() - rows.len();
    if hidden > 0 {
        rows.push(Line::of(format!("  … and {hidden} more"), Tone::Muted));
    }
    rows
}

fn row(removal: &PlannedRemoval, id_length: usize) -> Line {
    let run = &removal.run;
    let id: String = run
        .directory
        .trace_id
        .to_string()
        .chars()
        .take(id_length)
        .collect();
    let name = run.meta.as_ref().ok().and_then(|meta| meta.run_name.as_deref());
    let rest = format!(
        "{:11}  {:>8}  {}  {}",
        removal.status.as_str(),
        units::bytes(removal.bytes),
        run.started().map(units::moment).unwrap_or_default(),
        display_name(name)
    );
    Line::of(format!("  {id}  {rest}"), Tone::Plain)
}

/// Share of runs, and their size: "2 of 5 runs, 1.2 MB".
fn removed_of(removed: u64, all_runs: u64, bytes: u64) -> String {
    let runs = text::counted(all_runs, "run");
    format!("{removed} of {runs}, {}", units::bytes(bytes))
}
