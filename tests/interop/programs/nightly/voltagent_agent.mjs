import { openai } from "@ai-sdk/openai";
import { Agent, createTool, VoltAgentObservability } from "@voltagent/core";
import { z } from "zod";

import * as asked from "./asked.mjs";

const observability = asked.hasTelemetry ? new VoltAgentObservability({ spanProcessors: [await asked.processor()] }) : undefined;
const getWeather = createTool({
  name: "get_weather",
  description: "The weather of a city.",
  parameters: z.object({ city: z.string() }),
  execute: async ({ city }) => asked.weather(city),
});

await asked.answer(async (question) => {
  const instructions = "Answer about weather.";
  const agent = new Agent({ name: "weather", instructions, model: openai("gpt-5-mini"), tools: [getWeather], observability });
  if (!asked.isStreamed) return (await agent.generateText(question)).text;
  return await (await agent.streamText(question)).text;
});
