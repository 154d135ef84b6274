//! `tracer prune`: removes runs by age, count, size and status after a confirmation.

use tracer_sdk::format::Timestamp;
use tracer_sdk::maintenance::{self, Candidate, PruneRules};
use tracer_sdk::read::{Liveness, RunStore, RunSummary};

use super::{Verdict, confirmed, not_removed};
use crate::amounts;
use crate::error::CliError;
use crate::progress::Progress;
use crate::session::Session;
use crate::since::Since;
use crate::terminal::run_list;
use tracer_insight::line::{Line, Tone};
use tracer_insight::status::RunStatus;
use tracer_insight::units::now;
use tracer_insight::{step_summary, text, units};

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
    after_help = "A run that is, or may be, still recording is never removed; a damaged run only with --status damaged."
)]
pub struct Args {
    /// Remove runs that started more than AGE ago, or before a date [example: 30d or 2026-11-01]
    #[arg(long, value_name = "AGE")]
    older_than: Option<Since>,

    /// Remove the oldest runs until the store is at most SIZE [example: 2GB]
    #[arg(long, value_name = "SIZE", value_parser = amounts::size)]
    max_size: Option<u64>,

    /// Always keep the newest N runs; alone, remove all others
    #[arg(long, value_name = "N")]
    keep: Option<usize>,

    /// Remove only runs with this status [example: failed,interrupted]
    #[arg(long, value_delimiter = ',', value_name = "STATUS,…", value_parser = crate::value_parsers::status_parser(ENDED))]
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
pub fn run(args: &Args, session: &mut Session) -> Result<Verdict, CliError> {
    let rules = args.rules(now());
    if rules.is_empty() {
        return Err(CliError::input("no rule selects the runs to remove")
            .with_hint("give a rule: --older-than 30d, --keep 100, --max-size 2GB or --status failed")
            .with_hint("preview it with --dry-run"));
    }
    let store = RunStore::new(session.data_dir()?);
    let runs = store.list().map_err(|error| session.store_error(&error))?;
    RunSummary::check_all_logs(&runs);
    let looking = Progress::begin("reading", "run", Some(runs.len() as u64));
    let candidates: Vec<Candidate> = runs
        .iter()
        .map(|run| {
            looking.step();
            candidate(run)
        })
        .collect();
    looking.end(&mut session.ui);
    let chosen = maintenance::choose(&candidates, &rules);
    let going: Vec<(&RunSummary, &Candidate)> = chosen
        .iter()
        .filter_map(|&position| Some((runs.get(position)?, candidates.get(position)?)))
        .collect();
    let bytes = going
        .iter()
        .fold(0, |sum: u64, (_, candidate)| sum.saturating_add(candidate.bytes));
    let count = format!(
        "{} of {}, {}",
        going.len(),
        text::counted(runs.len() as u64, "run"),
        amounts::bytes(bytes)
    );
    if going.is_empty() {
        session
            .ui
            .note(&Line::of(format!("nothing to remove: {count}"), Tone::Plain));
        return Ok(Verdict::Done);
    }
    let ids = run_list::id_length(runs.iter().map(|run| run.directory.trace_id));
    let mut listed: Vec<Line> = going
        .iter()
        .take(MAX_LISTED_RUNS)
        .map(|(run, candidate)| told(run, candidate, ids))
        .collect();
    if let Some(hidden) = going
        .len()
        .checked_sub(MAX_LISTED_RUNS)
        .filter(|hidden| *hidden > 0)
    {
        listed.push(Line::of(format!("  … and {hidden} more"), Tone::Muted));
    }
    if args.dry_run {
        session.ui.lines(&listed)?;
        session
            .ui
            .lines(&[Line::of(format!("would remove {count}"), Tone::Warning)])?;
        return Ok(Verdict::Done);
    }
    if !args.yes && !confirmed(listed, &format!("remove {count} permanently?"), session)? {
        return Ok(Verdict::Done);
    }
    let removing = Progress::begin("removing", "run", Some(going.len() as u64));
    for (run, _) in &going {
        // It may have been taken up again since it was listed.
        if run.probe_liveness() != Liveness::Running {
            let id = run_list::short_id(run.directory.trace_id, []);
            maintenance::remove_run(&run.directory).map_err(|error| not_removed(&id, error))?;
            removing.step();
        }
    }
    removing.end(&mut session.ui);
    // What earlier removals left holds room and nothing else.
    maintenance::remove_leftovers(&store.runs_dir()).map_err(|error| CliError::input(error.to_string()))?;
    session
        .ui
        .lines(&[Line::of("✓ ", Tone::Good).with(format!("removed {count}"), Tone::Plain)])?;
    Ok(Verdict::Done)
}

fn candidate(run: &RunSummary) -> Candidate {
    Candidate {
        status: run.status(),
        may_be_live: run.may_be_live(),
        started: run.started(),
        bytes: maintenance::directory_bytes(&run.directory.path),
    }
}

fn told(run: &RunSummary, candidate: &Candidate, id_length: usize) -> Line {
    let id: String = run
        .directory
        .trace_id
        .to_string()
        .chars()
        .take(id_length)
        .collect();
    let name = run.meta.as_ref().ok().and_then(|meta| meta.run_name.as_deref());
    let started = run.started().map(units::moment).unwrap_or_default();
    let rest = format!(
        "{:11}  {:>8}  {started}  {}",
        candidate.status.as_str(),
        amounts::bytes(candidate.bytes),
        step_summary::word(name.unwrap_or("(unnamed)"))
    );
    Line::of(format!("  {id}  {rest}"), Tone::Plain)
}
