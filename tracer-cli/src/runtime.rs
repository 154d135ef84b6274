//! The runtime of the commands that wait for the network, and the signals that stop them.

use std::sync::mpsc::{self, Receiver};

use crate::error::{CliError, ErrorKind};

/// Runs the work of a command to its end.
pub(crate) fn block_on<T>(work: impl Future<Output = T>) -> Result<T, CliError> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map(|runtime| runtime.block_on(work))
        .map_err(|error| CliError::new(ErrorKind::Internal, "failed to start").with_source(error))
}

/// Receives something at Ctrl-C, which does not end the process from then on.
pub(crate) fn interrupts() -> Result<Receiver<()>, CliError> {
    let (interrupt, interrupted) = mpsc::channel();
    ctrlc::set_handler(move || {
        // The receiver is gone when the command is ending already.
        let _ = interrupt.send(());
    })
    .map_err(|error| {
        CliError::new(ErrorKind::Internal, "failed to listen to Ctrl-C")
            .with_source(error)
            .with_hint("start it again")
    })?;
    Ok(interrupted)
}

/// Ready at the first signal to end, Ctrl-C or that of a supervisor. From then on these signals do not
/// end the process.
pub(crate) async fn stop_signal() {
    let interrupted = async {
        if tokio::signal::ctrl_c().await.is_err() {
            // Where no signal can be listened to, its default holds.
            std::future::pending::<()>().await;
        }
    };
    tokio::select! {
        () = interrupted => {}
        () = terminated() => {}
    }
}

#[cfg(unix)]
async fn terminated() {
    use tokio::signal::unix::{SignalKind, signal};
    match signal(SignalKind::terminate()) {
        Ok(mut signal) => {
            signal.recv().await;
        }
        Err(_) => std::future::pending().await,
    }
}

#[cfg(not(unix))]
async fn terminated() {
    std::future::pending().await
}
