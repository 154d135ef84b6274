//! The life of a receiver: start, addresses, end.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use hyper_util::server::graceful::GracefulShutdown;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::watch;

use super::body::Budget;
use super::forward::{self, Forward, Sending};
use super::guard::ReceiverGuard;
use super::intake::Intake;
use super::listen;
use super::options::ServerOptions;
use super::receiver::Receiver;
use super::statistics::{ReceiverCounters, ServerStatistics};
use crate::sink::OtlpSink;

/// Requests that are unpacked, decoded and written at once.
const MAX_WORKING: usize = 8;
/// The memory for bodies of all requests together, at least.
const MIN_BUDGET_BYTES: usize = 128 * 1024 * 1024;
/// Time for requests that are under way when the receiver ends.
const END_TIMEOUT: Duration = Duration::from_secs(10);

/// Why a receiver cannot start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServerError {
    /// Another program listens there.
    #[error("another program listens on {address} ({protocol})")]
    PortTaken {
        /// The address and port.
        address: SocketAddr,
        /// `OTLP/HTTP` or `OTLP/gRPC`.
        protocol: &'static str,
    },
    /// The system does not let it listen there.
    #[error("failed to listen on {address}")]
    Listen {
        /// The address and port.
        address: SocketAddr,
        /// The error of the system.
        #[source]
        source: io::Error,
    },
    /// The threads could not be started.
    #[error("failed to start the receiver's threads")]
    Threads(#[source] io::Error),
    /// The upstream cannot be reached from here at all: no usable TLS.
    #[error("failed to prepare passing on to the upstream")]
    Upstream(#[source] reqwest::Error),
}

/// A running receiver. It ends with [`OtlpServer::shut_down`]; dropped, it ends without waiting for anything.
#[derive(Debug)]
pub struct OtlpServer {
    runtime: Option<Runtime>,
    stop: watch::Sender<bool>,
    ended: mpsc::Receiver<()>,
    http_address: SocketAddr,
    grpc_address: Option<SocketAddr>,
    token: Option<String>,
    counters: Arc<ReceiverCounters>,
}

impl OtlpServer {
    /// Listens and serves, in threads of its own; it may be called within an asynchronous runtime or without one.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use std::time::Duration;
    ///
    /// use opentelemetry_proto::tonic::{logs::v1::ResourceLogs, trace::v1::ResourceSpans};
    /// use tracer_capture::server::{OtlpServer, ServerOptions};
    /// use tracer_capture::{Accepted, OtlpSink, Refused};
    ///
    /// struct Discard;
    ///
    /// impl OtlpSink for Discard {
    ///     fn accept_spans(&self, _: Vec<ResourceSpans>) -> Result<Accepted, Refused> {
    ///         Ok(Accepted::default())
    ///     }
    ///
    ///     fn accept_logs(&self, _: Vec<ResourceLogs>) -> Result<Accepted, Refused> {
    ///         Ok(Accepted::default())
    ///     }
    /// }
    ///
    /// let server = OtlpServer::start(ServerOptions::default(), Arc::new(Discard))?;
    /// assert!(server.http_endpoint().starts_with("http://127.0.0.1:"));
    /// server.shut_down(Duration::MAX);
    /// # Ok::<(), tracer_capture::server::ServerError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`ServerError`]: a port is taken, the address is not of this machine, no threads.
    pub fn start(options: ServerOptions, sink: Arc<dyn OtlpSink>) -> Result<Self, ServerError> {
        let (mut listeners, http_address) = bind(options.listen, options.http_port, "OTLP/HTTP")?;
        let mut grpc_address = None;
        if let Some(port) = options.grpc_port {
            let (more, address) = bind(options.listen, port, "OTLP/gRPC")?;
            listeners.extend(more);
            grpc_address = Some(address);
        }
        let token = match options.token {
            None if !options.listen.is_loopback() => Some(uuid::Uuid::new_v4().simple().to_string()),
            token => token,
        };
        let runtime = Builder::new_multi_thread()
            .worker_threads(2)
            .max_blocking_threads(MAX_WORKING)
            .thread_name("tracer-receiver")
            .enable_all()
            .build()
            .map_err(ServerError::Threads)?;
        let counters = Arc::new(ReceiverCounters::default());
        let within = runtime.enter();
        let (forward, sending) = match options.upstream {
            Some(upstream) => {
                let (forward, sending) =
                    Forward::start(upstream, token.is_some(), &counters).map_err(ServerError::Upstream)?;
                (Some(forward), Some(sending))
            }
            None => (None, None),
        };
        let listeners = listeners
            .into_iter()
            .map(tokio::net::TcpListener::from_std)
            .collect::<Result<Vec<_>, _>>()
            .map_err(ServerError::Threads)?;
        drop(within);
        let budget_bytes = MIN_BUDGET_BYTES.max(options.max_request_bytes.saturating_mul(2));
        let receiver = Receiver {
            guard: ReceiverGuard::new(options.listen, token.clone()),
            intake: Arc::new(Intake {
                sink,
                budget: Budget::new(budget_bytes),
                counters: Arc::clone(&counters),
                limit: options.max_request_bytes,
            }),
            forward,
            counters: Arc::clone(&counters),
        };
        let (stop, stopping) = watch::channel(false);
        let (end, ended) = mpsc::channel();
        runtime.spawn(async move {
            serve(listeners, receiver, sending, stopping).await;
            let _ = end.send(());
        });
        Ok(Self {
            runtime: Some(runtime),
            stop,
            ended,
            http_address,
            grpc_address,
            token,
            counters,
        })
    }

    /// The base address of OTLP/HTTP, for `OTEL_EXPORTER_OTLP_ENDPOINT`, such as `http://127.0.0.1:4318`.
    pub fn http_endpoint(&self) -> String {
        format!("http://{}", reachable(self.http_address))
    }

    /// The address of OTLP/gRPC, such as `http://127.0.0.1:4317`; none when it was left out.
    pub fn grpc_endpoint(&self) -> Option<String> {
        Some(format!("http://{}", reachable(self.grpc_address?)))
    }

    /// Token that requests have to carry as `Authorization: Bearer TOKEN`; `None` when no token is required.
    pub fn token(&self) -> Option<&str> {
        self.token.as_deref()
    }

    /// Statistics of the receiver so far.
    pub fn statistics(&self) -> ServerStatistics {
        self.counters.snapshot()
    }

    /// Stops listening, finishes the requests that are under way (for at most ten seconds, or for `patience` where that is
    /// less) and ends.
    pub fn shut_down(self, patience: Duration) -> ServerStatistics {
        let _ = self.stop.send(true);
        let _ = self.ended.recv_timeout(patience);
        self.counters.snapshot()
    }
}

impl Drop for OtlpServer {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            // Waiting is not allowed within another runtime.
            runtime.shutdown_background();
        }
    }
}

