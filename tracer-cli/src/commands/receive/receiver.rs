//! A running receiver: an endpoint of OTLP or a proxy for model APIs, and the collector of its runs.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use tracer_capture::proxy::{ModelProxy, ProxiedRuns, ProxyError, ProxyOptions, RunGrouping};
use tracer_capture::record::{ChildEnvironment, Inherited, OtlpEndpoints};
use tracer_capture::runs::{CollectorOptions, CollectorSummary, RunCollector};
use tracer_capture::server::{OtlpServer, ServerError, ServerOptions, ServerStatistics};
use tracer_insight::line::{Line, Tone};
use tracer_insight::text::{counted, path_below_home};
use tracer_sdk::format::TraceId;

use super::Args;
use crate::error::{CliError, ErrorKind};
use crate::session::Session;

/// The port of OTLP/HTTP, as OpenTelemetry assigns it.
const HTTP_PORT: u16 = 4318;
/// The port of OTLP/gRPC.
const GRPC_PORT: u16 = 4317;
/// Time without a call after which an open run counts as interrupted: a proxy ends its runs itself.
const PROXY_SILENCE: Duration = Duration::from_secs(24 * 60 * 60);
/// Age of a run's root at which the run is completed: a proxy sends the root last.
const PROXY_QUIET: Duration = Duration::from_millis(200);

/// The server of an endpoint of OTLP: both protocols on one port, or without it on their usual two.
pub(crate) fn otlp_server(port: Option<u16>) -> ServerOptions {
    ServerOptions {
        http_port: port.unwrap_or(HTTP_PORT),
        // A port answers both protocols.
        grpc_port: port.is_none().then_some(GRPC_PORT),
        ..ServerOptions::default()
    }
}

/// Work of a receiver until it ended.
#[derive(Debug, Clone)]
pub(crate) struct Received {
    pub(crate) collected: CollectorSummary,
    pub(crate) served: ServerStatistics,
    /// Model calls that went through the proxy; `None` of an endpoint of OTLP.
    pub(crate) model_calls: Option<u64>,
    pub(crate) notes: Vec<String>,
}

/// A running receiver and its collector.
pub(crate) struct RunningReceiver {
    server: Server,
    collector: Arc<RunCollector>,
    /// The base address.
    pub(crate) endpoint: String,
    /// The address of a port for OTLP/gRPC alone.
    pub(crate) grpc_endpoint: Option<String>,
    /// The token of a request: a header to an endpoint of OTLP, a part of the addresses of a proxy.
    pub(crate) token: Option<String>,
    /// The variables that lead a program to it, as a shell takes them.
    pub(crate) exports: Vec<String>,
    /// Remarks on the upstreams of a proxy.
    pub(crate) upstreams: Vec<String>,
    /// The variables that a proxy cannot use.
    pub(crate) unusable: Vec<String>,
}

enum Server {
    Otlp(OtlpServer),
    Models(ModelProxy),
}

impl RunningReceiver {
    /// Starts an endpoint of OTLP; `set` changes what it collects.
    pub(crate) fn otlp(
        server: ServerOptions,
        session: &Session,
        set: impl FnOnce(&mut CollectorOptions),
    ) -> Result<Self, CliError> {
        let collector = collector(session, |collector| {
            collector.resume_unfinished = true;
            set(collector);
        })?;
        let server = OtlpServer::start(server, collector.clone()).map_err(not_started)?;
        let (endpoint, grpc_endpoint) = (server.http_endpoint(), server.grpc_endpoint());
        let endpoints = OtlpEndpoints::from(&server);
        let mut exports = exports(&ChildEnvironment::of_otlp(&Inherited::default(), &endpoints));
        exports.extend(server.token().map(|token| {
            let token = url_encoded(token);
            format!("export OTEL_EXPORTER_OTLP_HEADERS=x-tracer-token={token}")
        }));
        Ok(Self {
            endpoint,
            grpc_endpoint,
            token: server.token().map(str::to_owned),
            exports,
            upstreams: Vec::new(),
            unusable: Vec::new(),
            server: Server::Otlp(server),
            collector,
        })
    }

