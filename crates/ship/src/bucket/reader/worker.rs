//! [`Worker`]: the thread on which requests are made, for callers who wait.

use std::io;
use std::sync::mpsc;
use std::thread;

use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;

/// A thread with a runtime; it ends with this.
pub(super) struct Worker {
    handle: Handle,
    _until_dropped: oneshot::Sender<()>,
}

impl Worker {
    pub(super) fn start() -> io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let handle = runtime.handle().clone();
        let (until_dropped, dropped) = oneshot::channel::<()>();
        thread::Builder::new()
            .name("tracer-bucket".to_owned())
            .spawn(move || {
                // Nothing is ever sent.
                let _ = runtime.block_on(dropped);
                runtime.shutdown_background();
            })?;
        Ok(Self {
            handle,
            _until_dropped: until_dropped,
        })
    }

    /// Begins work without waiting for it.
    pub(super) fn begin(&self, work: impl Future<Output = ()> + Send + 'static) {
        self.handle.spawn(work);
    }

    /// Does work, and waits for it, on any thread; `None` when it panics.
    pub(super) fn wait<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Option<T> {
        let (sender, receiver) = mpsc::sync_channel(1);
        self.handle.spawn(async move {
            // The caller waits until this arrives.
            let _ = sender.send(work.await);
        });
        receiver.recv().ok()
    }
}
