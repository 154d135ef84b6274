import { ChatOpenAI } from "@langchain/openai";
import { createAgent, tool } from "langchain";
import { z } from "zod";

import * as asked from "./asked.mjs";

if (asked.hasTelemetry) {
  const tracerProvider = await asked.provider();
  const { LangChainInstrumentation } = await import("@arizeai/openinference-instrumentation-langchain");
  new LangChainInstrumentation({ tracerProvider }).manuallyInstrument(await import("@langchain/core/callbacks/manager"));
}
const getWeather = tool(({ city }) => asked.weather(city), {
  name: "get_weather",
  description: "The weather of a city.",
  schema: z.object({ city: z.string() }),
});

await asked.answer(async (question) => {
  const configuration = { baseURL: process.env.OPENAI_BASE_URL };
  const model = new ChatOpenAI({ model: "gpt-5-mini", configuration });
  const agent = createAgent({ model, tools: [getWeather], systemPrompt: "Answer about weather.", name: "weather" });
  const asking = { messages: [{ role: "user", content: question }] };
  if (!asked.isStreamed) return (await agent.invoke(asking)).messages.at(-1).text;
  let text = "";
  for await (const [piece] of await agent.stream(asking, { streamMode: "messages" })) text += piece.text;
  return text;
});
