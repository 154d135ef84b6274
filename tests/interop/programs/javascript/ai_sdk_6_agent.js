// An agent with one tool, on the AI SDK 6 with its built-in telemetry. `--stream` takes the answer as a stream.
import { openai } from "@ai-sdk/openai-3";
import { generateText, stepCountIs, streamText, tool } from "ai-6";
import { z } from "zod";

import { provider } from "./telemetry.js";

const telemetry = provider("weather-ai-sdk-6");

const getWeather = tool({
  description: "The weather of a city.",
  inputSchema: z.object({ city: z.string() }),
  execute: async ({ city }) => {
    if (city === "Rome") throw new Error("the weather service is down");
    return `${city}: 7 C`;
  },
});
const settings = {
  model: openai("gpt-5-mini"),
  system: "Answer about weather.",
  prompt: process.argv[2],
  tools: { get_weather: getWeather },
  stopWhen: stepCountIs(5),
  maxRetries: 0,
  experimental_telemetry: { isEnabled: true, functionId: "weather" },
};

try {
  if (process.argv.includes("--stream")) {
    let failure;
    const { textStream } = streamText({ ...settings, onError: ({ error }) => (failure = error) });
    for await (const piece of textStream) process.stdout.write(piece);
    if (failure) throw failure;
    process.stdout.write("\n");
  } else {
    console.log((await generateText(settings)).text);
  }
} catch (error) {
  console.error(String(error));
  process.exitCode = 1;
} finally {
  await telemetry.shutdown();
}
