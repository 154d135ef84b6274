//! The state of all requests: store of runs, guard, assets, indexes of open runs.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tracer_catalog::FactsStore;
use tracer_sdk::format::TraceId;
use tracer_sdk::settings::Settings;

use super::answer::{ApiError, not_modified, with_version};
use super::assets::Assets;
use super::guard::ViewerGuard;
use super::known_facts::KnownFacts;
use super::options::{CommandWords, Options};
use super::run::open_run::OpenRun;
use super::runs::Runs;
use super::work::WorkPool;

/// Event streams at a time: each polls files ten times a second.
const MAX_STREAMS: usize = 64;

/// The viewer; a clone is the same one.
#[derive(Debug, Clone)]
pub(super) struct Viewer(Arc<ViewerState>);

#[derive(Debug)]
struct ViewerState {
    settings: Settings,
    guard: ViewerGuard,
    assets: Assets,
    runs: Runs,
    facts: KnownFacts,
    work: WorkPool,
    /// A permit for each event stream.
    streams: Arc<Semaphore>,
    command: CommandWords,
    /// Becomes true when the viewer stops.
    stopping: watch::Receiver<bool>,
}

impl Viewer {
    pub(super) fn new(
        settings: Settings,
        options: &Options,
        address: SocketAddr,
        stopping: watch::Receiver<bool>,
    ) -> Self {
        let token = uuid::Uuid::new_v4().simple().to_string();
        let mut facts = FactsStore::new(&settings.data_dir).with_prices(options.prices.clone());
        if let Some(team) = &options.team {
            facts = facts.with_team(Arc::clone(team));
        }
        Self(Arc::new(ViewerState {
            guard: ViewerGuard::new(address, options, token),
            assets: Assets::new(options.page_files.clone()),
            runs: Runs::new(facts.clone()),
            facts: KnownFacts::new(facts),
            work: WorkPool::new(),
            streams: Arc::new(Semaphore::new(MAX_STREAMS)),
            command: options.command.clone(),
            settings,
            stopping,
        }))
    }

    pub(super) fn settings(&self) -> &Settings {
        &self.0.settings
    }

    pub(super) fn guard(&self) -> &ViewerGuard {
        &self.0.guard
    }

    pub(super) fn assets(&self) -> &Assets {
        &self.0.assets
    }

    pub(super) fn runs(&self) -> &Runs {
        &self.0.runs
    }

    pub(super) fn facts(&self) -> &KnownFacts {
        &self.0.facts
    }

    pub(super) fn work(&self) -> &WorkPool {
        &self.0.work
    }

    /// The permit of an event stream; an error when too many are open.
    pub(super) fn open_stream(&self) -> Result<OwnedSemaphorePermit, ApiError> {
        Arc::clone(&self.0.streams).try_acquire_owned().map_err(|_| {
            let message = format!("{MAX_STREAMS} pages follow runs already; close one of them");
            ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "too_many_streams", message)
        })
    }

    /// The beginning of the commands that the page suggests.
    pub(super) fn command(&self) -> &CommandWords {
        &self.0.command
    }

    /// Ends when the viewer stops.
    pub(super) async fn stopped(&self) {
        let mut stopping = self.0.stopping.clone();
        // An error says that the viewer is gone.
        let _ = stopping.wait_for(|stopping| *stopping).await;
    }

    /// Reads from the disk on a thread that may wait, until its client is gone.
    pub(super) async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Self) -> Result<T, ApiError> + Send + 'static,
    ) -> Result<T, ApiError> {
        let viewer = self.clone();
        let read = self.0.work.read(move || read(&viewer));
        read.await.unwrap_or_else(|| Err(ApiError::internal()))
    }

    /// Makes a change, which is done to its end.
    pub(super) async fn change<T: Send + 'static>(
        &self,
        change: impl FnOnce(&Self) -> Result<T, ApiError> + Send + 'static,
    ) -> Result<T, ApiError> {
        let viewer = self.clone();
        let change = self.0.work.change(move || change(&viewer));
        change.await.unwrap_or_else(|| Err(ApiError::internal()))
    }

    /// Answers a request about a run with `respond`, or with 304 to a client that has this version.
    pub(super) async fn answer_of_run(
        &self,
        trace_id: TraceId,
        headers: HeaderMap,
        respond: impl FnOnce(&OpenRun) -> Result<Response, ApiError> + Send + 'static,
    ) -> Result<Response, ApiError> {
        let read = self.read(move |viewer| {
            viewer.runs().with(trace_id, |run| {
                let version = run.version();
                match not_modified(&headers, &version) {
                    Some(response) => Ok(response),
                    None => Ok(with_version(respond(run)?, &version)),
                }
            })
        });
        read.await
    }
}
