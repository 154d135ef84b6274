import { openai } from "@ai-sdk/openai";
import { Agent } from "@mastra/core/agent";
import { Mastra } from "@mastra/core/mastra";
import { createTool } from "@mastra/core/tools";
import { z } from "zod";

import * as asked from "./asked.mjs";

const getWeather = createTool({
  id: "get_weather",
  description: "The weather of a city.",
  inputSchema: z.object({ city: z.string() }),
  execute: async (input) => asked.weather((input.context ?? input).city),
});
const about = { id: "weather", name: "weather", instructions: "Answer about weather." };
const weather = new Agent({ ...about, model: openai("gpt-5-mini"), tools: { get_weather: getWeather } });
const mastra = new Mastra({ agents: { weather }, logger: false, observability: asked.hasTelemetry ? await observability() : undefined });

async function observability() {
  const { Observability } = await import("@mastra/observability");
  const { OtelExporter } = await import("@mastra/otel-exporter");
  const exporters = [new OtelExporter({ provider: { custom: { endpoint: `${process.env.OTEL_EXPORTER_OTLP_ENDPOINT}/v1/traces` } } })];
  return new Observability({ configs: { otel: { serviceName: "weather", exporters } } });
}

await asked.answer(async (question) => {
  const agent = mastra.getAgent("weather");
  return asked.isStreamed ? await (await agent.stream(question)).text : (await agent.generate(question)).text;
}, () => mastra.shutdown());
