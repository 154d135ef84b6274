//! `tracer receive`: an endpoint of OpenTelemetry on this machine, whose spans and logs become runs, until Ctrl-C.

use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

use serde::Serialize;
use tracer_sdk::format::{SPEC_VERSION, TraceId};
use tracer_sdk::prices::Prices;
use tracer_sdk::read::{RunDirectory, RunReader, RunStore, RunSummary, Strictness};

use crate::error::CliError;
use crate::outcome::CommandOutcome;
use crate::receiver::{Received, ReceiverArgs, RunningReceiver};
use crate::runtime;
use crate::session::Session;
use tracer_insight::cost;
use tracer_insight::line::{Line, Tone};
use tracer_insight::run_entry::RunEntry;
use tracer_insight::run_head::display_name;
use tracer_insight::status::Signs as _;
use tracer_insight::text::{counted, one_line, path_below_home};
use tracer_insight::units;

/// How often to look which runs have ended.
const POLL_INTERVAL: Duration = Duration::from_millis(200);
/// Characters of an ID that distinguish runs.
const ID_CHARS: usize = 8;

/// Options of `tracer receive`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example: tracer receive, and in another terminal, with the variables that it prints: python agent.py

Ctrl-C ends it. docs/receiving.md says what is taken and what becomes of it.")]
pub struct Args {
    #[command(flatten)]
    receiver: ReceiverArgs,

    /// Print JSON lines: where it listens, each completed run, the summary
    #[arg(long)]
    json: bool,
}

/// A line of `tracer receive --json`.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "event", rename_all = "snake_case")]
#[expect(clippy::large_enum_variant, reason = "a line is made, printed and dropped")]
pub(crate) enum ReceiveLine<'a> {
    /// The first line: it listens.
    Receiving {
        /// The version of the trace format.
        #[cfg_attr(test, schemars(schema_with = "tracer_insight::schema::spec_version"))]
        spec_version: &'static str,
        /// The base address of OTLP/HTTP.
        http_endpoint: String,
        /// The address of OTLP/gRPC; null without one.
        grpc_endpoint: Option<String>,
        /// What senders have to give; null when they need none.
        token: Option<&'a str>,
    },
    /// A run was completed, or again after late spans.
    Completed {
        /// The run, as `tracer list --json` has it.
        run: RunEntry<'a>,
    },
    /// The last line: what was done.
    Ended {
        /// Runs that were begun.
        runs: u64,
        /// Spans that were written.
        spans: u64,
        /// Spans that had arrived before.
        duplicates: u64,
        /// Spans and log records that can never be taken.
        rejected: u64,
        /// Spans with the ID of another one that differs from them; they were left out.
        differing: u64,
        /// Values that were not as OTLP writes them, and were repaired or left out.
        repaired: u64,
        /// Traces without a model call, a tool call or an agent.
        ignored_traces: u64,
        /// Log records that say nothing about an agent.
        ignored_logs: u64,
        /// Requests that were refused.
        refused_requests: u64,
    },
}

/// Receives until Ctrl-C.
pub fn run(args: &Args, session: &mut Session) -> Result<CommandOutcome, CliError> {
    let interrupted = runtime::interrupts()?;
    let prices = session.prices()?;
    let receiver = RunningReceiver::start(&args.receiver, session)?;
    let store = RunStore::new(session.data_dir()?);
    announce(args, &receiver, session)?;
    let mut shown = None;
    while let Err(RecvTimeoutError::Timeout) = interrupted.recv_timeout(POLL_INTERVAL) {
        for trace_id in receiver.take_completed() {
            completed(&store, &prices, trace_id, args.json, session)?;
        }
        show_status(&receiver, &mut shown, session);
    }
    session.ui.clear_status();
    let (summary, last) = receiver.end();
    for trace_id in last {
        completed(&store, &prices, trace_id, args.json, session)?;
    }
    ended(args, &summary, session)?;
    Ok(CommandOutcome::Done)
}

