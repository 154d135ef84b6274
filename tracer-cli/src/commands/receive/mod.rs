//! `tracer receive`: an endpoint of OpenTelemetry, or a recording proxy, until Ctrl-C.

pub(super) mod receiver;

use std::net::IpAddr;
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

use serde_json::json;
use tracer_capture::proxy::{self, ProxyAddress};
use tracer_capture::record::Inherited;
use tracer_runs::{RunDirectory, RunStore};
use tracer_sdk::format::{SPEC_VERSION, TraceId};
use tracer_sdk::prices::Prices;

use crate::error::CliError;
use crate::outcome::CommandOutcome;
use crate::runtime;
use crate::session::Session;
use tracer_insight::line::{Line, Tone};
use tracer_insight::run_entry::RunEntry;
use tracer_insight::run_steps::RunSteps;
use tracer_insight::status::Signs as _;
use tracer_insight::text::{one_line, path_below_home};
use tracer_insight::units;

use self::receiver::{Received, RunningReceiver};
use crate::value_parsers::parse_duration;

/// Poll interval of completed runs.
const POLL_INTERVAL: Duration = Duration::from_millis(200);
/// Characters of an ID that distinguish runs.
const ID_CHARS: usize = 8;
/// The heading of the options that only a proxy has.
const WITH_MODELS: &str = "With --models";

/// Options of `tracer receive`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example: tracer receive, and in another terminal, with the variables that it prints: python agent.py

Ctrl-C ends it. With --models it is a recording proxy: each agent that uses it becomes a run, which ends when nothing was \
called for the time of --idle. A command that you start yourself is better recorded with tracer record. \
docs/record-any-agent.md says which spans and calls are a run.")]
#[expect(clippy::struct_excessive_bools, reason = "each is an option of its own")]
pub struct Args {
    /// Proxy and record calls of model APIs, instead of receiving OpenTelemetry
    #[arg(long)]
    models: bool,

    /// Listen on HOST; any address but this machine's own needs the token that is printed [default: 127.0.0.1]
    #[arg(long, value_name = "HOST", conflicts_with = "models")]
    host: Option<IpAddr>,

    /// Listen on PORT; 0 is any free one [default: 4318 and, for OTLP/gRPC, 4317; with --models any free one]
    #[arg(long, value_name = "PORT")]
    port: Option<u16>,

    /// Refuse requests without TOKEN [default: a random one with --models or another --host]
    ///
    /// Senders of OpenTelemetry give it as `Authorization: Bearer TOKEN` or `x-tracer-token: TOKEN`; with --models it is a
    /// part of the addresses.
    #[arg(long, value_name = "TOKEN", value_parser = parse_token)]
    token: Option<String>,

    /// Record every trace, also those without a model call, a tool call or an agent
    #[arg(long, conflicts_with = "models")]
    all_traces: bool,

    /// Omit prompts, answers, arguments and results; keep their shapes, names, sizes, tokens and times
    #[arg(long)]
    no_content: bool,

    /// End a run when nothing was called for DURATION [default: 10s]
    #[arg(long, value_name = "DURATION", requires = "models", value_parser = parse_duration, help_heading = WITH_MODELS)]
    idle: Option<Duration>,

    /// Leave the requests of streams as they are, and do not ask for their tokens
    // Rarely needed: documented in docs/record-any-agent.md.
    #[arg(long, hide = true, requires = "models")]
    no_stream_usage: bool,

    /// Print the variables for --port and --token, and run nothing
    #[arg(long, requires_all = ["models", "port", "token"], help_heading = WITH_MODELS)]
    print_env: bool,
}

/// Parses a token, which may be a part of a path.
fn parse_token(text: &str) -> Result<String, String> {
    let is_plain = |char: char| char.is_ascii_alphanumeric() || "-_.~".contains(char);
    let is_usable = !text.is_empty() && text.chars().all(is_plain) && text.contains(|char: char| char != '.');
    is_usable
        .then(|| text.to_owned())
        .ok_or_else(|| "use ASCII letters, digits and the signs - _ . ~".to_owned())
}

