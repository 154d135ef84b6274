//! Answers that are sent while they are made: of any size, and no more of them in memory than a few pieces.

use std::io::{self, Write};

use axum::body::{Body, Bytes};
use futures_util::stream;
use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TrySendError;

use super::viewer::Viewer;
use super::work;

/// So much of an answer is sent at a time.
const PIECE_BYTES: usize = 64 * 1024;
/// So many pieces wait for a reader who is slow.
const WAITING_PIECES: usize = 4;

/// The body that `write` writes, on a thread that may wait. An error cuts the answer off, so that nobody takes it for whole.
pub(super) fn body(
    viewer: &Viewer,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()> + Send + 'static,
) -> Body {
    let (sender, receiver) = mpsc::channel(WAITING_PIECES);
    let work = viewer.work().clone();
    tokio::spawn(async move {
        let mut writer = PieceWriter {
            sender: sender.clone(),
            piece: Vec::with_capacity(PIECE_BYTES),
        };
        let written = work.read(move || write(&mut writer).and_then(|()| writer.flush()));
        let written = tokio::select! {
            written = written => written,
            // Nobody reads it any more: what makes it is called off.
            () = sender.closed() => return,
        };
        if let Err(error) = written.unwrap_or_else(|| Err(io::Error::other("the viewer failed to make this")))
        {
            // Nobody may be there to be told.
            let _ = sender.send(Err(error)).await;
        }
    });
    Body::from_stream(stream::unfold(
        receiver,
        |mut receiver: mpsc::Receiver<io::Result<Bytes>>| async move {
            let piece = receiver.recv().await?;
            Some((piece, receiver))
        },
    ))
}

/// Sends what is written in pieces, and waits while the reader is slow.
struct PieceWriter {
    sender: mpsc::Sender<io::Result<Bytes>>,
    piece: Vec<u8>,
}

impl Write for PieceWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.piece.extend_from_slice(bytes);
        if self.piece.len() >= PIECE_BYTES {
            self.flush()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.piece.is_empty() {
            return Ok(());
        }
        let piece = std::mem::replace(&mut self.piece, Vec::with_capacity(PIECE_BYTES));
        let sent = match self.sender.try_send(Ok(piece.into())) {
            Ok(()) => true,
            Err(TrySendError::Full(piece)) => work::aside(|| self.sender.blocking_send(piece).is_ok()),
            Err(TrySendError::Closed(_)) => false,
        };
        if sent {
            Ok(())
        } else {
            Err(io::ErrorKind::BrokenPipe.into())
        }
    }
}
