//! A run as its files hold it: `/api/runs/{id}`, `…/spans`, `…/paths` (specification, *Endpoints*).

use std::io::{self, Write};

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use serde::Serialize;
use tracer_runs::{RecordStream, RunReader, Strictness, spans_to_events};
use tracer_sdk::format::{META_FILE, RunMeta, SPANS_FILE, SpanRecord, TraceId};

use super::super::answer::{ApiError, bytes_response, json_response, not_modified, with_version};
use super::super::run::stamp::RunStamp;
use super::super::streamed_body;
use super::super::viewer::Viewer;
use super::request::{Query, RunId};
use tracer_insight::json::Document;

/// Spans in one range.
const MAX_SPANS: usize = 10_000;

/// One run.
#[derive(Serialize)]
pub(crate) struct RunAnswer {
    /// Its metadata.
    run: RunMeta,
}

/// The paths of a run's files.
#[derive(Serialize)]
pub(crate) struct PathsAnswer {
    trace_id: TraceId,
    paths: Paths,
}

/// Paths on this machine.
#[derive(Serialize)]
struct Paths {
    /// The directory of the run.
    run_dir: String,
    /// Its metadata.
    meta_json: String,
    /// Its span log.
    spans_jsonl: String,
}

/// The metadata of a run.
pub(crate) async fn run(State(viewer): State<Viewer>, id: RunId) -> Result<Response, ApiError> {
    let answer = viewer.read(move |viewer| {
        let run = viewer.runs().directory(id.0)?.read_summary();
        let run = run.meta.map_err(ApiError::damaged)?;
        Ok(RunAnswer { run })
    });
    Ok(json_response(&answer.await?))
}

/// The paths of a run's files.
pub(crate) async fn paths(State(viewer): State<Viewer>, id: RunId) -> Result<Response, ApiError> {
    let answer = viewer.read(move |viewer| {
        let directory = viewer.runs().directory(id.0)?;
        let path = std::path::absolute(&directory.path).unwrap_or(directory.path);
        let shown = |name: &str| path.join(name).display().to_string();
        Ok(PathsAnswer {
            trace_id: id.0,
            paths: Paths {
                run_dir: path.display().to_string(),
                meta_json: shown(META_FILE),
                spans_jsonl: shown(SPANS_FILE),
            },
        })
    });
    Ok(json_response(&answer.await?))
}

/// The spans and records of a run, sent while they are read; a range of them with `from` and `limit`.
pub(crate) async fn spans(
    State(viewer): State<Viewer>,
    id: RunId,
    query: Query,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let from = query.from()?;
    let is_range = query.get("from").is_some() || query.get("limit").is_some();
    let limit = query.limit("limit", MAX_SPANS, MAX_SPANS)?;
    let range = is_range.then_some((from, limit));
    let (stamp, records) = viewer
        .read(move |viewer| {
            let directory = viewer.runs().directory(id.0)?;
            let stamp = RunStamp::of(&directory.path);
            let run = RunReader::open(&directory.path, Strictness::Strict).map_err(ApiError::invalid_run)?;
            Ok((stamp, run.records))
        })
        .await?;
    let version = stamp.version(&("spans", range, id.0));
    if let Some(response) = not_modified(&headers, &version) {
        return Ok(response);
    }
    let body = streamed_body::body(&viewer, move |writer| write_spans(id.0, records, range, writer));
    let response = bytes_response("application/json", body);
    Ok(with_version(response, &version))
}

fn write_spans(
    trace_id: TraceId,
    records: RecordStream,
    range: Option<(usize, usize)>,
    writer: &mut dyn Write,
) -> io::Result<()> {
    let mut document = Document::begin(writer)?;
    document.field("trace_id", &trace_id)?;
    let failed = |error: tracer_runs::RecordError| io::Error::other(error);
    let mut list = document.begin_list("spans")?;
    let spans = records.clone().into_spans();
    if let Some((from, limit)) = range {
        let spans: Result<Vec<SpanRecord>, _> = spans.starting_at(from).take(limit).collect();
        let spans = spans.map_err(failed)?;
        for span in &spans {
            list.item(|writer| tracer_insight::json::write(writer, span))?;
        }
        list.end()?;
        document.list("events", spans_to_events(&spans))?;
        return document.end();
    }
    for span in spans {
        let span = span.map_err(failed)?;
        list.item(|writer| tracer_insight::json::write(writer, &span))?;
    }
    list.end()?;
    let mut list = document.begin_list("events")?;
    for record in records {
        let record = record.map_err(failed)?;
        list.item(|writer| tracer_insight::json::write(writer, &record))?;
    }
    list.end()?;
    document.end()
}
