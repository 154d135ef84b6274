//! `tracer view`: serves the viewer until Ctrl-C.

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::json;
use tracer_runs::SelectError;
use tracer_sdk::format::{SPEC_VERSION, TraceId};

use crate::commands::receive::receiver::{RunningReceiver, otlp_server};
use crate::error::{CliError, ErrorKind};
use crate::outcome::CommandOutcome;
use crate::session::Session;
use crate::team_store::SynchronizedStore;
use tracer_view::{self as view, BoundViewer, Options};

/// Options of `tracer view`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: tracer view latest")]
#[allow(clippy::struct_excessive_bools, reason = "each is an option of the command")]
pub struct Args {
    /// Run to open: ID, unique prefix of it, name, latest or latest~N [default: latest]
    run_id: Option<String>,

    /// Listen on HOST; the printed address holds the token that reading needs
    #[arg(long, value_name = "HOST", default_value = "127.0.0.1")]
    host: String,

    /// Listen on PORT, or on the next free port; 0 is any free port
    #[arg(long, value_name = "PORT", default_value_t = 8712)]
    port: u16,

    /// Do not open a browser
    #[arg(long)]
    no_browser: bool,

    /// Receive OpenTelemetry as well, as `tracer receive` does; runs appear as they are recorded
    #[arg(long)]
    receive: bool,

    /// Serve the page's files from this folder, while the page is developed
    #[arg(long, value_name = "DIR", hide = true)]
    page_files: Option<PathBuf>,
}

/// Serves until Ctrl-C.
pub fn run(args: &Args, session: &mut Session) -> Result<CommandOutcome, CliError> {
    let settings = session.settings()?;
    session.use_store()?;
    let run_id = selected(args.run_id.as_deref(), session)?;
    let options = Options {
        host: args.host.clone(),
        port: args.port,
        page_files: args.page_files.clone(),
        prices: session.prices()?,
        team: session.store().map(|store| Arc::clone(&store.team)),
        command: session.command_words(),
    };
    let bound = view::bind(settings, &options).map_err(|error| {
        CliError::input(format!("failed to listen on `{}:{}`", args.host, args.port))
            .with_source(error)
            .with_hint("choose another address: --host 127.0.0.1, or --port 0 for any free port")
    })?;
    let receiver = args
        .receive
        .then(|| RunningReceiver::otlp(otlp_server(None), session, |_| {}))
        .transpose()?;
    let path = run_id.map_or_else(|| "/".to_owned(), |run_id| format!("/r/{run_id}"));
    let url = bound.url(&path);
    print_address(run_id, &url, &bound, session)?;
    if let Some(receiver) = &receiver {
        session.ui.note(&receiver.heading());
        let export = format!("export OTEL_EXPORTER_OTLP_ENDPOINT={}", receiver.endpoint);
        session
            .ui
            .hint(&format!("set it for the program to trace: {export}"));
    }
    if !args.no_browser
        && !session.is_json()
        && session.ui.is_terminal()
        && opener::open_browser(&url).is_err()
    {
        session
            .ui
            .hint("failed to open a browser; open the address yourself");
    }
    let synchronized = session
        .store()
        .map(|store| SynchronizedStore::start(&store.reader));
    let served = bound.serve();
    drop(synchronized);
    if let Some(receiver) = receiver {
        // What was accepted is completed, however the viewer ended.
        let (summary, _) = receiver.end();
        session.ui.say(summary.sentence());
    }
    served.map_err(|error| {
        CliError::new(ErrorKind::Internal, "the viewer stopped")
            .with_source(error)
            .with_hint("start it again: tracer view")
    })?;
    Ok(CommandOutcome::Done)
}

/// The run to open; the newest when none is named, and none when there is none yet: the page waits for the first.
fn selected(run_id: Option<&str>, session: &mut Session) -> Result<Option<TraceId>, CliError> {
    let store = session.facts_store()?;
    let selected = store.select(run_id);
    if let (None, Err(SelectError::NoRuns | SelectError::Store(_))) = (run_id, &selected) {
        return Ok(None);
    }
    // The page fetches it, where it is in a bucket.
    match selected.ok().filter(|_| session.store().is_some()) {
        Some(run) => Ok(Some(run.trace_id)),
        None => Ok(Some(session.select(run_id)?.0.trace_id)),
    }
}

fn print_address(
    run_id: Option<TraceId>,
    url: &str,
    bound: &BoundViewer,
    session: &mut Session,
) -> Result<(), CliError> {
    if session.is_json() {
        session.ui.json(&json!({
            "spec_version": SPEC_VERSION, "run_id": run_id, "url": url, "status": "serving",
        }))?;
    } else {
        session.ui.plain(&format!("tracer view: {url}"))?;
    }
    if bound.is_exposed() {
        let warning =
            "other machines can reach the viewer: anyone with this address can read and change every run";
        session.ui.warn(warning);
    }
    session.ui.flush()
}
