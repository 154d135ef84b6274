//! Runs on their way to a destination: confirmation, display, summary.

use std::error::Error;
use std::fmt::Display;
use std::time::Duration;

use tracer_capture::push::FollowedRuns;
use tracer_insight::line::{Line, Tone};
use tracer_insight::run_head::display_name;
use tracer_insight::{text, units};
use tracer_sdk::format::TraceId;

use super::Args;
use crate::error::{CliError, with_causes};
use crate::outcome::CommandOutcome;
use crate::session::Session;
use crate::terminal::run_list;

/// A push to one destination.
pub(super) struct RunPush<'a> {
    pub(super) session: &'a mut Session,
    pub(super) args: &'a Args,
    destination: String,
    /// Noun of the counted items: `span`, `run`.
    item: &'static str,
    sent: u64,
    is_waiting: bool,
}

/// Outcome of a push.
pub(super) struct PushEnd {
    /// The sent runs in words; `None` when nothing was sent.
    pub(super) sent: Option<String>,
    pub(super) runs_sent_before: u64,
    /// Everything was accepted.
    pub(super) is_whole: bool,
    pub(super) is_stopped: bool,
    pub(super) open_runs: u64,
    /// The fate of runs that have not ended.
    pub(super) of_open_runs: &'static str,
    /// The next steps for them: what, and the arguments of `tracer`.
    pub(super) next: Vec<(&'static str, String)>,
}

impl<'a> RunPush<'a> {
    pub(super) fn new(
        args: &'a Args,
        destination: &impl Display,
        item: &'static str,
        session: &'a mut Session,
    ) -> Self {
        Self {
            session,
            args,
            destination: destination.to_string(),
            item,
            sent: 0,
            is_waiting: false,
        }
    }

    /// Asks if the runs may leave this machine for `host`.
    pub(super) fn may_send(&mut self, runs: &FollowedRuns, host: &str) -> Result<bool, CliError> {
        if self.args.yes {
            return Ok(true);
        }
        if !self.session.ui.can_ask() {
            return Err(CliError::input(format!(
                "sending runs to {host} needs a confirmation, and there is no terminal to ask on"
            ))
            .with_hint("confirm with --yes; it is remembered"));
        }
        let what = match runs {
            FollowedRuns::These(runs) => text::counted(runs.len() as u64, "run"),
            _ => "all runs, now and later,".to_owned(),
        };
        let content = if self.args.no_content {
            "without their messages"
        } else {
            "with their messages, arguments and results"
        };
        let question = format!("send {what} {content} to {host}? It is asked once.");
        self.session.ui.ask(&question)
    }

    /// Announces a push that lasts until Ctrl-C.
    pub(super) fn announce(&mut self, what: &str) {
        if self.args.follow {
            let note = format!("{what} to {}; stop with Ctrl-C", self.destination);
            self.session.ui.remark(note);
        }
    }

    /// Counts sent items.
    pub(super) fn count(&mut self, items: u64) {
        self.sent += items;
        let sent = format!("{} sent", text::counted(self.sent, self.item));
        self.session.ui.status(&Line::of(sent, Tone::Muted));
    }

    /// Lists a run when all of it is sent, where runs are followed.
    pub(super) fn list(&mut self, run: TraceId, name: Option<&str>, details: &str) {
        if self.args.follow {
            let id = run_list::short_id(run, []);
            let row = format!("{id}  {}  {details}", display_name(name));
            let ui = &mut self.session.ui;
            // A closed output does not stop what is sent.
            let _ = ui.done(row).and_then(|()| ui.flush());
        }
    }

    /// Waits for the destination: one line for an outage, however long it takes.
    pub(super) fn wait(&mut self, reason: &str, delay: Duration) {
        if !std::mem::replace(&mut self.is_waiting, true) {
            let micros = u64::try_from(delay.as_micros()).unwrap_or(u64::MAX);
            let delay = units::duration(micros);
            self.session.ui.warn(format!("{reason}; trying again in {delay}"));
        }
    }

    /// Ends a wait.
    pub(super) fn resume(&mut self) {
        if std::mem::take(&mut self.is_waiting) {
            let note = format!("{} answers again", self.destination);
            self.session.ui.remark(note);
        }
    }

    /// The error of a push, with what was sent before it.
    pub(super) fn failed(&mut self, error: &dyn Error, hint: &str) -> CliError {
        self.session.ui.clear_status();
        let sent = text::counted(self.sent, self.item);
        let before = (self.sent > 0).then(|| format!("{sent} sent before"));
        let to = &self.destination;
        CliError::input(format!("failed to push to {to}: {}", with_causes(error)))
            .with_details(before)
            .with_hint(hint)
    }

    /// Prints the summary.
    pub(super) fn end(self, sent: PushEnd) -> Result<CommandOutcome, CliError> {
        let is_once = !self.args.follow;
        let ui = &mut self.session.ui;
        ui.clear_status();
        if sent.is_stopped && is_once {
            ui.warn("stopped before everything was sent; push again to continue");
        }
        match sent.sent {
            Some(line) if sent.is_whole => ui.done(line)?,
            Some(line) => ui.lines(&[Line::of("✗ ", Tone::Bad).with(line, Tone::Plain)])?,
            None if sent.runs_sent_before == 0 => ui.say("nothing to send"),
            None => {
                let before = text::counted(sent.runs_sent_before, "run");
                ui.say(format!(
                    "nothing to send: {before} sent to {} before",
                    self.destination
                ));
                ui.hint("send them again with --again");
            }
        }
        if sent.open_runs > 0 && is_once && !sent.is_stopped {
            let verb = if sent.open_runs == 1 { "has" } else { "have" };
            let runs = text::counted(sent.open_runs, "run");
            ui.warn(format!("{runs} {verb} not ended: {}", sent.of_open_runs));
            for (what, arguments) in &sent.next {
                let command = self.session.command(arguments);
                self.session.ui.hint(&format!("{what}: {command}"));
            }
        }
        Ok(if sent.is_whole {
            CommandOutcome::Done
        } else {
            CommandOutcome::CheckFailed
        })
    }
}
