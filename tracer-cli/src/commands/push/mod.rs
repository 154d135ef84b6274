//! `tracer push`: sends runs to an OpenTelemetry collector or back end, or to a team's bucket.

mod bucket;
mod endpoint;
mod sending;

use tracer_capture::push::FollowedRuns;
use tracer_sdk::read::{RunDirectory, RunStore};

use crate::error::CliError;
use crate::outcome::CommandOutcome;
use crate::session::Session;

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
        Some(url) if args.join => bucket::join(url, args, session),
        Some(url) => bucket::run(url, args, session),
        None if args.join => {
            Err(CliError::input("--join is for a bucket").with_hint("name it: --to s3://BUCKET/PREFIX"))
        }
        None => endpoint::run(args, session),
    }
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