/// Prints where it listens, and what to set for the program that is to be traced.
fn announce(args: &Args, receiver: &RunningReceiver, session: &mut Session) -> Result<(), CliError> {
    if args.json {
        session.ui.json(&ReceiveLine::Receiving {
            spec_version: SPEC_VERSION,
            http_endpoint: receiver.http_endpoint(),
            grpc_endpoint: receiver.grpc_endpoint(),
            token: receiver.token(),
        })?;
        return session.ui.flush();
    }
    let place = path_below_home(&session.data_dir()?);
    session.ui.note(&receiver.heading());
    let note = format!("runs go to {place}; set for the program to trace:");
    session.ui.remark(note);
    for export in receiver.exports() {
        session.ui.say(format!("  {export}"));
    }
    if !args.receiver.listen.is_loopback() {
        let warning =
            "other machines can reach it: it takes what has the token, without encryption on the way";
        session.ui.warn(warning);
    }
    session.ui.flush()
}

/// Prints a completed run.
pub(super) fn completed(
    store: &RunStore,
    prices: &Prices,
    trace_id: TraceId,
    as_json: bool,
    session: &mut Session,
) -> Result<(), CliError> {
    // It may have been deleted or pruned in the meantime.
    let Ok(directory) = store.select(&trace_id.to_string()) else {
        return Ok(());
    };
    let run = RunDirectory::read_summary(directory);
    if !as_json {
        session.ui.clear_status();
        session.ui.lines(&[row(&run, prices)])?;
    } else if let Some(run) = RunEntry::of(&run) {
        session.ui.json(&ReceiveLine::Completed { run })?;
    }
    session.ui.flush()
}

/// `✓ ok  4bf92f35  support-agent  5.2s  3 model calls, 2 tool calls, 1204 tokens, $0.0021`
fn row(run: &RunSummary, prices: &Prices) -> Line {
    let status = run.status();
    let id: String = run
        .directory
        .trace_id
        .to_string()
        .chars()
        .take(ID_CHARS)
        .collect();
    let line = Line::of(format!("{} {}", status.glyph(), status.as_str()), status.tone())
        .with(format!("  {id}  "), Tone::Plain);
    let Ok(meta) = &run.meta else { return line };
    let name = display_name(meta.run_name.as_deref());
    let mut words = vec![
        counted(meta.counts.llm_calls, "model call"),
        counted(meta.counts.tool_calls, "tool call"),
    ];
    if let Ok(read) = RunReader::open(&run.directory.path, Strictness::Lenient)
        && let Some(tokens) = read.tokens.total_tokens
    {
        words.push(format!("{} tokens", units::quantity(tokens)));
        words.extend(cost::words(&read.model_calls.cost(prices)));
    }
    if meta.counts.errors > 0 {
        words.push(counted(meta.counts.errors, "error"));
    }
    let duration = units::run_duration(meta).map(units::duration).unwrap_or_default();
    line.with(one_line(&name, 100), Tone::Strong)
        .with(format!("  {duration}  {}", words.join(", ")), Tone::Muted)
}

/// Shows on a terminal what is under way.
fn show_status(receiver: &RunningReceiver, shown: &mut Option<String>, session: &mut Session) {
    if !session.ui.shows_status() {
        return;
    }
    let sentence = receiver.so_far().sentence();
    if shown.as_deref() != Some(sentence.as_str()) {
        session.ui.status(&Line::of(&sentence, Tone::Muted));
        *shown = Some(sentence);
    }
}

/// Prints what was done.
fn ended(args: &Args, received: &Received, session: &mut Session) -> Result<(), CliError> {
    let collected = &received.collected;
    if args.json {
        session.ui.json(&ReceiveLine::Ended {
            runs: collected.started_runs,
            spans: collected.spans,
            duplicates: collected.duplicates,
            rejected: collected.rejected,
            differing: collected.differing,
            repaired: collected.repaired,
            ignored_traces: collected.ignored_traces,
            ignored_logs: collected.ignored_logs,
            refused_requests: received.served.refused_requests,
        })?;
        return session.ui.flush();
    }
    session.ui.say(received.sentence());
    if let Some(error) = &collected.last_error {
        let note = format!("a run could not be completed: {error}");
        session.ui.warn(note);
    }
    if collected.started_runs > 0 {
        let show = session.command("show");
        session.ui.hint(&format!("show the newest: {show}"));
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
            let run = RunStore::new(folder.path()).newest().unwrap().read_summary();
            row(&run, &Prices::default()).text()
        };
        assert!(words().ends_with("12.8k tokens, $0.038"), "{}", words());
        call("nobody's");
        let known_in_part = "25.6k tokens, at least $0.038, 1 of 2 calls has no price";
        assert!(words().ends_with(known_in_part), "{}", words());
        run.finish();
    }
}
