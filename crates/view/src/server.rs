//! Listening on an address of this machine, and serving until a signal ends the process.

use std::future::{Future, IntoFuture};
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use axum::serve::ListenerExt;
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::watch;
use tracer_sdk::settings::Settings;

use super::options::Options;
use super::routes;
use super::viewer::Viewer;

/// Ports to try, from the wanted one upwards.
const MAX_PORT_ATTEMPTS: u16 = 50;
/// Threads that read, and those that wait for a client to take what they wrote.
const MAX_THREADS: usize = 512;

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
/// The system's error when the host is no address of this machine, or no port is free.
pub fn bind(settings: Settings, options: &Options) -> io::Result<BoundViewer> {
    let runtime = Builder::new_multi_thread()
        .worker_threads(2)
        .max_blocking_threads(MAX_THREADS)
        .enable_all()
        .build()?;
    let listener = runtime.block_on(listen(options))?;
    let address = listener.local_addr()?;
    let (stop, stopping) = watch::channel(false);
    let viewer = Viewer::new(settings, options, address, stopping);
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
    /// The address of a page, `path` being its path and query, with the token.
    pub fn url(&self, path: &str) -> String {
        let address = match self.address {
            // A server that listens on all interfaces is reached here.
            SocketAddr::V4(address) if address.ip().is_unspecified() => {
                format!("127.0.0.1:{}", address.port())
            }
            SocketAddr::V6(address) if address.ip().is_unspecified() => format!("[::1]:{}", address.port()),
            address => address.to_string(),
        };
        let separator = if path.contains('?') { '&' } else { '?' };
        format!(
            "http://{address}{path}{separator}token={}",
            self.viewer.guard().token()
        )
    }

    /// True when other machines can reach it.
    pub fn is_exposed(&self) -> bool {
        self.viewer.guard().is_exposed()
    }

    /// Serves until a signal ends the process.
    ///
    /// # Errors
    ///
    /// The system's error when it cannot listen any longer.
    pub fn serve(self) -> io::Result<()> {
        let Self {
            runtime,
            listener,
            viewer,
            stop,
            ..
        } = self;
        let served = runtime.block_on(async {
            let listener = listener.tap_io(|stream| {
                let _ = stream.set_nodelay(true);
            });
            let ended = end_requested()?;
            tokio::select! {
                served = axum::serve(listener, routes::router(&viewer)).into_future() => served,
                () = ended => Ok(()),
            }
        });
        let _ = stop.send(true);
        viewer.runs().empty_trash();
        // A reading that is under way must not keep the process.
        runtime.shutdown_timeout(Duration::from_millis(200));
        served
    }
}

/// Waits for Ctrl-C, or the signal that a service manager sends; both are caught from now on.
#[cfg(unix)]
fn end_requested() -> io::Result<impl Future<Output = ()>> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    })
}

/// Waits for Ctrl-C.
#[cfg(not(unix))]
fn end_requested() -> io::Result<impl Future<Output = ()>> {
    Ok(async {
        let _ = tokio::signal::ctrl_c().await;
    })
}
