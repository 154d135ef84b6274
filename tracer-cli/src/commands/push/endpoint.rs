//! `tracer push` to an endpoint of OpenTelemetry.

use tracer_capture::push::{FollowedRuns, PushEvent, PushOptions, PushSettings, Pusher, RetryPolicy};
use tracer_insight::text::counted;

use super::sending::{PushEnd, RunPush};
use crate::error::CliError;
use crate::outcome::CommandOutcome;
use crate::runtime::{block_on, stop_signal};
use crate::session::Session;
use crate::terminal::run_list;

pub(super) fn run(args: &super::Args, session: &mut Session) -> Result<CommandOutcome, CliError> {
    let settings = PushSettings::resolve(args.to.as_deref(), |name| std::env::var(name).ok())
        .map_err(|error| CliError::input(error.to_string()).with_hint(error.hint()))?;
    let endpoint = &settings.endpoint;
    let runs = super::selected(args, session)?;
    let mut options = PushOptions::default();
    options.with_content = !args.no_content;
    options.again = args.again;
    if args.follow {
        options.retry = RetryPolicy::endless();
    }
    let data_dir = session.data_dir()?;
    let mut sending = RunPush::new(args, endpoint, "span", session);
    let mut pusher =
        Pusher::open(data_dir, &settings, options).map_err(|error| sending.failed(&error, error.hint()))?;
    if pusher.needs_confirmation() {
        if !sending.may_send(&runs, endpoint.host())? {
            return Ok(CommandOutcome::Done);
        }
        pusher
            .confirm()
            .map_err(|error| sending.failed(&error, error.hint()))?;
    }
    sending.announce("sending");
    let outcome = block_on(async {
        let mut observe = |event| show(&mut sending, event);
        match &runs {
            FollowedRuns::These(runs) if !args.follow => pusher.push(runs, stop_signal(), &mut observe).await,
            runs => pusher.follow(runs, stop_signal(), &mut observe).await,
        }
    })?;
    let summary = outcome.map_err(|error| sending.failed(&error, error.hint()))?;
    if summary.unreadable_lines > 0 {
        let lines = counted(summary.unreadable_lines, "line");
        let note = format!("left out {lines} without a span of their run");
        sending.session.ui.warn(note);
    }
    let is_any = summary.sent_spans > 0 || summary.refused_spans > 0 || args.follow;
    let refused = match summary.refused_spans {
        0 => String::new(),
        spans => format!("; {spans} refused"),
    };
    let runs = counted(summary.runs, "run");
    let spans = counted(summary.sent_spans, "span");
    sending.end(PushEnd {
        sent: is_any.then(|| format!("sent {runs}, {spans}, to {endpoint}{refused}")),
        runs_sent_before: summary.runs_sent_before,
        is_whole: summary.refused_spans == 0 && summary.unreadable_runs == 0,
        is_stopped: summary.is_stopped,
        open_runs: summary.open_runs,
        of_open_runs: "what is recorded later is not sent yet",
        next: vec![("keep sending", "push --follow".to_owned())],
    })
}

/// Shows what happens.
fn show(sending: &mut RunPush<'_>, event: PushEvent) {
    let ui = &mut sending.session.ui;
    match event {
        PushEvent::Sent { spans } => sending.count(spans),
        PushEvent::Completed { run, name, spans } => {
            sending.list(run, name.as_deref(), &counted(spans, "span"));
        }
        PushEvent::Waiting { reason, delay } => sending.wait(&reason, delay),
        PushEvent::Resumed => sending.resume(),
        PushEvent::Refused { spans, message } => {
            let spans = counted(spans, "span");
            let message = if message.is_empty() {
                message
            } else {
                format!(": {message}")
            };
            ui.warn(format!("the endpoint refused {spans}{message}"));
        }
        PushEvent::Warning { message } => ui.warn(format!("the endpoint warns: {message}")),
        PushEvent::SwitchedToJson => ui.remark("the endpoint takes no protobuf: sending JSON"),
        PushEvent::Unreadable { run, reason } => {
            let id = run_list::short_id(run, []);
            ui.warn(format!("failed to read run {id}: {reason}"));
        }
        _ => {}
    }
}