/// Receives until Ctrl-C.
pub fn run(args: &Args, session: &mut Session) -> Result<CommandOutcome, CliError> {
    let inherited = Inherited::of_process();
    if args.print_env {
        print_environment(args, &inherited, session)?;
        return Ok(CommandOutcome::Done);
    }
    let interrupted = runtime::interrupts()?;
    let prices = session.prices()?;
    let receiver = if args.models {
        RunningReceiver::models(args, &inherited, session)?
    } else {
        args.otlp(session)?
    };
    let store = RunStore::new(session.data_dir()?);
    announce(args, &receiver, session)?;
    let mut shown = None;
    while let Err(RecvTimeoutError::Timeout) = interrupted.recv_timeout(POLL_INTERVAL) {
        for trace_id in receiver.take_completed() {
            completed(&store, &prices, trace_id, session)?;
        }
        show_status(&receiver, &mut shown, session);
    }
    session.ui.clear_status();
    let (summary, last) = receiver.end();
    for trace_id in last {
        completed(&store, &prices, trace_id, session)?;
    }
    ended(&summary, session)?;
    Ok(CommandOutcome::Done)
}

impl Args {
    fn otlp(&self, session: &Session) -> Result<RunningReceiver, CliError> {
        let mut server = receiver::otlp_server(self.port);
        server.listen = self.host.unwrap_or(server.listen);
        server.token.clone_from(&self.token);
        RunningReceiver::otlp(server, session, |collector| {
            collector.keep_all = self.all_traces;
            collector.without_content = self.no_content;
        })
    }

    fn proxy_address(&self) -> ProxyAddress {
        ProxyAddress {
            port: self.port.unwrap_or_default(),
            token: self.token.clone(),
        }
    }
}

/// Prints the variables of a proxy with a fixed address, without those that already lead to it.
fn print_environment(args: &Args, inherited: &Inherited, session: &mut Session) -> Result<(), CliError> {
    if session.is_json() {
        return Err(
            CliError::input("`--print-env` prints lines for a shell, and no JSON")
                .with_hint("leave out --json"),
        );
    }
    let base = args.proxy_address().base().ok_or_else(|| {
        CliError::input("--print-env needs a fixed port").with_hint("choose one: --port 4320")
    })?;
    let upstream = |name: &str| {
        let value = inherited.get(name).filter(|value| !value.starts_with(&base));
        value.map(str::to_owned)
    };
    for export in receiver::model_exports(inherited, proxy::base_urls(upstream, &[], &base)) {
        session.ui.plain(&export)?;
    }
    session.ui.flush()
}

/// Prints the address, and the variables for the program to record: those of a proxy to standard output, for a shell.
fn announce(args: &Args, receiver: &RunningReceiver, session: &mut Session) -> Result<(), CliError> {
    if session.is_json() {
        session.ui.json(&json!({
            "event": "receiving",
            "spec_version": SPEC_VERSION,
            "http_endpoint": receiver.endpoint,
            "grpc_endpoint": receiver.grpc_endpoint,
            "token": receiver.token,
            "exports": receiver.exports,
        }))?;
        return session.ui.flush();
    }
    let place = path_below_home(&session.data_dir()?);
    session.ui.note(&receiver.heading());
    for remark in &receiver.upstreams {
        session.ui.remark(remark);
    }
    for warning in &receiver.unusable {
        session.ui.warn(warning);
    }
    let note = format!("runs go to {place}; set for the program to record:");
    session.ui.remark(note);
    for export in &receiver.exports {
        if args.models {
            session.ui.plain(export)?;
        } else if receiver.token.is_some() && args.token.is_none() {
            // A random token is printed nowhere else.
            session.ui.note(&Line::of(format!("  {export}"), Tone::Plain));
        } else {
            session.ui.say(format!("  {export}"));
        }
    }
    if args.host.is_some_and(|host| !host.is_loopback()) {
        session
            .ui
            .warn("other machines can reach it: requests with the token are accepted, without encryption");
    }
    session.ui.flush()
}

