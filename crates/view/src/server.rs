//! Listening, and serving each connection within bounds: of their number, of the size of a request, of its time.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tower::ServiceExt;
use tracer_sdk::settings::Settings;

use super::connection::{Connection, Connections, WRITE_TIMEOUT};
use super::options::Options;
use super::owner;
use super::routes;
use super::viewer::Viewer;

/// Ports to try, from the wanted one upwards.
const MAX_PORT_ATTEMPTS: u16 = 50;
/// Connections served at once. Another one replaces an idle or stalled one, or waits.
const MAX_CONNECTIONS: usize = 256;
/// Time for the head of a request, including the pause before it.
const HEAD_TIMEOUT: Duration = Duration::from_secs(5);
/// Size of the head of a request.
const MAX_HEAD_BYTES: usize = 32 * 1024;
/// How often to look for a connection to replace when all are in use.
const ROOM_POLL_INTERVAL: Duration = Duration::from_millis(100);
/// An answer keeps its thread while its reader is slow: one for each connection, and as many that are ending.
const MAX_THREADS: usize = 2 * MAX_CONNECTIONS;

/// A viewer that listens and does not serve yet.
#[derive(Debug)]
pub struct BoundViewer {
    runtime: Runtime,
    listener: TcpListener,
    viewer: Viewer,
    stop: watch::Sender<bool>,
    address: SocketAddr,
}

/// Listens on the port that is wanted, or on the next one that is free.
///
/// # Errors
///
/// What the system says when the host is no address of this machine, or no port is free.
pub fn bind(settings: Settings, options: &Options) -> io::Result<BoundViewer> {
    let runtime = Builder::new_multi_thread()
        .worker_threads(2)
        .max_blocking_threads(MAX_THREADS)
        .enable_all()
        .build()?;
    let listener = runtime.block_on(listen(options))?;
    let address = listener.local_addr()?;
    let (stop, stopping) = watch::channel(false);
    let viewer = Viewer::new(settings, options, address, are_owners_known(address), stopping);
    Ok(BoundViewer {
        runtime,
        listener,
        viewer,
        stop,
        address,
    })
}

async fn listen(options: &Options) -> io::Result<TcpListener> {
    let host = options.host.trim_matches(['[', ']']);
    let mut port = options.port;
    for _ in 0..MAX_PORT_ATTEMPTS {
        match TcpListener::bind((host, port)).await {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse && port != 0 && port < u16::MAX => {
                port += 1;
            }
            listening => return listening,
        }
    }
    TcpListener::bind((host, port)).await
}

impl BoundViewer {
    /// The address of a page, `path` being its path and query. It holds the token where reading needs it.
    pub fn url(&self, path: &str) -> String {
        let address = match self.address {
            // What listens everywhere is reached here.
            SocketAddr::V4(address) if address.ip().is_unspecified() => {
                format!("127.0.0.1:{}", address.port())
            }
            SocketAddr::V6(address) if address.ip().is_unspecified() => format!("[::1]:{}", address.port()),
            address => address.to_string(),
        };
        let guard = self.viewer.guard();
        if guard.is_token_shown() {
            let separator = if path.contains('?') { '&' } else { '?' };
            return format!("http://{address}{path}{separator}token={}", guard.token());
        }
        format!("http://{address}{path}")
    }

    /// Whether other machines can reach it.
    pub fn is_exposed(&self) -> bool {
        self.viewer.guard().is_exposed()
    }

    /// Serves until the process is asked to end.
    ///
    /// # Errors
    ///
    /// What the system says when it cannot listen any longer.
    pub fn serve(self) -> io::Result<()> {
        let Self {
            runtime,
            listener,
            viewer,
            stop,
            ..
        } = self;
        let served = runtime.block_on(async {
            tokio::select! {
                served = accept(&listener, &viewer) => served,
                signal = end_requested() => signal,
            }
        });
        let _ = stop.send(true);
        viewer.runs().empty_trash();
        // A reading that is under way must not keep the process.
        runtime.shutdown_timeout(Duration::from_millis(200));
        served
    }
}

/// Whether the system shows the owners of connections within this machine.
fn are_owners_known(address: SocketAddr) -> bool {
    // A connection to the viewer itself, which ends before it is served.
    let own = std::net::TcpStream::connect(address);
    let ends = own.and_then(|own| Ok((own.local_addr()?, own.peer_addr()?, own)));
    ends.is_ok_and(|(own, viewer, _connection)| owner::is_own(own, viewer))
}

async fn accept(listener: &TcpListener, viewer: &Viewer) -> io::Result<()> {
    let router = routes::router(viewer);
    let room = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    let connections = Connections::default();
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            // Too many open files, or a connection that is gone already: others come.
            tokio::time::sleep(Duration::from_millis(20)).await;
            continue;
        };
        let place = place(&room, &connections).await;
        let _ = stream.set_nodelay(true);
        let connection = Connection::new(stream);
        connections.add(&connection);
        let router = router.clone();
        let viewer = viewer.clone();
        tokio::spawn(async move {
            tokio::select! {
                () = serve_connection(&connection, router) => {}
                () = connection.given_up(WRITE_TIMEOUT) => {}
                () = viewer.stopped() => {}
            }
            drop(place);
        });
    }
}

/// A place for a connection, which another one may have to give away.
async fn place(room: &Arc<Semaphore>, connections: &Connections) -> Option<OwnedSemaphorePermit> {
    loop {
        if let Ok(place) = Arc::clone(room).try_acquire_owned() {
            return Some(place);
        }
        connections.make_room();
        let place = tokio::time::timeout(ROOM_POLL_INTERVAL, Arc::clone(room).acquire_owned());
        if let Ok(place) = place.await {
            // The room is never closed.
            return place.ok();
        }
    }
}

async fn serve_connection(connection: &Arc<Connection>, router: Router) {
    let service = service_fn(|request: hyper::Request<Incoming>| {
        let router = router.clone();
        let connection = Arc::clone(connection);
        async move {
            // Requests may be pipelined: nothing is started for a client that is gone.
            if connection.is_hung_up() {
                return Err(io::Error::from(io::ErrorKind::ConnectionAborted));
            }
            let answering = connection.answering();
            let mut request = request.map(Body::new);
            request.extensions_mut().insert(connection);
            let Ok(answer) = router.oneshot(request).await;
            Ok(answer.map(|body| answering.until_sent(body)))
        }
    });
    // An error concerns this connection alone, and its client is gone.
    let _ = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .max_buf_size(MAX_HEAD_BYTES)
        .serve_connection(TokioIo::new(connection.io()), service)
        .await;
}

/// Ctrl-C, or what a service manager sends.
async fn end_requested() -> io::Result<()> {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let mut terminate = signal(SignalKind::terminate())?;
        tokio::select! {
            signal = tokio::signal::ctrl_c() => signal,
            _ = terminate.recv() => Ok(()),
        }
    }
    #[cfg(not(unix))]
    tokio::signal::ctrl_c().await
}
