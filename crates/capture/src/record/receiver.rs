//! [`OtlpSource`]: the receiver of OTLP as something that a recorded command is pointed at, and that sees what it does.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use opentelemetry_proto::tonic::common::v1::{KeyValue, any_value};
use opentelemetry_proto::tonic::logs::v1::ResourceLogs;
use opentelemetry_proto::tonic::trace::v1::ResourceSpans;
use tracer_sdk::format::names::markers;

use super::environment::{ChildEnvironment, Inherited, NamedEndpoints, OtlpEndpoints};
use crate::otlp::Repairs;
use crate::server::{OtlpServer, ServerError, ServerOptions, Upstream};
use crate::sink::{Accepted, OtlpSink, Refused};

/// Time-out for the end of the receiver: requests that it forwards may be on their way.
const STOP_TIMEOUT: Duration = Duration::from_secs(5);

/// Counts of the receiver's input.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct ReceivedActivity {
    /// Connections that are open now.
    pub(super) open_connections: u64,
    /// Connections that were opened.
    pub(super) connections: u64,
    /// Spans that arrived.
    pub(super) spans: u64,
    /// Log records that arrived.
    pub(super) logs: u64,
    /// Number of rejected items and refused requests.
    pub(super) rejected: u64,
    /// Requests that the upstream did not take.
    pub(super) unforwarded: u64,
    /// Requests over gRPC, which are not passed on to the upstream.
    pub(super) unforwarded_grpc: u64,
}

/// The receiver of OTLP, on ports of its own.
#[derive(Debug)]
pub(super) struct OtlpSource {
    server: OtlpServer,
    counts: Arc<ReceivedCounts>,
    endpoints: OtlpEndpoints,
    /// The endpoint of the environment that gets nothing.
    not_forwarded_to: Option<String>,
}

impl OtlpSource {
    /// Starts it. Where the environment names an endpoint already, that is the upstream.
    pub(super) fn start(
        sink: Arc<dyn OtlpSink>,
        inherited: &Inherited,
        proxy_token: &str,
    ) -> Result<Self, ServerError> {
        let counts = Arc::new(ReceivedCounts::default());
        let named = NamedEndpoints::of(inherited);
        let mut options = ServerOptions::default();
        if named.upstream != Upstream::default() {
            options.upstream = Some(named.upstream);
        }
        let counting = CountingSink {
            sink,
            counts: Arc::clone(&counts),
            proxy_token: proxy_token.to_owned(),
        };
        let server = OtlpServer::start(options, Arc::new(counting))?;
        let http = server.http_endpoint();
        let endpoints = OtlpEndpoints {
            grpc: server.grpc_endpoint().unwrap_or_else(|| http.clone()),
            http,
        };
        Ok(Self {
            server,
            counts,
            endpoints,
            not_forwarded_to: named.grpc,
        })
    }

    /// Notice for the user before the command starts.
    pub(super) fn notice(&self) -> Option<String> {
        let endpoint = self.not_forwarded_to.as_ref()?;
        Some(format!(
            "what is recorded is not forwarded to {endpoint}, which speaks gRPC: set OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf and its endpoint for HTTP"
        ))
    }

    /// Variables that lead the command here.
    pub(super) fn environment(&self, inherited: &Inherited) -> ChildEnvironment {
        ChildEnvironment::of_otlp(inherited, &self.endpoints)
    }

    /// Its endpoints.
    pub(super) fn endpoints(&self) -> &OtlpEndpoints {
        &self.endpoints
    }

    /// Counts of the input so far.
    pub(super) fn activity(&self) -> ReceivedActivity {
        let statistics = self.server.statistics();
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        ReceivedActivity {
            open_connections: statistics.open_connections,
            connections: statistics.connections,
            spans: read(&self.counts.spans),
            logs: read(&self.counts.logs),
            rejected: statistics
                .rejected_items
                .saturating_add(statistics.refused_requests),
            unforwarded: statistics.unforwarded_requests,
            unforwarded_grpc: statistics.unforwarded_grpc_requests,
        }
    }

    /// Ends it.
    pub(super) fn stop(self) {
        let (sender, ended) = std::sync::mpsc::channel();
        let server = self.server;
        let stopping = thread::Builder::new()
            .name("receiver end".to_owned())
            .spawn(move || {
                server.shutdown_blocking();
                // The receiving end may have timed out.
                let _ = sender.send(());
            });
        if stopping.is_ok() {
            // A sender that outlives the command must not block the recorder.
            let _ = ended.recv_timeout(STOP_TIMEOUT);
        }
    }
}

