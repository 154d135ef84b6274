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
use std::time::Duration;

use axum::serve::ListenerExt;
use parking_lot::Mutex;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use tracer_sdk::format::{SpanId, TraceId};

use self::forward::{Forwarder, ProxyAnswering};
use self::providers::{Route, offline_routes, routes};
use self::recorder::ExchangeRecorder;
use self::run_groups::RunGroups;
use crate::OtlpSink;
use crate::exchange::{ExchangeSink, Responder};

pub use self::budget::{BudgetLimits, BudgetOperator, CallBudget};
pub(crate) use self::providers::ShellEndpoint;
pub use self::providers::{BaseUrlVariable, UnusableBaseUrl};
pub use self::recorder::ProxySummary;

/// The run that the calls belong to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProxyContext {
    /// The run's trace ID.
    pub trace_id: TraceId,
    /// The span that calls without a parent of their own are in.
    pub root_span_id: SpanId,
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
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProxyAddress {
    /// The port of the loopback address; 0 is any free one.
    pub port: u16,
    /// The part of the path that keeps other users of the machine out.
    pub token: Option<String>,
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
    counters: Arc<ProxyCounters>,
    recorder: ExchangeRecorder,
}

/// Hooks into a proxy's work, in addition to the run.
#[derive(Default)]
#[non_exhaustive]
pub struct ProxyHooks {
    /// Sink for finished exchanges.
    pub exchanges: Option<Box<dyn ExchangeSink>>,
    /// Responder that may answer requests instead of the provider.
    pub responder: Option<Arc<dyn Responder>>,
    /// `true` when no provider ever gets a request; every provider has a path then, whatever the environment names.
    pub is_offline: bool,
    /// `true` when requests for streamed chat completions stay as they are, even without tokens in the answer.
    pub no_stream_usage: bool,
    /// The random part of its address, where that is known before it starts.
    pub token: Option<String>,
    /// Further variables that lead here.
    pub base_url_variables: Vec<BaseUrlVariable>,
    /// Limits of what its calls may use together.
    pub budget: Option<Arc<CallBudget>>,
}

// The token is a secret.
impl fmt::Debug for ProxyHooks {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("ProxyHooks")
            .field("exchanges", &self.exchanges)
            .field("responder", &self.responder)
            .field("is_offline", &self.is_offline)
            .field("no_stream_usage", &self.no_stream_usage)
            .finish_non_exhaustive()
    }
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

/// The base URL of one provider's clients at a proxy at `base`; `segment` names the provider.
#[must_use]
pub(crate) fn provider_base_url(base: &str, segment: &str) -> String {
    let base_path = providers::of_segment(segment).map_or("", |provider| provider.base_path);
    format!("{base}/{segment}{base_path}")
}

/// The provider's name in recorded calls, `gen_ai.provider.name`; `segment` is its part of the proxy's paths.
pub(crate) fn provider_name(segment: &str) -> Option<&'static str> {
    providers::of_segment(segment).map(|provider| provider.name)
}

