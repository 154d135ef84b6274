//! `GET /api/runs/{id}/overview`: did it work, and if not, where and why; what it did and what it cost.

use axum::extract::State;
use axum::response::Response;
use serde::Serialize;
use tracer_sdk::format::{EventType, Payload, Problem, RunMeta, TraceId};

use super::super::answer::{ApiError, json_response};
use super::super::run::open_run::OpenRun;
use super::super::viewer::Viewer;
use super::request::RunId;
use crate::inspect::TokensUsed;
use crate::inspect::loops::{self, LoopReport};
use tracer_insight::cost::CostReport;
use tracer_insight::failure::first_cause;
use tracer_insight::run_steps::{RowSource, TimelineRow};
use tracer_insight::step_kind::StepKind;
use tracer_insight::steps;
use tracer_insight::totals::Totals;

/// The outcome of a run.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Overview {
    run_id: TraceId,
    run_name: Option<String>,
    /// The status, by all that is known: `running`, `interrupted`, `failed`, `loop`, `ok`, `damaged`.
    run_status: &'static str,
    /// The URL of the bucket that it was read from; absent of a run of this machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    origin: Option<String>,
    /// The verdict in one sentence.
    sentence: String,
    /// Its counts in words, without those of 0.
    facts: Vec<String>,
    /// Its tags, each as `key=value`.
    tags: Vec<String>,
    /// Notices of missing spans, of spans after its end, and of a cut end of the log.
    notices: Vec<String>,
    /// The record that shows what went wrong first.
    first_cause: Option<String>,
    /// The model call that used the most tokens; null where there are not several.
    heaviest: Option<StepLink>,
    started_at: Option<String>,
    /// Its duration until its end, or until now, in microseconds.
    duration_us: Option<u64>,
    totals: TotalsAnswer,
    /// Calls under way.
    in_flight: Vec<InFlight>,
    /// Number of problems of its files, in words; null when there are none.
    problem_summary: Option<String>,
    /// The first problems of its files.
    problems: Vec<Problem>,
    /// Number of further problems.
    more_problems: u64,
    loops: Vec<LoopReport>,
    /// The metadata; null when it cannot be read.
    run: Option<RunMeta>,
    /// Its environment; null while its root has not ended.
    environment: Option<EnvironmentJson>,
    log_bytes: u64,
    /// Changes when the run does.
    version: String,
}

/// Sums over all steps.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct TotalsAnswer {
    steps: u64,
    llm_calls: u64,
    tool_calls: u64,
    /// Model and tool calls that failed.
    failed_calls: u64,
    /// Errors that were recorded for themselves.
    errors: u64,
    loop_warnings: u64,
    in_flight: u64,
    tokens: TokensUsed,
    /// The cost of its model calls.
    cost: CostReport,
}

/// A step that the page leads to.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct StepLink {
    event_id: String,
    label: String,
}

/// A call under way.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct InFlight {
    span_id: String,
    name: String,
    kind: StepKind,
    started_at: String,
}

/// The environment of a run.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct EnvironmentJson {
    argv: Vec<String>,
    cwd: Option<String>,
    platform: Option<String>,
    /// The compiler or interpreter of the program.
    language_version: Option<String>,
}

/// Tells how a run went.
pub(crate) async fn overview(State(viewer): State<Viewer>, id: RunId) -> Result<Response, ApiError> {
    let read = viewer.read(move |viewer| viewer.runs().with(id.0, of));
    Ok(json_response(&read.await?))
}

/// The outcome of a run.
pub(crate) fn of(run: &OpenRun) -> Result<Overview, ApiError> {
    let sources = run.steps.read_key_steps().map_err(ApiError::unreadable)?;
    let steps = steps::steps(&sources, run.steps.started());
    let head = run.steps.head();
    let cause = first_cause(run.steps.status, &steps);
    Ok(Overview {
        run_id: run.steps.directory.trace_id,
        run_name: run.name().map(str::to_owned),
        run_status: run.steps.status.as_str(),
        origin: run.origin.clone(),
        sentence: head.sentence(&steps),
        facts: head
            .facts()
            .into_iter()
            .filter(|fact| !fact.starts_with("0 "))
            .collect(),
        tags: head.tag_words(),
        first_cause: cause.map(|step| step.record.event_id.clone()),
        heaviest: heaviest(run),
        started_at: run.steps.started().map(|started| started.to_string()),
        duration_us: head.duration,
        totals: totals_answer(&head.totals),
        in_flight: in_flight(run),
        problem_summary: head.problem_list(0).map(|list| list.heading),
        notices: head.notices().collect(),
        problems: head.problems,
        more_problems: head.more_problems,
        loops: loops::of(&steps),
        run: run.steps.meta.as_ref().ok().cloned(),
        environment: environment(run)?,
        log_bytes: run.log_bytes(),
        version: run.version(),
    })
}

fn totals_answer(totals: &Totals) -> TotalsAnswer {
    TotalsAnswer {
        steps: totals.steps,
        llm_calls: totals.llm_calls,
        tool_calls: totals.tool_calls,
        failed_calls: totals.failed_calls,
        errors: totals.errors,
        loop_warnings: totals.loop_warnings,
        in_flight: totals.in_flight,
        tokens: TokensUsed::from(&totals.tokens),
        cost: CostReport::from(&totals.cost),
    }
}

fn heaviest(run: &OpenRun) -> Option<StepLink> {
    let rows = run
        .steps
        .rows_of(|event_type, _| event_type == EventType::LlmCall);
    let tokens = |row: &&TimelineRow| {
        let span = run.steps.index.span(run.position_of(row)?)?;
        Some(u64::from(span.tokens_in?) + u64::from(span.tokens_out.unwrap_or(0)))
    };
    let row = rows
        .iter()
        .copied()
        .filter(|row| rows.len() > 1 && tokens(row).is_some())
        .max_by_key(tokens)?;
    Some(StepLink {
        event_id: run.steps.event_id(row)?,
        label: format!("Most tokens: #{}", row.number),
    })
}

/// Calls under way.
fn in_flight(run: &OpenRun) -> Vec<InFlight> {
    run.steps
        .in_flight
        .iter()
        .map(|started| InFlight {
            span_id: started.span_id.to_string(),
            name: started.name.clone(),
            kind: StepKind::from(started.event_type),
            started_at: started.start_time.text().to_owned(),
        })
        .collect()
}

fn environment(run: &OpenRun) -> Result<Option<EnvironmentJson>, ApiError> {
    let root = run
        .steps
        .timeline
        .get(0)
        .filter(|row| row.number == 0 && matches!(row.source, RowSource::Span(_)));
    let Some(root) = root else { return Ok(None) };
    let read = run.steps.read_row(root).map_err(ApiError::unreadable)?;
    Ok(read.and_then(|read| match read.record.payload {
        Payload::RunStart {
            python_version,
            platform,
            cwd,
            argv,
            ..
        } => Some(EnvironmentJson {
            argv,
            cwd,
            platform,
            language_version: python_version,
        }),
        _ => None,
    }))
}
