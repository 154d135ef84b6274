//! [`Replay`]: a cassette for one test of `cargo test`.

use std::path::Path;
use std::sync::Arc;

use tracer_insight::units;
use tracer_sdk::settings::{self, Config};

use super::error::CassetteError;
use super::file::Cassette;
use super::keeping::Scrubbing;
use super::replayer::{ReplayOptions, ReplayOutcome, Replayer};
use crate::exchange::Responder;
use crate::proxy::{ModelProxy, Provider, ProxiedRuns, ProxyError, ProxyOptions};
use crate::runs::RunIdentity;

/// A test could not be given its cassette.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReplayError {
    /// The cassette cannot be used.
    #[error("failed to read the cassette: {0}")]
    Cassette(#[from] CassetteError),
    /// The server that answers from it cannot be started.
    #[error("failed to start the replay: {0}")]
    Server(#[from] ProxyError),
}

/// Answers the calls of models of a test from a cassette, on a port of its own, without a provider or a key.
///
/// When it is dropped, a request without a recorded answer fails the test, and so does a recorded call that was never
/// asked. A test that fails already is left as it is.
///
/// ```
/// use tracer_capture::cassette::Replay;
///
/// let folder = tempfile::tempdir()?;
/// let cassette = folder.path().join("refund.jsonl"); // as `tracer record --cassette` writes it
/// let call = concat!(
///     r#"{"n":1,"api":"openai.chat","provider":"openai","path":"/v1/chat/completions","#,
///     r#""request":{"model":"gpt-5"},"response":{"status":200,"text":"{}"}}"#
/// );
/// std::fs::write(&cassette, format!("{{\"cassette\":1}}\n{call}\n"))?;
///
/// let replay = Replay::start(&cassette)?;
/// let base_url = replay.base_url("openai"); // for the client: http://127.0.0.1:…/openai/v1
/// assert!(base_url.ends_with("/openai/v1"));
/// // … the agent under test runs here, with this base URL …
/// let outcome = replay.finish(); // reports instead of failing the test
/// assert_eq!(outcome.unused, [1]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Replay {
    replayer: Arc<Replayer>,
    proxy: Option<ModelProxy>,
}

impl Replay {
    /// Answers from the cassette at `path`.
    ///
    /// # Errors
    ///
    /// [`ReplayError`] when it cannot be read, or no port is free.
    pub fn start(path: impl AsRef<Path>) -> Result<Self, ReplayError> {
        Self::start_with(path, ReplayOptions::default())
    }

    /// Answers from the cassette at `path`, as these options say.
    ///
    /// # Errors
    ///
    /// [`ReplayError`] when it cannot be read, or no port is free.
    pub fn start_with(path: impl AsRef<Path>, options: ReplayOptions) -> Result<Self, ReplayError> {
        let cassette = Arc::new(Cassette::read_filled(path.as_ref())?);
        // The same as the command that recorded it had.
        let (settings, _) = settings::load(&Config::new());
        let directory = std::env::current_dir().unwrap_or_default();
        let scrubbing = Scrubbing::of_program(&settings, &directory);
        let replayer = Arc::new(Replayer::new(cassette, scrubbing, options));
        let options = ProxyOptions {
            responder: Some(Arc::clone(&replayer) as Arc<dyn Responder>),
            is_offline: true,
            ..ProxyOptions::default()
        };
        // The calls of a test belong to a run that is never written.
        let run = RunIdentity::new("test", units::now());
        let proxy = ModelProxy::start(ProxiedRuns::One((&run).into()), |_| None, None, options)?;
        Ok(Self {
            replayer,
            proxy: Some(proxy),
        })
    }

    /// The base URL for clients of a provider: `openai`, `anthropic`, `gemini`, `ollama`, as a cassette's lines name it.
    #[must_use]
    pub fn base_url(&self, provider: &str) -> String {
        let base = self.proxy.as_ref().map_or("", ModelProxy::base);
        let base_path = Provider::of_segment(provider).map_or("", |provider| provider.base_path);
        format!("{base}/{provider}{base_path}")
    }

    /// The variables that lead clients here, with their values, for a program that is started.
    #[must_use]
    pub fn variables(&self) -> Vec<(&'static str, String)> {
        let base = self.proxy.as_ref().map_or("", ModelProxy::base);
        let providers = self.replayer.cassette_providers();
        crate::proxy::replay_base_urls(|_| None, &providers, base)
    }

    /// Ends the replay, and gives what came of it.
    #[must_use]
    pub fn finish(mut self) -> ReplayOutcome {
        self.end()
    }

    fn end(&mut self) -> ReplayOutcome {
        if let Some(proxy) = self.proxy.take() {
            let _ = proxy.shut_down();
        }
        self.replayer.outcome()
    }
}

impl Drop for Replay {
    #[expect(clippy::panic, reason = "a guard of a test fails the test")]
    fn drop(&mut self) {
        if self.proxy.is_none() {
            return;
        }
        let outcome = self.end();
        if std::thread::panicking() || outcome.is_complete() {
            return;
        }
        let mut problems: Vec<String> = outcome.misses.iter().map(ToString::to_string).collect();
        problems.extend(outcome.unused_sentence());
        panic!(
            "replay of {}: {}",
            outcome.cassette.display(),
            problems.join("\n")
        );
    }
}
