//! A stand-in for a model: a small server on this machine that speaks the chat-completions protocol.
//!
//! It is no model. It answers by a few rules from what the conversation holds. But it is real HTTP with real
//! protocol errors and real token counts, so that an agent cannot tell it from an endpoint far away.

mod rules;
mod server;

use std::io;

use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use crate::model::Endpoint;

pub use rules::{Reply, reply_to};

/// The only model that the stand-in has.
pub const MODEL: &str = "stand-in-1";

/// The key that it asks for. It protects nothing; a client that forgets its key shall find out here.
const API_KEY: &str = "stand-in-key";

/// A running stand-in; it stops when this is dropped.
pub struct StandIn {
    endpoint_url: String,
    server: JoinHandle<()>,
}

impl StandIn {
    /// Start one, on a free port of this machine, in the current `tokio` runtime.
    pub async fn start() -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let endpoint_url = format!("http://{}/v1", listener.local_addr()?);
        let server = tokio::spawn(async move {
            // Serving only ends when the task is aborted: there is no error to report.
            let _ = axum::serve(listener, server::routes()).await;
        });
        Ok(Self { endpoint_url, server })
    }

    /// How to reach it.
    pub fn endpoint(&self) -> Endpoint {
        Endpoint {
            base_url: self.endpoint_url.clone(),
            api_key: API_KEY.to_owned(),
        }
    }
}

impl Drop for StandIn {
    fn drop(&mut self) {
        self.server.abort();
    }
}
