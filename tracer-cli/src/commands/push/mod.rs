//! `tracer push`: sends runs to an OpenTelemetry collector or back end, or to a team's bucket.

mod bucket;

use std::time::Duration;

use tracer_capture::push::{
    FollowedRuns, PushEndpoint, PushError, PushEvent, PushOptions, PushOverrides, PushSettings, PushSummary,
    Pusher, RetryPolicy,
};
use tracer_insight::line::{Line, Tone};
use tracer_insight::run_head::display_name;
use tracer_insight::text;
use tracer_insight::units;
use tracer_sdk::read::{RunDirectory, RunStore};

use crate::confirmation;
use crate::error::{CliError, with_causes};
use crate::outcome::CommandOutcome;
use crate::runtime::{block_on, stop_signal};
use crate::session::Session;
use crate::terminal::run_list;
use crate::ui::Ui;

/// Said when sending was interrupted.
const STOPPED: &str = "stopped before everything was sent; push again to continue";

/// Options of `tracer push`.
#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option of its own")]
#[command(after_help = "\
Example: tracer push --all --to s3://team/agents

An endpoint of OpenTelemetry is configured by the usual variables, those of traces (OTEL_EXPORTER_OTLP_TRACES_…) first: \
OTEL_EXPORTER_OTLP_ENDPOINT, …_HEADERS (keys), …_PROTOCOL, …_COMPRESSION, …_TIMEOUT, …_CERTIFICATE, …_CLIENT_KEY, \
…_CLIENT_CERTIFICATE.")]
pub struct Args {
    /// Runs to send: IDs, unique prefixes of them, names, latest or latest~N [default: latest]
    #[arg(value_name = "RUN_ID")]
    run_ids: Vec<String>,

    /// Send all runs
    #[arg(long, conflicts_with = "run_ids")]
    all: bool,

    /// Keep sending runs, until Ctrl-C; without RUN_ID, all of them
    #[arg(long)]
    follow: bool,

    /// Send to URL, an OTLP endpoint or a bucket [default: OTEL_EXPORTER_OTLP_ENDPOINT, else http://localhost:4318]
    ///
    /// http://HOST or https://HOST is an OTLP endpoint, to which /v1/traces is added. s3://BUCKET/PREFIX, gs://BUCKET/PREFIX,
    /// az://CONTAINER/PREFIX or file:///FOLDER is a bucket, which gets whole runs that have ended; credentials come from the
    /// environment and the files of the cloud's own tools.
    #[arg(long, value_name = "URL")]
    to: Option<String>,

    /// Join the facts of each past day in the bucket into one object, and send nothing: for a nightly job
    #[arg(long, requires = "to", conflicts_with_all = ["run_ids", "all", "follow", "again"])]
    join: bool,

    /// Omit prompts, answers, arguments, results and error messages; send names, sizes, tokens and times
    #[arg(long, conflicts_with = "join")]
    no_content: bool,

    /// Send runs again that were sent there before
    #[arg(long)]
    again: bool,

    /// Send to another machine without asking
    #[arg(long, short)]
    yes: bool,
}

impl Args {
    /// The URL of a bucket; `None` is an endpoint of OpenTelemetry.
    fn bucket(&self) -> Option<&str> {
        let url = self.to.as_deref()?;
        let is_endpoint = url.starts_with("http://") || url.starts_with("https://") || !url.contains("://");
        (!is_endpoint).then_some(url)
    }
}

