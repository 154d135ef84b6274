//! A receiver of OTLP and the collector behind it, as `tracer receive` and `tracer view --receive` run them.

use std::fmt::Write as _;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use tracer_capture::record::{ChildEnvironment, Inherited, OtlpEndpoints};
use tracer_capture::runs::{CollectorOptions, CollectorSummary, RunCollector};
use tracer_capture::server::{
    DEFAULT_MAX_REQUEST_BYTES, OtlpServer, ServerError, ServerOptions, ServerStatistics,
};
use tracer_sdk::format::TraceId;

use crate::error::{CliError, ErrorKind};
use crate::session::Session;
use crate::value_parsers::parse_size;
use tracer_insight::line::{Line, Tone};
use tracer_insight::text::{counted, path_below_home};

/// The port of OTLP/HTTP, as OpenTelemetry assigns it.
pub const HTTP_PORT: u16 = 4318;
/// That of OTLP/gRPC.
pub const GRPC_PORT: u16 = 4317;

/// Where to listen, what to take, what to keep.
#[derive(Debug, Clone, clap::Args)]
pub struct ReceiverArgs {
    /// Listen for OTLP/HTTP on PORT; 0 is any free port
    #[arg(long = "http", value_name = "PORT", default_value_t = HTTP_PORT)]
    pub http_port: u16,

    /// Listen for OTLP/gRPC on PORT; 0 is any free port
    #[arg(long = "grpc", value_name = "PORT", default_value_t = GRPC_PORT)]
    pub grpc_port: u16,

    /// Do not listen for OTLP/gRPC on a port of its own
    #[arg(long, conflicts_with = "grpc_port")]
    pub no_grpc: bool,

    /// Listen on ADDR; any address but this machine's own needs the token that is printed
    #[arg(long, value_name = "ADDR", default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST))]
    pub listen: IpAddr,

    /// Refuse requests without TOKEN [default: one is made when --listen needs it]
    ///
    /// Senders give it as `Authorization: Bearer TOKEN` or `x-tracer-token: TOKEN`.
    #[arg(long, value_name = "TOKEN", value_parser = parse_token)]
    pub token: Option<String>,

    /// Keep every trace, also those without a model call, a tool call or an agent
    #[arg(long = "all")]
    pub keep_all: bool,

    /// Remove the oldest runs of the data directory when all together are larger than SIZE [example: 10GB]
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub keep: Option<u64>,

    /// Omit prompts, answers, arguments and results; keep their shapes, names, sizes, tokens and times
    #[arg(long)]
    pub no_content: bool,

    /// Refuse requests larger than SIZE after they are unpacked [default: 64MiB]
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub max_request: Option<u64>,
}

impl ReceiverArgs {
    /// On this machine alone, with everything else as it is by default.
    pub fn on_ports(http_port: u16, grpc_port: u16) -> Self {
        Self {
            http_port,
            grpc_port,
            no_grpc: false,
            listen: IpAddr::V4(Ipv4Addr::LOCALHOST),
            token: None,
            keep_all: false,
            keep: None,
            no_content: false,
            max_request: None,
        }
    }
}

fn server_options(args: &ReceiverArgs) -> ServerOptions {
    let max_request_bytes = args.max_request.map_or(DEFAULT_MAX_REQUEST_BYTES, |bytes| {
        usize::try_from(bytes).unwrap_or(usize::MAX)
    });
    ServerOptions {
        listen: args.listen,
        http_port: args.http_port,
        grpc_port: (!args.no_grpc).then_some(args.grpc_port),
        token: args.token.clone(),
        max_request_bytes,
        upstream: None,
    }
}

fn parse_token(text: &str) -> Result<String, String> {
    let is_sendable = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic());
    is_sendable
        .then(|| text.to_owned())
        .ok_or_else(|| "use ASCII letters, digits and signs, without spaces".to_owned())
}

/// What a receiver did until it ended.
#[derive(Debug, Clone)]
pub struct Received {
    /// What became of the spans and logs.
    pub collected: CollectorSummary,
    /// What became of the requests.
    pub served: ServerStatistics,
}

