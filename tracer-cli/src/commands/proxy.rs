//! `tracer proxy`: the proxy for model APIs on its own, which makes runs of the calls of whatever uses it, until Ctrl-C.

use std::sync::Arc;
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

use tracer_capture::OtlpSink;
use tracer_capture::proxy::{self, ModelProxy, ProxyAddress, ProxyError, ProxyHooks, RunGrouping};
use tracer_capture::record::{ChildEnvironment, Inherited};
use tracer_capture::runs::{CollectorOptions, RunCollector};
use tracer_insight::line::{Line, Tone};
use tracer_insight::text::{counted, path_below_home};
use tracer_sdk::read::RunStore;

use super::receive::completed;
use crate::error::{CliError, ErrorKind};
use crate::outcome::CommandOutcome;
use crate::runtime;
use crate::session::Session;
use crate::value_parsers::parse_duration;

/// How often to look which runs have ended.
const POLL_INTERVAL: Duration = Duration::from_millis(200);
/// How long a run may be silent before it is shown as interrupted: the proxy ends its runs itself.
const SILENCE: Duration = Duration::from_secs(24 * 60 * 60);
/// How long the root of a run may be there before the run is completed: the proxy sends it last.
const QUIET: Duration = Duration::from_millis(200);

/// Options of `tracer proxy`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example: tracer proxy, and in another terminal, with the variables that it prints: python agent.py

Each agent becomes a run, which ends when nothing was called for the time of --idle; docs/proxy.md says what belongs to \
which run. Ctrl-C ends the proxy. A command that you start yourself is better recorded with tracer record.")]
pub struct Args {
    /// Listen on PORT of this machine; 0 is any free port
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    port: u16,

    /// Use TOKEN in the addresses, which keeps other users of this machine out [default: a random one]
    #[arg(long, value_name = "TOKEN", value_parser = parse_token)]
    token: Option<String>,

    /// Name the runs [default: TRACER_RUN_NAME, else what the client calls itself]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,

    /// End a run when nothing was called for DURATION
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = parse_duration)]
    idle: Duration,

    /// Omit prompts, answers, arguments and results; keep their shapes, names, sizes, tokens and times
    #[arg(long)]
    no_content: bool,

    /// Do not ask the provider for the tokens of a stream where the program does not
    #[arg(long)]
    no_stream_usage: bool,

    /// Print the variables for --port and --token, and run nothing
    #[arg(long, requires = "port", requires = "token")]
    print_env: bool,
}

/// A token is a part of a path.
fn parse_token(text: &str) -> Result<String, String> {
    let is_plain = |char: char| char.is_ascii_alphanumeric() || "-_.~".contains(char);
    let is_usable = !text.is_empty() && text.chars().all(is_plain) && text.contains(|char: char| char != '.');
    is_usable
        .then(|| text.to_owned())
        .ok_or_else(|| "use ASCII letters, digits and the signs - _ . ~".to_owned())
}

