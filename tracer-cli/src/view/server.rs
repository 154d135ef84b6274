//! Listening, and serving each connection within bounds: of their number, of the size of a request, of its time.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{Semaphore, watch};
use tracer_sdk::settings::Settings;

use super::routes;
use super::viewer::{Options, Viewer};

/// So many ports are tried, from the one that is wanted on.
const MOST_PORTS: u16 = 50;
/// So many connections are served at once; others wait for their turn.
const MOST_CONNECTIONS: usize = 256;
/// So long may the head of a request take, and the pause before it.
const HEAD_TIME: Duration = Duration::from_secs(5);
/// So large may the head of a request be.
const MOST_HEAD_BYTES: usize = 32 * 1024;
/// So many threads read at once; other readings wait for their turn.
const READING_THREADS: usize = 4;

/// A viewer that listens and does not serve yet.
#[derive(Debug)]
pub struct Bound {
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
pub fn bind(settings: Settings, options: &Options) -> io::Result<Bound> {
    let runtime = Builder::new_multi_thread()
        .worker_threads(2)
        .max_blocking_threads(READING_THREADS)
        .enable_all()
        .build()?;
    let listener = runtime.block_on(listen(options))?;
    let address = listener.local_addr()?;
    let (stop, stopping) = watch::channel(false);
    let viewer = Viewer::new(settings, options, address, stopping);
    Ok(Bound {
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
    for _ in 0..MOST_PORTS {
        match TcpListener::bind((host, port)).await {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse && port != 0 && port < u16::MAX => {
                port += 1;
            }
            listening => return listening,
        }
    }
    TcpListener::bind((host, port)).await
}

impl Bound {
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
        if guard.is_exposed() {
            let separator = if path.contains('?') { '&' } else { '?' };
            return format!("http://{address}{path}{separator}token={}", guard.token());
        }
        format!("http://{address}{path}")
    }

    /// Whether other machines can reach it.
    pub fn is_exposed(&self) -> bool {
        self.viewer.guard().is_exposed()
    }

    /// Serves until the process is told to end.
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
                told = told_to_end() => told,
            }
        });
        let _ = stop.send(true);
        viewer.runs().empty_trash();
        // A reading that is under way must not keep the process.
        runtime.shutdown_timeout(Duration::from_millis(200));
        served
    }
}

async fn accept(listener: &TcpListener, viewer: &Viewer) -> io::Result<()> {
    let router = routes::router(viewer);
    let room = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    loop {
        let Ok(place) = Arc::clone(&room).acquire_owned().await else {
            return Ok(());
        };
        let Ok((stream, _)) = listener.accept().await else {
            // Too many open files, or a connection that is gone already: others come.
            tokio::time::sleep(Duration::from_millis(20)).await;
            continue;
        };
        let router = router.clone();
        let viewer = viewer.clone();
        tokio::spawn(async move {
            tokio::select! {
                () = serve_connection(stream, router) => {}
                () = viewer.stopped() => {}
            }
            drop(place);
        });
    }
}

async fn serve_connection(stream: TcpStream, router: axum::Router) {
    let _ = stream.set_nodelay(true);
    // An error concerns this connection alone, and nobody is left to be told.
    let _ = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIME)
        .max_buf_size(MOST_HEAD_BYTES)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router))
        .await;
}

/// Ctrl-C, or what a service manager sends.
async fn told_to_end() -> io::Result<()> {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let mut terminate = signal(SignalKind::terminate())?;
        tokio::select! {
            told = tokio::signal::ctrl_c() => told,
            _ = terminate.recv() => Ok(()),
        }
    }
    #[cfg(not(unix))]
    tokio::signal::ctrl_c().await
}
