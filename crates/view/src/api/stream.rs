//! `GET /api/stream`: notices that a run, or the table of runs, has changed (server-sent events).
//!
//! The files are polled. That costs a few system calls, works on every file system, and finds a process that has died, of
//! which no notification comes. An event holds no data but a version: the page asks for what it shows.

use std::convert::Infallible;
use std::time::{Duration, Instant};

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use serde_json::{Value, json};
use tokio::sync::{OwnedSemaphorePermit, mpsc};
use tracer_sdk::format::TraceId;

use super::request::{Query, trace_id};
use super::table;
use crate::answer::ApiError;
use crate::known_facts::Facts;
use crate::viewer::Viewer;

/// Time between two polls of a run.
const RUN_INTERVAL: Duration = Duration::from_millis(100);
/// Time between two polls of all runs.
const RUNS_INTERVAL: Duration = Duration::from_millis(500);
/// A poll is followed by a pause of at least this many times its duration.
const BACKOFF_FACTOR: u32 = 4;
/// Events queued for a slow page before it is waited for.
const MAX_QUEUED_EVENTS: usize = 16;
/// Time between two empty lines that keep the connection alive.
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(10);

/// The subject of one connection.
#[derive(Debug, Clone, Copy)]
enum Subject {
    Runs,
    Run(TraceId),
}

impl Subject {
    fn interval(self) -> Duration {
        match self {
            Self::Runs => RUNS_INTERVAL,
            Self::Run(_) => RUN_INTERVAL,
        }
    }

    /// A text that changes with it; `None` while the runs are read for the first time.
    fn version(self, viewer: &Viewer) -> Result<Option<String>, ApiError> {
        match self {
            Self::Run(id) => viewer.runs().with(id, |run| Ok(Some(run.version()))),
            Self::Runs => match viewer.facts().now()? {
                Facts::All(known) => Ok(Some(table::version_text(&known))),
                Facts::Reading(_) => Ok(None),
            },
        }
    }
}

/// Sends an event whenever a run changes, named with `run`, or else the table of runs.
pub(crate) async fn stream(State(viewer): State<Viewer>, query: Query) -> Result<Response, ApiError> {
    let permit = viewer.open_stream()?;
    let subject = match query.get("run").map(trace_id).transpose()? {
        None => Subject::Runs,
        Some(id) => {
            viewer.runs().directory(id)?;
            Subject::Run(id)
        }
    };
    let known = query.get("version").map(str::to_owned);
    viewer.facts().look_again();
    let (sender, receiver) = mpsc::channel(MAX_QUEUED_EVENTS);
    tokio::spawn(watch(viewer, subject, known, sender, permit));
    let events = stream::unfold(receiver, |mut receiver: mpsc::Receiver<Event>| async move {
        let event = receiver.recv().await?;
        Some((Ok::<_, Infallible>(event), receiver))
    });
    let keep_alive = KeepAlive::new().interval(KEEP_ALIVE_INTERVAL);
    Ok(Sse::new(events).keep_alive(keep_alive).into_response())
}

/// Sends events until the client is gone or the viewer stops.
async fn watch(
    viewer: Viewer,
    subject: Subject,
    known: Option<String>,
    sender: mpsc::Sender<Event>,
    _permit: OwnedSemaphorePermit,
) {
    tokio::select! {
        () = send_changes(&viewer, subject, known, &sender) => {}
        () = sender.closed() => {}
        () = viewer.stopped() => {}
    }
}

async fn send_changes(
    viewer: &Viewer,
    subject: Subject,
    mut known: Option<String>,
    sender: &mpsc::Sender<Event>,
) {
    loop {
        let begun = Instant::now();
        let version = viewer.read(move |viewer| subject.version(viewer)).await;
        let event = match version {
            Ok(version) if version.is_none() || version == known => None,
            Ok(version) => {
                let event = event("change", &json!({"version": version}));
                known = version;
                Some(event)
            }
            Err(error) if error.status() == StatusCode::NOT_FOUND => {
                let _ = sender.send(event("deleted", &json!({}))).await;
                return;
            }
            // A run that cannot be read now is read with the next poll.
            Err(_) => None,
        };
        if let Some(event) = event
            && sender.send(event).await.is_err()
        {
            return;
        }
        tokio::time::sleep(subject.interval().max(begun.elapsed() * BACKOFF_FACTOR)).await;
    }
}

fn event(name: &str, data: &Value) -> Event {
    Event::default().event(name).data(data.to_string())
}
