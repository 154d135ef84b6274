//! `tracer prune`: removes runs by age, count, size and status after a confirmation.

mod bucket;
mod preview;

use tracer_facts::FactsStore;
use tracer_sdk::format::{Timestamp, TraceId};
use tracer_sdk::maintenance::{PlannedRemoval, PrunePlan, PruneRules};
use tracer_sdk::read::RunStore;

use self::preview::{PlanDecision, RemovalPreview, RemovalRow, removed_of};
use super::not_removed;
use crate::error::CliError;
use crate::outcome::CommandOutcome;
use crate::progress::Progress;
use crate::session::Session;
use crate::terminal::run_list;
use crate::value_parsers::{self, Since};
use tracer_insight::status::RunStatus;
use tracer_insight::units::now;

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
    after_help = "Example: tracer prune --older-than 30d --keep 100 --dry-run\n         tracer prune --store s3://team/agents --older-than 90d\n\nA run that is, or may be, still recording is never removed; a damaged run only with --status damaged."
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

    /// Remove runs of the team's bucket at URL instead, for everybody [example: s3://team/agents]
    ///
    /// Runs that a baseline in the bucket names stay. The facts of days that have passed are compacted, too. Credentials come
    /// from the environment and the files that your cloud's own tools use.
    #[arg(long, value_name = "URL")]
    store: Option<String>,

    /// Compact the facts of the bucket, and without a rule remove no run
    #[arg(long, requires = "store")]
    compact: bool,

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
    if rules.is_empty() && !args.compact {
        return Err(CliError::input("no rule selects the runs to remove")
            .with_hint("give a rule: --older-than 30d, --keep 100, --max-size 2GB or --status failed")
            .with_hint("preview it with --dry-run"));
    }
    if let Some(url) = &args.store {
        return bucket::run(url, &rules, args, session);
    }
    let store = RunStore::new(session.data_dir()?);
    let runs = store.list().map_err(|error| session.store_error(&error))?;
    let reading = Progress::begin("reading", "run", Some(runs.len() as u64));
    let plan = PrunePlan::compute(&runs, &rules, || reading.step());
    reading.end(&mut session.ui);
    let all_runs = runs.len() as u64;
    let id_length = run_list::id_length(runs.iter().map(|run| run.directory.trace_id));
    let removals = plan.removals.iter().map(removal_row);
    let preview = RemovalPreview::new(removals, all_runs, plan.bytes(), id_length);
    if preview.decide("permanently", args, session)? != PlanDecision::Remove {
        return Ok(CommandOutcome::Done);
    }
    let removing = Progress::begin("removing", "run", Some(plan.removals.len() as u64));
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

fn removal_row(removal: &PlannedRemoval) -> RemovalRow<'_> {
    let run = &removal.run;
    let name = run.meta.as_ref().ok().and_then(|meta| meta.run_name.as_deref());
    RemovalRow {
        run: run.directory.trace_id,
        status: removal.status,
        bytes: removal.bytes,
        started: run.started(),
        name,
    }
}
