import { openAI } from "@genkit-ai/compat-oai/openai";
import { genkit, z } from "genkit";
import { enableTelemetry } from "genkit/tracing";

import * as asked from "./asked.mjs";

if (asked.hasTelemetry) await enableTelemetry({ spanProcessors: [await asked.processor()] });
const ai = genkit({ plugins: [openAI()], model: openAI.model("gpt-4o-mini") });
const getWeather = ai.defineTool(
  { name: "get_weather", description: "The weather of a city.", inputSchema: z.object({ city: z.string() }), outputSchema: z.string() },
  async ({ city }) => asked.weather(city),
);

await asked.answer(async (prompt) => {
  const asking = { system: "Answer about weather.", prompt, tools: [getWeather] };
  if (!asked.isStreamed) return (await ai.generate(asking)).text;
  const { stream, response } = ai.generateStream(asking);
  for await (const _ of stream);
  return (await response).text;
});
