//! `GET /api/runs/{id}/overview`: did it work, and if not, where and why; what it did and what it cost.

use axum::extract::State;
use axum::response::Response;
use serde::Serialize;
use tracer_sdk::format::{Payload, Problem, RunMeta, SPEC_VERSION, TraceId};

use super::super::answer::{ApiError, json_response};
use super::super::run::open_run::OpenRun;
use super::super::viewer::Viewer;
use super::request::RunId;
use crate::inspect::TokensUsed;
use crate::inspect::loops::{self, LoopReport};
use tracer_insight::cost::CostReport;
use tracer_insight::run_steps::RowSource;
use tracer_insight::step_kind::StepKind;
use tracer_insight::steps;
use tracer_insight::summary;
use tracer_insight::totals::Totals;

/// How a run went.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Overview {
    /// The version of the trace format.
    #[cfg_attr(test, schemars(schema_with = "tracer_insight::schema::spec_version"))]
    spec_version: &'static str,
    run_id: TraceId,
    run_name: Option<String>,
    /// The status, by all that is known: `running`, `interrupted`, `failed`, `loop`, `ok`, `damaged`.
    run_status: &'static str,
    /// The URL of the bucket that it was read from; absent of a run of this machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    origin: Option<String>,
    /// What happened, in one sentence.
    sentence: String,
    /// What it counted, in words.
    facts: Vec<String>,
    /// Its tags, each as `key=value`.
    tags: Vec<String>,
    /// What is missing from the run, and what came after its end.
    remarks: Vec<String>,
    /// The remarks, and what was left out of the end of the log.
    notices: Vec<String>,
    /// The record that shows what went wrong first.
    first_cause: Option<String>,
    started_at: Option<String>,
    /// How long it took, or has been going on, in microseconds.
    duration_us: Option<u64>,
    totals: TotalsAnswer,
    /// What has begun and not ended.
    in_flight: Vec<InFlight>,
    /// How many problems the run's files have, in words; null when there are none.
    problem_summary: Option<String>,
    /// What is wrong with the run's files; the first ones.
    problems: Vec<Problem>,
    /// How many problems there are besides.
    more_problems: u64,
    /// How many bytes of a last line were left out, because the run was stopped within it.
    cut_tail: Option<u64>,
    loops: Vec<LoopReport>,
    /// The metadata; null when it cannot be read.
    run: Option<RunMeta>,
    /// Where it ran; null while its root has not ended.
    environment: Option<EnvironmentJson>,
    log_bytes: u64,
    row_count: usize,
    /// Changes when the run does.
    version: String,
}

/// What the steps come to.
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
    /// What the model calls cost.
    cost: CostReport,
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

/// Where a run ran.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct EnvironmentJson {
    argv: Vec<String>,
    cwd: Option<String>,
    platform: Option<String>,
    /// What built or interprets the program.
    language_version: Option<String>,
}

/// Tells how a run went.
pub(crate) async fn overview(State(viewer): State<Viewer>, id: RunId) -> Result<Response, ApiError> {
    let read = viewer.read(move |viewer| viewer.runs().with(id.0, of));
    Ok(json_response(&read.await?))
}

/// How a run went.
pub(crate) fn of(run: &OpenRun) -> Result<Overview, ApiError> {
    let sources = run.steps.read_key_steps().map_err(ApiError::unreadable)?;
    let steps = steps::steps(&sources, run.steps.started());
    let head = run.steps.head();
    let cause = summary::cause(run.steps.status, &steps);
    Ok(Overview {
        spec_version: SPEC_VERSION,
        run_id: run.steps.directory.trace_id,
        run_name: run.name().map(str::to_owned),
        run_status: run.steps.status.as_str(),
        origin: run.origin.clone(),
        sentence: head.sentence(&steps),
        facts: head.facts(),
        tags: head.tag_words(),
        first_cause: cause.map(|step| step.record.event_id.clone()),
        started_at: run.steps.started().map(|started| started.to_string()),
        duration_us: head.duration,
        totals: totals_answer(&head.totals),
        in_flight: in_flight(run),
        problem_summary: head.problem_list(0).map(|list| list.heading),
        notices: head.notices().collect(),
        remarks: head.remarks,
        problems: head.problems,
        more_problems: head.more_problems,
        cut_tail: head.cut_tail,
        loops: loops::of(run, &steps),
        run: run.steps.meta.as_ref().ok().cloned(),
        environment: environment(run)?,
        log_bytes: run.log_bytes(),
        row_count: run.steps.timeline.rows.len(),
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

/// What has begun and not ended.
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
