import { Agent, run, tool } from "@openai/agents";
import { z } from "zod";

import * as asked from "./asked.mjs";

if (asked.hasTelemetry) {
  const tracerProvider = await asked.provider();
  const { OpenAIAgentsInstrumentation } = await import("@arizeai/openinference-instrumentation-openai-agents");
  new OpenAIAgentsInstrumentation({ tracerProvider }).manuallyInstrument(await import("@openai/agents"));
}
const getWeather = tool({
  name: "get_weather",
  description: "The weather of a city.",
  parameters: z.object({ city: z.string() }),
  execute: ({ city }) => asked.weather(city),
  errorFunction: null,
});

await asked.answer(async (question) => {
  const model = "gpt-5-mini";
  const agent = new Agent({ name: "weather", instructions: "Answer about weather.", model, tools: [getWeather] });
  const triage = new Agent({ name: "triage", instructions: "Find who answers.", model, handoffs: [agent] });
  const result = await run(question.includes("Hand over") ? triage : agent, question, { stream: asked.isStreamed });
  await result.completed;
  return result.finalOutput;
});
