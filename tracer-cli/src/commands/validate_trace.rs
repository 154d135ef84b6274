//! `tracer validate-trace`: whether a run directory keeps to the trace format, without changing it.

use std::path::PathBuf;

use serde::Serialize;
use tracer_sdk::format::{Problem, RunStatus, SPEC_VERSION, TraceId};
use tracer_sdk::read::{self, InvalidRun, LoadedRun};

use super::{Verdict, refused};
use crate::error::{CliError, ErrorKind};
use crate::render::line::{Line, Tone};
use crate::render::text;
use crate::session::{Session, shown};

/// Options of `tracer validate-trace`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// A run directory, or its meta.json
    path: PathBuf,

    /// The verdict as JSON: `{valid, trace_id, spec_version, status, span_count, diagnostics, warnings}`
    #[arg(long)]
    json: bool,
}

/// The verdict as JSON (decisions, section 11).
#[derive(Serialize)]
struct Report<'a> {
    valid: bool,
    trace_id: Option<TraceId>,
    spec_version: Option<&'a str>,
    status: Option<RunStatus>,
    span_count: Option<usize>,
    diagnostics: &'a [Problem],
    warnings: &'a [Problem],
}

/// Validates a run directory.
pub fn run(args: &Args, session: &mut Session) -> Result<Verdict, CliError> {
    match read::open_run(&args.path) {
        Ok(run) if args.json => {
            session.ui.json(&valid_report(&run))?;
            Ok(Verdict::Done)
        }
        Ok(run) => {
            session.ui.lines(&[valid_line(&run)])?;
            Ok(Verdict::Done)
        }
        Err(invalid) if args.json => {
            session.ui.json(&invalid_report(&invalid))?;
            Ok(if invalid.is_input() {
                Verdict::NothingToCheck
            } else {
                Verdict::CheckFailed
            })
        }
        Err(invalid) if invalid.is_input() => {
            let what = format!("{} is no run directory that can be read", shown(&args.path));
            Err(refused(ErrorKind::Input, what, &invalid)
                .with_hint("give the folder that holds meta.json and spans.jsonl: DATA_DIR/runs/TRACE_ID"))
        }
        Err(invalid) => {
            let count = text::counted(invalid.problems.len() as u64, "problem");
            let verdict = Line::of("✗ invalid", Tone::Bad)
                .space(2)
                .with(format!("{}: {count}", shown(&args.path)), Tone::Plain);
            session.ui.lines(&[verdict])?;
            let problems = invalid
                .problems
                .iter()
                .map(|problem| Line::of(format!("  {problem}"), Tone::Plain));
            session.ui.lines(&problems.collect::<Vec<_>>())?;
            Ok(Verdict::CheckFailed)
        }
    }
}

/// The version is the declared one; a legacy run declares none.
fn valid_report(run: &LoadedRun) -> Report<'_> {
    Report {
        valid: true,
        trace_id: Some(run.meta.trace_id),
        spec_version: run.meta.spec_version.as_deref(),
        status: Some(run.meta.status),
        span_count: Some(run.spans.len()),
        diagnostics: &[],
        warnings: &[],
    }
}

fn invalid_report(invalid: &InvalidRun) -> Report<'_> {
    Report {
        valid: false,
        trace_id: invalid.trace_id,
        spec_version: invalid.spec_version.as_deref(),
        status: invalid.status,
        span_count: invalid.span_count,
        diagnostics: &invalid.problems,
        warnings: &[],
    }
}

fn valid_line(run: &LoadedRun) -> Line {
    let version = run.meta.spec_version.as_deref().map_or_else(
        || format!("legacy 0.2, read as {SPEC_VERSION}"),
        |version| format!("version {version}"),
    );
    Line::of("✓ valid", Tone::Good).space(2).with(
        format!(
            "{}  {version}  status {}  {}",
            run.meta.trace_id,
            run.meta.status.as_str(),
            text::counted(run.spans.len() as u64, "span")
        ),
        Tone::Plain,
    )
}
