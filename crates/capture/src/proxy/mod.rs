//! The recording proxy for model APIs.
//!
//! Requests are forwarded to the provider byte for byte, but for the tokens of a stream; answers come back chunk by
//! chunk as they arrive, and a copy of both becomes a span (capture, section 5).
//!
//! Clients find it by the base URL that their SDK reads from the environment. A random token in the path keeps other users
//! of the machine from spending the key.

mod budget;
mod conversations;
mod exchange;
mod forward;
mod headers;
mod history;
mod providers;
mod proxied_run;
mod recorder;
mod run_groups;
mod stream_usage;
mod tools;

#[cfg(test)]
mod conversations_tests;
#[cfg(test)]
mod tests;

use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use axum::serve::ListenerExt;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use tracer_sdk::format::{SpanId, TraceId};

use self::forward::Forwarder;
use self::providers::{Route, offline_routes, routes};
use self::recorder::ExchangeRecorder;
use self::run_groups::RunGroups;
use crate::SpanSink;
use crate::exchange::{ExchangeSink, Responder};
use crate::runs::RunIdentity;

pub use self::budget::{BudgetLimits, BudgetOperator, CallBudget};
pub use self::providers::{BaseUrlVariable, UnusableBaseUrl};
pub(crate) use self::providers::{PROVIDERS, Provider};
pub use self::recorder::ProxySummary;

/// The run that the calls belong to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProxyContext {
    /// The run's trace ID.
    pub trace_id: TraceId,
    /// The span that calls without a parent of their own are in.
    pub root_span_id: SpanId,
}

impl From<&RunIdentity> for ProxyContext {
    fn from(run: &RunIdentity) -> Self {
        Self {
            trace_id: run.trace_id,
            root_span_id: run.root_span_id,
        }
    }
}

/// Runs that the calls of a proxy belong to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProxiedRuns {
    /// One run, which somebody else begins and ends.
    One(ProxyContext),
    /// A run of each agent. Its spans are of one trace, which ends with its root.
    PerAgent(RunGrouping),
}

/// Grouping of calls into runs by a proxy that belongs to no command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunGrouping {
    /// The name of its runs; without one, what the client calls itself.
    pub name: Option<String>,
    /// Time without calls after which a run ends.
    pub idle: Duration,
}

impl Default for RunGrouping {
    fn default() -> Self {
        Self {
            name: None,
            idle: IDLE,
        }
    }
}

/// Default time without calls after which a run ends.
const IDLE: Duration = Duration::from_secs(10);

/// Address of a proxy: by default on a free port, at a path that cannot be guessed.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct ProxyAddress {
    /// The port of the loopback address; 0 is any free one.
    pub port: u16,
    /// The part of the path that keeps other users of the machine out.
    pub token: Option<String>,
}

// The token is a secret.
impl fmt::Debug for ProxyAddress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let address = &mut formatter.debug_struct("ProxyAddress");
        address.field("port", &self.port).finish_non_exhaustive()
    }
}

impl ProxyAddress {
    /// Base address that [`base_urls`] takes, for a port that is known.
    ///
    /// ```
    /// use tracer_capture::proxy::ProxyAddress;
    ///
    /// let address = ProxyAddress { port: 4320, token: Some("mine".to_owned()) };
    /// assert_eq!(address.base().as_deref(), Some("http://127.0.0.1:4320/r/mine"));
    /// ```
    #[must_use]
    pub fn base(&self) -> Option<String> {
        let token = self.token.as_deref().filter(|_| self.port != 0)?;
        Some(base_of((Ipv4Addr::LOCALHOST, self.port).into(), token))
    }
}

fn base_of(address: SocketAddr, token: &str) -> String {
    format!("http://{address}/r/{token}")
}