/// A running receiver and its collector.
pub struct RunningReceiver {
    server: OtlpServer,
    collector: Arc<RunCollector>,
}

impl RunningReceiver {
    /// Starts it.
    pub fn start(args: &ReceiverArgs, session: &Session) -> Result<Self, CliError> {
        let settings = session.settings()?;
        let mut options = CollectorOptions::new(&settings);
        options.keep_all = args.keep_all;
        options.keep_bytes = args.keep;
        options.without_content = args.no_content;
        options.resume_unfinished = true;
        let collector = RunCollector::open(options).map_err(|error| {
            let place = path_below_home(&settings.data_dir);
            CliError::input(format!("failed to prepare the data directory {place}"))
                .with_source(error)
                .with_hint("check its permissions, or choose another one: --data-dir DIR, or TRACER_DATA_DIR")
        })?;
        let server = OtlpServer::start(server_options(args), collector.clone()).map_err(not_started)?;
        Ok(Self { server, collector })
    }

    /// The base address of OTLP/HTTP.
    pub fn http_endpoint(&self) -> String {
        self.server.http_endpoint()
    }

    /// The address of OTLP/gRPC.
    pub fn grpc_endpoint(&self) -> Option<String> {
        self.server.grpc_endpoint()
    }

    /// The token that senders need.
    pub fn token(&self) -> Option<&str> {
        self.server.token()
    }

    /// The runs that were completed since the last call.
    pub fn take_completed(&self) -> Vec<TraceId> {
        self.collector.take_completed()
    }

    /// What was done so far.
    pub fn so_far(&self) -> Received {
        Received {
            collected: self.collector.summary(),
            served: self.server.statistics(),
        }
    }

    /// Finishes the requests that are under way and ends every run. The runs that this completes are in
    /// [`take_completed`](Self::take_completed) of what is given back.
    pub fn end(self) -> (Received, Vec<TraceId>) {
        let served = self.server.shutdown_blocking();
        let collected = self.collector.close();
        (Received { collected, served }, self.collector.take_completed())
    }

    /// `tracer receive: http://127.0.0.1:4318 (OTLP/HTTP), http://127.0.0.1:4317 (OTLP/gRPC)`
    pub fn heading(&self) -> Line {
        let grpc = self
            .grpc_endpoint()
            .map(|endpoint| format!(", {endpoint} (OTLP/gRPC)"))
            .unwrap_or_default();
        let http = self.http_endpoint();
        Line::of("tracer receive: ", Tone::Muted).with(format!("{http} (OTLP/HTTP){grpc}"), Tone::Plain)
    }

    /// The variables that make a program send to it, as a shell takes them.
    pub fn exports(&self) -> Vec<String> {
        let http = self.http_endpoint();
        let endpoints = OtlpEndpoints {
            grpc: self.grpc_endpoint().unwrap_or_else(|| http.clone()),
            http,
        };
        let environment = ChildEnvironment::of_otlp(&Inherited::default(), &endpoints);
        let of_token = self.token().map(|token| {
            format!(
                "export OTEL_EXPORTER_OTLP_HEADERS=x-tracer-token={}",
                url_encoded(token)
            )
        });
        environment
            .variables
            .iter()
            .map(|variable| format!("export {}", variable.assignment()))
            .chain(of_token)
            .collect()
    }
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
        ServerError::PortTaken { protocol, .. } => {
            let option = if *protocol == "OTLP/gRPC" {
                "--grpc"
            } else {
                "--http"
            };
            let refused = CliError::input(error.to_string())
                .with_hint("end that program: another tracer receive, or an OpenTelemetry Collector")
                .with_hint(format!(
                    "or choose another port, 0 for any free one: {option} PORT"
                ));
            return if *protocol == "OTLP/gRPC" {
                refused.with_hint("or leave out OTLP/gRPC: --no-grpc")
            } else {
                refused
            };
        }
        ServerError::Listen { .. } => CliError::input("the receiver cannot listen")
            .with_hint("choose an address of this machine: --listen 127.0.0.1, and a port above 1023"),
        _ => CliError::new(ErrorKind::Internal, "the receiver did not start").with_hint("try again"),
    };
    refused.with_source(error)
}

