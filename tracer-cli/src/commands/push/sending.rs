//! Runs on their way to a destination: confirmation, display, summary.

use std::fmt::Display;
use std::path::Path;
use std::time::Duration;

use tracer_insight::line::{Line, Tone};
use tracer_insight::run_head::display_name;
use tracer_insight::text::counted;
use tracer_insight::units;
use tracer_ship::{
    Destination, NotSent, RetryPolicy, RunSelection, ShipError, ShipEvent, ShipOptions, ShipSummary, Shipper,
};

use super::Args;
use crate::error::{CliError, with_causes};
use crate::outcome::CommandOutcome;
use crate::runtime::{block_on, stop_signal};
use crate::session::Session;
use crate::terminal::run_list;

/// Unsent runs that are listed; the rest are counted.
const MAX_LISTED: usize = 20;

/// Words of a destination's summary.
pub(super) struct SummaryWords<'a> {
    /// The sent runs; `None` when nothing was sent.
    pub(super) sent: Option<String>,
    /// Fate of runs that have not ended.
    pub(super) open_runs: &'a str,
    /// The next steps for them: descriptions, and arguments of `tracer`.
    pub(super) next: Vec<(&'a str, String)>,
    /// A push that was stopped has failed.
    pub(super) must_be_whole: bool,
}