/// The variables that hold the keys of each provider, by its part of the proxy's paths; the first one is that which most
/// clients ask for.
pub(crate) fn key_variables() -> impl Iterator<Item = (&'static str, &'static [&'static str])> {
    providers::PROVIDERS
        .iter()
        .map(|provider| (provider.segment, provider.key_variables))
}

/// The endpoint of a request by the segment of its provider, for a shell.
pub(crate) fn endpoint(segment: &str, path: &str) -> Option<ShellEndpoint> {
    Some(providers::of_segment(segment)?.endpoint(path))
}

/// Time-out of open requests when the proxy shuts down.
const DRAIN: Duration = Duration::from_secs(2);

impl ModelProxy {
    /// Starts a proxy on a free port of the loopback address for one run; `variable` is the environment of the program,
    /// whose base URLs become the upstreams.
    ///
    /// # Errors
    ///
    /// [`ProxyError`] when it cannot listen, make requests, or start its threads.
    pub fn start(
        context: ProxyContext,
        variable: impl Fn(&str) -> Option<String>,
        sink: Arc<dyn OtlpSink>,
    ) -> Result<Self, ProxyError> {
        Self::start_with(context, variable, sink, ProxyHooks::default())
    }

    /// As [`ModelProxy::start`], with what takes part in its work.
    ///
    /// # Errors
    ///
    /// [`ProxyError`] when it cannot listen, make requests, or start its threads.
    pub fn start_with(
        context: ProxyContext,
        variable: impl Fn(&str) -> Option<String>,
        sink: Arc<dyn OtlpSink>,
        hooks: ProxyHooks,
    ) -> Result<Self, ProxyError> {
        let address = ProxyAddress {
            port: 0,
            token: hooks.token.clone(),
        };
        Self::launch(&address, RunGroups::one(context), variable, sink, hooks)
    }

    /// Starts a proxy that makes a run of each agent that uses it. The spans of a run are of one trace, which ends with its
    /// root.
    ///
    /// # Errors
    ///
    /// [`ProxyError`] when it cannot listen, make requests, or start its threads.
    pub fn start_alone(
        address: &ProxyAddress,
        grouping: RunGrouping,
        variable: impl Fn(&str) -> Option<String>,
        sink: Arc<dyn OtlpSink>,
        hooks: ProxyHooks,
    ) -> Result<Self, ProxyError> {
        Self::launch(address, RunGroups::per_agent(grouping), variable, sink, hooks)
    }

    fn launch(
        at: &ProxyAddress,
        runs: RunGroups,
        variable: impl Fn(&str) -> Option<String>,
        sink: Arc<dyn OtlpSink>,
        hooks: ProxyHooks,
    ) -> Result<Self, ProxyError> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(WORKER_THREADS)
            .thread_name("tracer-proxy")
            .enable_all()
            .build()
            .map_err(ProxyError::Threads)?;
        let bound = runtime.block_on(TcpListener::bind((Ipv4Addr::LOCALHOST, at.port)));
        let listener = bound.map_err(ProxyError::Listen)?;
        let address = listener.local_addr().map_err(ProxyError::Listen)?;
        let random = || uuid::Uuid::new_v4().simple().to_string();
        let token = at.token.clone().unwrap_or_else(random);
        let base = base_of(address, &token);
        // A shell that has the variables of this proxy may be the one that starts it again.
        let is_own = |value: &String| value.starts_with(&base);
        let (routes, unusable) = if hooks.is_offline {
            (offline_routes(), Vec::new())
        } else {
            let variable = |name: &str| variable(name).filter(|value| !is_own(value));
            routes(variable, &hooks.base_url_variables)
        };
        let routes: Arc<[Route]> = routes.into();
        let counters = Arc::new(ProxyCounters::default());
        let recorder = ExchangeRecorder::start(runs, sink, Arc::clone(&counters), hooks.exchanges)
            .map_err(ProxyError::Threads)?;
        let forwarder = Forwarder::new(
            address,
            token,
            Arc::clone(&routes),
            recorder.sender(),
            Arc::clone(&counters),
            ProxyAnswering {
                responder: hooks.responder,
                is_offline: hooks.is_offline,
                budget: hooks.budget,
            },
            !hooks.no_stream_usage,
        )
        .map_err(ProxyError::Client)?;
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
            counters,
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

    /// Statistics of the requests so far.
    #[must_use]
    pub fn statistics(&self) -> ProxyStatistics {
        self.counters.read()
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

/// Counts since a proxy was started.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProxyStatistics {
    /// Requests that were passed on.
    pub requests: u64,
    /// Those whose answers have not ended.
    pub open_requests: u64,
}

/// The counts of a proxy that runs.
#[derive(Debug, Default)]
struct ProxyCounters(Mutex<ProxyStatistics>);

impl ProxyCounters {
    fn begin(&self) {
        let mut statistics = self.0.lock();
        statistics.requests += 1;
        statistics.open_requests += 1;
    }

    fn end(&self) {
        self.0.lock().open_requests -= 1;
    }

    fn read(&self) -> ProxyStatistics {
        *self.0.lock()
    }
}