async fn serve(
    listeners: Vec<tokio::net::TcpListener>,
    receiver: Receiver,
    sending: Option<Sending>,
    stopping: watch::Receiver<bool>,
) {
    let receiver = Arc::new(receiver);
    let room = listen::room();
    let graceful = Arc::new(GracefulShutdown::new());
    let accepting = listeners.into_iter().map(|listener| {
        let receiver = Arc::clone(&receiver);
        let room = Arc::clone(&room);
        listen::accept(listener, receiver, room, Arc::clone(&graceful), stopping.clone())
    });
    futures_util::future::join_all(accepting).await;
    if let Some(graceful) = Arc::into_inner(graceful) {
        let _ = tokio::time::timeout(END_TIMEOUT, graceful.shutdown()).await;
    }
    // With the last of the receiver, the queue to the upstream closes.
    drop(receiver);
    if let Some(sending) = sending {
        forward::drain(sending).await;
    }
}

fn bind(
    address: IpAddr,
    port: u16,
    protocol: &'static str,
) -> Result<(Vec<TcpListener>, SocketAddr), ServerError> {
    listen::bind(address, port).map_err(|source| {
        let address = SocketAddr::from((address, port));
        match source.kind() {
            io::ErrorKind::AddrInUse => ServerError::PortTaken { address, protocol },
            _ => ServerError::Listen { address, source },
        }
    })
}

/// Address at which this machine reaches a listener on `address`.
fn reachable(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::V6(Ipv6Addr::LOCALHOST),
        ip => ip,
    };
    SocketAddr::new(ip, address.port())
}
