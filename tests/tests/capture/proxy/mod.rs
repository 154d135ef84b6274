//! The proxy for model APIs: on its own, with every stream, with bad input, and with credentials.

mod alone;
mod bad_input;
mod secrets;
mod streams;

use std::sync::Arc;

use tracer_capture::proxy::{ModelProxy, ProxiedRuns, ProxyOptions, ProxySummary};
use tracer_capture::runs::{CollectorOptions, RunCollector, RunEnding, RunIdentity, TraceRuns};
use tracer_sdk::format::Timestamp;
use tracer_sdk::settings::Settings;
use tracer_tests::{DataDir, Finished};

/// A proxy that records one run.
pub(crate) struct Proxied {
    data: DataDir,
    collector: Arc<RunCollector>,
    proxy: ModelProxy,
}

impl Proxied {
    /// Every provider is at `upstream`.
    pub(crate) fn new(upstream: &str) -> Self {
        Self::with(upstream, ProxyOptions::default())
    }

    fn with(upstream: &str, options: ProxyOptions) -> Self {
        let data = DataDir::new();
        let identity = RunIdentity::new("proxied", Timestamp::from_unix_microseconds(1_000_000));
        let runs = ProxiedRuns::One((&identity).into());
        let mut collecting = CollectorOptions::new(&Settings::with_data_dir(data.path()));
        collecting.into = TraceRuns::OneRun(identity);
        let collector = RunCollector::open(collecting).unwrap();
        let variable = |name: &str| match name {
            "OPENAI_BASE_URL" => Some(format!("{upstream}/v1")),
            "ANTHROPIC_BASE_URL" | "GOOGLE_GEMINI_BASE_URL" | "OLLAMA_HOST" => Some(upstream.to_owned()),
            _ => None,
        };
        let sink = Arc::clone(&collector) as _;
        let proxy = ModelProxy::start(runs, variable, Some(sink), options).unwrap();
        Self {
            data,
            collector,
            proxy,
        }
    }

    /// What a client finds in a variable.
    pub(crate) fn base_url(&self, variable: &str) -> String {
        let urls = self.proxy.base_urls();
        let found = urls.into_iter().find(|(name, _)| *name == variable);
        found.unwrap().1
    }

    /// Ends the run; what the proxy says, and what was recorded.
    pub(crate) fn finish(self) -> (ProxySummary, Finished, DataDir) {
        let summary = self.proxy.shut_down();
        let now = tracer_insight::units::now();
        self.collector.end_run(&RunEnding::new(now)).unwrap();
        let collected = self.collector.close();
        assert_eq!(collected.last_error, None);
        let run = self.data.finished();
        (summary, run, self.data)
    }
}