#[derive(Debug, Default)]
struct ReceivedCounts {
    spans: AtomicU64,
    logs: AtomicU64,
}

/// Counts what arrives on its way to the run, and takes the random part of the proxy's address out of spans, where libraries
/// record which address they asked.
struct CountingSink {
    sink: Arc<dyn OtlpSink>,
    counts: Arc<ReceivedCounts>,
    proxy_token: String,
}

impl CountingSink {
    fn without_token(&self, attributes: &mut [KeyValue]) {
        for value in attributes
            .iter_mut()
            .filter_map(|attribute| attribute.value.as_mut())
        {
            match &mut value.value {
                Some(any_value::Value::StringValue(text)) if text.contains(&self.proxy_token) => {
                    *text = text.replace(&self.proxy_token, markers::REDACTED);
                }
                Some(any_value::Value::KvlistValue(list)) => self.without_token(&mut list.values),
                _ => {}
            }
        }
    }
}

impl OtlpSink for CountingSink {
    fn accept_spans(&self, mut spans: Vec<ResourceSpans>) -> Result<Accepted, Refused> {
        let scopes = spans.iter_mut().flat_map(|resource| &mut resource.scope_spans);
        for span in scopes.flat_map(|scope| &mut scope.spans) {
            self.without_token(&mut span.attributes);
            for event in &mut span.events {
                self.without_token(&mut event.attributes);
            }
        }
        let scopes = spans.iter().flat_map(|resource| &resource.scope_spans);
        let count = scopes.map(|scope| scope.spans.len() as u64).sum();
        let accepted = self.sink.accept_spans(spans)?;
        self.counts.spans.fetch_add(count, Ordering::Relaxed);
        Ok(accepted)
    }

    fn accept_logs(&self, logs: Vec<ResourceLogs>) -> Result<Accepted, Refused> {
        let scopes = logs.iter().flat_map(|resource| &resource.scope_logs);
        let count = scopes.map(|scope| scope.log_records.len() as u64).sum();
        let accepted = self.sink.accept_logs(logs)?;
        self.counts.logs.fetch_add(count, Ordering::Relaxed);
        Ok(accepted)
    }

    fn note_repairs(&self, repairs: &Repairs) {
        self.sink.note_repairs(repairs);
    }
}

#[cfg(test)]
mod tests {
    use opentelemetry_proto::tonic::trace::v1::{ScopeSpans, Span};
    use parking_lot::Mutex;

    use super::*;
    use crate::otlp::encode::attribute;

    #[derive(Default)]
    struct TakenSpans(Mutex<Vec<ResourceSpans>>);

    impl OtlpSink for TakenSpans {
        fn accept_spans(&self, spans: Vec<ResourceSpans>) -> Result<Accepted, Refused> {
            self.0.lock().extend(spans);
            Ok(Accepted::default())
        }

        fn accept_logs(&self, _: Vec<ResourceLogs>) -> Result<Accepted, Refused> {
            Ok(Accepted::default())
        }
    }

    #[test]
    fn the_proxys_random_part_is_not_recorded() {
        let taken = Arc::new(TakenSpans::default());
        let sink = CountingSink {
            sink: Arc::clone(&taken) as Arc<dyn OtlpSink>,
            counts: Arc::default(),
            proxy_token: "0123456789abcdef".to_owned(),
        };
        let address = "http://127.0.0.1:1/r/0123456789abcdef/openai/v1/";
        let span = Span {
            attributes: vec![attribute("server.address", address), attribute("server.port", 1)],
            ..Span::default()
        };
        let scope_spans = vec![ScopeSpans {
            spans: vec![span],
            ..ScopeSpans::default()
        }];
        let sent = ResourceSpans {
            scope_spans,
            ..ResourceSpans::default()
        };
        sink.accept_spans(vec![sent]).unwrap();
        let spans = taken.0.lock();
        assert_eq!(
            spans[0].scope_spans[0].spans[0].attributes,
            [
                attribute("server.address", "http://127.0.0.1:1/r/__REDACTED__/openai/v1/"),
                attribute("server.port", 1)
            ]
        );
    }
}