/// A push to one destination.
pub(super) struct RunPush<'a> {
    pub(super) session: &'a mut Session,
    args: &'a Args,
    destination: String,
    /// Noun of the counted items: `span`, `run`.
    item: &'static str,
    sent: u64,
    is_waiting: bool,
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

    /// Sends runs; `None` when the user refuses to send them to `host`.
    pub(super) fn send<D: Destination>(
        &mut self,
        destination: Result<D, ShipError>,
        host: &str,
        announcement: &str,
        data_dir: &Path,
        runs: &RunSelection,
    ) -> Result<Option<ShipSummary>, CliError> {
        let mut options = ShipOptions::default();
        options.again = self.args.again;
        options.follow = self.args.follow;
        if options.follow {
            options.retry = RetryPolicy::endless();
        }
        let mut shipper = destination
            .and_then(|destination| Shipper::open(data_dir, destination, options))
            .map_err(|error| self.failed(&error))?;
        if shipper.needs_confirmation() {
            if !self.may_send(runs, host)? {
                return Ok(None);
            }
            shipper.confirm().map_err(|error| self.failed(&error))?;
        }
        if options.follow {
            let note = format!("{announcement} to {}; stop with Ctrl-C", self.destination);
            self.session.ui.remark(note);
        }
        let sent = block_on(shipper.ship(runs, stop_signal(), &mut |event| self.show(event)))?;
        let summary = sent.map_err(|error| self.failed(&error))?;
        self.session.ui.clear_status();
        Ok(Some(summary))
    }

    /// Asks if the runs may leave this machine.
    fn may_send(&mut self, runs: &RunSelection, host: &str) -> Result<bool, CliError> {
        if self.args.yes {
            return Ok(true);
        }
        let what = match runs {
            RunSelection::These(runs) => counted(runs.len() as u64, "run"),
            RunSelection::All => "all runs, now and later,".to_owned(),
        };
        let content = if self.args.no_content {
            "without their messages"
        } else {
            "with their messages, arguments and results"
        };
        let question = format!("send {what} {content} to {host}? It is asked once.");
        let action = format!("sending runs to {host}");
        self.session
            .ui
            .confirm(&action, "confirm with --yes; it is remembered", [], &question)
    }

    /// Shows an event.
    pub(super) fn show(&mut self, event: ShipEvent) {
        match event {
            ShipEvent::Sent { spans } => self.count(spans),
            ShipEvent::Completed {
                run,
                name,
                spans,
                bytes,
                is_changed,
            } => {
                let change = if is_changed { "  changed" } else { "" };
                let details = match spans {
                    Some(spans) => counted(spans, "span"),
                    None => format!("{}{change}", units::bytes(bytes)),
                };
                if spans.is_none() {
                    self.count(1);
                }
                if self.args.follow {
                    let id = run_list::short_id(run, []);
                    let row = format!("{id}  {}  {details}", display_name(name.as_deref()));
                    let ui = &mut self.session.ui;
                    // A closed output does not stop the push.
                    let _ = ui.done(row).and_then(|()| ui.flush());
                }
            }
            ShipEvent::Waiting { reason, delay } => self.wait(&reason, delay),
            ShipEvent::Resumed if std::mem::take(&mut self.is_waiting) => {
                let note = format!("{} answers again", self.destination);
                self.session.ui.remark(note);
            }
            ShipEvent::Refused { spans, message } => {
                let spans = counted(spans, "span");
                let message = if message.is_empty() {
                    message
                } else {
                    format!(": {message}")
                };
                let warning = format!("the endpoint refused {spans}{message}");
                self.session.ui.warn(warning);
            }
            ShipEvent::Warning { message } => {
                self.session.ui.warn(format!("the endpoint warns: {message}"));
            }
            ShipEvent::SwitchedToJson => {
                let note = "the endpoint takes no protobuf: sending JSON";
                self.session.ui.remark(note);
            }
            ShipEvent::NotSent(not_sent) if self.args.follow => self.warn_not_sent(&not_sent),
            _ => {}
        }
    }

    /// Counts sent items.
    fn count(&mut self, items: u64) {
        self.sent += items;
        let sent = format!("{} sent", counted(self.sent, self.item));
        self.session.ui.status(&Line::of(sent, Tone::Muted));
    }

    /// Waits for the destination: one line for an outage, however long it takes.
    fn wait(&mut self, reason: &str, delay: Duration) {
        if !std::mem::replace(&mut self.is_waiting, true) {
            let micros = u64::try_from(delay.as_micros()).unwrap_or(u64::MAX);
            let delay = units::duration(micros);
            self.session.ui.warn(format!("{reason}; trying again in {delay}"));
        }
    }

    fn warn_not_sent(&mut self, not_sent: &NotSent) {
        let id = run_list::short_id(not_sent.run, []);
        let reason = &not_sent.reason;
        self.session.ui.warn(format!("run {id} is not sent: {reason}"));
    }

    /// The error of a push, with the count of what was sent before it.
    pub(super) fn failed(&mut self, error: &ShipError) -> CliError {
        self.session.ui.clear_status();
        let sent = counted(self.sent, self.item);
        let before = (self.sent > 0).then(|| format!("{sent} sent before"));
        let to = &self.destination;
        CliError::input(format!("failed to push to {to}: {}", with_causes(error)))
            .with_details(before)
            .with_hint(error.hint())
    }

    /// Prints the summary.
    pub(super) fn end(
        mut self,
        summary: &ShipSummary,
        words: &SummaryWords<'_>,
    ) -> Result<CommandOutcome, CliError> {
        let is_once = !self.args.follow;
        if is_once {
            let (listed, hidden) = summary.not_sent.split_at(summary.not_sent.len().min(MAX_LISTED));
            for not_sent in listed {
                self.warn_not_sent(not_sent);
            }
            if !hidden.is_empty() {
                self.session.ui.warn(format!("… and {} more", hidden.len()));
            }
        }
        let ui = &mut self.session.ui;
        if summary.is_stopped && is_once {
            ui.warn("stopped before everything was sent; push again to continue");
        }
        let not_sent = summary.not_sent.len() as u64;
        let counts = [
            (summary.changed_runs, "had changed"),
            (not_sent, "not sent"),
            (summary.refused_spans, "refused"),
        ];
        let counts = counts.into_iter().filter(|(number, _)| *number > 0);
        let counts = counts.fold(String::new(), |counts, (number, what)| {
            counts + &format!("; {number} {what}")
        });
        let is_cut = summary.is_stopped && is_once && words.must_be_whole;
        let is_whole = summary.refused_spans == 0 && not_sent == 0 && !is_cut;
        match words.sent.as_ref().map(|sent| format!("{sent}{counts}")) {
            Some(line) if is_whole => ui.done(line)?,
            Some(line) => ui.lines(&[Line::of("✗ ", Tone::Bad).with(line, Tone::Plain)])?,
            None if summary.runs_sent_before == 0 => ui.say("nothing to send"),
            None => {
                let before = counted(summary.runs_sent_before, "run");
                ui.say(format!(
                    "nothing to send: {before} sent to {} before",
                    self.destination
                ));
                ui.hint("send them again with --again");
            }
        }
        if summary.open_runs > 0 && is_once && !summary.is_stopped {
            let verb = if summary.open_runs == 1 { "has" } else { "have" };
            let runs = counted(summary.open_runs, "run");
            ui.warn(format!("{runs} {verb} not ended: {}", words.open_runs));
            for (what, arguments) in &words.next {
                self.session.suggest(what, arguments);
            }
        }
        Ok(if is_whole {
            CommandOutcome::Done
        } else {
            CommandOutcome::CheckFailed
        })
    }
}
