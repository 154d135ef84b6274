//! `tracer prune --store`: removes runs of a team's bucket, and compacts its facts.

use tracer_bucket::{BucketPrunePlan, BucketPruner, BucketRemoval, PruneEvent, RetentionOptions};
use tracer_insight::line::{Line, Tone};
use tracer_insight::text;
use tracer_sdk::maintenance::PruneRules;

use super::preview::{PlanDecision, RemovalPreview, RemovalRow, removed_of};
use crate::error::CliError;
use crate::outcome::CommandOutcome;
use crate::runtime::{block_on, stop_signal};
use crate::session::Session;
use crate::team_bucket::{self, WaitDisplay};
use crate::terminal::run_list;

/// What is done, as a part of an error.
const ACTION: &str = "prune";

pub(super) fn run(
    url: &str,
    rules: &PruneRules,
    args: &super::Args,
    session: &mut Session,
) -> Result<CommandOutcome, CliError> {
    let bucket = team_bucket::open(url, ACTION)?;
    let url = bucket.url().clone();
    let failed = |error| team_bucket::failed(ACTION, &url, &error);
    let mut pruner = BucketPruner::new(bucket, RetentionOptions::default());
    let mut display = PruneDisplay {
        session,
        wait: WaitDisplay::default(),
        removed: 0,
    };
    let mut plan = BucketPrunePlan::default();
    if !rules.is_empty() {
        plan = block_on(pruner.plan(rules, &mut |event| display.show(event)))?.map_err(failed)?;
        if !is_wanted(&plan, args, display.session)? {
            return Ok(CommandOutcome::Done);
        }
    } else if args.dry_run {
        let line = format!("would compact the facts of the days that have passed in {url}");
        display.session.ui.lines(&[Line::of(line, Tone::Warning)])?;
        return Ok(CommandOutcome::Done);
    }
    let removed = block_on(pruner.apply(&plan, stop_signal(), &mut |event| display.show(event)))?;
    display.session.ui.clear_status();
    let removed = removed.map_err(failed)?;
    let ui = &mut display.session.ui;
    if !plan.removals.is_empty() {
        let removed = removed_of(removed.removed_runs, plan.runs, removed.removed_bytes);
        ui.done(format!("removed {removed}, from {url}"))?;
    }
    if removed.left_runs > 0 && !removed.is_stopped {
        let line = format!(
            "left {}: a baseline needs them now, a newer tracer wrote them, or they are not whole yet",
            text::counted(removed.left_runs, "run")
        );
        ui.warn(line);
    }
    if removed.is_stopped {
        let line = "stopped before everything was removed; the same rules find the rest";
        ui.warn(line);
        return Ok(CommandOutcome::CheckFailed);
    }
    let compacted = block_on(pruner.compact(stop_signal(), &mut |event| display.show(event)))?;
    display.session.ui.clear_status();
    let compacted = compacted.map_err(failed)?;
    let ui = &mut display.session.ui;
    if compacted.compacted_days + compacted.removed_objects > 0 {
        let line = format!(
            "facts: wrote {} anew, removed {} that others replace",
            text::counted(compacted.compacted_days, "day"),
            text::counted(compacted.removed_objects, "object")
        );
        ui.done(line)?;
    } else if plan.removals.is_empty() {
        ui.say("facts: nothing to compact");
    }
    Ok(CommandOutcome::Done)
}

/// Whether runs are to be removed, or the facts compacted where none are.
fn is_wanted(plan: &BucketPrunePlan, args: &super::Args, session: &mut Session) -> Result<bool, CliError> {
    if plan.needed_runs > 0 {
        let line = format!(
            "kept {} that baselines in the bucket need",
            text::counted(plan.needed_runs, "run")
        );
        session.ui.remark(line);
    }
    // The plan has the IDs of no other runs.
    let id_length = run_list::id_length(plan.removals.iter().map(|removal| removal.run));
    let removals = plan.removals.iter().map(removal_row);
    let preview = RemovalPreview::new(removals, plan.runs, plan.bytes(), id_length);
    Ok(
        match preview.decide("permanently, for the whole team", args, session)? {
            PlanDecision::Remove => true,
            PlanDecision::NothingToRemove => !args.dry_run,
            PlanDecision::Keep => false,
        },
    )
}

fn removal_row(removal: &BucketRemoval) -> RemovalRow<'_> {
    RemovalRow {
        run: removal.run,
        status: removal.status,
        bytes: removal.bytes,
        started: removal.started,
        name: removal.name.as_deref(),
    }
}

/// Shows what happens.
struct PruneDisplay<'a> {
    session: &'a mut Session,
    wait: WaitDisplay,
    removed: u64,
}

impl PruneDisplay<'_> {
    fn show(&mut self, event: PruneEvent) {
        let ui = &mut self.session.ui;
        match event {
            PruneEvent::Removed { runs } => {
                self.removed += runs;
                let removed = text::counted(self.removed, "run");
                ui.status(&Line::of(format!("{removed} removed"), Tone::Muted));
            }
            PruneEvent::Compacted { date } => {
                ui.status(&Line::of(format!("facts of {date} compacted"), Tone::Muted));
            }
            PruneEvent::Wait(event) => self.wait.show(event, ui),
            _ => {}
        }
    }
}
