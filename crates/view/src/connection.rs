//! One connection: whether its client is still there, takes what it is sent, and belongs to whom.
//!
//! A client that stalls or is gone costs its own connection only: what was begun for it ends when it is gone, a
//! connection whose client takes nothing ends after a while, and one that keeps its place for nothing gives it to a newcomer.

use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use axum::body::{Body, Bytes, HttpBody};
use futures_util::FutureExt;
use hyper::body::{Frame, SizeHint};
use parking_lot::Mutex;
use socket2::SockRef;
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::{Notify, OnceCell};

use super::headers;
use super::owner;

/// A client that takes nothing for this long loses its connection.
pub(super) const WRITE_TIMEOUT: Duration = Duration::from_secs(60);
/// How often to check a connection.
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// A connection that is idle or stalled for this long may be replaced.
const MIN_IDLE: Duration = Duration::from_secs(1);

/// A connection, as those who serve it share it.
#[derive(Debug)]
pub(super) struct Connection {
    stream: TcpStream,
    pace: Mutex<Pace>,
    /// Whether it is that of the user who started the viewer, found out when it is first asked.
    is_own: OnceCell<bool>,
    /// It has to give its place to another one.
    give_way: Notify,
}

/// How a connection goes on.
#[derive(Debug)]
struct Pace {
    /// Whether a request is being answered.
    is_answering: bool,
    /// Since when none is.
    idle: Instant,
    /// Since when the client takes nothing.
    stalled: Option<Instant>,
    /// Whether what is written now is an answer of the viewer; else it is one of the HTTP library: to what is no request.
    is_ours: bool,
}

impl Connection {
    pub(super) fn new(stream: TcpStream) -> Arc<Self> {
        Arc::new(Self {
            stream,
            pace: Mutex::new(Pace {
                is_answering: false,
                idle: Instant::now(),
                stalled: None,
                is_ours: false,
            }),
            is_own: OnceCell::new(),
            give_way: Notify::new(),
        })
    }

    /// What HTTP is spoken over.
    pub(super) fn io(self: &Arc<Self>) -> ConnectionIo {
        ConnectionIo {
            connection: Arc::clone(self),
            refusal: Bytes::new(),
        }
    }

    /// A request is answered from now until what this gives is dropped.
    pub(super) fn answering(self: &Arc<Self>) -> Answering {
        let mut pace = self.pace.lock();
        pace.is_answering = true;
        pace.is_ours = true;
        Answering(Arc::clone(self))
    }

    /// Whether the user who started the viewer asks, as far as the system shows.
    pub(super) async fn is_own(&self) -> bool {
        let look = || async {
            let ends = self
                .stream
                .peer_addr()
                .and_then(|peer| Ok((peer, self.stream.local_addr()?)));
            let Ok((peer, local)) = ends else { return false };
            let asked = tokio::task::spawn_blocking(move || owner::is_own(peer, local));
            asked.await.unwrap_or(false)
        };
        *self.is_own.get_or_init(look).await
    }

    /// Ends when the connection has to: its client is gone, has taken nothing for `write_time`, or another one needs the
    /// place.
    pub(super) async fn given_up(&self, write_time: Duration) {
        let watched = async {
            while !self.is_hung_up() && self.stalled_for() < write_time {
                tokio::time::sleep(POLL_INTERVAL).await;
            }
        };
        tokio::select! {
            () = watched => {}
            () = self.give_way.notified() => {}
        }
    }

    /// Whether the client has ended the connection, even behind bytes that nobody has read.
    pub(super) fn is_hung_up(&self) -> bool {
        match self.stream.ready(Interest::READABLE).now_or_never() {
            Some(Ok(ready)) => ready.is_read_closed(),
            Some(Err(_)) => true,
            None => false,
        }
    }

    fn stalled_for(&self) -> Duration {
        let stalled = self.pace.lock().stalled;
        stalled.map_or(Duration::ZERO, |since| since.elapsed())
    }

