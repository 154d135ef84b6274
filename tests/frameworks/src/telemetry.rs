//! Who watches: the layer of tracer's SDK, an OTLP exporter behind `tracing-opentelemetry`, both, or nobody.

use opentelemetry::trace::TracerProvider;
use opentelemetry_otlp::SpanExporter;
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::SdkTracerProvider;
use tracing::Subscriber;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::prelude::*;
use tracing_subscriber::registry::LookupSpan;

use crate::Task;

/// What is to be reported of the end of the program.
#[must_use = "spans are exported when it is dropped"]
pub struct Watching {
    provider: Option<SdkTracerProvider>,
}

/// Installs what the arguments ask for: `--layer`, `--export`, or both.
pub fn watch(task: &Task) -> Watching {
    let provider = task.has("--export").then(exporter);
    match (task.has("--layer"), &provider) {
        (true, None) => tracing_subscriber::registry().with(tracer_sdk::layer()).init(),
        (true, Some(provider)) => {
            tracing_subscriber::registry()
                .with(tracer_sdk::layer())
                .with(exporting(provider))
                .init();
        }
        (false, Some(provider)) => tracing_subscriber::registry().with(exporting(provider)).init(),
        (false, None) => {}
    }
    Watching { provider }
}

/// As every guide sets it up: what is more verbose than INFO is not exported.
fn exporting<S: Subscriber + for<'a> LookupSpan<'a>>(provider: &SdkTracerProvider) -> impl Layer<S> {
    tracing_opentelemetry::layer()
        .with_tracer(provider.tracer("agent"))
        .with_filter(LevelFilter::INFO)
}

/// OTLP over HTTP, to the endpoint that the environment names.
fn exporter() -> SdkTracerProvider {
    let exporter = SpanExporter::builder()
        .with_http()
        .build()
        .expect("the environment names an endpoint");
    let resource = Resource::builder().with_service_name("weather").build();
    SdkTracerProvider::builder()
        .with_batch_exporter(exporter)
        .with_resource(resource)
        .build()
}

impl Drop for Watching {
    fn drop(&mut self) {
        if let Some(provider) = self.provider.take()
            && let Err(error) = provider.shutdown()
        {
            eprintln!("not exported: {error}");
        }
    }
}
