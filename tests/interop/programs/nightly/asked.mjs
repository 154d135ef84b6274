// What the nightly programs share: questions, the tool's work, two conversations at once, an exporter.
export const isStreamed = process.argv.includes("--stream");
export const hasTelemetry = process.argv.includes("--telemetry");

export function weather(city) {
  if (city === "Rome") throw new Error("the weather service is down");
  return `${city}: 7 C`;
}

let made;

// OpenTelemetry as a program sets it up for any back end.
export async function provider() {
  const { NodeTracerProvider } = await import("@opentelemetry/sdk-trace-node");
  const spanProcessors = [await processor()];
  made = new NodeTracerProvider({ spanProcessors });
  made.register();
  return made;
}

// For frameworks that make the provider themselves.
export async function processor() {
  const { OTLPTraceExporter } = await import("@opentelemetry/exporter-trace-otlp-http");
  const { BatchSpanProcessor } = await import("@opentelemetry/sdk-trace-node");
  return (made = new BatchSpanProcessor(new OTLPTraceExporter()));
}

// Asks each question of the command line, all at once; `flush` exports what the framework itself still has.
export async function answer(ask, flush = () => made?.forceFlush()) {
  const questions = process.argv.slice(2).filter((argument) => !argument.startsWith("--"));
  const answers = await Promise.allSettled(questions.map((question) => ask(question)));
  for (const { value, reason } of answers) reason ? console.error(String(reason)) : console.log(value);
  await flush();
  process.exit(answers.some(({ reason }) => reason) ? 1 : 0);
}