/// Records until Ctrl-C.
pub fn run(args: &Args, session: &mut Session) -> Result<CommandOutcome, CliError> {
    let inherited = Inherited::of_process();
    let variable = |name: &str| inherited.get(name).map(str::to_owned);
    let address = ProxyAddress {
        port: args.port,
        token: args.token.clone(),
    };
    if args.print_env {
        let base = address.base().ok_or_else(|| {
            CliError::input("--print-env needs a port that is known").with_hint("choose one: --port 4320")
        })?;
        let not_own = |name: &str| variable(name).filter(|value| !value.starts_with(&base));
        print_exports(&inherited, proxy::base_urls(not_own, &base), session)?;
        return Ok(CommandOutcome::Done);
    }
    let interrupted = runtime::interrupts()?;
    let prices = session.prices()?;
    let collector = open_collector(args, session)?;
    let sink: Arc<dyn OtlpSink> = Arc::clone(&collector) as Arc<dyn OtlpSink>;
    let grouping = RunGrouping {
        name: args.name.clone().or_else(|| variable("TRACER_RUN_NAME")),
        idle: args.idle,
    };
    let mut hooks = ProxyHooks::default();
    hooks.no_stream_usage = args.no_stream_usage;
    let proxy = ModelProxy::start_alone(&address, grouping, variable, sink, hooks).map_err(not_started)?;
    announce(&proxy, &inherited, session)?;
    let store = RunStore::new(session.data_dir()?);
    while let Err(RecvTimeoutError::Timeout) = interrupted.recv_timeout(POLL_INTERVAL) {
        for trace_id in collector.take_completed() {
            completed(&store, &prices, trace_id, false, session)?;
        }
    }
    let summary = proxy.shut_down();
    let collected = collector.close();
    for trace_id in collector.take_completed() {
        completed(&store, &prices, trace_id, false, session)?;
    }
    let sentence = format!(
        "recorded {} in {}",
        counted(summary.counted_calls, "model call"),
        counted(collected.started_runs, "run")
    );
    session.ui.say(sentence);
    let error = collected
        .last_error
        .map(|error| format!("a run could not be completed: {error}"));
    for note in summary.notes().into_iter().chain(error) {
        session.ui.warn(note);
    }
    if collected.started_runs > 0 {
        let show = session.command("show");
        session.ui.hint(&format!("show the newest: {show}"));
    }
    session.ui.flush()?;
    Ok(CommandOutcome::Done)
}

fn open_collector(args: &Args, session: &Session) -> Result<Arc<RunCollector>, CliError> {
    let settings = session.settings()?;
    let mut options = CollectorOptions::new(&settings);
    options.without_content = args.no_content;
    options.silence = SILENCE;
    options.quiet = QUIET;
    RunCollector::open(options).map_err(|error| {
        let place = path_below_home(&settings.data_dir);
        CliError::input(format!("failed to prepare the data directory {place}"))
            .with_source(error)
            .with_hint("check its permissions, or choose another one: --data-dir DIR, or TRACER_DATA_DIR")
    })
}

fn not_started(error: ProxyError) -> CliError {
    let refused = match &error {
        ProxyError::Listen(_) => CliError::input("the proxy cannot listen")
            .with_hint("end the program that has the port: another tracer proxy")
            .with_hint("or choose another port, 0 for any free one: --port PORT"),
        _ => CliError::new(ErrorKind::Internal, "the proxy did not start").with_hint("try again"),
    };
    refused.with_source(error)
}

/// Prints where it listens and where requests go on to; to standard output, what a shell takes to use it.
fn announce(proxy: &ModelProxy, inherited: &Inherited, session: &mut Session) -> Result<(), CliError> {
    let place = path_below_home(&session.data_dir()?);
    let heading = Line::of("tracer proxy: ", Tone::Muted);
    session
        .ui
        .note(&heading.with(format!("http://{}", proxy.address()), Tone::Plain));
    for (variable, host) in proxy.upstreams() {
        let note = format!("{variable} is set: its requests go on to {host}");
        session.ui.remark(note);
    }
    for unusable in proxy.unusable() {
        session.ui.warn(unusable.to_string());
    }
    let note = format!("runs go to {place}; set for the program to record:");
    session.ui.remark(note);
    print_exports(inherited, proxy.base_urls(), session)
}

fn print_exports(
    inherited: &Inherited,
    base_urls: Vec<(&'static str, String)>,
    session: &mut Session,
) -> Result<(), CliError> {
    for variable in &ChildEnvironment::of_models(inherited, base_urls).variables {
        session.ui.plain(&format!("export {}", variable.assignment()))?;
    }
    session.ui.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_parts_of_paths() {
        assert!(parse_token("a-B_9.~").is_ok());
        for token in ["", ".", "..", "a/b", "a b", "ü"] {
            assert!(parse_token(token).is_err(), "{token:?}");
        }
    }
}
