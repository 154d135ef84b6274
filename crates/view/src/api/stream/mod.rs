//! `GET /api/stream`: what changes, as it changes, over one connection (server-sent events).
//!
//! The files are looked at ten times a second. That costs a few system calls, works on every file system, and finds a
//! process that has died, of which no notification comes.

mod runs;
mod watched;

use std::convert::Infallible;
use std::time::Duration;

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use serde::Serialize;
use tokio::sync::{OwnedSemaphorePermit, mpsc};

use super::request::{Query, trace_id};
use crate::answer::{ApiError, json_text};
use crate::viewer::Viewer;
use runs::WatchedRuns;
use watched::WatchedRun;

/// How often to poll the files; batches arrive no faster.
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// Events queued for a slow page before it is waited for.
const MAX_QUEUED_EVENTS: usize = 16;
/// How often an empty line shows that the server is there.
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(10);
/// Header in which a reconnecting browser names the last event that it received.
const LAST_EVENT_ID: &str = "last-event-id";

/// Something that has changed.
#[derive(Debug)]
pub(super) struct Change {
    name: &'static str,
    /// How far the log had been read: where to go on after a break.
    id: Option<u64>,
    data: Vec<u8>,
}

impl Change {
    fn new(name: &'static str, id: Option<u64>, data: &impl Serialize) -> Result<Self, ApiError> {
        let data = json_text(data)?;
        Ok(Self { name, id, data })
    }

    fn event(self) -> Event {
        let event = Event::default().event(self.name);
        let event = match self.id {
            Some(id) => event.id(id.to_string()),
            None => event,
        };
        event.data(String::from_utf8_lossy(&self.data))
    }
}

/// What is watched over one connection.
enum WatchedSubject {
    Runs(WatchedRuns),
    Run(Box<WatchedRun>),
}

impl WatchedSubject {
    fn look(&mut self, viewer: &Viewer) -> Result<Vec<Change>, ApiError> {
        match self {
            Self::Runs(runs) => runs.look(viewer),
            Self::Run(run) => run.look(viewer),
        }
    }

    fn is_over(&self) -> bool {
        matches!(self, Self::Run(run) if run.is_deleted())
    }
}

/// Sends what changes: of one run with `run`, else of the table of runs.
pub(crate) async fn stream(
    State(viewer): State<Viewer>,
    query: Query,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let permit = viewer.open_stream()?;
    let last = headers
        .get(LAST_EVENT_ID)
        .and_then(|last| last.to_str().ok()?.parse().ok());
    let last = match last {
        Some(last) => Some(last),
        None => query.number("last_event_id")?.or(query.number("from")?),
    };
    let watched = match query.get("run").map(trace_id).transpose()? {
        None => {
            let version = query.get("table").map(str::to_owned);
            // The runs that are known now are looked at before the stream begins.
            let runs = viewer.read(move |viewer| WatchedRuns::new(viewer, version.as_deref()));
            WatchedSubject::Runs(runs.await?)
        }
        Some(id) => {
            viewer.runs().directory(id)?;
            WatchedSubject::Run(Box::new(WatchedRun::new(id, last)))
        }
    };
    let (sender, receiver) = mpsc::channel(MAX_QUEUED_EVENTS);
    tokio::spawn(watch(viewer, watched, sender, permit));
    let events = stream::unfold(receiver, |mut receiver: mpsc::Receiver<Change>| async move {
        let change = receiver.recv().await?;
        Some((Ok::<_, Infallible>(change.event()), receiver))
    });
    let keep_alive = KeepAlive::new().interval(KEEP_ALIVE_INTERVAL);
    Ok(Sse::new(events).keep_alive(keep_alive).into_response())
}

/// Sends what changes until the client is gone or the viewer stops.
async fn watch(
    viewer: Viewer,
    watched: WatchedSubject,
    sender: mpsc::Sender<Change>,
    _permit: OwnedSemaphorePermit,
) {
    tokio::select! {
        () = send_changes(&viewer, watched, &sender) => {}
        () = sender.closed() => {}
        () = viewer.stopped() => {}
    }
}

async fn send_changes(viewer: &Viewer, mut watched: WatchedSubject, sender: &mpsc::Sender<Change>) {
    loop {
        let looked = viewer
            .read(move |viewer| {
                let changes = watched.look(viewer);
                Ok((watched, changes))
            })
            .await;
        let Ok((back, changes)) = looked else { return };
        watched = back;
        // What cannot be read now is looked at again.
        for change in changes.unwrap_or_default() {
            if sender.send(change).await.is_err() {
                return;
            }
        }
        if watched.is_over() {
            return;
        }
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}
