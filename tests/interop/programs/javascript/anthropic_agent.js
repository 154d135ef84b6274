// A hand-written loop around the Anthropic client, without telemetry. `--stream` takes the answers as streams.
import Anthropic from "@anthropic-ai/sdk";

import { getWeather } from "./weather.js";

const client = new Anthropic({ maxRetries: 0 });
const stream = process.argv.includes("--stream");
const tools = [{
  name: "get_weather",
  description: "The weather of a city.",
  input_schema: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
}];
const messages = [{ role: "user", content: process.argv[2] }];

for (;;) {
  const asked = { model: "claude-sonnet-5", max_tokens: 500, system: "Answer about weather.", messages, tools };
  const message = stream ? await client.messages.stream(asked).finalMessage() : await client.messages.create(asked);
  messages.push({ role: "assistant", content: message.content });
  const calls = message.content.filter((block) => block.type === "tool_use");
  if (!calls.length) {
    console.log(message.content.map((block) => block.text ?? "").join(""));
    break;
  }
  const results = calls.map((call) => ({ type: "tool_result", tool_use_id: call.id, content: getWeather(call.input.city) }));
  messages.push({ role: "user", content: results });
}
