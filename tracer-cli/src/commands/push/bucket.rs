//! `tracer push` to a team's bucket.

use tracer_bucket::{NotSent, OpenBucket, ShipEvent, ShipOptions, Shipper};
use tracer_capture::push::{FollowedRuns, RetryPolicy};
use tracer_insight::text::counted;
use tracer_insight::units;

use super::sending::{PushEnd, RunPush};
use crate::error::CliError;
use crate::outcome::CommandOutcome;
use crate::runtime::{block_on, stop_signal};
use crate::session::Session;
use crate::team_store;
use crate::terminal::run_list;
use crate::ui::Ui;

/// Runs that were not sent that are listed; the rest are counted.
const MAX_LISTED: usize = 20;

pub(super) fn run(url: &str, args: &super::Args, session: &mut Session) -> Result<CommandOutcome, CliError> {
    let url = team_store::url(url)?;
    let runs = super::selected(args, session)?;
    let settings = session.settings()?;
    let mut options = ShipOptions::default();
    options.again = args.again;
    if args.follow {
        options.retry = RetryPolicy::endless();
    }
    let mut sending = RunPush::new(args, &url, "run", session);
    let mut shipper = OpenBucket::open(&url)
        .and_then(|bucket| Shipper::open(&settings, bucket, options))
        .map_err(|error| sending.failed(&error, error.hint()))?;
    if shipper.needs_confirmation() {
        if !sending.may_send(&runs, &url.to_string())? {
            return Ok(CommandOutcome::Done);
        }
        shipper
            .confirm()
            .map_err(|error| sending.failed(&error, error.hint()))?;
    }
    sending.announce("sending runs that end");
    let outcome = block_on(async {
        let mut observe = |event| show(&mut sending, event);
        match &runs {
            FollowedRuns::These(runs) if !args.follow => {
                shipper.push(runs, stop_signal(), &mut observe).await
            }
            runs => shipper.follow(runs, stop_signal(), &mut observe).await,
        }
    })?;
    let summary = outcome.map_err(|error| sending.failed(&error, error.hint()))?;
    let ui = &mut sending.session.ui;
    ui.clear_status();
    if summary.is_unredacted {
        ui.warn("redaction is off in the settings: runs are sent as they are recorded");
    } else if summary.redacted_values > 0 {
        let values = counted(summary.redacted_values, "secret");
        ui.warn(format!(
            "the check before sending redacted {values}; the files of this machine still have them"
        ));
    }
    if !args.follow {
        let (listed, hidden) = summary.not_sent.split_at(summary.not_sent.len().min(MAX_LISTED));
        for not_sent in listed {
            warn_not_sent(not_sent, ui);
        }
        if !hidden.is_empty() {
            ui.warn(format!("… and {} more", hidden.len()));
        }
    }
    let (runs, bytes) = (counted(summary.runs, "run"), units::bytes(summary.bytes));
    let checked = if summary.is_unredacted {
        ""
    } else {
        ", checked for secrets"
    };
    let mut sent = format!("sent {runs} ({bytes}{checked}) to {url}");
    for (number, what) in [
        (summary.changed_runs, "had changed"),
        (summary.not_sent.len() as u64, "not sent"),
    ] {
        if number > 0 {
            sent = format!("{sent}; {number} {what}");
        }
    }
    sending.end(PushEnd {
        sent: Some(sent).filter(|_| summary.runs > 0 || args.follow),
        runs_sent_before: summary.runs_sent_before,
        is_whole: summary.not_sent.is_empty() && (args.follow || !summary.is_stopped),
        is_stopped: summary.is_stopped,
        open_runs: summary.open_runs,
        of_open_runs: "a bucket gets runs that have",
        next: vec![
            ("send them when they end", format!("push --follow --to {url}")),
            ("end those whose process died", "repair".to_owned()),
        ],
    })
}

/// Joins the facts of past days.
pub(super) fn join(url: &str, args: &super::Args, session: &mut Session) -> Result<CommandOutcome, CliError> {
    let url = team_store::url(url)?;
    let mut sending = RunPush::new(args, &url, "run", session);
    let bucket = OpenBucket::open(&url).map_err(|error| sending.failed(&error, error.hint()))?;
    let joined = block_on(bucket.join_past_days(stop_signal(), &mut |event| show(&mut sending, event)))?;
    let summary = joined.map_err(|error| sending.failed(&error, error.hint()))?;
    if summary.days == 0 && !summary.is_stopped {
        session.ui.say(format!("nothing to join in {url}"));
        return Ok(CommandOutcome::Done);
    }
    let objects = counted(summary.joined_objects, "object");
    let days = counted(summary.days, "day");
    session
        .ui
        .done(format!("joined {objects} of facts of {days} in {url}"))?;
    if summary.is_stopped {
        session
            .ui
            .warn("stopped before every day was joined; the next one continues");
        return Ok(CommandOutcome::CheckFailed);
    }
    Ok(CommandOutcome::Done)
}

/// Shows what happens.
fn show(sending: &mut RunPush<'_>, event: ShipEvent) {
    match event {
        ShipEvent::Committed {
            run,
            name,
            generation,
            bytes,
        } => {
            let change = if generation > 1 { "  changed" } else { "" };
            let details = format!("{}{change}", units::bytes(bytes));
            sending.count(1);
            sending.list(run, name.as_deref(), &details);
        }
        ShipEvent::Waiting { reason, delay } => sending.wait(&reason, delay),
        ShipEvent::Resumed => sending.resume(),
        ShipEvent::NotSent(not_sent) if sending.args.follow => {
            warn_not_sent(&not_sent, &mut sending.session.ui);
        }
        _ => {}
    }
}

fn warn_not_sent(not_sent: &NotSent, ui: &mut Ui) {
    let id = run_list::short_id(not_sent.run, []);
    ui.warn(format!("run {id} is not sent: {}", not_sent.reason));
}