impl Received {
    /// `received 12 spans in 3 runs; 2 traces without model calls ignored, 1 request refused`
    pub fn sentence(&self) -> String {
        let collected = &self.collected;
        let received = format!(
            "received {} in {}",
            counted(collected.spans, "span"),
            counted(collected.started_runs, "run")
        );
        let rejected = collected.rejected.max(self.served.rejected_items);
        let more = [
            (
                collected.ignored_traces,
                "trace",
                "without model or tool calls ignored (--all keeps them)",
            ),
            (collected.ignored_logs, "log record", "about no agent ignored"),
            (rejected, "span or log record", "rejected"),
            (collected.differing, "span", "left out (the ID is a duplicate)"),
            (collected.repaired, "value", "repaired or left out"),
            (self.served.refused_requests, "request", "refused"),
            (
                collected.recorded_elsewhere,
                "span",
                "left to the program that records them itself",
            ),
            (collected.pruned_runs, "old run", "removed for --keep"),
        ];
        let more: Vec<String> = more
            .into_iter()
            .filter(|(number, ..)| *number > 0)
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
    use std::net::SocketAddr;

    use clap::Parser as _;

    use super::*;

    #[derive(clap::Parser)]
    struct Parsed {
        #[command(flatten)]
        receiver: ReceiverArgs,
    }

    fn parsed(arguments: &[&str]) -> ServerOptions {
        let arguments = ["receive"].iter().chain(arguments);
        server_options(&Parsed::parse_from(arguments).receiver)
    }

    #[test]
    fn the_ports_of_opentelemetry_are_the_default() {
        let options = parsed(&[]);
        assert_eq!((options.http_port, options.grpc_port), (4318, Some(4317)));
        assert!(options.listen.is_loopback());
        assert_eq!(options.token, None);
        assert_eq!(parsed(&["--no-grpc"]).grpc_port, None);
        let options = parsed(&["--http", "0", "--grpc", "14317"]);
        assert_eq!((options.http_port, options.grpc_port), (0, Some(14317)));
    }

    #[test]
    fn a_request_has_64_mib_by_default() {
        assert_eq!(parsed(&[]).max_request_bytes, 64 * 1024 * 1024);
        assert_eq!(parsed(&["--max-request", "1kB"]).max_request_bytes, 1000);
    }

    #[test]
    fn a_default_port_that_is_taken_is_named_with_its_option() {
        for (port, protocol, option) in [(4318, "OTLP/HTTP", "--http"), (4317, "OTLP/gRPC", "--grpc")] {
            let address = SocketAddr::from((parsed(&[]).listen, port));
            let error = not_started(ServerError::PortTaken { address, protocol });
            let expected = format!("another program listens on 127.0.0.1:{port} ({protocol})");
            assert_eq!(error.to_string(), expected);
            assert!(error.hints().iter().any(|hint| hint.contains(option)));
        }
    }

    #[test]
    fn tokens_are_sendable() {
        assert!(parse_token("a-B_9.~!").is_ok());
        for token in ["", "two words", "ümlaut", "new\nline"] {
            assert!(parse_token(token).is_err(), "{token:?}");
        }
        assert_eq!(url_encoded("a-B_9.~!,="), "a-B_9.~%21%2C%3D");
    }

    #[test]
    fn the_sentence_has_no_zeros() {
        let mut received = Received {
            collected: CollectorSummary::default(),
            served: ServerStatistics::default(),
        };
        assert_eq!(received.sentence(), "received 0 spans in 0 runs");
        received.collected.spans = 12;
        received.collected.started_runs = 1;
        received.collected.ignored_traces = 2;
        received.collected.rejected = 3;
        received.served.refused_requests = 1;
        assert_eq!(
            received.sentence(),
            "received 12 spans in 1 run; 2 traces without model or tool calls ignored (--all keeps them), \
             3 spans or log records rejected, 1 request refused"
        );
    }
}
