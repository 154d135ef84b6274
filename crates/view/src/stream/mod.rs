//! `GET /api/stream`: what changes, as it changes, over one connection (server-sent events).
//!
//! The files are looked at ten times a second. That costs a few system calls, works on every file system, and finds a
//! process that has died, of which no notification comes.

mod runs;
mod watched;

use std::collections::VecDeque;
use std::convert::Infallible;
use std::time::Duration;

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use parking_lot::Mutex;
use serde::Serialize;
use tokio::sync::{mpsc, oneshot};

use super::answer::{ApiError, json_text};
use super::api::request::{Query, trace_id};
use super::viewer::Viewer;
pub(super) use runs::Known;
use runs::WatchedRuns;
use watched::WatchedRun;

/// How often to poll the files; batches arrive no faster.
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// Events queued for a slow page before it is waited for.
const MAX_QUEUED_EVENTS: usize = 16;
/// Streams open at once: fewer than connections, so that other requests are served.
const MAX_STREAMS: usize = 64;
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
enum Watched {
    Runs(WatchedRuns),
    Run(Box<WatchedRun>),
}

impl Watched {
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
pub(super) async fn stream(
    State(viewer): State<Viewer>,
    query: Query,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
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
            Watched::Runs(runs.await?)
        }
        Some(id) => {
            viewer.runs().directory(id)?;
            Watched::Run(Box::new(WatchedRun::new(id, last)))
        }
    };
    let (sender, receiver) = mpsc::channel(MAX_QUEUED_EVENTS);
    let place = viewer.streams().enter();
    tokio::spawn(watch(viewer, watched, sender, place));
    let events = stream::unfold(receiver, |mut receiver: mpsc::Receiver<Change>| async move {
        let change = receiver.recv().await?;
        Some((Ok::<_, Infallible>(change.event()), receiver))
    });
    let keep_alive = KeepAlive::new().interval(KEEP_ALIVE_INTERVAL);
    Ok(Sse::new(events).keep_alive(keep_alive).into_response())
}

/// The streams that are open.
#[derive(Debug, Default)]
pub(super) struct Streams(Mutex<VecDeque<oneshot::Sender<Infallible>>>);

impl Streams {
    /// Takes a place among them. When all are taken, the stream that was opened first ends: a page that still listens to it
    /// connects again.
    fn enter(&self) -> oneshot::Receiver<Infallible> {
        let (place, given_up) = oneshot::channel();
        let mut places = self.0.lock();
        places.retain(|place| !place.is_closed());
        if places.len() >= MAX_STREAMS {
            places.pop_front();
        }
        places.push_back(place);
        given_up
    }
}

/// Sends what changes until nobody listens, the viewer stops, or another stream needs the place.
async fn watch(
    viewer: Viewer,
    watched: Watched,
    sender: mpsc::Sender<Change>,
    place: oneshot::Receiver<Infallible>,
) {
    tokio::select! {
        () = send_changes(&viewer, watched, &sender) => {}
        () = sender.closed() => {}
        _ = place => {}
        () = viewer.stopped() => {}
    }
}

async fn send_changes(viewer: &Viewer, mut watched: Watched, sender: &mpsc::Sender<Change>) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn when_all_places_are_taken_the_stream_that_was_opened_first_gives_way() {
        let streams = Streams::default();
        let mut first = streams.enter();
        let mut second = streams.enter();
        // Those that have ended keep no place.
        for _ in 0..3 * MAX_STREAMS {
            drop(streams.enter());
        }
        let others: Vec<_> = (2..MAX_STREAMS).map(|_| streams.enter()).collect();
        let open = oneshot::error::TryRecvError::Empty;
        assert_eq!(
            (first.try_recv(), second.try_recv()),
            (Err(open.clone()), Err(open.clone()))
        );
        let _newest = streams.enter();
        assert_eq!(first.try_recv(), Err(oneshot::error::TryRecvError::Closed));
        assert_eq!(second.try_recv(), Err(open));
        drop(others);
    }
}
