//! Answers that are sent while they are written, of any size, with a few chunks in memory.

use std::io::{self, Write};
use std::time::Duration;

use axum::body::{Body, Bytes};
use futures_util::stream;
use tokio::runtime::Handle;
use tokio::sync::mpsc;

use super::viewer::Viewer;

/// Bytes sent at a time.
const CHUNK_BYTES: usize = 64 * 1024;
/// Chunks that wait for a slow client.
const MAX_QUEUED_CHUNKS: usize = 4;
/// Time without a chunk taken after which a client loses its answer.
const SEND_TIMEOUT: Duration = Duration::from_secs(60);

/// The body that `write` writes, on a thread that may wait. An error cuts the answer off, so that it is not taken for whole.
pub(super) fn body(
    viewer: &Viewer,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()> + Send + 'static,
) -> Body {
    let (sender, receiver) = mpsc::channel(MAX_QUEUED_CHUNKS);
    let work = viewer.work().clone();
    tokio::spawn(async move {
        let mut writer = ChunkWriter {
            sender: sender.clone(),
            chunk: Vec::with_capacity(CHUNK_BYTES),
        };
        let written = work.stream(move || write(&mut writer).and_then(|()| writer.flush()));
        let written = tokio::select! {
            written = written => written,
            // The client is gone.
            () = sender.closed() => return,
        };
        if let Err(error) = written.unwrap_or_else(|| Err(io::Error::other("the viewer failed to make this")))
        {
            // The client may be gone.
            let _ = sender.send(Err(error)).await;
        }
    });
    Body::from_stream(stream::unfold(
        receiver,
        |mut receiver: mpsc::Receiver<io::Result<Bytes>>| async move {
            let chunk = receiver.recv().await?;
            Some((chunk, receiver))
        },
    ))
}

/// Sends bytes in chunks, and waits while the client is slow.
struct ChunkWriter {
    sender: mpsc::Sender<io::Result<Bytes>>,
    chunk: Vec<u8>,
}

impl Write for ChunkWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.chunk.extend_from_slice(bytes);
        if self.chunk.len() >= CHUNK_BYTES {
            self.flush()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.chunk.is_empty() {
            return Ok(());
        }
        let chunk = std::mem::replace(&mut self.chunk, Vec::with_capacity(CHUNK_BYTES));
        let sending = self.sender.send_timeout(Ok(chunk.into()), SEND_TIMEOUT);
        Handle::current()
            .block_on(sending)
            .map_err(|_| io::ErrorKind::BrokenPipe.into())
    }
}