    /// Starts a proxy for model APIs; `inherited` names the upstreams.
    pub(crate) fn models(args: &Args, inherited: &Inherited, session: &Session) -> Result<Self, CliError> {
        let collector = collector(session, |collector| {
            collector.without_content = args.no_content;
            collector.silence = PROXY_SILENCE;
            collector.quiet = PROXY_QUIET;
        })?;
        let variable = inherited.variables();
        let mut grouping = RunGrouping::default();
        grouping.name = variable("TRACER_RUN_NAME");
        grouping.idle = args.idle.unwrap_or(grouping.idle);
        let mut options = ProxyOptions::default();
        options.address = args.proxy_address();
        options.no_stream_usage = args.no_stream_usage;
        let sink = Arc::clone(&collector) as _;
        let runs = ProxiedRuns::PerAgent(grouping);
        let proxy = ModelProxy::start(runs, variable, Some(sink), options).map_err(proxy_not_started)?;
        let upstreams = proxy.upstreams().into_iter();
        let upstreams =
            upstreams.map(|(variable, host)| format!("{variable} is set: its requests go on to {host}"));
        Ok(Self {
            endpoint: format!("http://{}", proxy.address()),
            grpc_endpoint: None,
            token: Some(proxy.token().to_owned()),
            exports: model_exports(inherited, proxy.base_urls()),
            upstreams: upstreams.collect(),
            unusable: proxy.unusable().iter().map(ToString::to_string).collect(),
            server: Server::Models(proxy),
            collector,
        })
    }

    /// The runs that were completed since the last call.
    pub(crate) fn take_completed(&self) -> Vec<TraceId> {
        self.collector.take_completed()
    }

    /// The work of an endpoint of OTLP so far, in words.
    pub(crate) fn status(&self) -> Option<String> {
        let Server::Otlp(server) = &self.server else {
            return None;
        };
        let received = Received {
            collected: self.collector.summary(),
            served: server.statistics(),
            model_calls: None,
            notes: Vec::new(),
        };
        Some(received.sentence())
    }

    /// Finishes open requests and ends every run; gives the runs that this completes.
    pub(crate) fn end(self) -> (Received, Vec<TraceId>) {
        let (served, model_calls, notes) = match self.server {
            Server::Otlp(server) => (server.shut_down(Duration::MAX), None, Vec::new()),
            Server::Models(proxy) => {
                let summary = proxy.shut_down();
                (
                    ServerStatistics::default(),
                    Some(summary.counted_calls),
                    summary.notes(),
                )
            }
        };
        let received = Received {
            collected: self.collector.close(),
            served,
            model_calls,
            notes,
        };
        (received, self.collector.take_completed())
    }

    /// `tracer receive: http://127.0.0.1:4318 (OTLP/HTTP), http://127.0.0.1:4317 (OTLP/gRPC)`
    pub(crate) fn heading(&self) -> Line {
        let protocols = match (&self.server, &self.grpc_endpoint) {
            (Server::Models(_), _) => "model APIs".to_owned(),
            (Server::Otlp(_), Some(grpc)) => format!("OTLP/HTTP), {grpc} (OTLP/gRPC"),
            (Server::Otlp(_), None) => "OTLP/HTTP and OTLP/gRPC".to_owned(),
        };
        Line::of("tracer receive: ", Tone::Muted)
            .with(format!("{} ({protocols})", self.endpoint), Tone::Plain)
    }
}

/// Opens the collector of the data directory with these options.
fn collector(
    session: &Session,
    set: impl FnOnce(&mut CollectorOptions),
) -> Result<Arc<RunCollector>, CliError> {
    let settings = session.settings()?;
    let mut options = CollectorOptions::new(&settings);
    set(&mut options);
    RunCollector::open(options).map_err(|error| {
        let place = path_below_home(&settings.data_dir);
        CliError::input(format!("failed to prepare the data directory {place}"))
            .with_source(error)
            .with_hint("check its permissions, or choose another one: --data-dir DIR, or TRACER_DATA_DIR")
    })
}

/// The variables for clients of model APIs, as a shell takes them.
pub(super) fn model_exports(inherited: &Inherited, base_urls: Vec<(&'static str, String)>) -> Vec<String> {
    exports(&ChildEnvironment::of_models(inherited, base_urls))
}

fn exports(environment: &ChildEnvironment) -> Vec<String> {
    let variables = environment.variables.iter();
    variables
        .map(|variable| format!("export {}", variable.assignment()))
        .collect()
}

/// A value of `OTEL_EXPORTER_OTLP_HEADERS`, which is read as a part of a URL.
fn url_encoded(text: &str) -> String {
    text.bytes().fold(String::new(), |mut encoded, byte| {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            // Writing to a text never fails.
            let _ = write!(encoded, "%{byte:02X}");
        }
        encoded
    })
}

