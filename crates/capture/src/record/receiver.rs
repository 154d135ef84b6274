//! The receiver of OTLP that a recorded command is pointed at.

use std::sync::Arc;

use opentelemetry_proto::tonic::common::v1::{KeyValue, any_value};
use opentelemetry_proto::tonic::logs::v1::ResourceLogs;
use opentelemetry_proto::tonic::trace::v1::ResourceSpans;
use tracer_sdk::format::names::markers;

use super::environment::{Inherited, NamedEndpoints};
use crate::otlp::Repairs;
use crate::server::{OtlpServer, ServerError, ServerOptions, Upstream};
use crate::sink::{Accepted, OtlpSink, Refused};

/// Starts a receiver on ports of its own. Where the environment names an endpoint already, that is the upstream. Gives a notice
/// for the user where that gets nothing.
pub(super) fn start(
    sink: Arc<dyn OtlpSink>,
    inherited: &Inherited,
    proxy_token: &str,
) -> Result<(OtlpServer, Option<String>), ServerError> {
    let named = NamedEndpoints::of(inherited);
    let mut options = ServerOptions::default();
    if named.upstream != Upstream::default() {
        options.upstream = Some(named.upstream);
    }
    let sink = TokenRemover {
        sink,
        proxy_token: proxy_token.to_owned(),
    };
    let notice = named.grpc.map(|endpoint| {
        format!(
            "what is recorded is not forwarded to {endpoint}, which speaks gRPC: set OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf and its endpoint for HTTP"
        )
    });
    Ok((OtlpServer::start(options, Arc::new(sink))?, notice))
}

/// Takes the random part of the proxy's address out of spans, where libraries record which address they asked.
struct TokenRemover {
    sink: Arc<dyn OtlpSink>,
    proxy_token: String,
}

impl TokenRemover {
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

impl OtlpSink for TokenRemover {
    fn accept_spans(&self, mut spans: Vec<ResourceSpans>) -> Result<Accepted, Refused> {
        let scopes = spans.iter_mut().flat_map(|resource| &mut resource.scope_spans);
        for span in scopes.flat_map(|scope| &mut scope.spans) {
            self.without_token(&mut span.attributes);
            for event in &mut span.events {
                self.without_token(&mut event.attributes);
            }
        }
        self.sink.accept_spans(spans)
    }

    fn accept_logs(&self, logs: Vec<ResourceLogs>) -> Result<Accepted, Refused> {
        self.sink.accept_logs(logs)
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
        let sink = TokenRemover {
            sink: Arc::clone(&taken) as Arc<dyn OtlpSink>,
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