    /// How long it has kept its place for nothing. One whose request nobody has read yet waits for the viewer.
    fn useless_for(&self) -> Duration {
        let pace = self.pace.lock();
        let since = pace.stalled.or((!pace.is_answering).then_some(pace.idle));
        let is_waiting = pace.stalled.is_none() && self.has_unread();
        since
            .filter(|_| !is_waiting)
            .map_or(Duration::ZERO, |since| since.elapsed())
    }

    /// Whether the client has sent something that nobody has read. The system is asked, since a busy runtime learns of it late.
    fn has_unread(&self) -> bool {
        let peeked = SockRef::from(&self.stream).peek(&mut [MaybeUninit::uninit()]);
        peeked.is_ok_and(|bytes| bytes > 0)
    }

    fn took(&self) {
        self.pace.lock().stalled = None;
    }

    fn takes_nothing(&self) {
        self.pace.lock().stalled.get_or_insert_with(Instant::now);
    }
}

/// A request is being answered.
#[derive(Debug)]
pub(super) struct Answering(Arc<Connection>);

impl Answering {
    /// The body of the answer, with which the answering ends.
    pub(super) fn until_sent(self, body: Body) -> Body {
        Body::new(AnsweringBody {
            body,
            _answering: self,
        })
    }
}

impl Drop for Answering {
    fn drop(&mut self) {
        let mut pace = self.0.pace.lock();
        pace.is_answering = false;
        pace.idle = Instant::now();
    }
}

struct AnsweringBody {
    body: Body,
    _answering: Answering,
}

impl HttpBody for AnsweringBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// All connections.
#[derive(Debug, Default)]
pub(super) struct Connections(Mutex<Vec<Weak<Connection>>>);

impl Connections {
    pub(super) fn add(&self, connection: &Arc<Connection>) {
        let mut connections = self.0.lock();
        connections.retain(|known| known.strong_count() > 0);
        connections.push(Arc::downgrade(connection));
    }

    /// Ends the connection that has kept its place for nothing for the longest time, if there is one.
    pub(super) fn make_room(&self) {
        let connections = self.0.lock();
        let useless = connections.iter().filter_map(|connection| {
            let connection = connection.upgrade()?;
            let time = connection.useless_for();
            (time >= MIN_IDLE).then_some((time, connection))
        });
        if let Some((_, connection)) = useless.max_by_key(|(time, _)| *time) {
            connection.give_way.notify_one();
        }
    }
}

/// A connection as HTTP reads and writes it.
#[derive(Debug)]
pub(super) struct ConnectionIo {
    connection: Arc<Connection>,
    /// What is sent in the place of an answer that is not the viewer's.
    refusal: Bytes,
}

impl ConnectionIo {
    fn write_with(
        &self,
        context: &mut Context<'_>,
        mut write: impl FnMut(&TcpStream) -> io::Result<usize>,
    ) -> Poll<io::Result<usize>> {
        let stream = &self.connection.stream;
        loop {
            let Poll::Ready(ready) = stream.poll_write_ready(context) else {
                self.connection.takes_nothing();
                return Poll::Pending;
            };
            ready?;
            match write(stream) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                written => {
                    self.connection.took();
                    return Poll::Ready(written);
                }
            }
        }
    }

    /// Sends what is left of a refusal.
    fn send_refusal(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.refusal.is_empty() {
            let refusal = self.refusal.clone();
            let written = ready!(self.write_with(context, |stream| stream.try_write(&refusal)))?;
            let _ = self.refusal.split_to(written);
        }
        Poll::Ready(Ok(()))
    }

    /// What the HTTP library answers to what is no request lacks what every answer carries: the viewer refuses it instead.
    fn refuse_instead(&mut self, answer: &[u8]) -> bool {
        if self.connection.pace.lock().is_ours {
            return false;
        }
        self.refusal = headers::refusal(answer);
        true
    }
}

impl AsyncRead for ConnectionIo {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let stream = &self.connection.stream;
        loop {
            ready!(stream.poll_read_ready(context))?;
            match stream.try_read(buffer.initialize_unfilled()) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Poll::Ready(Err(error)),
                Ok(read) => {
                    buffer.advance(read);
                    return Poll::Ready(Ok(()));
                }
            }
        }
    }
}

