import { openai } from "@ai-sdk/openai";
import * as ai from "ai";
import { z } from "zod";

import * as asked from "./asked.mjs";

// From version 7 on telemetry is registered; before, each call had a switch.
const registers = "registerTelemetry" in ai;
if (asked.hasTelemetry) {
  await asked.provider();
  if (registers) ai.registerTelemetry(new (await import("@ai-sdk/otel")).OpenTelemetry());
}
const tools = {
  get_weather: ai.tool({
    description: "The weather of a city.",
    inputSchema: z.object({ city: z.string() }),
    execute: ({ city }) => asked.weather(city),
  }),
};

await asked.answer(async (prompt) => {
  const words = registers ? { instructions: "Answer about weather." }
    : { system: "Answer about weather.", experimental_telemetry: { isEnabled: asked.hasTelemetry, functionId: "weather" } };
  const settings = { model: openai("gpt-5-mini"), ...words, prompt, tools, stopWhen: (ai.isStepCount ?? ai.stepCountIs)(5) };
  if (!asked.isStreamed) return (await ai.generateText(settings)).text;
  return await ai.streamText(settings).text;
});
