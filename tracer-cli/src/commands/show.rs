//! `tracer show`: what a run did, step by step; whatever can be read of it.

use serde::Serialize;
use tracer_sdk::format::{EventType, RunMeta, RunStatus, SpanId, StoredTime};
use tracer_sdk::read::{SalvagedRun, StartedSpan};

use super::{Verdict, duration, now, refused, standing};
use crate::error::{CliError, ErrorKind};
use crate::json::Document;
use crate::render::line::{Line, Tone};
use crate::render::run_page::RunPage;
use crate::render::standing::Standing;
use crate::render::{in_flight, steps};
use crate::session::{Session, quoted};

/// Options of `tracer show`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The run: its ID, or as much of its beginning as no other run has; the newest when left out
    run_id: Option<String>,

    /// Everything as JSON: `{spec_version, status, run, events, in_flight, problems}`
    #[arg(long)]
    json: bool,
}

/// Shows a run.
pub fn run(args: &Args, session: &mut Session) -> Result<Verdict, CliError> {
    let (directory, short_id) = session.select(args.run_id.as_deref())?;
    let standing = standing(&directory.clone().listed());
    let mut run = directory.salvage().map_err(|invalid| {
        let what = format!("run {short_id} cannot be shown");
        refused(ErrorKind::Input, what, &invalid)
            .with_hint(format!("pick another one: {}", session.command("list")))
    })?;
    if !standing.is_open() {
        // A stale `.live` says nothing about a run that has ended.
        run.in_flight.clear();
    }
    if args.json {
        json(&run, standing, session)?;
    } else {
        page(&run, standing, &short_id, session)?;
    }
    if !run.problems.is_empty() {
        session.ui.hint(&format!(
            "every problem: tracer validate-trace {}",
            quoted(&directory.path)
        ));
    }
    Ok(Verdict::Done)
}

fn page(
    run: &SalvagedRun,
    standing: Standing,
    short_id: &str,
    session: &mut Session,
) -> Result<(), CliError> {
    let records = in_flight::with_in_flight(run.records(), run.trace_id, &run.in_flight);
    let meta = run.meta.as_ref();
    let started = meta.map(|meta| meta.started_at.instant());
    let steps = steps::steps(&records, &run.spans, &run.in_flight, started);
    let page = RunPage {
        name: meta.and_then(|meta| meta.run_name.as_deref()),
        short_id,
        standing,
        started,
        duration: meta.and_then(|meta| match standing {
            Standing::Running => u64::try_from(now().microseconds_since(meta.started_at.instant())).ok(),
            _ => duration(meta),
        }),
        steps: &steps,
        dropped: meta.and_then(dropped),
        cut_tail: run.cut_tail,
        problems: &run.problems,
    };
    session.ui.lines(&page.lines(session.ui.width()))?;
    if run.problems.is_empty() {
        let export = session.command(&format!("export {short_id} --out run.json"));
        let next = format!("  as JSON: {export}    all runs: {}", session.command("list"));
        session.ui.note(&Line::new());
        session.ui.note(&Line::of(next, Tone::Muted));
    }
    Ok(())
}

/// The spans that the emitter could not write, as it told in `meta.json` (decisions, section 5).
fn dropped(meta: &RunMeta) -> Option<(u64, &str)> {
    let dropped = meta.additional.get("dropped")?;
    let reason = dropped
        .get("reason")
        .and_then(|reason| reason.as_str())
        .unwrap_or("no reason is given");
    Some((dropped.get("spans")?.as_u64()?, reason))
}

fn json(run: &SalvagedRun, standing: Standing, session: &mut Session) -> Result<(), CliError> {
    let records = run.records();
    write_json(run, &records, standing, session.ui.output()).map_err(|error| CliError::output(&error))
}

/// A call that the run is waiting for, or was in when its process died.
#[derive(Serialize)]
struct InFlight<'a> {
    span_id: SpanId,
    parent_span_id: Option<SpanId>,
    event_type: EventType,
    name: &'a str,
    start_time: &'a StoredTime,
}

impl<'a> InFlight<'a> {
    fn of(started: &'a StartedSpan) -> Self {
        Self {
            span_id: started.span_id,
            parent_span_id: started.parent_span_id,
            event_type: started.event_type,
            name: &started.name,
            start_time: &started.start_time,
        }
    }
}

fn write_json(
    run: &SalvagedRun,
    records: &[impl Serialize],
    standing: Standing,
    output: &mut dyn std::io::Write,
) -> std::io::Result<()> {
    let mut document = Document::begin(output)?;
    // Besides the three words of the format, one that the files cannot tell.
    let status = match standing {
        Standing::Interrupted => Some(Standing::Interrupted.word()),
        _ => run.status.map(RunStatus::as_str),
    };
    document.field("status", &status)?;
    document.field("run", &run.meta)?;
    document.list("events", records)?;
    document.list("in_flight", run.in_flight.iter().map(InFlight::of))?;
    document.list("problems", &run.problems)?;
    document.end()
}