fn not_started(error: ServerError) -> CliError {
    let refused = match &error {
        ServerError::PortTaken { .. } => {
            return CliError::input(error.to_string())
                .with_hint("end that program: another tracer receive, or an OpenTelemetry Collector")
                .with_hint("or choose another port, 0 for any free one: tracer receive --port PORT");
        }
        ServerError::Listen { .. } => CliError::input("the receiver cannot listen")
            .with_hint("choose an address of this machine: --host 127.0.0.1, and a port above 1023"),
        _ => CliError::new(ErrorKind::Internal, "the receiver did not start").with_hint("try again"),
    };
    refused.with_source(error)
}

fn proxy_not_started(error: ProxyError) -> CliError {
    let refused = match &error {
        ProxyError::Listen(_) => CliError::input("the proxy cannot listen")
            .with_hint("end the program that has the port: another tracer receive")
            .with_hint("or choose another port, 0 for any free one: --port PORT"),
        _ => CliError::new(ErrorKind::Internal, "the proxy did not start").with_hint("try again"),
    };
    refused.with_source(error)
}

impl Received {
    /// `received 12 spans in 3 runs; 2 traces without model or tool calls ignored, 1 request refused`
    pub(crate) fn sentence(&self) -> String {
        let collected = &self.collected;
        let runs = counted(collected.started_runs, "run");
        let received = match self.model_calls {
            Some(calls) => format!("recorded {} in {runs}", counted(calls, "model call")),
            None => format!("received {} in {runs}", counted(collected.spans, "span")),
        };
        let more = [
            (
                collected.ignored_traces,
                "trace",
                "without model or tool calls ignored (--all-traces records them)",
            ),
            (collected.ignored_logs, "log record", "about no agent ignored"),
            (
                collected.logs_without_session,
                "log record",
                "of coding agents without a session or a trace left out",
            ),
            (collected.rejected, "span or log record", "rejected"),
            (collected.differing, "span", "left out (the ID is a duplicate)"),
            (collected.repaired, "value", "repaired or left out"),
            (self.served.refused_requests, "request", "refused"),
            (
                collected.recorded_elsewhere,
                "span",
                "left to the program that records them itself",
            ),
        ];
        let more: Vec<String> = more
            .into_iter()
            .filter(|(number, ..)| *number > 0 && self.model_calls.is_none())
            .map(|(number, noun, what)| match noun {
                "span or log record" if number != 1 => format!("{number} spans or log records {what}"),
                noun => format!("{} {what}", counted(number, noun)),
            })
            .collect();
        if more.is_empty() {
            received
        } else {
            format!("{received}; {}", more.join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, SocketAddr};

    use super::*;

    #[test]
    fn both_protocols_have_their_usual_ports_or_share_one() {
        let usual = otlp_server(None);
        assert_eq!((usual.http_port, usual.grpc_port), (4318, Some(4317)));
        let one = otlp_server(Some(0));
        assert_eq!((one.http_port, one.grpc_port), (0, None));
    }

    #[test]
    fn a_usual_port_that_is_taken_is_named_with_the_option() {
        for (port, protocol) in [(4318, "OTLP/HTTP"), (4317, "OTLP/gRPC")] {
            let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
            let error = not_started(ServerError::PortTaken { address, protocol });
            let expected = format!("another program listens on 127.0.0.1:{port} ({protocol})");
            assert_eq!(error.to_string(), expected);
            assert!(error.hints().iter().any(|hint| hint.contains("--port")));
        }
    }

    #[test]
    fn tokens_are_url_encoded() {
        assert_eq!(url_encoded("a-B_9.~!,="), "a-B_9.~%21%2C%3D");
    }

    #[test]
    fn the_sentence_has_no_zeros() {
        let mut received = Received {
            collected: CollectorSummary::default(),
            served: ServerStatistics::default(),
            model_calls: None,
            notes: Vec::new(),
        };
        assert_eq!(received.sentence(), "received 0 spans in 0 runs");
        received.collected.spans = 12;
        received.collected.started_runs = 1;
        received.collected.ignored_traces = 2;
        received.collected.rejected = 3;
        received.served.refused_requests = 1;
        assert_eq!(
            received.sentence(),
            "received 12 spans in 1 run; 2 traces without model or tool calls ignored (--all-traces records them), \
             3 spans or log records rejected, 1 request refused"
        );
        received.model_calls = Some(1);
        assert_eq!(received.sentence(), "recorded 1 model call in 1 run");
    }

    #[test]
    fn a_duplicate_id_is_counted_once() {
        let mut received = Received {
            collected: CollectorSummary::default(),
            served: ServerStatistics::default(),
            model_calls: None,
            notes: Vec::new(),
        };
        received.collected.differing = 1;
        received.served.rejected_items = 1;
        assert_eq!(
            received.sentence(),
            "received 0 spans in 0 runs; 1 span left out (the ID is a duplicate)"
        );
    }
}