/// Prints a completed run.
fn completed(
    store: &RunStore,
    prices: &Prices,
    trace_id: TraceId,
    session: &mut Session,
) -> Result<(), CliError> {
    // It may have been deleted or pruned in the meantime.
    let Ok(directory) = store.select(&trace_id.to_string()) else {
        return Ok(());
    };
    if !session.is_json() {
        session.ui.clear_status();
        session.ui.lines(&[row(directory, prices)])?;
    } else if let Some(run) = RunEntry::of(&directory.read_summary()) {
        session.ui.json(&json!({"event": "completed", "run": run}))?;
    }
    session.ui.flush()
}

/// `✓ ok  4bf92f35  support-agent  5.2s  6 steps, 3 model calls, 2 tool calls, 1,204 tokens, $0.0021`
fn row(run: RunDirectory, prices: &Prices) -> Line {
    let run = RunSteps::open(run, prices.clone());
    let head = run.head();
    let id: String = run
        .directory
        .trace_id
        .to_string()
        .chars()
        .take(ID_CHARS)
        .collect();
    let line = Line::of(
        format!("{} {}", head.status.glyph(), head.status.as_str()),
        head.status.tone(),
    )
    .with(format!("  {id}  "), Tone::Plain);
    if run.meta.is_err() {
        return line;
    }
    let duration = head.duration.map(units::duration).unwrap_or_default();
    line.with(one_line(&head.display_name(), 100), Tone::Strong)
        .with(format!("  {duration}  {}", head.facts().join(", ")), Tone::Muted)
}

/// Shows on a terminal what is under way.
fn show_status(receiver: &RunningReceiver, shown: &mut Option<String>, session: &mut Session) {
    if !session.ui.shows_status() {
        return;
    }
    let Some(sentence) = receiver.status() else {
        return;
    };
    if shown.as_deref() != Some(sentence.as_str()) {
        session.ui.status(&Line::of(&sentence, Tone::Muted));
        *shown = Some(sentence);
    }
}

/// Prints what was done.
fn ended(received: &Received, session: &mut Session) -> Result<(), CliError> {
    let collected = &received.collected;
    if session.is_json() {
        session.ui.json(&json!({
            "event": "ended",
            "runs": collected.started_runs,
            "spans": collected.spans,
            "duplicates": collected.duplicates,
            "rejected": collected.rejected,
            "differing": collected.differing,
            "repaired": collected.repaired,
            "ignored_traces": collected.ignored_traces,
            "ignored_logs": collected.ignored_logs,
            "logs_without_session": collected.logs_without_session,
            "refused_requests": received.served.refused_requests,
        }))?;
        return session.ui.flush();
    }
    session.ui.say(received.sentence());
    for note in &received.notes {
        session.ui.warn(note);
    }
    if let Some(error) = &collected.last_error {
        let note = format!("a run could not be completed: {error}");
        session.ui.warn(note);
    }
    if collected.started_runs > 0 {
        session.suggest("show the newest", "show");
    }
    session.ui.flush()
}

#[cfg(test)]
mod tests {
    use tracer_sdk::{Config, Run, Usage, llm_call};

    use super::*;

    #[test]
    fn a_completed_run_shows_what_its_tokens_cost() {
        let folder = tempfile::tempdir().unwrap();
        let config = Config::new().data_dir(folder.path());
        let run = Run::new("support-agent").config(&config).start();
        let call = |model: &'static str| {
            let usage = Usage::new(12_000, 800);
            llm_call(model).provider("openai").usage(usage).record().unwrap();
        };
        call("gpt-4o");
        let words = || {
            let run = RunStore::new(folder.path()).newest().unwrap();
            row(run, &Prices::default()).text()
        };
        assert!(
            words().ends_with("12,800 tokens (12,000 in, 800 out), $0.038"),
            "{}",
            words()
        );
        call("nobody's");
        let known_in_part =
            "25,600 tokens (24,000 in, 1,600 out), at least $0.038, 1 of 2 calls has no price";
        assert!(words().ends_with(known_in_part), "{}", words());
        run.finish();
    }
}
