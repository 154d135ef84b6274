//! Listening, and serving connections within bounds: of their number, of a request's head, of time.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use hyper::Request;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use tokio::net::TcpStream;
use tokio::sync::{Semaphore, watch};

use super::receiver::Receiver;
use super::{grpc, http};

/// Connections served at once; more wait in the system's queue.
const MAX_CONNECTIONS: usize = 512;
/// Time for the head of a request. The pause between two requests counts: exporters keep a connection and send every few
/// seconds.
const HEAD_TIMEOUT: Duration = Duration::from_secs(120);
/// Size of the head of a request.
const MAX_HEAD_BYTES: usize = 64 * 1024;
/// Calls at once on one connection of HTTP/2.
const MAX_STREAMS: u32 = 64;
/// Bytes that a connection of HTTP/2 may send before they are read.
const STREAM_WINDOW_BYTES: u32 = 256 * 1024;
const CONNECTION_WINDOW_BYTES: u32 = 1024 * 1024;
/// Interval of the pings on a silent connection of HTTP/2.
const PING_INTERVAL: Duration = Duration::from_secs(30);

/// Listens on `address`, whose port is chosen where it is 0, and where that is this machine's own address of IPv4, on that of IPv6 too: `localhost` is either,
/// and not every exporter tries both.
pub(super) fn bind(address: IpAddr, port: u16) -> io::Result<(Vec<TcpListener>, SocketAddr)> {
    let first = listener((address, port).into())?;
    let bound = first.local_addr()?;
    let mut listeners = vec![first];
    if address == IpAddr::V4(Ipv4Addr::LOCALHOST) {
        match listener((Ipv6Addr::LOCALHOST, bound.port()).into()) {
            Ok(second) => listeners.push(second),
            // Half of the senders would reach somebody else.
            Err(error) if error.kind() == io::ErrorKind::AddrInUse && port != 0 => return Err(error),
            // A machine without IPv6.
            Err(_) => {}
        }
    }
    Ok((listeners, bound))
}

fn listener(address: SocketAddr) -> io::Result<TcpListener> {
    let listener = TcpListener::bind(address)?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

/// Room for connections, of all listeners together.
pub(super) fn room() -> Arc<Semaphore> {
    Arc::new(Semaphore::new(MAX_CONNECTIONS))
}

/// Accepts connections until the receiver stops.
pub(super) async fn accept(
    listener: tokio::net::TcpListener,
    receiver: Arc<Receiver>,
    room: Arc<Semaphore>,
    graceful: Arc<GracefulShutdown>,
    mut stopping: watch::Receiver<bool>,
) {
    let accepting = async {
        loop {
            // The room is never closed.
            let Ok(place) = Arc::clone(&room).acquire_owned().await else {
                return;
            };
            let Ok((stream, _)) = listener.accept().await else {
                // Too many open files, or a connection that is gone already: others come.
                tokio::time::sleep(Duration::from_millis(20)).await;
                continue;
            };
            receiver.counters.count(|counts| {
                counts.connections += 1;
                counts.open_connections += 1;
            });
            let receiver = Arc::clone(&receiver);
            let watcher = graceful.watcher();
            tokio::spawn(async move {
                serve(stream, Arc::clone(&receiver), watcher).await;
                receiver.counters.count(|counts| counts.open_connections -= 1);
                drop(place);
            });
        }
    };
    tokio::select! {
        () = accepting => {}
        _ = stopping.wait_for(|is_stopping| *is_stopping) => {}
    }
}

/// Serves HTTP/1.1 and HTTP/2 with prior knowledge, whichever the client speaks.
async fn serve(stream: TcpStream, receiver: Arc<Receiver>, watcher: Watcher) {
    let _ = stream.set_nodelay(true);
    let service = service_fn(move |request: Request<Incoming>| {
        let receiver = Arc::clone(&receiver);
        async move {
            let answer = if grpc::is_grpc(request.headers()) {
                grpc::answer(request, &receiver).await
            } else {
                http::answer(request, &receiver).await
            };
            Ok::<_, std::convert::Infallible>(answer)
        }
    });
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .max_buf_size(MAX_HEAD_BYTES);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(MAX_STREAMS)
        .initial_stream_window_size(STREAM_WINDOW_BYTES)
        .initial_connection_window_size(CONNECTION_WINDOW_BYTES)
        .max_header_list_size(64 * 1024)
        .keep_alive_interval(PING_INTERVAL);
    let connection = builder
        .serve_connection(TokioIo::new(stream), service)
        .into_owned();
    // An error concerns this connection alone, and its client is gone.
    let _ = watcher.watch(connection).await;
}
