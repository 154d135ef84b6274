// OpenTelemetry as a program sets it up for any back end: its own SDK, the endpoint from the environment.
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { resourceFromAttributes } from "@opentelemetry/resources";
import { BatchSpanProcessor, NodeTracerProvider } from "@opentelemetry/sdk-trace-node";

// The provider; `shutdown` exports what is left.
export function provider(name) {
  const made = new NodeTracerProvider({
    resource: resourceFromAttributes({ "service.name": name }),
    spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter())],
  });
  made.register();
  return made;
}
