//! [`Probes`]: connections that the receiver opens to itself. The system hands over connections in the order in which they
//! came, so once a probe is accepted, every connection that was there before it is, too, and is counted.

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;

use parking_lot::Mutex;
use tokio::net::TcpSocket;
use tokio::sync::oneshot;

/// The probes that have not been accepted yet, by the address that they come from.
#[derive(Debug, Default)]
pub(super) struct Probes {
    awaited: Mutex<HashMap<SocketAddr, oneshot::Sender<()>>>,
}

impl Probes {
    /// Returns once every connection that is there now has been accepted by what listens on `listener`.
    pub(super) async fn probe(&self, listener: SocketAddr) -> io::Result<()> {
        let socket = match listener {
            SocketAddr::V4(_) => TcpSocket::new_v4()?,
            SocketAddr::V6(_) => TcpSocket::new_v6()?,
        };
        // Its own address must be known before the other side may see it.
        socket.bind((listener.ip(), 0).into())?;
        let (accepted, is_accepted) = oneshot::channel();
        let address = socket.local_addr()?;
        self.awaited.lock().insert(address, accepted);
        let connection = socket.connect(listener).await;
        let seen = match connection {
            Ok(_open) => is_accepted.await.map_err(io::Error::other),
            Err(error) => Err(error),
        };
        self.awaited.lock().remove(&address);
        seen
    }

    /// Whether an accepted connection is a probe.
    pub(super) fn take(&self, from: SocketAddr) -> bool {
        let Some(accepted) = self.awaited.lock().remove(&from) else {
            return false;
        };
        // Who sent it may have given up.
        let _ = accepted.send(());
        true
    }
}
