//! `tracer push`: sends runs to an OpenTelemetry collector or back end, or to a team's bucket.

mod sending;

use tracer_insight::text::counted;
use tracer_insight::units;
use tracer_runs::{RunDirectory, RunStore};
use tracer_ship::{BucketDestination, OpenBucket, OtlpDestination, OtlpSettings, RunSelection};

use crate::error::CliError;
use crate::outcome::CommandOutcome;
use crate::runtime::{block_on, stop_signal};
use crate::session::Session;
use crate::team_store;
use sending::{RunPush, SummaryWords};

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
    match args.bucket() {
        Some(_) if args.no_content => Err(CliError::input(
            "a bucket gets whole runs: --no-content is for an OTLP endpoint",
        )
        .with_hint("leave out --no-content, or send to an endpoint: --to http://HOST:PORT")),
        Some(url) if args.join => join(url, args, session),
        Some(url) => to_bucket(url, args, session),
        None if args.join => {
            Err(CliError::input("--join is for a bucket").with_hint("name it: --to s3://BUCKET/PREFIX"))
        }
        None => to_endpoint(args, session),
    }
}

fn to_endpoint(args: &Args, session: &mut Session) -> Result<CommandOutcome, CliError> {
    let settings = OtlpSettings::resolve(args.to.as_deref(), |name| std::env::var(name).ok())?;
    let endpoint = &settings.endpoint;
    let runs = selected(args, session)?;
    let data_dir = session.data_dir()?;
    let mut push = RunPush::new(args, endpoint, "span", session);
    let destination = OtlpDestination::new(&settings, !args.no_content);
    let announcement = "sending";
    let Some(summary) = push.send(destination, endpoint.host(), announcement, &data_dir, &runs)? else {
        return Ok(CommandOutcome::Done);
    };
    if summary.unreadable_lines > 0 {
        let lines = counted(summary.unreadable_lines, "line");
        let note = format!("left out {lines} without a span of their run");
        push.session.ui.warn(note);
    }
    let runs = counted(summary.runs, "run");
    let spans = counted(summary.sent_spans, "span");
    let is_any = summary.sent_spans > 0 || summary.refused_spans > 0 || args.follow;
    push.end(
        &summary,
        &SummaryWords {
            sent: is_any.then(|| format!("sent {runs}, {spans}, to {endpoint}")),
            open_runs: "what is recorded later is not sent yet",
            next: vec![("keep sending", "push --follow".to_owned())],
            must_be_whole: false,
        },
    )
}

fn to_bucket(url: &str, args: &Args, session: &mut Session) -> Result<CommandOutcome, CliError> {
    let url = team_store::url(url)?;
    let runs = selected(args, session)?;
    let settings = session.settings()?;
    let mut push = RunPush::new(args, &url, "run", session);
    let bucket = OpenBucket::open(&url);
    let destination = bucket.map(|bucket| BucketDestination::new(bucket, &settings));
    let (host, announcement) = (url.to_string(), "sending runs that end");
    let Some(summary) = push.send(destination, &host, announcement, &settings.data_dir, &runs)? else {
        return Ok(CommandOutcome::Done);
    };
    let ui = &mut push.session.ui;
    if !settings.redact {
        ui.warn("redaction is off in the settings: runs are sent as they are recorded");
    } else if summary.redacted_values > 0 {
        let values = counted(summary.redacted_values, "secret");
        ui.warn(format!(
            "the check before sending redacted {values}; the files of this machine still have them"
        ));
    }
    let (runs, bytes) = (counted(summary.runs, "run"), units::bytes(summary.bytes));
    let checked = if settings.redact {
        ", checked for secrets"
    } else {
        ""
    };
    let is_any = summary.runs > 0 || args.follow;
    push.end(
        &summary,
        &SummaryWords {
            sent: is_any.then(|| format!("sent {runs} ({bytes}{checked}) to {url}")),
            open_runs: "a bucket gets runs that have",
            next: vec![
                ("send them when they end", format!("push --follow --to {url}")),
                ("end those whose process died", "repair".to_owned()),
            ],
            must_be_whole: true,
        },
    )
}

/// Joins the facts of past days.
fn join(url: &str, args: &Args, session: &mut Session) -> Result<CommandOutcome, CliError> {
    let url = team_store::url(url)?;
    let mut push = RunPush::new(args, &url, "run", session);
    let bucket = OpenBucket::open(&url).map_err(|error| push.failed(&error))?;
    let joined = block_on(bucket.join_past_days(stop_signal(), &mut |event| push.show(event)))?;
    let summary = joined.map_err(|error| push.failed(&error))?;
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

/// The runs to send. Only those that are followed without being named are not looked up.
fn selected(args: &Args, session: &mut Session) -> Result<RunSelection, CliError> {
    if !args.run_ids.is_empty() {
        let mut runs: Vec<RunDirectory> = Vec::new();
        for run_id in &args.run_ids {
            let (directory, _) = session.select(Some(run_id))?;
            if !runs.contains(&directory) {
                runs.push(directory);
            }
        }
        return Ok(RunSelection::These(runs));
    }
    if args.follow {
        return Ok(RunSelection::All);
    }
    if !args.all {
        return Ok(RunSelection::These(vec![session.select(None)?.0]));
    }
    let store = RunStore::new(session.data_dir()?);
    let runs = store.list().map_err(|error| session.store_error(&error))?;
    // The oldest first, as they were recorded.
    let chosen = runs.into_iter().rev().map(|run| run.directory);
    Ok(RunSelection::These(chosen.collect()))
}