/// The proxy could not be started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProxyError {
    /// No port of the loopback address is free, or the one that was asked for is not.
    #[error("the proxy cannot listen on the loopback address")]
    Listen(#[source] std::io::Error),
    /// TLS or the client cannot be set up.
    #[error("the proxy cannot make requests: {0}")]
    Client(#[source] reqwest::Error),
    /// Its threads cannot be started.
    #[error("the proxy cannot start its threads: {0}")]
    Threads(#[source] std::io::Error),
}

/// A proxy that runs, on threads of its own, until it is shut down.
#[derive(Debug)]
pub struct ModelProxy {
    address: SocketAddr,
    base: String,
    routes: Arc<[Route]>,
    unusable: Vec<UnusableBaseUrl>,
    stop: oneshot::Sender<()>,
    server: JoinHandle<()>,
    runtime: Runtime,
    open_requests: Arc<AtomicU64>,
    recorder: ExchangeRecorder,
}

/// Options of a proxy: its address, and what takes part in its work.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct ProxyOptions {
    /// Its address.
    pub address: ProxyAddress,
    /// Sink for finished exchanges.
    pub exchanges: Option<Box<dyn ExchangeSink>>,
    /// Responder that may answer requests instead of the provider.
    pub responder: Option<Arc<dyn Responder>>,
    /// `true` when no provider ever gets a request; every provider has a path then, whatever the environment names.
    pub is_offline: bool,
    /// `true` when requests for streamed chat completions stay as they are, even without tokens in the answer.
    pub no_stream_usage: bool,
    /// Further variables that lead here.
    pub base_url_variables: Vec<BaseUrlVariable>,
    /// Limits of what its calls may use together.
    pub budget: Option<Arc<CallBudget>>,
}

/// The variables that lead clients to a proxy at `base`, with their values; `variable` is the environment that they have, `own`
/// are the user's own variables.
///
/// Of a provider whose address cannot be used nothing is set.
///
/// ```
/// let urls = tracer_capture::proxy::base_urls(|_| None, &[], "http://127.0.0.1:1/r/TOKEN");
/// assert!(urls.contains(&("OPENAI_BASE_URL", "http://127.0.0.1:1/r/TOKEN/openai/v1".to_owned())));
/// ```
#[must_use]
pub fn base_urls(
    variable: impl Fn(&str) -> Option<String>,
    own: &[BaseUrlVariable],
    base: &str,
) -> Vec<(&'static str, String)> {
    let (routes, _) = routes(variable, own);
    routes.iter().flat_map(|route| route.values(base)).collect()
}

/// The variables that lead clients to a proxy at `base` that asks no provider: of every provider that has an address of its
/// own, and of those whose calls are replayed or whose variable is set.
#[must_use]
pub(crate) fn replay_base_urls(
    variable: impl Fn(&str) -> Option<String>,
    providers: &[String],
    base: &str,
) -> Vec<(&'static str, String)> {
    let routes = offline_routes();
    let offered = routes.iter().filter(|route| {
        let provider = route.provider;
        provider.vendor.is_some()
            || providers.iter().any(|replayed| replayed == provider.segment)
            || provider.variables.iter().any(|name| variable(name).is_some())
    });
    offered.flat_map(|route| route.values(base)).collect()
}

/// Time-out of open requests when the proxy shuts down.
const DRAIN: Duration = Duration::from_secs(2);

impl ModelProxy {
    /// Starts a proxy on the loopback address; `variable` is the environment of the programs that use it, whose base URLs
    /// become the upstreams. Without a sink nothing is recorded.
    ///
    /// # Errors
    ///
    /// [`ProxyError`] when it cannot listen, make requests, or start its threads.
    pub fn start(
        runs: ProxiedRuns,
        variable: impl Fn(&str) -> Option<String>,
        sink: Option<Arc<dyn SpanSink>>,
        options: ProxyOptions,
    ) -> Result<Self, ProxyError> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(WORKER_THREADS)
            .thread_name("tracer-proxy")
            .enable_all()
            .build()
            .map_err(ProxyError::Threads)?;
        let bound = runtime.block_on(TcpListener::bind((Ipv4Addr::LOCALHOST, options.address.port)));
        let listener = bound.map_err(ProxyError::Listen)?;
        let address = listener.local_addr().map_err(ProxyError::Listen)?;
        let random = || uuid::Uuid::new_v4().simple().to_string();
        let token = options.address.token.unwrap_or_else(random);
        let base = base_of(address, &token);
        // A shell that has the variables of this proxy may be the one that starts it again.
        let is_own = |value: &String| value.starts_with(&base);
        let (routes, unusable) = if options.is_offline {
            (offline_routes(), Vec::new())
        } else {
            let variable = |name: &str| variable(name).filter(|value| !is_own(value));
            routes(variable, &options.base_url_variables)
        };
        let routes: Arc<[Route]> = routes.into();
        let open_requests = Arc::new(AtomicU64::new(0));
        // Reading the roots of TLS takes longer than all of a replay.
        let client = (!options.is_offline).then(forward::new_client);
        let client = client.transpose().map_err(ProxyError::Client)?;
        let runs = RunGroups::new(runs);
        let recorder = ExchangeRecorder::start(runs, sink, Arc::clone(&open_requests), options.exchanges)
            .map_err(ProxyError::Threads)?;
        let forwarder = Forwarder {
            client,
            address,
            token: token.into(),
            routes: Arc::clone(&routes),
            reports: recorder.sender(),
            open_requests: Arc::clone(&open_requests),
            responder: options.responder,
            asks_for_usage: !options.no_stream_usage,
            budget: options.budget,
        };
        let (stop, stopped) = oneshot::channel();
        // A chunk is sent at once, however small.
        let listener = listener.tap_io(|connection| {
            let _ = connection.set_nodelay(true);
        });
        let server = runtime.spawn(async move {
            let serving = axum::serve(listener, forwarder.into_service()).with_graceful_shutdown(async {
                let _ = stopped.await;
            });
            let _ = serving.await;
        });
        Ok(Self {
            address,
            base,
            routes,
            unusable,
            stop,
            server,
            runtime,
            open_requests,
            recorder,
        })
    }

    /// Its base address, as [`base_urls`] takes it.
    #[must_use]
    pub fn base(&self) -> &str {
        &self.base
    }

    /// The token that the paths of its addresses begin with.
    #[must_use]
    pub fn token(&self) -> &str {
        self.base.rsplit('/').next().unwrap_or_default()
    }

    /// The variables that hold no address: their calls go past the proxy.
    #[must_use]
    pub fn unusable(&self) -> &[UnusableBaseUrl] {
        &self.unusable
    }

    /// The variables that lead clients here, with their values.
    #[must_use]
    pub fn base_urls(&self) -> Vec<(&'static str, String)> {
        self.routes
            .iter()
            .flat_map(|route| route.values(&self.base))
            .collect()
    }

    /// The hosts that requests are forwarded to because a variable names them, and those variables.
    #[must_use]
    pub fn upstreams(&self) -> Vec<(&'static str, String)> {
        let named = self.routes.iter().filter_map(Route::named_upstream);
        named.collect()
    }

    /// Its socket address.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Number of requests whose answers have not ended.
    #[must_use]
    pub fn open_requests(&self) -> u64 {
        self.open_requests.load(Ordering::Relaxed)
    }

    /// Takes no more requests, waits a moment for those on their way, and records what is left.
    #[must_use]
    pub fn shut_down(self) -> ProxySummary {
        let _ = self.stop.send(());
        let mut server = self.server;
        self.runtime.block_on(async {
            if tokio::time::timeout(DRAIN, &mut server).await.is_err() {
                server.abort();
                let _ = server.await;
            }
        });
        // The connections' tasks end with the runtime, and with them the last senders of exchanges.
        self.runtime.shutdown_timeout(DRAIN);
        self.recorder.finish()
    }
}

/// Requests are passed on, not computed.
const WORKER_THREADS: usize = 2;