/// Sends runs.
pub fn run(args: &Args, session: &mut Session) -> Result<CommandOutcome, CliError> {
    if let Some(url) = args.bucket() {
        if args.no_content {
            return Err(
                CliError::input("a bucket gets whole runs: --no-content is for an OTLP endpoint")
                    .with_hint("leave out --no-content, or send to an endpoint: --to http://HOST:PORT"),
            );
        }
        return bucket::run(url, args, session);
    }
    if args.join {
        return Err(CliError::input("--join is for a bucket").with_hint("name it: --to s3://BUCKET/PREFIX"));
    }
    let overrides = PushOverrides {
        endpoint: args.to.clone(),
        ..PushOverrides::default()
    };
    let settings = PushSettings::resolve(&overrides, |name| std::env::var(name).ok()).map_err(|error| {
        let hint = error.hint();
        CliError::input(error.to_string()).with_hint(hint)
    })?;
    let endpoint = settings.endpoint.clone();
    let runs = selected(args, session)?;
    let mut options = PushOptions::default();
    options.with_content = !args.no_content;
    options.again = args.again;
    if args.follow {
        options.retry = RetryPolicy::endless();
    }
    let mut pusher = Pusher::open(session.data_dir()?, &settings, options)
        .map_err(|error| failed(&endpoint, &error, 0))?;
    if pusher.needs_confirmation() {
        if !args.yes && !confirmed(args, &runs, endpoint.host(), session)? {
            return Ok(CommandOutcome::Done);
        }
        pusher.confirm().map_err(|error| failed(&endpoint, &error, 0))?;
    }
    if args.follow {
        let note = format!("sending to {endpoint}; stop with Ctrl-C");
        session.ui.remark(note);
    }
    let mut display = Display::new(args.follow, session);
    let outcome = block_on(async {
        let mut observe = |event| display.show(event);
        if args.follow {
            pusher.follow(&runs, stop_signal(), &mut observe).await
        } else {
            let FollowedRuns::These(runs) = &runs else {
                return Ok(PushSummary::default());
            };
            pusher.push(runs, stop_signal(), &mut observe).await
        }
    })?;
    let sent_spans = display.sent_spans;
    session.ui.clear_status();
    let summary = outcome.map_err(|error| failed(&endpoint, &error, sent_spans))?;
    print_summary(args, &summary, &endpoint, session)
}

/// The runs to send. Only those that are followed without being named are not looked up.
fn selected(args: &Args, session: &mut Session) -> Result<FollowedRuns, CliError> {
    if !args.run_ids.is_empty() {
        let mut runs: Vec<RunDirectory> = Vec::new();
        for run_id in &args.run_ids {
            let (directory, _) = session.select(Some(run_id))?;
            if !runs.contains(&directory) {
                runs.push(directory);
            }
        }
        return Ok(FollowedRuns::These(runs));
    }
    if args.follow {
        return Ok(FollowedRuns::All);
    }
    if !args.all {
        return Ok(FollowedRuns::These(vec![session.select(None)?.0]));
    }
    let store = RunStore::new(session.data_dir()?);
    let runs = store.list().map_err(|error| session.store_error(&error))?;
    // The oldest first, as they were recorded.
    let chosen = runs.into_iter().rev().map(|run| run.directory);
    Ok(FollowedRuns::These(chosen.collect()))
}

/// Asks whether runs may leave this machine.
fn confirmed(args: &Args, runs: &FollowedRuns, host: &str, session: &mut Session) -> Result<bool, CliError> {
    let what = match runs {
        FollowedRuns::These(runs) => text::counted(runs.len() as u64, "run"),
        _ => "all runs, now and later,".to_owned(),
    };
    let content = if args.no_content {
        "without their messages"
    } else {
        "with their messages, arguments and results"
    };
    confirmation::may_send(&format!("{what} {content}"), host, session)
}

/// Shows what happens.
struct Display<'a> {
    session: &'a mut Session,
    /// Whether each run is listed when all of it is sent.
    lists_runs: bool,
    sent_spans: u64,
    wait: WaitDisplay,
}

/// Waiting for a destination: one line for an outage, however long it takes.
struct WaitDisplay {
    destination: &'static str,
    is_waiting: bool,
}

impl WaitDisplay {
    fn new(destination: &'static str) -> Self {
        Self {
            destination,
            is_waiting: false,
        }
    }

    fn begin(&mut self, reason: &str, delay: Duration, ui: &mut Ui) {
        if !std::mem::replace(&mut self.is_waiting, true) {
            let micros = u64::try_from(delay.as_micros()).unwrap_or(u64::MAX);
            ui.warn(format!("{reason}; trying again in {}", units::duration(micros)));
        }
    }

    fn end(&mut self, ui: &mut Ui) {
        if std::mem::take(&mut self.is_waiting) {
            ui.remark(format!("{} answers again", self.destination));
        }
    }
}

impl<'a> Display<'a> {
    fn new(lists_runs: bool, session: &'a mut Session) -> Self {
        Self {
            session,
            lists_runs,
            sent_spans: 0,
            wait: WaitDisplay::new("the endpoint"),
        }
    }

