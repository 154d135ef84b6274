//! Answers that are sent while they are made: of any size, and no more of them in memory than a few pieces.

use std::io::{self, Write};

use axum::body::{Body, Bytes};
use futures_util::stream;
use tokio::sync::mpsc;

/// So much of an answer is sent at a time.
const PIECE_BYTES: usize = 64 * 1024;
/// So many pieces wait for a reader who is slow.
const WAITING_PIECES: usize = 4;

/// The body that `write` writes, on a thread that may wait. An error cuts the answer off, so that nobody takes it for whole.
pub(super) fn body(write: impl FnOnce(&mut dyn Write) -> io::Result<()> + Send + 'static) -> Body {
    let (sender, receiver) = mpsc::channel(WAITING_PIECES);
    tokio::task::spawn_blocking(move || {
        let mut writer = PieceWriter {
            sender,
            piece: Vec::with_capacity(PIECE_BYTES),
        };
        if let Err(error) = write(&mut writer).and_then(|()| writer.flush()) {
            // Nobody may be there to be told.
            let _ = writer.sender.blocking_send(Err(error));
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
        self.sender
            .blocking_send(Ok(piece.into()))
            .map_err(|_| io::ErrorKind::BrokenPipe.into())
    }
}
