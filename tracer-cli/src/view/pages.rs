//! The pages: one shell, with the data of the first paint already in it.

use axum::extract::State;
use axum::http::{StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use tracer_sdk::read::SelectError;

use super::answer::{ApiError, bytes_response, json_text};
use super::api;
use super::api::baselines::is_name;
use super::api::request::{Query, Segments, trace_id};
use super::assets;
use super::viewer::Viewer;

/// A run whose log has more bytes is looked into only when its page asks.
const MOST_BYTES_AT_ONCE: u64 = 8 * 1024 * 1024;
/// So many rows are in the first data.
const FIRST_ROWS: usize = 60;
/// A prefix of an ID has at least so many characters in an address.
const SHORTEST_PREFIX: usize = 6;

/// The page of all runs; the addresses of another viewer of the same format lead to the run.
pub(super) async fn runs(State(viewer): State<Viewer>, query: Query) -> Response {
    for name in ["run", "run_id"] {
        if let Some(run) = query.get(name).filter(|run| is_id_like(run)) {
            return found(&format!("/r/{run}"));
        }
    }
    let read = viewer.read(|viewer| {
        let first = api::table::first(viewer)?;
        shell(viewer, "runs", "Runs · tracer", &FirstRuns { table: &first })
    });
    page(read.await)
}

/// What the page of all runs begins with.
#[derive(Serialize)]
struct FirstRuns<'a> {
    table: &'a api::table::Table,
}

/// What the page of a run begins with.
#[derive(Serialize)]
struct FirstRun {
    run_id: String,
    /// As `/overview` answers; null for a run that takes long to read.
    overview: Option<api::overview::Overview>,
    /// The first rows, as `/rows` answers.
    rows: Option<api::rows::Rows>,
}

/// What the page says when there is nothing to show.
#[derive(Serialize)]
struct Told {
    status: u16,
    message: String,
    wanted: String,
    candidates: Vec<Candidate>,
}

#[derive(Serialize)]
struct Candidate {
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

/// What the page of a comparison begins with.
#[derive(Serialize)]
struct FirstDiff {
    a: String,
    /// The other run; null for a baseline.
    b: Option<String>,
    baseline: Option<String>,
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
        let data = FirstDiff {
            a: first,
            b: Some(second),
            baseline: None,
        };
        shell(viewer, "diff", "Compare · tracer", &data)
    });
    page(read.await)
}

/// The page that compares a run with a baseline.
pub(super) async fn diff_with_baseline(State(viewer): State<Viewer>, path: Segments) -> Response {
    let (a, name) = (path.at(0).to_owned(), path.at(1).to_owned());
    let read = viewer.read(move |viewer| {
        let Some(run) = named(viewer, &a).filter(|_| is_name(&name)) else {
            return not_found(viewer, &a);
        };
        if run != a {
            return Ok(found(&format!("/diff/{run}/baseline/{}", encoded(&name))));
        }
        let data = FirstDiff {
            a: run,
            b: None,
            baseline: Some(name),
        };
        shell(viewer, "diff", "Compare · tracer", &data)
    });
    page(read.await)
}

/// The whole ID of the run that a part of an address names.
fn named(viewer: &Viewer, wanted: &str) -> Option<String> {
    if let Ok(trace_id) = wanted.parse() {
        return viewer
            .runs()
            .directory(trace_id)
            .ok()
            .map(|run| run.trace_id.to_string());
    }
    let is_prefix = is_id_like(wanted) && wanted.len() >= SHORTEST_PREFIX;
    let selected = is_prefix
        .then(|| viewer.runs().store().select(wanted).ok())
        .flatten();
    selected.map(|run| run.trace_id.to_string())
}

/// A text as a part of an address.
fn encoded(text: &str) -> String {
    text.bytes()
        .map(|byte| match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                char::from(byte).to_string()
            }
            byte => format!("%{byte:02X}"),
        })
        .collect()
}

fn run_page(viewer: &Viewer, trace_id: tracer_sdk::format::TraceId) -> Result<Response, ApiError> {
    let log = viewer
        .runs()
        .directory(trace_id)?
        .path
        .join(tracer_sdk::format::SPANS_FILE);
    let bytes = log.symlink_metadata().map_or(0, |log| log.len());
    let mut first = FirstRun {
        run_id: trace_id.to_string(),
        overview: None,
        rows: None,
    };
    let mut title = "Run · tracer".to_owned();
    if bytes <= MOST_BYTES_AT_ONCE {
        // What cannot be read now is told when the page asks for it.
        let _ = viewer.runs().with(trace_id, |run| {
            title = format!("{} · tracer", run.name().unwrap_or("(unnamed)"));
            first.overview = Some(api::overview::of(run)?);
            first.rows = Some(api::rows::of(run, 0, FIRST_ROWS)?);
            Ok(())
        });
    }
    shell(viewer, "run", &title, &first)
}

/// Which runs may have been meant.
fn not_found(viewer: &Viewer, wanted: &str) -> Result<Response, ApiError> {
    let (status, message, candidates) = match viewer.runs().store().select(wanted) {
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
    let told = Told {
        status: status.as_u16(),
        message: message.to_owned(),
        wanted: wanted.to_owned(),
        candidates: candidates
            .into_iter()
            .take(20)
            .map(|directory| {
                let run_id = directory.trace_id.to_string();
                let meta = directory.listed().meta.ok();
                Candidate {
                    run_id,
                    started_at: meta.as_ref().map(|meta| meta.started_at.text().to_owned()),
                    run_name: meta.and_then(|meta| meta.run_name),
                }
            })
            .collect(),
    };
    let mut response = shell(viewer, "message", "Not found · tracer", &told)?;
    *response.status_mut() = status;
    Ok(response)
}

/// Whether it may be an ID or a part of one: nothing else becomes a part of an address.
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

/// The shell of a page with its title and its first data.
fn shell(viewer: &Viewer, page: &str, title: &str, data: &impl Serialize) -> Result<Response, ApiError> {
    let (shell, _) = viewer
        .assets()
        .get(assets::SHELL)
        .ok_or_else(ApiError::internal)?;
    let shell = String::from_utf8_lossy(&shell);
    let data = String::from_utf8(json_text(data)?).map_err(|_| ApiError::internal())?;
    let imports = viewer.assets().imports(&format!("{page}.js"));
    let preload = imports.iter().fold(String::new(), |links, name| {
        links + &format!("<link rel=\"modulepreload\" href=\"/assets/{name}\">\n")
    });
    let values = [
        ("preload", preload),
        ("token", viewer.guard().token().to_owned()),
        ("title", escaped(title)),
        ("page", page.to_owned()),
        // Within a script, only this could end it.
        ("initial_data", data.replace('<', "\\u003c")),
    ];
    Ok(bytes_response(
        "text/html; charset=utf-8",
        filled(&shell, &values),
    ))
}

/// The template with each `{{name}}` replaced, once: what was filled in is not looked at again.
fn filled(template: &str, values: &[(&str, String)]) -> String {
    let mut filled = String::with_capacity(template.len());
    let mut rest = template;
    while let Some((before, after)) = rest.split_once("{{") {
        filled.push_str(before);
        let Some((name, behind)) = after.split_once("}}") else {
            filled.push_str("{{");
            rest = after;
            continue;
        };
        if let Some((_, value)) = values.iter().find(|(known, _)| *known == name) {
            filled.push_str(value);
        }
        rest = behind;
    }
    filled + rest
}

/// A text as HTML holds it.
pub(super) fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            char => escaped.push(char),
        }
    }
    escaped
}