impl AsyncWrite for ConnectionIo {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        if self.refuse_instead(bytes) {
            return Poll::Ready(Ok(bytes.len()));
        }
        self.write_with(context, |stream| stream.try_write(bytes))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let first = slices.iter().find(|slice| !slice.is_empty());
        if let Some(first) = first
            && self.refuse_instead(first)
        {
            return Poll::Ready(Ok(first.len()));
        }
        self.write_with(context, |stream| stream.try_write_vectored(slices))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.send_refusal(context))?;
        // Everything is written that was to be: with an answer that is at its end, nothing of the viewer's is left.
        let mut pace = self.connection.pace.lock();
        pace.is_ours = pace.is_answering;
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.send_refusal(context))?;
        // The connection ends with the last who holds it, which is whoever serves it.
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};

    use super::*;

    /// A connection and its client, in a runtime.
    async fn connected() -> (Arc<Connection>, std::net::TcpStream) {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let client = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (stream, _) = listener.accept().await.unwrap();
        (Connection::new(stream), client)
    }

    #[tokio::test]
    async fn a_client_that_takes_nothing_is_given_up_and_the_time_begins_anew_when_it_takes_something() {
        let (connection, mut client) = connected().await;
        let mut io = connection.io();
        let _answering = connection.answering();
        let sending = tokio::spawn(async move {
            let bytes = [0; 4 * 1024];
            while std::future::poll_fn(|context| Pin::new(&mut io).poll_write(context, &bytes))
                .await
                .is_ok()
            {}
        });
        // It takes nothing, and the buffers between are full after a while.
        connection.given_up(Duration::from_millis(10)).await;
        let stalled = connection.pace.lock().stalled;
        assert!(stalled.is_some());
        let reader = tokio::task::spawn_blocking(move || {
            client.read_exact(&mut vec![0; 64 * 1024 * 1024]).unwrap();
            client
        });
        let _client = reader.await.unwrap();
        assert_ne!(connection.pace.lock().stalled, stalled);
        sending.abort();
    }

    #[tokio::test]
    async fn a_client_that_is_gone_is_noticed_even_behind_bytes_that_nobody_reads() {
        let (connection, mut client) = connected().await;
        assert!(!connection.is_hung_up());
        client
            .write_all(b"GET / HTTP/1.1\r\n\r\nGET / HTTP/1.1\r\n\r\n")
            .unwrap();
        drop(client);
        connection.given_up(WRITE_TIMEOUT).await;
        assert!(connection.is_hung_up());
    }

    #[tokio::test]
    async fn a_client_whose_request_nobody_has_read_keeps_its_place() {
        let (waiting, mut client) = connected().await;
        client.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
        waiting.pace.lock().idle -= Duration::from_secs(9);
        assert_eq!(waiting.useless_for(), Duration::ZERO);
        let mut request = [0; 64];
        waiting.stream.readable().await.unwrap();
        waiting.stream.try_read(&mut request).unwrap();
        assert!(waiting.useless_for() >= Duration::from_secs(9));
    }

    #[tokio::test]
    async fn the_one_that_keeps_its_place_for_nothing_the_longest_gives_way() {
        let (first, _first_client) = connected().await;
        let (second, _second_client) = connected().await;
        let (busy, _busy_client) = connected().await;
        let connections = Connections::default();
        for connection in [&second, &busy, &first] {
            connections.add(connection);
        }
        let _answering = busy.answering();
        // None has kept its place for long.
        connections.make_room();
        for (connection, seconds) in [(&first, 9), (&second, 8), (&busy, 10)] {
            connection.pace.lock().idle -= Duration::from_secs(seconds);
        }
        connections.make_room();
        first.given_up(WRITE_TIMEOUT).await;
        for other in [second, busy] {
            assert!(other.give_way.notified().now_or_never().is_none());
        }
    }
}
