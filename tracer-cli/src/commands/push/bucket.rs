//! `tracer push --to`: sends completed runs to a team's bucket.

use tracer_bucket::{BucketError, BucketUrl, OpenBucket, ShipEvent, ShipOptions, ShipSummary, Shipper};
use tracer_capture::push::{FollowedRuns, RetryPolicy};
use tracer_insight::line::{Line, Tone};
use tracer_insight::run_head::display_name;
use tracer_insight::text;
use tracer_insight::units;

use super::{STOPPED, WaitDisplay, not_ended, nothing_to_send, print_sent};
use crate::error::{CliError, with_causes};
use crate::outcome::CommandOutcome;
use crate::runtime::{block_on, stop_signal};
use crate::session::Session;
use crate::team_store;
use crate::terminal::run_list;

/// Runs that were not sent that are listed; the rest are counted.
const MAX_LISTED: usize = 20;

pub(super) fn run(url: &str, args: &super::Args, session: &mut Session) -> Result<CommandOutcome, CliError> {
    let url = team_store::url(url)?;
    let bucket = OpenBucket::open(&url).map_err(|error| failed(&url, &error, 0))?;
    if args.join {
        return join(&bucket, session);
    }
    let runs = super::selected(args, session)?;
    let settings = session.settings()?;
    let mut options = ShipOptions::default();
    options.again = args.again;
    if args.follow {
        options.retry = RetryPolicy::endless();
    }
    let mut shipper = Shipper::open(&settings, bucket, options).map_err(|error| failed(&url, &error, 0))?;
    if shipper.needs_confirmation() {
        if !args.yes && !super::confirmed(args, &runs, &url.to_string(), session)? {
            return Ok(CommandOutcome::Done);
        }
        shipper.confirm().map_err(|error| failed(&url, &error, 0))?;
    }
    if args.follow {
        let note = format!("sending runs that end to {url}; stop with Ctrl-C");
        session.ui.remark(note);
    }
    let mut display = ShipDisplay {
        session,
        lists_runs: args.follow,
        committed: 0,
        wait: WaitDisplay::new("the store"),
    };
    let outcome = block_on(async {
        let mut observe = |event| display.show(event);
        match &runs {
            FollowedRuns::These(runs) if !args.follow => {
                shipper.push(runs, stop_signal(), &mut observe).await
            }
            runs => shipper.follow(runs, stop_signal(), &mut observe).await,
        }
    })?;
    let committed = display.committed;
    session.ui.clear_status();
    let summary = outcome.map_err(|error| failed(&url, &error, committed))?;
    print_summary(args.follow, &summary, &url, session)
}

/// Joins the facts of past days.
fn join(bucket: &OpenBucket, session: &mut Session) -> Result<CommandOutcome, CliError> {
    let url = bucket.url();
    let mut wait = WaitDisplay::new("the store");
    let mut observe = |event| match event {
        ShipEvent::Waiting { reason, delay } => wait.begin(&reason, delay, &mut session.ui),
        ShipEvent::Resumed => wait.end(&mut session.ui),
        _ => {}
    };
    let summary = block_on(bucket.join_past_days(stop_signal(), &mut observe))?
        .map_err(|error| failed(url, &error, 0))?;
    if summary.days == 0 && !summary.is_stopped {
        session.ui.say(format!("nothing to join in {url}"));
        return Ok(CommandOutcome::Done);
    }
    let objects = text::counted(summary.joined_objects, "object");
    let days = text::counted(summary.days, "day");
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
struct ShipDisplay<'a> {
    session: &'a mut Session,
    /// Whether each run is listed when it is sent.
    lists_runs: bool,
    committed: u64,
    wait: WaitDisplay,
}

impl ShipDisplay<'_> {
    fn show(&mut self, event: ShipEvent) {
        let ui = &mut self.session.ui;
        match event {
            ShipEvent::Committed {
                run,
                name,
                generation,
                bytes,
            } => {
                self.committed += 1;
                if self.lists_runs {
                    let name = display_name(name.as_deref());
                    let change = if generation > 1 { "  changed" } else { "" };
                    let id = run_list::short_id(run, []);
                    let rest = format!("{id}  {name}  {}{change}", units::bytes(bytes));
                    // A closed output does not stop what is sent.
                    let _ = ui.done(rest).and_then(|()| ui.flush());
                } else {
                    let sent = text::counted(self.committed, "run");
                    ui.status(&Line::of(format!("{sent} sent"), Tone::Muted));
                }
            }
            ShipEvent::Waiting { reason, delay } => self.wait.begin(&reason, delay, ui),
            ShipEvent::Resumed => self.wait.end(ui),
            ShipEvent::NotSent(not_sent) if self.lists_runs => {
                let id = run_list::short_id(not_sent.run, []);
                ui.warn(format!("run {id} is not sent: {}", not_sent.reason));
            }
            _ => {}
        }
    }
}

fn print_summary(
    is_following: bool,
    summary: &ShipSummary,
    url: &BucketUrl,
    session: &mut Session,
) -> Result<CommandOutcome, CliError> {
    let ui = &mut session.ui;
    if summary.is_unredacted {
        ui.warn("redaction is off in the settings: runs are sent as they are recorded");
    } else if summary.redacted_values > 0 {
        let values = text::counted(summary.redacted_values, "secret");
        ui.warn(format!(
            "the check before sending redacted {values}; the files of this machine still have them"
        ));
    }
    if !is_following {
        for not_sent in summary.not_sent.iter().take(MAX_LISTED) {
            let id = run_list::short_id(not_sent.run, []);
            ui.warn(format!("run {id} is not sent: {}", not_sent.reason));
        }
        let hidden = summary.not_sent.len().saturating_sub(MAX_LISTED);
        if hidden > 0 {
            ui.warn(format!("… and {hidden} more"));
        }
        if summary.is_stopped {
            ui.warn(STOPPED);
        }
    }
    if summary.runs == 0 && !is_following {
        ui.say(nothing_to_send(summary.runs_sent_before, url));
    } else {
        let checked = if summary.is_unredacted {
            ""
        } else {
            ", checked for secrets"
        };
        let mut line = format!(
            "sent {} ({}{checked}) to {url}",
            text::counted(summary.runs, "run"),
            units::bytes(summary.bytes)
        );
        if summary.changed_runs > 0 {
            line = format!("{line}; {} had changed", summary.changed_runs);
        }
        if !summary.not_sent.is_empty() {
            line = format!("{line}; {} not sent", summary.not_sent.len());
        }
        print_sent(&line, summary.not_sent.is_empty(), ui)?;
    }
    if summary.open_runs > 0 && !is_following && !summary.is_stopped {
        let runs = not_ended(summary.open_runs);
        ui.warn(format!("{runs}: a bucket gets runs that have"));
        let follow = session.command(&format!("push --follow --to {url}"));
        let repair = session.command("repair");
        session.ui.hint(&format!("send them when they end: {follow}"));
        session
            .ui
            .hint(&format!("end those whose process died: {repair}"));
    }
    if !summary.not_sent.is_empty() || (summary.is_stopped && !is_following) {
        return Ok(CommandOutcome::CheckFailed);
    }
    Ok(CommandOutcome::Done)
}

fn failed(url: &BucketUrl, error: &BucketError, committed: u64) -> CliError {
    let before = (committed > 0).then(|| format!("{} sent before", text::counted(committed, "run")));
    CliError::input(format!("failed to push to {url}: {}", with_causes(error)))
        .with_hint(error.hint())
        .with_details(before)
}