    fn show(&mut self, event: PushEvent) {
        let ui = &mut self.session.ui;
        match event {
            PushEvent::Sent { spans } => {
                self.sent_spans += spans;
                let sent = text::counted(self.sent_spans, "span");
                ui.status(&Line::of(format!("{sent} sent"), Tone::Muted));
            }
            PushEvent::Completed { run, name, spans } if self.lists_runs => {
                let name = display_name(name.as_deref());
                let rest = format!(
                    "{}  {name}  {}",
                    run_list::short_id(run, []),
                    text::counted(spans, "span")
                );
                // A closed output does not stop what is sent.
                let _ = ui.done(rest).and_then(|()| ui.flush());
            }
            PushEvent::Waiting { reason, delay } => self.wait.begin(&reason, delay, ui),
            PushEvent::Resumed => self.wait.end(ui),
            PushEvent::Refused { spans, message } => {
                let spans = text::counted(spans, "span");
                ui.warn(format!("the endpoint refused {spans}{}", after_colon(&message)));
            }
            PushEvent::Warning { message } => ui.warn(format!("the endpoint warns: {message}")),
            PushEvent::SwitchedToJson => ui.remark("the endpoint takes no protobuf: sending JSON"),
            PushEvent::Unreadable { run, reason } => ui.warn(format!(
                "failed to read run {}: {reason}",
                run_list::short_id(run, [])
            )),
            _ => {}
        }
    }
}

fn print_summary(
    args: &Args,
    summary: &PushSummary,
    endpoint: &PushEndpoint,
    session: &mut Session,
) -> Result<CommandOutcome, CliError> {
    if summary.unreadable_lines > 0 {
        let lines = text::counted(summary.unreadable_lines, "line");
        let note = format!("left out {lines} without a span of their run");
        session.ui.warn(note);
    }
    if summary.is_stopped && !args.follow {
        session.ui.warn(STOPPED);
    }
    if summary.sent_spans == 0 && summary.refused_spans == 0 && !args.follow {
        session
            .ui
            .say(nothing_to_send(summary.runs_sent_before, endpoint));
        if summary.runs_sent_before > 0 {
            session.ui.hint("send them again with --again");
        }
    } else {
        let runs = text::counted(summary.runs, "run");
        let spans = text::counted(summary.sent_spans, "span");
        let mut line = format!("sent {runs}, {spans}, to {endpoint}");
        if summary.refused_spans > 0 {
            line = format!("{line}; {} refused", summary.refused_spans);
        }
        print_sent(&line, summary.refused_spans == 0, &mut session.ui)?;
    }
    if summary.open_runs > 0 && !args.follow && !summary.is_stopped {
        let runs = not_ended(summary.open_runs);
        let note = format!("{runs}: what is recorded later is not sent yet");
        session.ui.warn(note);
        let follow = session.command("push --follow");
        session.ui.hint(&format!("keep sending: {follow}"));
    }
    if summary.refused_spans > 0 || summary.unreadable_runs > 0 {
        return Ok(CommandOutcome::CheckFailed);
    }
    Ok(CommandOutcome::Done)
}

/// That there is nothing to send, and how many runs were sent before.
fn nothing_to_send(sent_before: u64, target: &impl std::fmt::Display) -> String {
    if sent_before == 0 {
        return "nothing to send".to_owned();
    }
    let before = text::counted(sent_before, "run");
    format!("nothing to send: {before} sent to {target} before")
}

/// Prints what was sent, all of it or a part.
fn print_sent(sent: &str, is_all: bool, ui: &mut Ui) -> Result<(), CliError> {
    if is_all {
        return ui.done(sent);
    }
    ui.lines(&[Line::of("✗ ", Tone::Bad).with(sent, Tone::Plain)])
}

/// `1 run has not ended`.
fn not_ended(runs: u64) -> String {
    let verb = if runs == 1 { "has" } else { "have" };
    format!("{} {verb} not ended", text::counted(runs, "run"))
}

fn failed(endpoint: &PushEndpoint, error: &PushError, sent_spans: u64) -> CliError {
    let before = (sent_spans > 0).then(|| format!("{} sent before", text::counted(sent_spans, "span")));
    CliError::input(format!("failed to push to {endpoint}: {}", with_causes(error)))
        .with_details(before)
        .with_hint(error.hint())
}

/// A message behind a colon; nothing when it is empty.
fn after_colon(message: &str) -> String {
    if message.is_empty() {
        return String::new();
    }
    format!(": {message}")
}
