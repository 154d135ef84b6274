//! Answers that are sent while they are made: of any size, and no more of them in memory than a few chunks.

use std::io::{self, Write};

use axum::body::{Body, Bytes};
use futures_util::stream;
use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TrySendError;

use super::viewer::Viewer;
use super::work::{self, WorkLength};

/// Bytes sent at a time.
const CHUNK_BYTES: usize = 64 * 1024;
/// Chunks that wait for a slow reader.
const MAX_QUEUED_CHUNKS: usize = 4;

/// The body that `write` writes, on a thread that may wait. An error cuts the answer off, so that nobody takes it for whole.
pub(super) fn body(
    viewer: &Viewer,
    length: WorkLength,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()> + Send + 'static,
) -> Body {
    let (sender, receiver) = mpsc::channel(MAX_QUEUED_CHUNKS);
    let work = viewer.work().clone();
    tokio::spawn(async move {
        let mut writer = ChunkWriter {
            sender: sender.clone(),
            chunk: Vec::with_capacity(CHUNK_BYTES),
        };
        let written = work.read(length, move || write(&mut writer).and_then(|()| writer.flush()));
        let written = tokio::select! {
            written = written => written,
            // Nobody reads it any more: what makes it is called off.
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

/// Sends what is written in chunks, and waits while the reader is slow.
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
        let sent = match self.sender.try_send(Ok(chunk.into())) {
            Ok(()) => true,
            Err(TrySendError::Full(chunk)) => work::aside(|| self.sender.blocking_send(chunk).is_ok()),
            Err(TrySendError::Closed(_)) => false,
        };
        if sent {
            Ok(())
        } else {
            Err(io::ErrorKind::BrokenPipe.into())
        }
    }
}
