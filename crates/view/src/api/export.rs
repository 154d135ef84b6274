//! `GET /r/{id}/export.html`: a run as one file, to be kept or sent.

use axum::extract::State;
use axum::http::{HeaderValue, header};
use axum::response::Response;

use super::super::answer::{ApiError, bytes_response};
use super::super::run::open_run::OpenRun;
use super::super::search::find;
use super::super::streamed_body;
use super::super::viewer::Viewer;
use super::request::{Query, RunId};
use super::search::step_query;
use tracer_catalog::query::StepQuery;
use tracer_export::{ExportError, html as html_file};
use tracer_insight::run_steps::RunSteps;
use tracer_insight::step_filter::StepFilter;
use tracer_insight::step_kind::StepKind;

/// Sends the file, made from the steps that pass `kind`, `errors` and `q`.
pub(crate) async fn html(
    State(viewer): State<Viewer>,
    id: RunId,
    query: Query,
) -> Result<Response, ApiError> {
    let kinds = query.get("kind").map(kinds).transpose()?.unwrap_or_default();
    let wanted = query.get("q").filter(|text| !text.is_empty());
    let wanted = wanted.map(step_query).transpose()?;
    let only_failures = query
        .get("errors")
        .is_some_and(|errors| errors == "1" || errors == "true");
    let filter = StepFilter::new(&kinds, only_failures, None);
    let read = viewer.read(move |viewer| {
        let directory = viewer.runs().directory(id.0)?;
        let steps = RunSteps::open_readable(&directory, viewer.runs().prices().clone())
            .map_err(ApiError::invalid_run)?;
        let filter = match wanted {
            Some(wanted) => filter.among(viewer.runs().with(id.0, |run| all_steps(run, &wanted))?),
            None => filter,
        };
        Ok((steps, filter))
    });
    let (steps, filter) = read.await?;
    let redaction = tracer_export::process_redaction(viewer.settings());
    let body = streamed_body::body(&viewer, move |writer| {
        let written = html_file::write_run(&steps, &filter, &redaction, |_| {}, writer);
        written.map(drop).map_err(ExportError::into_io)
    });
    let mut response = bytes_response("text/html; charset=utf-8", body);
    let name = format!("attachment; filename=\"tracer-{}.html\"", id.0);
    if let Ok(name) = HeaderValue::from_str(&name) {
        response.headers_mut().insert(header::CONTENT_DISPOSITION, name);
    }
    Ok(response)
}

/// The numbers of all steps that match.
fn all_steps(run: &OpenRun, wanted: &StepQuery) -> Result<Vec<usize>, ApiError> {
    let mut numbers = Vec::new();
    let mut after = Some(0);
    while let Some(from) = after {
        let found = find(run, wanted, from, usize::MAX)?;
        let rows = found
            .hits
            .into_iter()
            .filter_map(|row| run.steps.timeline.get(row));
        numbers.extend(rows.map(|row| row.number as usize));
        after = found.next;
    }
    Ok(numbers)
}

fn kinds(text: &str) -> Result<Vec<StepKind>, ApiError> {
    text.split(',')
        .map(|kind| {
            let of_step = StepKind::from_word(kind).filter(|kind| *kind != StepKind::Run);
            of_step.ok_or_else(|| {
                ApiError::bad_request(
                    "invalid_parameter",
                    "`kind` holds llm, tool, state, error, loop or other, with commas between",
                )
            })
        })
        .collect()
}
