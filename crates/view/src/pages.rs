//! The pages: each is the shell with the data of its first paint.

use axum::extract::{Path, State};
use axum::http::{HeaderValue, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use tracer_insight::run_head::UNNAMED;
use tracer_runs::{RunDirectory, SelectError};
use tracer_sdk::format::{SPANS_FILE, TraceId};

use super::answer::{ApiError, bytes_response};
use super::api;
use super::api::baselines::is_name;
use super::api::request::{Query, Segments, trace_id};
use super::assets::content_type;
use super::shell::Shell;
use super::viewer::Viewer;

/// A run with a larger log is read only when its page asks.
const MAX_EAGER_BYTES: u64 = 8 * 1024 * 1024;
/// Rows in the initial data.
const FIRST_ROWS: usize = 60;
/// Characters of an ID prefix in an address.
const MIN_PREFIX_CHARACTERS: usize = 6;

/// The page of all runs; the addresses of another viewer of the same format lead to the run.
pub(super) async fn runs(State(viewer): State<Viewer>, query: Query) -> Response {
    for name in ["run", "run_id"] {
        if let Some(run) = query.get(name).filter(|run| is_id_like(run)) {
            return found(&format!("/r/{run}"));
        }
    }
    let shell = Shell::new(&viewer, "runs", "Runs · tracer", &[]);
    let read = viewer.clone();
    // Of another view of the runs the page asks itself.
    let is_of_all = ["q", "filter", "status", "agent", "since", "sort", "group"]
        .iter()
        .all(|name| query.get(name).is_none());
    page(shell.map(|shell| shell.begun(&viewer, move || first_runs(&read, is_of_all))))
}

/// Initial data of the page of all runs.
#[derive(Serialize)]
struct FirstRuns {
    columns: [api::table::TableColumn; 9],
    table: Option<api::table::RunTable>,
    /// Why there is no table.
    problem: Option<String>,
}

fn first_runs(viewer: &Viewer, is_of_all: bool) -> FirstRuns {
    let table = is_of_all.then(|| api::table::first(viewer)).transpose();
    FirstRuns {
        columns: api::table::columns(),
        problem: table.as_ref().err().map(|error| error.message().to_owned()),
        table: table.ok().flatten(),
    }
}

/// The page of statistics. What is refused, or takes long to read, the page asks for itself.
pub(super) async fn stats(State(viewer): State<Viewer>, query: Query) -> Response {
    let shell = Shell::new(&viewer, "stats", "Statistics · tracer", &[]);
    let read = viewer.clone();
    page(shell.map(|shell| {
        shell.begun(&viewer, move || FirstStats {
            stats: api::stats::StatsRequest::of_page(&query)
                .and_then(|request| api::stats::answer(&read, &request))
                .ok(),
        })
    }))
}

/// Initial data of the page of statistics.
#[derive(Serialize)]
struct FirstStats {
    /// As `/api/stats` answers; null where the page has to ask.
    stats: Option<api::stats::StatsAnswer>,
}

/// Initial data of the page of a run.
#[derive(Serialize)]
struct FirstRun {
    run_id: String,
    /// As `/overview` answers; null for a run that takes long to read.
    overview: Option<api::overview::Overview>,
    /// The first rows, as `/rows` answers; of a run that takes long to read, of its beginning.
    rows: Option<api::rows::Rows>,
}

/// Initial data of the page without a run.
#[derive(Serialize)]
struct EmptyPageNotice {
    status: u16,
    message: String,
    wanted: String,
    candidates: Vec<MatchingRun>,
}

#[derive(Serialize)]
struct MatchingRun {
    run_id: String,
    run_name: Option<String>,
    started_at: Option<String>,
}

/// The page of one run.
pub(super) async fn run(State(viewer): State<Viewer>, path: Segments, uri: Uri) -> Response {
    let wanted = path.at(0).to_owned();
    let query = uri.query().map(|query| format!("?{query}")).unwrap_or_default();
    let read = viewer.read(move |viewer| match named(viewer, &wanted) {
        Some(id) if id == wanted => run_page(viewer, trace_id(&id)?),
        Some(id) => Ok(found(&format!("/r/{id}{query}"))),
        None => not_found(viewer, &wanted),
    });
    page(read.await)
}

/// The page that compares two runs.
pub(super) async fn diff(State(viewer): State<Viewer>, path: Segments) -> Response {
    let (a, b) = (path.at(0).to_owned(), path.at(1).to_owned());
    let read = viewer.read(move |viewer| {
        let (Some(first), Some(second)) = (named(viewer, &a), named(viewer, &b)) else {
            let missing = if named(viewer, &a).is_none() { a } else { b };
            return not_found(viewer, &missing);
        };
        if first != a || second != b {
            return Ok(found(&format!("/diff/{first}/{second}")));
        }
        comparison_page(viewer)
    });
    page(read.await)
}

/// The page that compares a run with a baseline.
pub(super) async fn diff_with_baseline(State(viewer): State<Viewer>, path: Segments, uri: Uri) -> Response {
    let (a, name) = (path.at(0).to_owned(), path.at(1).to_owned());
    let encoded = uri.path().rsplit('/').next().unwrap_or_default().to_owned();
    let read = viewer.read(move |viewer| {
        let Some(run) = named(viewer, &a).filter(|_| is_name(&name)) else {
            return not_found(viewer, &a);
        };
        if run != a {
            return Ok(found(&format!("/diff/{run}/baseline/{encoded}")));
        }
        comparison_page(viewer)
    });
    page(read.await)
}

/// The page of a comparison: its address names both sides.
fn comparison_page(viewer: &Viewer) -> Result<Response, ApiError> {
    Shell::new(viewer, "comparison-page", "Compare · tracer", &[])?.with(&())
}

/// The whole ID of the run that a part of an address names.
fn named(viewer: &Viewer, wanted: &str) -> Option<String> {
    if let Ok(trace_id) = wanted.parse() {
        return viewer
            .runs()
            .locate(trace_id)
            .ok()
            .map(|run| run.trace_id.to_string());
    }
    let is_prefix = is_id_like(wanted) && wanted.len() >= MIN_PREFIX_CHARACTERS;
    let selected = is_prefix
        .then(|| viewer.facts().store().select(Some(wanted)).ok())
        .flatten();
    selected.map(|run| run.trace_id.to_string())
}

/// The page of a run: its shell goes out before the run is read, which takes as long as the browser needs for the script.
fn run_page(viewer: &Viewer, trace_id: TraceId) -> Result<Response, ApiError> {
    let directory = viewer.runs().locate(trace_id)?;
    let meta = viewer.facts().store().summary(directory.clone()).meta.ok();
    let name = meta.and_then(|meta| meta.run_name);
    let title = format!("{} · tracer", name.as_deref().unwrap_or(UNNAMED));
    let columns = format!("/api/runs/{trace_id}/columns");
    let beginning =
        (log_bytes(viewer, &directory) > Some(MAX_EAGER_BYTES)).then(|| format!("{columns}?beginning=true"));
    let needed: Vec<String> = beginning.into_iter().chain([columns]).collect();
    let shell = Shell::new(viewer, "run", &title, &needed)?;
    let read = viewer.clone();
    Ok(shell.begun(viewer, move || first_data(&read, &directory)))
}

/// Initial data of the page of a run.
fn first_data(viewer: &Viewer, directory: &RunDirectory) -> FirstRun {
    let mut first = FirstRun {
        run_id: directory.trace_id.to_string(),
        overview: None,
        rows: None,
    };
    // A run that cannot be read now is reported when the page asks for it.
    let runs = viewer.runs();
    let _ = match log_bytes(viewer, directory) {
        None => Ok(()),
        Some(..=MAX_EAGER_BYTES) => runs.with(directory.trace_id, |run| {
            first.overview = Some(api::overview::of(run)?);
            first.rows = Some(api::rows::of(run, 0, FIRST_ROWS)?);
            Ok(())
        }),
        Some(_) => runs.with_beginning(directory.trace_id, |run| {
            first.rows = Some(api::rows::of(run, 0, FIRST_ROWS)?);
            Ok(())
        }),
    };
    first
}

/// Size of the log of a run; `None` of one in a bucket that is still to be fetched, and is shown before it is.
fn log_bytes(viewer: &Viewer, directory: &RunDirectory) -> Option<u64> {
    let log = directory.path.join(SPANS_FILE).symlink_metadata();
    let is_here = log.is_ok() || viewer.facts().store().origin(directory).is_none();
    is_here.then(|| log.map_or(0, |log| log.len()))
}

/// Which runs may have been meant.
fn not_found(viewer: &Viewer, wanted: &str) -> Result<Response, ApiError> {
    let (status, message, candidates) = match viewer.facts().store().select(Some(wanted)) {
        Err(SelectError::Ambiguous { candidates }) => (
            StatusCode::MULTIPLE_CHOICES,
            "Several runs have IDs that begin so.",
            candidates,
        ),
        Err(SelectError::NotFound { candidates }) => {
            (StatusCode::NOT_FOUND, "No run has this ID.", candidates)
        }
        // A word for a run, or a prefix that is too short for an address.
        Ok(directory) => (StatusCode::NOT_FOUND, "No run has this ID.", vec![directory]),
        Err(_) => (StatusCode::NOT_FOUND, "No run has this ID.", Vec::new()),
    };
    let notice = EmptyPageNotice {
        status: status.as_u16(),
        message: message.to_owned(),
        wanted: wanted.to_owned(),
        candidates: candidates
            .into_iter()
            .take(20)
            .map(|directory| {
                let run_id = directory.trace_id.to_string();
                let meta = directory.clone().read_summary().meta.ok();
                MatchingRun {
                    run_id,
                    started_at: meta.as_ref().map(|meta| meta.started_at.text().to_owned()),
                    run_name: meta.and_then(|meta| meta.run_name),
                }
            })
            .collect(),
    };
    let mut response = Shell::new(viewer, "message", "Not found · tracer", &[])?.with(&notice)?;
    *response.status_mut() = status;
    Ok(response)
}

/// True for an ID or a part of one: nothing else becomes a part of an address.
fn is_id_like(text: &str) -> bool {
    (1..=32).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn found(target: &str) -> Response {
    (StatusCode::FOUND, [(header::LOCATION, target.to_owned())]).into_response()
}

fn page(made: Result<Response, ApiError>) -> Response {
    made.unwrap_or_else(|error| {
        let mut response = bytes_response("text/plain; charset=utf-8", error.message().to_owned());
        *response.status_mut() = error.status();
        response
    })
}

/// Serves a file of the page.
pub(super) async fn asset(
    State(viewer): State<Viewer>,
    path: Result<Path<(String, String)>, axum::extract::rejection::PathRejection>,
) -> Result<Response, ApiError> {
    let missing = || ApiError::not_found("no_such_file", "the page has no such file");
    let Path((version, name)) = path.map_err(|_| missing())?;
    let content_type = content_type(&name).ok_or_else(missing)?;
    let bytes = viewer.assets().get(&name).ok_or_else(missing)?;
    let mut response = bytes_response(content_type, bytes);
    if viewer.assets().is_immutable(&version) {
        let for_good = HeaderValue::from_static("private, max-age=31536000, immutable");
        response.headers_mut().insert(header::CACHE_CONTROL, for_good);
    }
    Ok(response)
}
